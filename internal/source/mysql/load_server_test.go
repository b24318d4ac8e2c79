package mysql

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func TestMariaDB_DocumentIsOneSnapshot(t *testing.T) {
	url := dbtest.MariaDB(t)
	s := openSource(t, url, Options{})
	mustExec(t, s, "CREATE TABLE a (id int PRIMARY KEY, n int)",
		"CREATE TABLE b (id int PRIMARY KEY, a int, n int, KEY (a))",
		"INSERT INTO a VALUES (1, 0)", "INSERT INTO b VALUES (1, 1, 0)")
	p := mustCompile(t, s, &source.Spec{Table: "a", Embeds: []source.Embed{{
		Name: "bs", On: []string{"a"}, Spec: &source.Spec{Table: "b"},
	}}})
	c := foreign(t, url)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			for _, sql := range []string{"BEGIN", fmt.Sprintf("UPDATE a SET n = %d", i),
				fmt.Sprintf("UPDATE b SET n = %d", i), "COMMIT"} {
				if _, err := c.ExecContext(context.Background(), sql); err != nil {
					t.Errorf("%s: %v", sql, err)
					return
				}
			}
		}
	})
	for range 300 {
		l := mustLoad(t, p, "1")[0]
		n, inner := l.Values[1].Int(), l.Values[2].Rows()[0][2].Int()
		if n != inner {
			t.Errorf("the document has %d outside and %d inside", n, inner)
		}
	}
	stop()
	wg.Wait()
}

func TestMariaDB_QueryColumns(t *testing.T) {
	s := newSource(t, "CREATE TABLE t (id int PRIMARY KEY, a tinyint, b bigint unsigned,"+
		" c decimal(5,2), d datetime, e timestamp NULL, f blob, g float, h text, i bit(9), j date)",
		"INSERT INTO t VALUES (1, -1, 18446744073709551615, 1.50, '2024-01-02 03:04:05',"+
			" '2024-01-02 03:04:05', x'00ff', 0.1, 'x', 257, '2024-01-02')")
	p := mustCompile(t, s, &source.Spec{Query: "SELECT *, COUNT(*) OVER () AS k FROM t WHERE id=:id",
		Key: []string{"id"}, Depends: []source.Dep{{Table: "t", Columns: []string{"id"}}}})
	want := `{"id":1,"a":-1,"b":18446744073709551615,"c":1.50,"d":"2024-01-02T03:04:05",` +
		`"e":"2024-01-02T03:04:05Z","f":"AP8=","g":0.1,"h":"x","i":257,"j":"2024-01-02","k":1}`
	if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != want {
		t.Errorf("the query gives\n\t%s\nwant\n\t%s", got, want)
	}
}

