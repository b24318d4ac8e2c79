package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// raised has a code of every class of SQLSTATE that a trigger can raise, with the class
// of the error. Internal, for which a client gets a 500, is none of them.
var raised = map[string]source.Class{
	"01000": source.Invalid, "02000": source.Invalid,
	"03000": source.Invalid, "09000": source.Invalid, "0A000": source.Invalid,
	"0B000": source.Invalid, "0F001": source.Invalid, "0L000": source.Invalid,
	"0P000": source.Invalid, "0Z002": source.Invalid, "20000": source.Invalid,
	"21000": source.Invalid, "22012": source.Invalid, "22P02": source.Invalid,
	"22P05": source.Invalid, "23000": source.Conflict, "23001": source.Conflict,
	"23502": source.Invalid, "23503": source.Conflict, "23505": source.Conflict,
	"23514": source.Invalid, "23P01": source.Conflict, "24000": source.Invalid,
	"25001": source.Conflict, "25006": source.ReadOnly, "26000": source.Retry,
	"27000": source.Conflict, "28000": source.Unavailable, "2B000": source.Invalid,
	"2D000": source.Invalid, "2F003": source.Invalid, "34000": source.Invalid,
	"38002": source.Invalid, "39P01": source.Invalid, "3B001": source.Invalid,
	"3D000": source.Unavailable, "3F000": source.Conflict, "40001": source.Retry,
	"40002": source.Retry, "40P01": source.Retry, "42501": source.Forbidden,
	"42601": source.Conflict, "42703": source.Conflict, "42804": source.Conflict,
	"42883": source.Conflict, "42P01": source.Conflict, "42P10": source.Conflict,
	"44000": source.Invalid, "53000": source.Busy, "53100": source.Full,
	"53200": source.Busy, "53300": source.Unavailable, "54000": source.Invalid,
	"54001": source.Invalid, "55000": source.Busy, "55006": source.Busy,
	"55P03": source.Busy, "57014": source.Busy, "57P03": source.Unavailable,
	"58030": source.Busy, "72000": source.Retry, "F0000": source.Conflict,
	"HV000": source.Busy, "P0001": source.Invalid, "P0002": source.Invalid,
	"P0003": source.Invalid, "P0004": source.Invalid, "XX000": source.Busy,
	"XX001": source.Conflict, "ZZ123": source.Invalid, "AB000": source.Invalid,
}

func TestPostgres_WhatATriggerRaises(t *testing.T) {
	s := newSource(t, `CREATE TABLE r (id int PRIMARY KEY, code text)`,
		`INSERT INTO r VALUES (1, '')`, `CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN RAISE EXCEPTION ''told to whoever writes'' USING ERRCODE = NEW.code; END'`,
		`CREATE TRIGGER raise BEFORE UPDATE ON r FOR EACH ROW EXECUTE FUNCTION raise()`)
	p := mustCompile(t, s, &source.Spec{Name: "r", Table: "r"})
	for code, want := range raised {
		_, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1",
			Input: input(t, p, `{"code":"`+code+`"}`)})
		var e *source.Error
		if !errors.As(err, &e) || e.Class != want || e.Code != code ||
			e.Message != "told to whoever writes" {
			t.Errorf("%s: %v, class %d, want %d", code, err, source.ClassOf(err), want)
		}
	}
}

// trigger returns statements that make a trigger on table t whose body is given.
func trigger(when, body string) []string {
	return []string{"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN " + body + " END$$",
		"CREATE TRIGGER f " + when + " ON t FOR EACH ROW EXECUTE FUNCTION f()"}
}

