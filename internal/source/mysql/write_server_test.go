package mysql

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

func TestMariaDB_ErrorsOfWrites(t *testing.T) {
	s := newSource(t, "CREATE TABLE parent (id int PRIMARY KEY)", "INSERT INTO parent VALUES (1)",
		`CREATE TABLE t (id int PRIMARY KEY, u int UNIQUE, p int REFERENCES parent (id),
			c int CHECK (c > 0), nn int NOT NULL, s varchar(3) CHARACTER SET latin1, b tinyint,
			d date, e enum('a','b'), j json, f decimal(4,2), g int AS (u + 1) STORED)`,
		"CREATE TRIGGER no13 BEFORE INSERT ON t FOR EACH ROW BEGIN"+
			" IF NEW.u = 13 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'unlucky'; END IF; END",
		"INSERT INTO t (id, u, nn) VALUES (1, 1, 1)")
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	tests := []struct {
		body string
		want source.Class
	}{
		{`{"id":1,"nn":1}`, source.Conflict}, {`{"id":2,"u":1,"nn":1}`, source.Conflict},
		{`{"id":2,"p":7,"nn":1}`, source.Conflict}, {`{"id":2,"c":-1,"nn":1}`, source.Invalid},
		{`{"id":2}`, source.Invalid}, {`{"id":2,"nn":null}`, source.Invalid},
		{`{"id":2,"nn":1,"s":"four"}`, source.Invalid}, {`{"id":2,"nn":1,"s":"Ж"}`, source.Invalid},
		{`{"id":2,"nn":1,"b":1000}`, source.Invalid},
		{`{"id":2,"nn":1,"e":"c"}`, source.Invalid}, {`{"id":2,"nn":1,"f":12345}`, source.Invalid},
		{`{"id":2,"nn":99999999999}`, source.Invalid}, {`{"id":2,"nn":1,"u":13}`, source.Invalid},
	}
	for _, tt := range tests {
		_, err := tryWrite(t, p, source.OpCreate, "", tt.body)
		if source.ClassOf(err) != tt.want || err == nil {
			t.Errorf("%s: %v, want class %d", tt.body, err, tt.want)
		}
	}
	// A row that is made anew is as little that of another with the same value.
	_, err := tryWrite(t, p, source.OpReplace, "2", `{"u":1,"nn":1}`)
	if source.ClassOf(err) != source.Conflict {
		t.Errorf("a PUT with another row's value: %v", err)
	}
	// A value that the database computes may be sent back, and is not written.
	out := mustWrite(t, p, source.OpReplace, "1", `{"id":1,"nn":1,"u":5,"g":100}`)
	if got := jsonOf(p, out.Loaded); !strings.Contains(got, `"u":5`) || !strings.Contains(got, `"g":6`) {
		t.Errorf("written %s", got)
	}
	if _, err := tryWrite(t, p, source.OpMerge, "", `{}`); source.ClassOf(err) != source.Invalid {
		t.Errorf("a merge without a key: %v", err)
	}
}

// bothDialects are those that the server understands: MariaDB MySQL's as well.
func bothDialects() []*document.Dialect {
	if dbtest.IsMySQL() {
		return []*document.Dialect{dialectMySQL}
	}
	return []*document.Dialect{dialectMariaDB, dialectMySQL}
}

