package postgres

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestPostgres_CommitWithoutAnAnswerIsUnknown(t *testing.T) {
	s := newSource(t, `CREATE TABLE x (id int PRIMARY KEY)`,
		`CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'`,
		`CREATE CONSTRAINT TRIGGER die AFTER INSERT ON x DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION die()`)
	p := mustCompile(t, s, &source.Spec{Name: "x", Table: "x"})
	p.late.asked.Store(math.MaxInt64) // as if the trigger had come since: COMMIT runs it
	tries := 0
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpCreate,
		Input: input(t, p, `{"id":1}`),
		Touch: func([]source.Change, source.Position) { tries++ }})
	var e *source.Error
	if !errors.As(err, &e) || e.Class != source.Unknown || tries != 1 {
		t.Errorf("got %v after %d tries", err, tries)
	}
}

func TestPostgres_CommitThatHangsIsUnknown(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, nil)
	s := openSource(t, server.URL(), Options{})
	mustExec(t, s, "CREATE TABLE x (id int PRIMARY KEY)")
	p := mustCompile(t, s, &source.Spec{Name: "x", Table: "x"})
	ghosts(t, server, "ghost")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, failed := input(t, p, `{"id":1}`), make(chan error, 1)
	go func() {
		_, err := p.Write(ctx, &source.Write{Op: source.OpCreate, Input: in})
		failed <- err
	}()
	admin := feedConn(t, server.URL())
	await(t, "hold the commit", func() bool { return holds(t, admin, nil) })
	cancel()
	if err := <-failed; source.ClassOf(err) != source.Unknown {
		t.Errorf("got %v", err)
	}
	// It had been committed, as far as this server goes.
	await(t, "the row to be there", func() bool {
		found, err := p.Load(t.Context(), []row.Key{"1"})
		return err == nil && found[0].Found()
	})
}

func TestPostgres_WriteLeavesRowsOfHeirsAlone(t *testing.T) {
	s := newSource(t, `CREATE TABLE a (id int PRIMARY KEY, n int)`,
		`CREATE TABLE b (PRIMARY KEY (id)) INHERITS (a)`, `INSERT INTO a VALUES (1, 1), (2, 2)`,
		`INSERT INTO b VALUES (1, 10), (2, 20)`)
	a := mustCompile(t, s, &source.Spec{Name: "a", Table: "a"})
	b := mustCompile(t, s, &source.Spec{Name: "b", Table: "b"})
	for _, w := range []*source.Write{
		{Op: source.OpMerge, Key: "1", Input: input(t, a, `{"n":5}`)}, {Op: source.OpDelete, Key: "2"},
	} {
		w.Touch = func([]source.Change, source.Position) {}
		if _, err := a.Write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[row.Key]string{"1": `{"id":1,"n":10}`, "2": `{"id":2,"n":20}`} {
		got := mustLoad(t, b, key)[0]
		if !got.Found() || jsonOf(b, got) != want {
			t.Errorf("the heir's row %s: found %v, want %s", key, got.Found(), want)
		}
	}
}

func TestPostgres_DeferredConstraintFailsTheCommit(t *testing.T) {
	s := newSource(t, `CREATE TABLE a (id int PRIMARY KEY)`,
		`CREATE TABLE b (id int PRIMARY KEY, a int REFERENCES a DEFERRABLE INITIALLY DEFERRED)`)
	p := mustCompile(t, s, &source.Spec{Name: "b", Table: "b"})
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpCreate,
		Input: input(t, p, `{"id":1,"a":9}`)})
	if source.ClassOf(err) != source.Conflict {
		t.Errorf("got %v", err)
	}
}

