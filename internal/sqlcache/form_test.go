package sqlcache_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A form is in which form an answer is wanted.
type form struct {
	formats []int16 // of the columns
	rows    uint32  // at most; 0: all
}

// ask runs a statement in a form, and returns how many rows have come.
func (f form) ask(t *testing.T, c *pgx.Conn, sql string) (rows int) {
	t.Helper()
	p := c.PgConn().Frontend()
	p.SendParse(&pgproto3.Parse{Query: sql})
	p.SendBind(&pgproto3.Bind{ResultFormatCodes: f.formats})
	p.SendDescribe(&pgproto3.Describe{ObjectType: 'P'})
	p.SendExecute(&pgproto3.Execute{MaxRows: f.rows})
	p.SendSync(&pgproto3.Sync{})
	if err := p.Flush(); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := p.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.DataRow:
			rows++
		case *pgproto3.ErrorResponse:
			t.Fatalf("%s: %s", sql, m.Message)
		case *pgproto3.ReadyForQuery:
			return rows
		}
	}
}

// TestKey_HasTheForm: a copy answers those alone who want the columns in its formats and as many rows.
func TestKey_HasTheForm(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(authors)), "a")
	c := connect(t, s.url, pgx.QueryExecModeExec)
	const sql = "SELECT id, name, score FROM a WHERE score = 3 ORDER BY id"
	for _, f := range []form{{nil, 0}, {[]int16{1}, 0}, {[]int16{0, 1, 0}, 0}, {[]int16{1, 0, 1}, 0},
		{[]int16{1, 1, 0}, 0}, {nil, 2}, {nil, 3}, {[]int16{0, 1, 0}, 2}, {nil, 0}} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			before := s.settled().Hits
			rows := f.ask(t, c, sql)
			if want := int(f.rows); want > 0 && rows != want || want == 0 && rows < 4 {
				t.Errorf("%d rows have come", rows)
			}
			if n := s.settled().Hits - before; n != 0 && (f.rows != 0 || f.formats != nil) {
				t.Error("it is a hit before it was ever asked so")
			}
			waittest.Until(t, "memory has it in this form", func() bool {
				before := s.settled().Hits
				f.ask(t, c, sql)
				return s.settled().Hits > before
			})
		})
	}
	if n := s.settled(); n.Wrong+n.Older > 0 || n.Same < 9 {
		t.Errorf("%+v", n)
	}
}

// TestSession_NoticesAReload: a reload of the configuration changes how values are written, and tells
// the client nothing of it.
func TestSession_NoticesAReload(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup(`CREATE TABLE v (id int PRIMARY KEY, f float8,
		b bytea); INSERT INTO v VALUES (1, 1.0 / 3, '\x00ff41');`)), "v")
	c := connect(t, s.url, pgx.QueryExecModeSimpleProtocol)
	direct := connect(t, s.database, pgx.QueryExecModeExec)
	alter := func(sql string) {
		t.Helper()
		run(t, direct, sql)
		run(t, direct, "SELECT pg_reload_conf()")
	}
	t.Cleanup(func() {
		_, err := direct.Exec(context.Background(), "ALTER SYSTEM RESET ALL")
		if err == nil {
			_, err = direct.Exec(context.Background(), "SELECT pg_reload_conf()")
		}
		if err != nil {
			t.Error(err)
		}
	})
	// reads returns the value of a column as it came.
	reads := func(column string) string {
		t.Helper()
		got, err := c.PgConn().Exec(t.Context(), "SELECT "+column+" FROM v WHERE id = 1").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return string(got[0].Rows[0][0])
	}
	for _, tt := range []struct{ column, alter, before, after string }{
		{"f", "extra_float_digits = -10", "0.3333333333333333", "0.33333"},
		{"b", "bytea_output = 'escape'", `\x00ff41`, `\000\377A`},
	} {
		sql := "SELECT " + tt.column + " FROM v WHERE id = 1"
		s.becomes(c, sql)
		if got := reads(tt.column); got != tt.before {
			t.Errorf("%s is %s, want %s", tt.column, got, tt.before)
		}
		alter("ALTER SYSTEM SET " + tt.alter)
		waittest.Until(t, "the session has the setting", func() bool { return reads(tt.column) == tt.after })
		s.becomes(c, sql)
		if got := reads(tt.column); got != tt.after {
			t.Errorf("%s is %s, want %s", tt.column, got, tt.after)
		}
	}
	if n := s.settled(); n.Wrong > 0 || n.Same == 0 {
		t.Errorf("%+v", n)
	}
}