func TestPostgres_WhatATriggerDoes(t *testing.T) {
	t.Parallel()
	const table = `CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)`
	tests := []struct {
		name string
		make []string
		op   source.Op
		want source.Class
		text string // in the message
	}{
		{"changes the key of an update", trigger("BEFORE UPDATE", "NEW.id := 7; RETURN NEW;"),
			source.OpReplace, source.Conflict, "changes its key"},
		{"changes the key of a merge", trigger("BEFORE UPDATE", "NEW.id := 7; RETURN NEW;"),
			source.OpMerge, source.Conflict, "changes its key"},
		{"deletes the row that is updated", trigger("AFTER UPDATE",
			"DELETE FROM t WHERE id = NEW.id; RETURN NULL;"), source.OpReplace, source.Conflict, "deletes"},
		{"deletes the row that is made", trigger("AFTER INSERT",
			"DELETE FROM t WHERE id = NEW.id; RETURN NULL;"), source.OpCreate, source.Conflict, "deletes"},
		{"swallows the row that is made", trigger("BEFORE INSERT", "RETURN NULL;"),
			source.OpCreate, source.Conflict, "has not made the row"},
		{"changes the key of what is made", trigger("BEFORE INSERT", "NEW.id := 7; RETURN NEW;"),
			source.OpCreate, noError, ""},
		{"swallows the update", trigger("BEFORE UPDATE", "RETURN NULL;"), source.OpReplace, noError, ""},
		{"swallows the delete", trigger("BEFORE DELETE", "RETURN NULL;"), source.OpDelete, noError, ""},
		{"updates its own row first", trigger("BEFORE UPDATE",
			"IF pg_trigger_depth() = 1 THEN UPDATE t SET n = 9 WHERE id = NEW.id; END IF; RETURN NEW;"),
			source.OpReplace, source.Conflict, "already modified"},
		{"never ends", trigger("BEFORE UPDATE", "UPDATE t SET n = n + 1; RETURN NEW;"),
			source.OpReplace, source.Invalid, "stack depth"},
		{"has a mistake", trigger("BEFORE UPDATE", "PERFORM nothing(); RETURN NEW;"),
			source.OpReplace, source.Conflict, "nothing()"},
		{"reads a table that is gone", trigger("BEFORE UPDATE", "PERFORM 1 FROM gone; RETURN NEW;"),
			source.OpReplace, source.Conflict, "gone"},
		{"asserts", trigger("BEFORE UPDATE", "ASSERT false, 'never'; RETURN NEW;"),
			source.OpReplace, source.Invalid, "never"},
		{"divides by nothing", trigger("BEFORE UPDATE", "NEW.n := 1 / 0; RETURN NEW;"),
			source.OpReplace, source.Invalid, "division"},
		{"finds two rows", trigger("BEFORE UPDATE",
			"NEW.n := (SELECT i FROM generate_series(1, 2) i); RETURN NEW;"),
			source.OpReplace, source.Invalid, "more than one row"},
		{"commits", trigger("BEFORE UPDATE", "COMMIT; RETURN NEW;"), source.OpReplace, source.Invalid,
			"invalid transaction termination"},
		{"returns nothing", trigger("BEFORE UPDATE", "NULL;"), source.OpReplace, source.Invalid, "RETURN"},
		{"reads a value that is none", trigger("BEFORE UPDATE",
			"NEW.n := ('infinity'::numeric)::int; RETURN NEW;"), source.OpReplace, source.Invalid, "infinity"},
		{"sleeps", trigger("BEFORE UPDATE", "PERFORM pg_sleep(60); RETURN NEW;"), source.OpReplace,
			source.Busy, "timeout"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := openSource(t, dbtest.Postgres(t), Options{StatementTimeout: waittest.Limit(time.Second)})
			mustExec(t, s, append(strings.Split(table, "; "), tt.make...)...)
			p := mustCompile(t, s, &source.Spec{Name: "t", Table: "t"})
			w := &source.Write{Op: tt.op, Key: "1"}
			if tt.op == source.OpCreate {
				w.Key = "2"
			}
			if tt.op != source.OpDelete {
				w.Input = input(t, p, `{"n":2}`)
			}
			done, err := p.Write(t.Context(), w)
			if tt.want == noError {
				if err != nil || tt.op != source.OpDelete && !done.Loaded.Found() {
					t.Errorf("got %+v, %v", done, err)
				}
				return
			}
			if source.ClassOf(err) != tt.want || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, class %d, want class %d with %q", err, source.ClassOf(err), tt.want,
					tt.text)
			}
			if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != `{"id":1,"n":1}` {
				t.Errorf("the row is %s afterwards", got)
			}
		})
	}
}

// noError marks what succeeds.
const noError = source.Class(255)