func TestPostgres_PositionIncludesTheWrite(t *testing.T) {
	s := newSource(t, `CREATE TABLE x (id int PRIMARY KEY, n int)`)
	p := mustCompile(t, s, &source.Spec{Name: "x", Table: "x"})
	conn, err := pgx.Connect(t.Context(), s.cfg.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	end := func() (lsn int64) {
		t.Helper()
		err := conn.QueryRow(t.Context(), "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), "+
			"'0/0')::bigint").Scan(&lsn)
		if err != nil {
			t.Fatal(err)
		}
		return lsn
	}
	for _, commit := range []string{"on", "off"} {
		mustExec(t, s, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = "+
			""+commit+
			"', current_database()); END $$")
		s.pool.Reset()
		var before source.Position
		done, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1",
			Input: input(t, p,
				`{"n":1}`), Touch: func([]source.Change, source.Position) { before = source.Position(end()) }})
		if err != nil {
			t.Fatal(err)
		}
		// The commit record is written after Touch.
		if done.Position <= before {
			t.Errorf("synchronous_commit=%s: position %d, but %d before the commit", commit,
				done.Position, before)
		}
	}
}

// A replace that finds no row, while another session is making it, becomes an
// update of that row.
func TestPostgres_ReplaceRacesWithACreate(t *testing.T) {
	s := newSource(t, `CREATE TABLE x (id int PRIMARY KEY, n int)`)
	p := mustCompile(t, s, &source.Spec{Name: "x", Table: "x"})
	other := mustCompile(t, s, &source.Spec{Name: "x", Table: "x"})
	calls := 0
	done, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1",
		Input: input(t, p, `{"n":2}`),
		Check: func(l *source.Loaded) error {
			if calls++; calls > 1 {
				return nil
			}
			_, err := other.Write(t.Context(), &source.Write{Op: source.OpCreate, Key: "1",
				Input: input(t, p, `{"n":1}`)})
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	if got := jsonOf(p, done.Loaded); got != `{"id":1,"n":2}` || done.Created || calls != 2 {
		t.Errorf("got %s, created %v, %d tries", got, done.Created, calls)
	}
}

func TestPostgres_WriteOfCompositeAndWideKeys(t *testing.T) {
	s := newSource(t, `CREATE TABLE city (name text, state char(2), n int, PRIMARY KEY (state, `+
		`name))`,
		`CREATE EXTENSION citext`, `CREATE TABLE ci (k citext PRIMARY KEY, n int)`)
	city := mustCompile(t, s, &source.Spec{Name: "city", Table: "city"})
	ci := mustCompile(t, s, &source.Spec{Name: "ci", Table: "ci"})
	tests := []struct {
		p    *plan
		op   source.Op
		key  row.Key
		body string
		want string
	}{
		{city, source.OpReplace, "OK,a%2Cb", `{"n":1}`, `{"name":"a,b","state":"OK","n":1}`},
		{city, source.OpMerge, "OK,a%2Cb", `{"n":2}`, `{"name":"a,b","state":"OK","n":2}`},
		{ci, source.OpCreate, "", `{"k":"Foo","n":1}`, `{"k":"Foo","n":1}`},
		{ci, source.OpMerge, "fOO", `{"n":2}`, `{"k":"Foo","n":2}`},
		{ci, source.OpReplace, "fOO", `{"k":"Foo","n":3}`, `{"k":"Foo","n":3}`},
	}
	for _, tt := range tests {
		done, err := tt.p.Write(t.Context(), &source.Write{Op: tt.op, Key: tt.key,
			Input: input(t, tt.p, tt.body)})
		if err != nil {
			t.Errorf("%s %s: %v", tt.key, tt.body, err)
			continue
		}
		if got := jsonOf(tt.p, done.Loaded); got != tt.want {
			t.Errorf("%s %s: got %s", tt.key, tt.body, got)
		}
	}
}

func TestPostgres_ExecRunsSomeStatementsAlone(t *testing.T) {
	s := newSource(t, `CREATE TABLE x (id int)`, `CREATE INDEX CONCURRENTLY x_id ON x (id)`,
		`INSERT INTO x VALUES (1)`, `DROP INDEX CONCURRENTLY x_id`, `VACUUM x`)
	if err := s.Exec(t.Context(), "INSERT INTO x VALUES (2)",
		"INSERT INTO nowhere VALUES (3)"); source.ClassOf(err) != source.Missing {
		t.Errorf("got %v", err)
	}
	conn, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM x").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows, %v: a transaction that failed has left some", n, err)
	}
}
