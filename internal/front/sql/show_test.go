package sqlfront

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestShow_ToWhoMay: the statements, to those who see what others run in the server, too.
func TestShow_ToWhoMay(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		s := newStand(t, dbtest.Postgres(t, dbtest.Setup(`CREATE TABLE t (a int PRIMARY KEY);
			DO $$ BEGIN CREATE ROLE show_plain; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
			DO $$ BEGIN CREATE ROLE show_stats IN ROLE pg_read_all_stats;
				EXCEPTION WHEN duplicate_object THEN NULL; END $$;`)), w)
		c := connect(t, s.url)
		do := func(sql string) error {
			_, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			return err
		}
		must := func(sql string) {
			t.Helper()
			if err := do(sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		// shown reads the statements, and reports how often the first that has a text was run.
		shown := func(sql, part string) (count int64) {
			t.Helper()
			rows, err := c.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				v, err := rows.Values()
				if err != nil || len(v) != len(shownColumns) {
					t.Fatalf("%v: %v", v, err)
				}
				if strings.Contains(v[0].(string), part) && count == 0 {
					count = v[2].(int64)
				}
			}
			if rows.Err() != nil || rows.CommandTag().String() != "SHOW" {
				t.Errorf("it ends with %q, %v", rows.CommandTag(), rows.Err())
			}
			return count
		}
		must("SELECT a FROM t WHERE a = 1")
		must("SELECT a FROM t WHERE a = 2")
		for _, sql := range showTexts {
			if n := shown(sql, "SELECT a FROM t WHERE"); n != 2 {
				t.Errorf("%s: %d executions", sql, n)
			}
		}
		must("BEGIN")
		must("INSERT INTO t VALUES (1)")
		if n := shown(showTexts[0], "INSERT INTO t"); n != 1 || c.PgConn().TxStatus() != 'T' {
			t.Errorf("in a transaction: %d executions, status %c", n, c.PgConn().TxStatus())
		}
		must("COMMIT")
		must("SET ROLE show_plain")
		must("BEGIN")
		if err := do(showTexts[0]); stateOf(err) != stateRight || c.PgConn().TxStatus() != 'T' {
			t.Errorf("who may not: %v, status %c", err, c.PgConn().TxStatus())
		}
		must("COMMIT")
		must("SET ROLE show_stats")
		if n := shown(showTexts[0], "INSERT INTO t"); n != 1 {
			t.Errorf("a member of pg_read_all_stats: %d executions", n)
		}
		must("RESET ROLE")
		for sql, want := range map[string]string{"Show hotrow.statements": "42704",
			"SHOW hotrow.statements ;": "42704", "SHOW hotrow.statements; SELECT 1": "42704"} {
			if err := do(sql); stateOf(err) != want {
				t.Errorf("%s: %v", sql, err)
			}
		}
		_, err := c.PgConn().ExecParams(t.Context(), showTexts[0], nil, nil, nil, nil).Close()
		if stateOf(err) != "42704" {
			t.Errorf("extended: %v", err)
		}
		must("BEGIN")
		if err := do("SELECT 1 / 0"); err == nil {
			t.Error("1 / 0 is no error")
		}
		if err := do(showTexts[0]); stateOf(err) != "25P02" {
			t.Errorf("in a transaction that has failed: %v", err)
		}
		must("ROLLBACK")
		must("SET statement_timeout = 1") // the question may be ended as any statement
		if err := do(showTexts[0]); err != nil && stateOf(err) != "57014" {
			t.Errorf("with a timeout: %v", err)
		}
		waittest.Until(t, "the timeout ends", func() bool { // which may end that statement, too
			return do("SET statement_timeout = 0") == nil
		})
		if text := dbtest.Psql(t, s.url, "SHOW hotrow.statements;"); !strings.Contains(text, "INSERT INTO t") {
			t.Errorf("psql is shown %s", text)
		}
	})
}

// TestShow_OnlyWhenNothingIsUnderWay: what is sent beside other statements, or in parts, or while the
// server says something, goes to the server.
func TestShow_OnlyWhenNothingIsUnderWay(t *testing.T) {
	both(t, func(t *testing.T, w way) {
		up := newStandIn(t)
		s := newStand(t, up.url, w)
		show := msg('Q', showTexts[0])
		client, server := up.session(s.url)
		up.send(client, server, append(show[:len(show):len(show)], show...))
		client, server = up.session(s.url)
		up.send(client, server, show[:10])
		up.send(client, server, show[10:])
		client, server = up.session(s.url)
		up.send(client, server, msg('P', "", "SELECT 1", int16(0)))
		up.send(client, server, show)
		client, server = up.session(s.url)
		notice := msg('N', byte('M'), "a notice", byte(0))
		up.send(server, client, notice[:8])
		up.send(client, server, show)
		// Its answer to hotrow's question is not the client's, and what it says beside is.
		client, server = up.session(s.url)
		if _, err := client.Write(show); err != nil {
			t.Fatal(err)
		}
		up.want(server, string(askRole))
		up.send(server, client, notice)
		refused := msg('E', byte('S'), "ERROR", byte('C'), "57014", byte('M'), "enough", byte(0))
		if _, err := server.Write(refused); err != nil {
			t.Fatal(err)
		}
		up.send(client, server, msg('Q', "SELECT 1")) // it waits for nothing
		if _, err := server.Write(msg('Z', byte('E'))); err != nil {
			t.Fatal(err)
		}
		up.want(client, string(refused)+string(msg('Z', byte('E'))))
		up.send(server, client, append(msg('C', "SELECT 1"), msg('Z', byte('I'))...))
	})
}

// TestShow_IsBounded: as many statements as may be on their way.
func TestShow_IsBounded(t *testing.T) {
	shapes := newShapes()
	for i := range 1000 {
		shapes.of(fmt.Appendf(nil, "SELECT a_name_that_is_long, a%d FROM t", i))
	}
	if n := len(shapes.show()); n > 33<<10 || n < 30<<10 {
		t.Errorf("it has %d bytes", n)
	}
}

// TestShow_CostsOthersNothing: to see that a statement is another one takes no memory.
func TestShow_CostsOthersNothing(t *testing.T) {
	other := msg('Q', "SELECT "+strings.Repeat("x", 500))
	if n := testing.AllocsPerRun(100, func() { _ = isShow(other) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