func TestMariaDB_QueriesAndViewsMustNameTheirTables(t *testing.T) {
	s := newSource(t, "CREATE TABLE a (id int PRIMARY KEY, n int)",
		"CREATE TABLE b (id int PRIMARY KEY, n int)", "INSERT INTO a VALUES (1, 10)",
		"INSERT INTO b VALUES (1, 20)",
		"CREATE VIEW inner_v AS SELECT id, n FROM b",
		"CREATE VIEW clocks AS SELECT NOW() AS x FROM b",
		"CREATE VIEW v AS SELECT a.id, a.n, inner_v.n AS m FROM a JOIN inner_v ON inner_v.id = a.id",
		"CREATE FUNCTION f(x int) RETURNS int READS SQL DATA RETURN (SELECT n FROM b WHERE id = x)")
	if !dbtest.IsMySQL() {
		mustExec(t, s, "CREATE SEQUENCE sq")
	}
	dep := func(names ...string) (deps []source.Dep) {
		for _, n := range names {
			deps = append(deps, source.Dep{Table: n, Columns: []string{"id"}})
		}
		return deps
	}
	view := &source.Spec{Name: "v", Table: "v", Key: []string{"id"}, Depends: dep("a", "b")}
	p := mustCompile(t, s, view)
	if got, want := jsonOf(p, mustLoad(t, p, "1")[0]), `{"id":1,"n":10,"m":20}`; got != want {
		t.Errorf("the view gives %s, want %s", got, want)
	}
	if _, err := tryWrite(t, p, source.OpDelete, "1", ""); source.ClassOf(err) != source.ReadOnly {
		t.Errorf("write of a view: %v", err)
	}
	tests := []struct {
		spec source.Spec
		want string // in the error; "" for none
	}{
		{source.Spec{Table: "v", Key: []string{"id"}, Depends: dep("a")}, ".b, which depends"},
		{source.Spec{Query: "SELECT id, n FROM a WHERE id = :id", Depends: dep("a")}, ""},
		{source.Spec{Query: "SELECT a.id FROM a, b WHERE a.id = :id", Depends: dep("a")}, ".b, which"},
		{source.Spec{Query: "SELECT id FROM a WHERE id = :id AND n IN (SELECT n FROM `b`)",
			Depends: dep("a")}, ".b, which"},
		{source.Spec{Query: "SELECT id FROM a WHERE id = :id UNION SELECT id FROM v WHERE id = :id",
			Depends: dep("a")}, ".b, which"},
		{source.Spec{Query: "WITH a AS (SELECT id FROM b) SELECT id FROM a WHERE id = :id",
			Depends: dep("a")}, ".b, which"},
		{source.Spec{Query: "SELECT id, f(id) FROM a WHERE id = :id", Depends: dep("a")}, "f()"},
		{source.Spec{Query: "SELECT id, NOW() AS t FROM a WHERE id = :id", Depends: dep("a")}, "now"},
		{source.Spec{Query: "SELECT id, current_date AS t FROM a WHERE id = :id", Depends: dep("a")},
			"current_date"},
		{source.Spec{Query: "SELECT id, RAND() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "rand"},
		{source.Spec{Query: "SELECT id, UUID() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "uuid"},
		{source.Spec{Query: "SELECT id, CONNECTION_ID() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "connection_id"},
		{source.Spec{Query: "SELECT id, CURRENT_USER AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "current_user"},
		{source.Spec{Query: "SELECT id, CURRENT_USER() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "current_user"},
		{source.Spec{Query: "SELECT id, NEXT VALUE FOR sq AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "next"},
		{source.Spec{Query: "SELECT id, PREVIOUS VALUE FOR sq AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "previous"},
		{source.Spec{Query: "SELECT id, LAST_INSERT_ID() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "last_insert_id"},
		{source.Spec{Query: "SELECT id, UNIX_TIMESTAMP() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "unix_timestamp"},
		{source.Spec{Query: "SELECT id, @@server_id AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "@"},
		{source.Spec{Query: "SELECT id, @u AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "@"},
		{source.Spec{Query: "SELECT id, SYSDATE() AS x FROM a WHERE id = :id",
			Depends: dep("a")}, "sysdate"},
		{source.Spec{Query: "SELECT id, (SELECT x FROM clocks LIMIT 1) AS x FROM a WHERE id = :id",
			Depends: dep("a")}, dbtest.MariaOrMySQL("current_timestamp", "now")},
		{source.Spec{Query: "SELECT id, UNIX_TIMESTAMP(n) AS t FROM a WHERE id = :id",
			Depends: dep("a")}, ""},
		{source.Spec{Query: "SELECT id FROM a, mysql.user WHERE id = :id", Depends: dep("a")},
			"mysql.user"},
		{source.Spec{Query: "SELECT id FROM a WHERE id = :id FOR UPDATE", Depends: dep("a")}, "locks"},
		{source.Spec{Query: "SELECT id FROM a WHERE id = :id /*! OR 1 */", Depends: dep("a")},
			"comment"},
		{source.Spec{Query: "SELECT id INTO @x FROM a WHERE id = :id", Depends: dep("a")}, "@"},
		{source.Spec{Query: "SELECT id AS x, n AS X FROM a WHERE id = :id", Depends: dep("a")},
			"Duplicate"},
	}
	for _, tt := range tests {
		if dbtest.IsMySQL() && strings.Contains(tt.spec.Query, "VALUE FOR sq") {
			continue
		}
		tt.spec.Name = "q"
		_, err := s.Compile(t.Context(), &tt.spec)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s%s: %v", tt.spec.Query, tt.spec.Table, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s%s: %v, want %q in it", tt.spec.Query, tt.spec.Table, err, tt.want)
		}
	}
}

func TestMariaDB_CheckWarnsOfScans(t *testing.T) {
	s := newSource(t, "CREATE TABLE user (id varchar(32) PRIMARY KEY, n int, owner int)",
		"INSERT INTO user SELECT seq, seq, seq FROM seq_1_to_500",
		"CREATE TABLE team (id int PRIMARY KEY)")
	tests := []struct {
		spec source.Spec
		want string // in a warning; "" for none
	}{
		{source.Spec{Table: "user"}, ""},
		{source.Spec{Query: "SELECT id, n FROM user WHERE id = :key", Key: []string{"id"},
			Depends: []source.Dep{{Table: "user", Columns: []string{"id"}}}}, ""},
		{source.Spec{Query: "SELECT id, n FROM user WHERE id = :n", // a number: n is one
			Depends: []source.Dep{{Table: "user"}}}, "Cannot use "},
		{source.Spec{Query: "SELECT id, n FROM user WHERE n = :n",
			Depends: []source.Dep{{Table: "user"}}}, "reads all of user"},
		{source.Spec{Table: "team", Embeds: []source.Embed{{Name: "users", On: []string{"owner"},
			Spec: &source.Spec{Table: "user"}}}}, "(owner) without an index"},
	}
	for _, tt := range tests {
		p := mustCompile(t, s, &tt.spec)
		found, err := p.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, f := range found {
			text += f.Text + "\n"
			mustExec(t, s, f.Apply...)
		}
		if tt.want == "" && text != "" || !strings.Contains(text, tt.want) {
			t.Errorf("%s%s: Check says %q, want %q", tt.spec.Query, tt.spec.Table, text, tt.want)
		}
		if again, err := p.Check(t.Context()); err != nil || tt.spec.Table == "team" && len(again) > 0 {
			t.Errorf("after what it asked for, Check says %+v, %v", again, err)
		}
	}
}

func TestMariaDB_SlowStatementEnds(t *testing.T) {
	s := openSource(t, dbtest.MariaDB(t), Options{StatementTimeout: 100 * time.Millisecond})
	// A sleep that the limit ends is no error on MySQL.
	slow := dbtest.MariaOrMySQL("SELECT SLEEP(20)", "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL"+
		" SELECT n + 1 FROM s WHERE n < 900000) SELECT COUNT(*) FROM s AS a JOIN s AS b ON a.n < b.n")
	ctx, cancel := s.begin(t.Context(), 1)
	defer cancel()
	err := s.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, slow, nil, func([]any) error { return nil })
	})
	if source.ClassOf(err) != source.Busy {
		t.Errorf("error %v, want that the database is busy", err)
	}
}

func TestMariaDB_PoolIsBounded(t *testing.T) {
	s := openSource(t, dbtest.MariaDB(t), Options{MaxConns: 1,
		AcquireTimeout: 50 * time.Millisecond})
	mustExec(t, s, "CREATE TABLE t (id int PRIMARY KEY)")
	c, err := (func() (*conn, error) { // the first connection may take longer than the bound
		for {
			if c, err := s.acquire(t.Context()); err == nil || t.Context().Err() != nil {
				return c, err
			}
		}
	})()
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.acquire(t.Context())
	if source.ClassOf(err) != source.Unavailable || !strings.Contains(err.Error(), "no connection") {
		t.Errorf("error %v, want that there is no connection", err)
	}
	if st := s.Stats(); st.Max != 1 || st.InUse != 1 || st.Timeouts == 0 || st.Acquired == 0 {
		t.Errorf("Stats = %+v", st)
	}
	mustExec(t, s, "INSERT INTO t VALUES (1)") // which does not wait for the pool
	c.release()
}

func TestMariaDB_PinnedToOneServer(t *testing.T) {
	s := newSource(t, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	mustLoad(t, p, "1")
	s.Pin("another")
	_, err := p.Load(t.Context(), []row.Key{"1"})
	if source.ClassOf(err) != source.Unavailable || !strings.Contains(err.Error(), "another server") {
		t.Errorf("load from a server that is not the pinned one: %v", err)
	}
}