func TestPostgres_LocksAndTimesAreBusy(t *testing.T) {
	url := dbtest.Postgres(t)
	s := openSource(t, url, Options{StatementTimeout: 2 * time.Second})
	mustExec(t, s, scott...)
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	for _, lock := range []string{"SELECT 1 FROM dept WHERE deptno = 10 FOR UPDATE",
		"LOCK TABLE dept IN ACCESS EXCLUSIVE MODE"} {
		// The setting stays with the database until it is reset: the order matters.
		for _, tt := range []struct{ code, set string }{
			{"57014", "SELECT 1"}, // the time for a statement
			{"55P03", "ALTER DATABASE " + pgx.Identifier{s.cfg.ConnConfig.Database}.Sanitize() +
				" SET lock_timeout = '200ms'"},
		} {
			mustExec(t, s, tt.set)
			fresh := openSource(t, url, Options{StatementTimeout: 2 * time.Second})
			writer := mustCompile(t, fresh, deptSpec())
			if _, err := other.Exec(t.Context(), "BEGIN; "+lock); err != nil {
				t.Fatal(err)
			}
			_, err := writer.Write(t.Context(), &source.Write{Op: source.OpMerge, Key: "10",
				Input: input(t, writer, `{"deptLocation":"X"}`)})
			var e *source.Error
			if !errors.As(err, &e) || e.Class != source.Busy || e.Code != tt.code || e.After == 0 {
				t.Errorf("%s: write: %v, want %s and class Busy", lock, err, tt.code)
			}
			if _, err := other.Exec(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		mustExec(t, s, "ALTER DATABASE "+pgx.Identifier{s.cfg.ConnConfig.Database}.Sanitize()+
			" RESET lock_timeout")
	}
}

func TestPostgres_WritesWhileATableChanges(t *testing.T) {
	t.Parallel()
	const begin = `CREATE TYPE mood AS ENUM ('sad'); CREATE TABLE t (id int PRIMARY KEY, n int, m mood);
		INSERT INTO t VALUES (1, 1, 'sad')`
	tests := []struct {
		ddl  string
		want source.Class
	}{
		{"ALTER TABLE t ADD COLUMN more int", noError},
		{"ALTER TABLE t ALTER n TYPE bigint", noError},
		{"ALTER TABLE t ALTER n TYPE text", source.Busy},
		{"ALTER TABLE t ALTER n TYPE int[] USING ARRAY[n]", source.Busy},
		{"ALTER TABLE t ALTER id TYPE text", source.Missing},
		{"ALTER TABLE t DROP COLUMN n", source.Missing},
		{"ALTER TABLE t RENAME n TO k", source.Missing},
		{"ALTER TABLE t RENAME TO u", source.Missing},
		{"DROP TABLE t", source.Missing},
		{"DROP TABLE t; CREATE VIEW t AS SELECT 1 AS id, 1 AS n, 'sad'::mood AS m", source.Missing},
		{"ALTER TYPE mood RENAME TO humour", noError}, // the statements are prepared
		{"DROP TYPE mood CASCADE", source.Missing},
		{"ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", source.Invalid},
		{"ALTER TABLE t ALTER n SET NOT NULL; ALTER TABLE t ADD CHECK (n < 2)", source.Invalid},
		{"ALTER TABLE t DROP COLUMN n; ALTER TABLE t ADD n int GENERATED ALWAYS AS (id) STORED",
			source.Invalid},
		{"REVOKE ALL ON t FROM PUBLIC", noError},
		{"CREATE RULE r AS ON UPDATE TO t DO INSTEAD NOTHING", noError},
		{"ALTER TABLE t ENABLE ROW LEVEL SECURITY", noError},
		{"ALTER TABLE t REPLICA IDENTITY NOTHING; CREATE PUBLICATION p FOR TABLE t", source.Busy},
	}
	for _, tt := range tests {
		t.Run(tt.ddl, func(t *testing.T) {
			t.Parallel()
			s := newSource(t, strings.Split(begin, ";")...)
			p := mustCompile(t, s, &source.Spec{Name: "t", Table: "t"})
			write := func(body string) error {
				_, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: row.Key("1"),
					Input: input(t, p, body)})
				return err
			}
			for range 3 { // the statements are prepared
				if err := write(`{"n":1,"m":"sad"}`); err != nil {
					t.Fatal(err)
				}
			}
			mustExec(t, s, strings.Split(tt.ddl, "; ")...)
			err := write(`{"n":2,"m":"sad"}`)
			if tt.want == noError && err == nil {
				return
			}
			if err == nil || source.ClassOf(err) != tt.want {
				t.Errorf("%v, class %d, want %d", err, source.ClassOf(err), tt.want)
			}
		})
	}
}

func TestPostgres_WriteThatSaysTooLittle(t *testing.T) {
	s := newSource(t, scott...)
	p := mustCompile(t, s, deptSpec())
	for name, w := range map[string]*source.Write{
		"no document":  {Op: source.OpReplace, Key: "10"},
		"nor a key":    {Op: source.OpCreate},
		"no key":       {Op: source.OpReplace, Input: input(t, p, `{"deptName":"X"}`)},
		"only a body":  {Op: source.OpMerge, Input: input(t, p, `{"deptNumber":10}`)},
		"nothing gone": {Op: source.OpDelete},
	} {
		if _, err := p.Write(t.Context(), w); source.ClassOf(err) != source.Invalid || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