func TestMariaDB_KeysThatTheDatabaseMakes(t *testing.T) {
	s := newSource(t, "CREATE TABLE a (id int AUTO_INCREMENT PRIMARY KEY, v text)",
		"CREATE TABLE u (id "+dbtest.MariaOrMySQL("uuid DEFAULT uuid()",
			"char(36) DEFAULT (uuid())")+" PRIMARY KEY, v text)",
		"CREATE TABLE tr (id varchar(9) PRIMARY KEY, v text)",
		"CREATE TRIGGER up BEFORE INSERT ON tr FOR EACH ROW SET NEW.id = CONCAT('k', NEW.id)")
	a := mustCompile(t, s, &source.Spec{Table: "a"})
	for i, dialect := range bothDialects() {
		a.Dialect = dialect
		returning := dialect == dialectMariaDB
		out := mustWrite(t, a, source.OpCreate, "", `{"v":"x"}`)
		if want := row.Key("1"); i == 0 && out.Loaded.Key != want || out.Loaded.Key == "" {
			t.Errorf("returning %v: key %q, want %q", returning, out.Loaded.Key, want)
		}
		if out = mustWrite(t, a, source.OpReplace, "0", `{"v":"zero"}`); out.Loaded.Key != "0" {
			t.Errorf("a PUT of 0 has made %s", out.Loaded.Key)
		}
		out = mustWrite(t, a, source.OpCreate, "", `{"id":null,"v":"y"}`)
		if !strings.Contains(jsonOf(a, out.Loaded), `"v":"y"`) {
			t.Errorf("returning %v: written %s", returning, jsonOf(a, out.Loaded))
		}
		out = mustWrite(t, a, source.OpCreate, row.Key([]string{"1000", "2000"}[i]),
			`{"v":"z"}`)
		if !strings.HasSuffix(string(out.Loaded.Key), "000") {
			t.Errorf("returning %v: key %q, want the one that was given", returning, out.Loaded.Key)
		}
	}
	u := mustCompile(t, s, &source.Spec{Table: "u"})
	if !dbtest.IsMySQL() {
		if out := mustWrite(t, u, source.OpCreate, "", `{"v":"x"}`); len(out.Loaded.Key) != 36 {
			t.Errorf("key %q, want a UUID", out.Loaded.Key)
		}
	}
	u.Dialect = dialectMySQL
	if _, err := tryWrite(t, u, source.OpCreate, "", `{"v":"x"}`); err == nil ||
		!strings.Contains(err.Error(), "cannot be told") {
		t.Errorf("a key that a server without RETURNING makes: %v", err)
	}
	tr := mustCompile(t, s, &source.Spec{Table: "tr"})
	if dbtest.IsMySQL() { // which does not say what a trigger has made of the key
		if _, err := tryWrite(t, tr, source.OpCreate, "1", `{}`); err == nil ||
			!strings.Contains(err.Error(), "which was undone") {
			t.Errorf("a row whose key a trigger has changed: %v", err)
		}
	} else if out := mustWrite(t, tr, source.OpCreate, "1", `{}`); out.Loaded.Key != "k1" {
		t.Errorf("key %q, want k1, which the trigger made", out.Loaded.Key)
	}
}

func TestMariaDB_WriteFindsTheRowOfAnotherSpelling(t *testing.T) {
	s := newSource(t, "CREATE TABLE w (id varchar(9) PRIMARY KEY, v text)",
		"INSERT INTO w VALUES ('Bob', 'x')")
	p := mustCompile(t, s, &source.Spec{Table: "w"})
	out := mustWrite(t, p, source.OpReplace, "BOB", `{"v":"y"}`)
	if got := jsonOf(p, out.Loaded); out.Created || got != `{"id":"Bob","v":"y"}` {
		t.Errorf("created %v, written %s", out.Created, got)
	}
	if _, err := tryWrite(t, p, source.OpCreate, "bob", `{}`); source.ClassOf(err) != source.Conflict {
		t.Errorf("created again: %v", err)
	}
	mustWrite(t, p, source.OpDelete, "boB", "")
	if mustLoad(t, p, "Bob")[0].Found() {
		t.Error("the row is still there")
	}
}

func TestMariaDB_DeadlockIsTriedAgain(t *testing.T) {
	url := dbtest.MariaDB(t)
	s := openSource(t, url, Options{})
	mustExec(t, s, "CREATE TABLE parent (id int PRIMARY KEY)", "INSERT INTO parent VALUES (1)",
		"CREATE TABLE t (id int PRIMARY KEY, n int, p int REFERENCES parent (id))",
		"INSERT INTO t VALUES (2, 0, NULL)", "CREATE TABLE ballast (id int)")
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	c := foreign(t, url)
	// What the other program has written makes it the dearer victim.
	run(t, c, "BEGIN", "INSERT INTO ballast SELECT seq FROM seq_1_to_2000",
		"SELECT * FROM parent WHERE id = 1 FOR UPDATE")
	tries, blocked := 0, make(chan error, 1)
	_, err := p.Write(t.Context(), &source.Write{Op: source.OpMerge, Key: "2",
		Input: mustInput(t, p, `{"p":1}`), Check: func(*source.Loaded) error {
			// We hold the row and will want its parent; the other program the reverse.
			if tries++; tries == 1 {
				go func() {
					_, err := c.ExecContext(context.Background(), "UPDATE t SET n = 9 WHERE id = 2")
					if err == nil {
						_, err = c.ExecContext(context.Background(), "ROLLBACK")
					}
					blocked <- err
				}()
				waitForLock(t, s)
			}
			return nil
		}})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v; want 2 and no error", tries, err)
	}
	if err := <-blocked; err != nil {
		t.Errorf("the other program: %v", err)
	}
}

