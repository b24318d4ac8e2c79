package sqlcache_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestServe_PreparedBeforeDefinitions: who has prepared a statement before a definition was changed
// hears what it hears without hotrow, though others have prepared the same text since and memory
// answers them: an error where the result has other columns, and its values read by the old types.
func TestServe_PreparedBeforeDefinitions(t *testing.T) {
	for _, tt := range []struct{ name, ddl, sql string }{
		{"another column", "ALTER TABLE a ADD COLUMN extra int DEFAULT 5", "SELECT * FROM a WHERE id = $1"},
		{"another type", "ALTER TABLE a ALTER COLUMN id TYPE float8", "SELECT name FROM a WHERE id = $1"},
		{"another result", "ALTER TABLE a ALTER COLUMN score TYPE text", "SELECT score FROM a WHERE id = $1"},
	} {
		for _, described := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
				preparedBefore(t, s, tt.ddl, tt.sql, described)
			})
		}
	}
}

func preparedBefore(t *testing.T, s *stand, ddl, sql string, described bool) {
	t.Helper()
	sync, execute := &pgproto3.Sync{}, &pgproto3.Execute{}
	prepare := []pgproto3.FrontendMessage{&pgproto3.Parse{Name: "s", Query: sql}}
	if described {
		prepare = append(prepare, &pgproto3.Describe{ObjectType: 'S', Name: "s"})
	}
	prepares := group(t, append(prepare, sync)...)
	value := binary.BigEndian.AppendUint32(nil, 3)
	runs := group(t, &pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{value},
		ParameterFormatCodes: []int16{1}}, execute, sync)
	wide := group(t, &pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{append(make([]byte, 4), value...)},
		ParameterFormatCodes: []int16{1}}, execute, sync)
	direct, relayed := newWire(t, s.database), newWire(t, s.url)
	for _, w := range []*wire{direct, relayed} {
		w.says(prepares, 1)
	}
	number := s.cache.Number()
	for range 3 {
		if want, got := direct.says(runs, 1), relayed.says(runs, 1); !bytes.Equal(want, got) {
			t.Errorf("before: direct %q, through hotrow %q", want, got)
		}
	}
	run(t, connect(t, s.url, pgx.QueryExecModeSimpleProtocol), ddl)
	waittest.Until(t, "the definitions are read", func() bool { return s.cache.Number() > number })
	other := newWire(t, s.url)
	other.says(prepares, 1)
	waittest.Until(t, "memory answers the other", func() bool {
		before := s.front.Stats().Hits
		other.says(runs, 1)
		other.says(wide, 1)
		return s.front.Stats().Hits >= before+1
	})
	for _, g := range [][]byte{runs, wide, runs} {
		if want, got := direct.says(g, 1), relayed.says(g, 1); !bytes.Equal(want, got) {
			t.Errorf("after: direct %q, through hotrow %q", want, got)
		}
	}
}

