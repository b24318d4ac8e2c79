package mysql

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// geometries are a text of each type.
var geometries = map[string]string{
	"point": "POINT(0.1 0.30000000000000004)", "linestring": "LINESTRING(0 0,1 1e300)",
	"polygon":            "POLYGON((0 0,1 0,1 1,0 0))",
	"multipoint":         dbtest.MariaOrMySQL("MULTIPOINT(1 1,2 2)", "MULTIPOINT((1 1),(2 2))"),
	"multilinestring":    "MULTILINESTRING((0 0,1 1),(2 2,3 3))",
	"multipolygon":       "MULTIPOLYGON(((0 0,1 0,1 1,0 0)))",
	"geometrycollection": "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1 1))",
	"geometry":           "POINT(1 2)",
}

func TestMariaDB_GeometryIsWrittenAsItIsRead(t *testing.T) {
	for typ, text := range geometries {
		if dbtest.IsMySQL() { // which knows where the earth ends
			text = strings.ReplaceAll(text, "1e300", "60")
		}
		s := newSource(t, "CREATE TABLE g (id int PRIMARY KEY, n int, v "+typ+", w "+typ+" NOT NULL)",
			fmt.Sprintf("INSERT INTO g VALUES (1, 1, ST_GeomFromText('%[1]s', 4326),"+
				" ST_GeomFromText('%[1]s', 4326))", text))
		p := mustCompile(t, s, &source.Spec{Table: "g"})
		body := jsonOf(p, mustLoad(t, p, "1")[0])
		if !strings.Contains(body, text) {
			t.Fatalf("%s is read as %s", typ, body)
		}
		stored := func() string { return oneText(t, s, "SELECT CONCAT(HEX(v), HEX(w)) FROM g") }
		before := stored()
		for _, op := range []source.Op{source.OpReplace, source.OpMerge} {
			out := mustWrite(t, p, op, "1", strings.Replace(body, `"n":1`, `"n":2`, 1))
			if got := jsonOf(p, out.Loaded); !strings.Contains(got, `"n":2`) || stored() != before {
				t.Errorf("%s: written back as %s, stored as %s, want %s", typ, got, stored(), before)
			}
		}
		mustWrite(t, p, source.OpDelete, "1", "")
		for _, dialect := range bothDialects() {
			p.Dialect = dialect
			out := mustWrite(t, p, source.OpCreate, "", body)
			if got := jsonOf(p, out.Loaded); got != body {
				t.Errorf("%s: made as %s, want %s", typ, got, body)
			}
			mustWrite(t, p, source.OpDelete, "1", "")
		}
	}
}

func TestMariaDB_GeometryThatIsNoneIsRefused(t *testing.T) {
	s := newSource(t, "CREATE TABLE g (id int PRIMARY KEY, v geometry, w point)",
		"INSERT INTO g VALUES (1, ST_GeomFromText('POINT(1 2)', 4326), NULL)")
	p := mustCompile(t, s, &source.Spec{Table: "g"})
	for _, text := range []string{"", "x", "POINT(1 2", "LINESTRING(0 0,1 1)"} {
		for key, op := range map[row.Key]source.Op{"1": source.OpMerge, "2": source.OpReplace} {
			_, err := tryWrite(t, p, op, key, fmt.Sprintf(`{"w":%q}`, text))
			if err == nil || source.ClassOf(err) != source.Invalid {
				t.Errorf("%s/%q: %v", key, text, err)
			}
		}
	}
	mustWrite(t, p, source.OpMerge, "1", `{"v":"POINT(3 4)"}`)
	if got := oneText(t, s, "SELECT CONCAT(ST_AsText(v), ' ', ST_SRID(v)) FROM g"); got !=
		"POINT(3 4) 4326" {
		t.Errorf("changed to %s", got)
	}
	mustWrite(t, p, source.OpMerge, "1", `{"v":null}`)
}

// oneText returns the one value of a query.
func oneText(t *testing.T, s *Source, sql string) string {
	t.Helper()
	var text string
	c, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.release()
	if err := c.QueryRowContext(t.Context(), sql).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMariaDB_DDLBesideReadsIsNoFault reads documents of two tables while the child's
// definition changes: the snapshot that a document is read in may be older than that.
func TestMariaDB_DDLBesideReadsIsNoFault(t *testing.T) {
	s := newSource(t, "CREATE TABLE p (id int PRIMARY KEY)", "INSERT INTO p VALUES (1)",
		"CREATE TABLE c (id int PRIMARY KEY, p int, KEY (p))", "INSERT INTO c VALUES (1, 1)")
	p := mustCompile(t, s, &source.Spec{Table: "p", Embeds: []source.Embed{
		{Name: "c", On: []string{"p"}, Spec: &source.Spec{Table: "c"}}}})
	done := make(chan struct{})
	var wg sync.WaitGroup
	failed := make([]error, 4)
	for i := range failed {
		wg.Go(func() {
			for failed[i] == nil {
				select {
				case <-done:
					return
				default:
				}
				_, err := p.Load(t.Context(), []row.Key{"1"})
				if err != nil && source.ClassOf(err) != source.Retry {
					failed[i] = err
				}
			}
		})
	}
	for i := range 40 {
		mustExec(t, s, []string{"ALTER TABLE c FORCE", "OPTIMIZE TABLE c", "TRUNCATE TABLE c",
			"ALTER TABLE c ADD COLUMN x" + fmt.Sprint(i) + " int"}[i%4])
	}
	close(done)
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			t.Errorf("%v of class %d", err, source.ClassOf(err))
		}
	}
}

func TestClassOf(t *testing.T) {
	tests := []struct {
		number uint16
		state  string
		want   source.Class
	}{
		{1412, "HY000", source.Retry}, {1615, "HY000", source.Retry}, {1213, "40001", source.Retry},
		{1205, "HY000", source.Busy}, {1932, "42S02", source.Unavailable},
		{1416, "22003", source.Invalid}, {1442, "HY000", source.Conflict},
		{1644, "45000", source.Invalid}, {1644, "HY000", source.Invalid}, {1643, "02000", source.Invalid},
		{1365, "22012", source.Invalid}, {1172, "42000", source.Conflict}, {1242, "21000", source.Conflict},
		{1118, "42000", source.TooLarge}, {1449, "HY000", source.Forbidden},
		{1036, "HY000", source.ReadOnly}, {1467, "HY000", source.Full},
		// A trigger may raise any number, with the state of what it means.
		{31001, "45000", source.Invalid}, {31001, "22999", source.Invalid},
		{31001, "23000", source.Conflict}, {31001, "40001", source.Retry},
		{31001, "08S01", source.Unavailable}, {31001, "HY000", source.Internal},
		{3146, "22032", source.Invalid}, {3617, "22S03", source.Invalid}, {1064, "42000", source.Internal},
	}
	for _, tt := range tests {
		my := &driver.MySQLError{Number: tt.number}
		copy(my.SQLState[:], tt.state)
		if got := source.ClassOf(classify(my)); got != tt.want {
			t.Errorf("%d (%s) is of class %d, want %d", tt.number, tt.state, got, tt.want)
		}
	}
}