// waitForLock waits until somebody waits for a lock. It asks seldom: InnoDB
// answers from a copy that it makes anew only when nobody has looked for 100 ms.
func waitForLock(t *testing.T, s *Source) {
	t.Helper()
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		c, err := s.controlConn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting := false
		err = c.query(t.Context(), "SELECT 1 FROM "+dbtest.MariaOrMySQL(
			"information_schema.INNODB_LOCK_WAITS", "performance_schema.data_lock_waits")+" LIMIT 1", nil,
			func([]any) error { waiting = true; return nil })
		c.release()
		if err != nil {
			t.Fatal(err)
		}
		if waiting {
			return
		}
	}
	t.Error("nobody waits for a lock")
}

func mustInput(t testing.TB, p *plan, body string) *row.Input {
	t.Helper()
	in, err := p.Shape().DecodeJSON([]byte(body))
	if err != nil {
		t.Error(err)
	}
	return in
}

func TestMariaDB_LockedRowIsBusy(t *testing.T) {
	url := dbtest.MariaDB(t)
	s := openSource(t, url, Options{StatementTimeout: time.Second})
	mustExec(t, s, "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 0)")
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	c := foreign(t, url)
	run(t, c, "BEGIN", "UPDATE t SET n = 1 WHERE id = 1")
	_, err := tryWrite(t, p, source.OpMerge, "1", `{"n":5}`)
	if source.ClassOf(err) != source.Busy {
		t.Errorf("write of a locked row: %v", err)
	}
	run(t, c, "ROLLBACK")
	mustWrite(t, p, source.OpMerge, "1", `{"n":5}`)
}

func TestMariaDB_ReadOnlySource(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup("CREATE TABLE t (id int PRIMARY KEY, n int);",
		"INSERT INTO t VALUES (1, 0);"))
	s := openSource(t, url, Options{ReadOnly: true})
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	if _, err := tryWrite(t, p, source.OpDelete, "1", ""); source.ClassOf(err) != source.ReadOnly {
		t.Errorf("write: %v", err)
	}
	err := s.read(t.Context(), func(ctx context.Context, c *conn) error {
		return c.exec(ctx, "DELETE FROM t")
	})
	if source.ClassOf(err) != source.ReadOnly {
		t.Errorf("a session of a read-only source can write: %v", err)
	}
	mustLoad(t, p, "1")
}

func TestMariaDB_UserWithoutPrivileges(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup("CREATE TABLE t (id int PRIMARY KEY, n int, secret int);",
		"CREATE TABLE hidden (id int PRIMARY KEY);", "INSERT INTO t VALUES (1, 2, 3);"))
	db := databaseOf(url)
	s := openSource(t, userOf(t, url, "reader", "SELECT (id, n) ON "+db+".t",
		"INSERT ON "+db+".hidden"), Options{})
	cat, err := s.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h, ok := cat.Table("hidden"); !ok || !strings.Contains(h.Refused, "SELECT") {
		t.Errorf("hidden = %+v, want that it may not be read", h)
	}
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	if got := jsonOf(p, mustLoad(t, p, "1")[0]); got != `{"id":1,"n":2}` {
		t.Errorf("the document is %s", got)
	}
	if _, err := tryWrite(t, p, source.OpMerge, "1",
		`{"n":1}`); source.ClassOf(err) != source.Forbidden {
		t.Errorf("write: %v", err)
	}
	bad := openSource(t, strings.Replace(userOf(t, url, "wrong"), ":secret@", ":other@", 1), Options{})
	_, err = bad.Catalog(t.Context())
	if source.ClassOf(err) != source.Unavailable || strings.Contains(err.Error(), "other") {
		t.Errorf("a wrong password: %v", err)
	}
}

// databaseOf returns the name of the database of a URL.
func databaseOf(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }

func TestMariaDB_WriteOfARowWhoseKeyATriggerChanges(t *testing.T) {
	s := openSource(t, dbtest.MariaDB(t), Options{})
	mustExec(t, s, "CREATE TABLE t (id int PRIMARY KEY, n int)", "INSERT INTO t VALUES (1, 1)",
		"CREATE TRIGGER away BEFORE UPDATE ON t FOR EACH ROW SET NEW.id = 7")
	p := mustCompile(t, s, &source.Spec{Table: "t"})
	_, err := tryWrite(t, p, source.OpMerge, "1", `{"n":5}`)
	if err == nil || source.ClassOf(err) != source.Conflict {
		t.Errorf("got %v", err)
	}
	if l := mustLoad(t, p, "1"); !l[0].Found() || l[0].Values[1].Int() != 1 {
		t.Errorf("the row is %+v afterwards", l)
	}
}