// TestServe_NamesAndPortals: what is prepared, bound, closed and thrown away beside answers from
// memory is there, or is not, as without hotrow.
func TestServe_NamesAndPortals(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
	const sql = "SELECT score FROM a WHERE id = 3"
	sync, execute, flush := &pgproto3.Sync{}, &pgproto3.Execute{}, &pgproto3.Flush{}
	parse := func(name, sql string) pgproto3.FrontendMessage { return &pgproto3.Parse{Name: name, Query: sql} }
	query := func(sql string) []byte { return group(t, &pgproto3.Query{String: sql}) }
	portal := func(name string) pgproto3.FrontendMessage { return &pgproto3.Bind{DestinationPortal: name} }
	bind := func(name string) pgproto3.FrontendMessage { return &pgproto3.Bind{PreparedStatement: name} }
	hit := group(t, parse("", sql), portal(""), execute, sync)
	steps := [][]byte{hit, query(sql),
		group(t, bind(""), execute, sync), // a query has ended the statement without a name
		hit, group(t, bind(""), execute, sync), group(t, &pgproto3.Describe{ObjectType: 'S'}, sync),
		hit, group(t, &pgproto3.Describe{ObjectType: 'S'}, flush, bind(""), execute, sync),
		hit, group(t, portal("p"), &pgproto3.Execute{Portal: "p"}, sync), // its name is no plain one
		group(t, &pgproto3.Execute{Portal: "p"}, sync), // it has ended
		hit, group(t, execute, sync), // so has that of no name
		group(t, &pgproto3.Describe{ObjectType: 'P'}, sync),
		hit, group(t, parse("s", sql), sync), group(t, bind("s"), execute, sync), group(t, bind("s"), execute, sync),
		group(t, parse("s", sql), sync), // it exists
		group(t, bind("s"), execute, sync), group(t, &pgproto3.Close{ObjectType: 'S', Name: "s"}, sync),
		group(t, bind("s"), execute, sync), group(t, parse("s", "SELECT 'another'"), sync),
		group(t, bind("s"), execute, sync), hit, query("DEALLOCATE ALL"), group(t, bind("s"), execute, sync),
		hit, query("DEALLOCATE ALL"), group(t, bind(""), execute, sync),
		group(t, parse("s", sql), sync), group(t, bind("s"), execute, sync), query("DISCARD ALL"),
		group(t, bind("s"), execute, sync), group(t, bind(""), execute, sync),
		hit, group(t, &pgproto3.Close{ObjectType: 'S'}, sync), group(t, bind(""), execute, sync),
		hit, query("PREPARE s AS SELECT 'by text'"), group(t, bind("s"), execute, sync), query("DEALLOCATE s"),
		group(t, bind("s"), execute, sync), hit, query("BEGIN"), group(t, bind(""), execute, sync), query("COMMIT"),
		hit, query("BEGIN"), hit, query("ROLLBACK"), hit, group(t, parse("", "SELECT nosuch FROM a"), sync),
		group(t, bind(""), execute, sync), hit, group(t, parse("", "SELECT nosuch FROM a"), portal(""), execute, sync),
		group(t, bind(""), execute, sync), hit, group(t, portal(""), flush, execute, sync),
		hit, group(t, sync), group(t, bind(""), execute, sync), hit, query(""), group(t, bind(""), execute, sync)}
	everyWay(t, s, func(t *testing.T, url string) {
		direct, relayed := newWire(t, s.database), newWire(t, url)
		warm := s.front.Stats().Hits
		waittest.Until(t, "memory answers", func() bool {
			relayed.says(hit, 1)
			return s.front.Stats().Hits > warm
		})
		before := s.front.Stats().Hits
		waittest.Until(t, "memory has answered some", func() bool { // definitions are read in between
			for i, step := range steps {
				if want, got := direct.says(step, 1), relayed.says(step, 1); !bytes.Equal(want, got) {
					t.Errorf("step %d, %q: direct %q, through hotrow %q", i, step, want, got)
				}
			}
			return t.Failed() || s.front.Stats().Hits >= before+20
		})
	})
}

// TestServe_OtherNamesStay: a session that prepares and ends statements by text, or sends a text that
// hotrow cannot read, goes on being answered from memory by the names that it has, and closes nothing to
// others.
func TestServe_OtherNamesStay(t *testing.T) {
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(authors)), never, "a")
	sync, execute := &pgproto3.Sync{}, &pgproto3.Execute{}
	c, other := newWire(t, s.url), connect(t, s.url, pgx.QueryExecModeSimpleProtocol)
	c.says(group(t, &pgproto3.Parse{Name: "s", Query: "SELECT score FROM a WHERE id = 3"}, sync), 1)
	runs := group(t, &pgproto3.Bind{PreparedStatement: "s"}, execute, sync)
	isHit := func() {
		t.Helper()
		waittest.Until(t, "the name is answered from memory", func() bool {
			before := s.front.Stats().Hits
			c.says(runs, 1)
			return s.front.Stats().Hits > before
		})
	}
	for _, sql := range []string{"SELECT 1", "PREPARE p AS SELECT 1; DEALLOCATE p", "DEALLOCATE PREPARE p",
		`SELECT E'\n'`, "DO $$ BEGIN PERFORM 1; END $$"} {
		c.says(group(t, &pgproto3.Query{String: sql}), 1)
		isHit()
		s.becomesServed(other, "SELECT score FROM a WHERE id = 1")
	}
}
