package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// compile returns the plan of spec.
func compile(t testing.TB, s *Source, spec *source.Spec) source.Plan {
	t.Helper()
	if spec.Name == "" {
		spec.Name = spec.Table
	}
	p, err := s.Compile(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// load returns the key and the document that a key asks for; "" for none.
func load(t testing.TB, p source.Plan, key row.Key) (row.Key, string) {
	t.Helper()
	out, err := p.Load(context.Background(), []row.Key{key})
	if err != nil {
		t.Fatalf("Load(%q): %v", key, err)
	}
	if !out[0].Found() {
		return "", ""
	}
	return out[0].Key, string(p.Shape().AppendJSON(nil, out[0].Values))
}

var oddTables = []string{
	"CREATE TABLE nocase (id text COLLATE NOCASE PRIMARY KEY, v integer)",
	"CREATE TABLE padded (id text COLLATE RTRIM PRIMARY KEY, v integer)",
	"CREATE TABLE amount (id decimal(9,2) PRIMARY KEY, v integer)",
	"CREATE TABLE day (id date PRIMARY KEY, v integer)",
	"CREATE TABLE raw (id blob PRIMARY KEY, v integer)",
	"CREATE TABLE flag (id boolean PRIMARY KEY, v integer)",
	"CREATE TABLE without (a text, b integer, v text, PRIMARY KEY (b, a)) WITHOUT ROWID",
	"CREATE TABLE down (id integer PRIMARY KEY DESC, v text)",
	"CREATE TABLE gen (id integer PRIMARY KEY, a integer, twice integer AS (a * 2), " +
		"half integer AS (a / 2) STORED)",
	"CREATE TABLE untyped (id PRIMARY KEY, v)",
	"CREATE VIRTUAL TABLE search USING fts5 (body)",
	"CREATE VIEW seen AS SELECT id, v FROM nocase",
	"CREATE TABLE hotrow_own (id integer PRIMARY KEY)",
	"CREATE TABLE half (id integer PRIMARY KEY, u text, deleted integer)",
	"CREATE UNIQUE INDEX half_u ON half (u) WHERE deleted IS NULL",
	"CREATE TABLE full (id integer PRIMARY KEY, u text UNIQUE, v text)",
	"INSERT INTO nocase VALUES ('Abc', 1)",
	"INSERT INTO padded VALUES ('abc  ', 1)",
	"INSERT INTO amount VALUES (1.50, 1)",
	"INSERT INTO day VALUES ('1981-06-09', 1), ('soon', 2)",
	"INSERT INTO raw VALUES (x'00ff', 1), ('text', 2)",
	"INSERT INTO flag VALUES (1, 1)",
	"INSERT INTO without VALUES ('x', 1, 'one'), ('y', 1, 'two')",
	"INSERT INTO down VALUES (1, 'a'), (2, 'b'), ('three', 'c'), (NULL, 'd')",
	"INSERT INTO gen (id, a) VALUES (1, 8)",
	"INSERT INTO full VALUES (1, 'one', 'x'), (2, NULL, 'y')",
}

func TestCatalog_OddTables(t *testing.T) {
	path, _ := newFile(t, "WAL", oddTables...)
	s := openTest(t, path, Options{})
	cat, err := s.Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused := make(map[string]string)
	for _, tab := range cat.Tables {
		if tab.Refused != "" {
			refused[tab.Name] = tab.Refused
		}
		if strings.HasPrefix(tab.Name, "search_") || strings.HasPrefix(tab.Name, "hotrow_") {
			t.Errorf("the catalogue has %s", tab.Name)
		}
	}
	want := map[string]string{
		"untyped": "key column id has no type",
		"search":  "a virtual table: its changes cannot be followed",
		"seen":    "a view has no key of its own: use a query",
	}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	for name, reason := range want {
		if _, err := s.Compile(t.Context(), &source.Spec{Name: "x", Table: name}); err == nil ||
			!strings.Contains(err.Error(), reason) {
			t.Errorf("Compile(%s) = %v, want %q", name, err, reason)
		}
	}
	gen, _ := cat.Table("gen")
	if c, _ := gen.Column("twice"); !c.Generated {
		t.Error("gen.twice is not generated")
	}
	if without, _ := cat.Table("without"); !slices.Equal(without.Key, []string{"b", "a"}) {
		t.Errorf("key of without = %v, want b, a", without.Key)
	}
}

func TestPlan_OddKeys(t *testing.T) {
	path, _ := newFile(t, "WAL", oddTables...)
	s := openTest(t, path, Options{})
	tests := []struct {
		table      string
		asked, key row.Key
		wide       bool
		want       string
	}{
		{"nocase", "aBC", "Abc", true, `{"id":"Abc","v":1}`},
		{"padded", "abc", "abc  ", true, `{"id":"abc  ","v":1}`},
		{"amount", "1.50", "1.5", true, `{"id":1.5,"v":1}`},
		{"day", "1981-06-09", "1981-06-09", true, `{"id":"1981-06-09","v":1}`},
		{"day", "soon", "soon", true, `{"id":"soon","v":2}`},
		{"raw", "00FF", "00ff", false, `{"id":"AP8=","v":1}`},
		{"flag", "yes", "true", true, `{"id":true,"v":1}`},
		{"without", "1,y", "1,y", false, `{"a":"y","b":1,"v":"two"}`},
		{"down", "2", "2", false, `{"id":2,"v":"b"}`},
		{"gen", "1", "1", false, `{"id":1,"a":8,"twice":16,"half":4}`},
	}
	for _, test := range tests {
		p := compile(t, s, &source.Spec{Table: test.table})
		if p.KeyType().Wide() != test.wide {
			t.Errorf("%s: Wide = %v, want %v", test.table, p.KeyType().Wide(), test.wide)
		}
		if key, doc := load(t, p, test.asked); key != test.key || doc != test.want {
			t.Errorf("%s %s = %q %s, want %q %s",
				test.table, test.asked, key, doc, test.key, test.want)
		}
	}
	p := compile(t, s, &source.Spec{Table: "down"})
	for limit := 1; limit < 4; limit++ {
		var got []row.Key
		var after *row.Key
		for {
			out, err := p.List(t.Context(), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range out {
				got = append(got, l.Key)
			}
			if len(out) < limit {
				break
			}
			after = &got[len(got)-1]
		}
		if !slices.Equal(got, []row.Key{"1", "2"}) {
			t.Errorf("list by %d = %v, want the keys that are integers", limit, got)
		}
	}
	many, err := compile(t, s, &source.Spec{Table: "nocase"}).
		Load(t.Context(), []row.Key{"ABC", "x", "abc"})
	if err != nil || many[0].Key != "Abc" || many[1].Found() || many[2].Key != "Abc" {
		t.Errorf("many wide keys: %+v, %v", many, err)
	}
}

func TestPlan_KeyThatIsNotThePrimary(t *testing.T) {
	path, _ := newFile(t, "WAL", oddTables...)
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "full", Key: []string{"u"}})
	if key, doc := load(t, p, "one"); key != "one" || doc != `{"id":1,"u":"one","v":"x"}` {
		t.Errorf("one = %q %s", key, doc)
	}
	want := []source.Dep{{Table: "full", Columns: []string{"u"}, Identity: []string{"id"},
		KnowsOld: true}}
	if diff := cmp.Diff(want, p.Deps()); diff != "" {
		t.Errorf("deps (-want +got):\n%s", diff)
	}
	out, err := p.List(t.Context(), nil, 10)
	if err != nil || len(out) != 1 {
		t.Fatalf("list = %+v, %v, want the one row with a key", out, err)
	}
	if diff := cmp.Diff([]source.Child{{Table: "full", ID: "1"}}, out[0].Children); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	spec := &source.Spec{Name: "half", Table: "half", Key: []string{"u"}}
	if _, err := s.Compile(t.Context(), spec); err == nil ||
		!strings.Contains(err.Error(), "not unique") {
		t.Errorf("a partial index was taken for a key: %v", err)
	}
}

// TestPlan_LooseReferences checks children whose column compares with the
// parent's key by more than its text: their changes count as the table's.
func TestPlan_LooseReferences(t *testing.T) {
	path, _ := newFile(t, "WAL",
		"CREATE TABLE p (id text PRIMARY KEY)",
		"CREATE TABLE n (id text COLLATE NOCASE PRIMARY KEY)",
		"CREATE TABLE c (id integer PRIMARY KEY, num integer, txt text, "+
			"nocase text COLLATE NOCASE)",
		"INSERT INTO p VALUES ('7'), ('07'), ('a')", "INSERT INTO n VALUES ('A')",
		"INSERT INTO c VALUES (1, 7, '7', 'a'), (2, 7, '07', 'A')")
	s := openTest(t, path, Options{})
	tests := []struct {
		table, on string
		key       row.Key
		columns   []string
		want      string
	}{
		{"p", "num", "07", nil, `{"id":"07","cs":[{"id":1},{"id":2}]}`},
		{"p", "txt", "07", []string{"txt"}, `{"id":"07","cs":[{"id":2}]}`},
		{"p", "nocase", "a", nil, `{"id":"a","cs":[{"id":1},{"id":2}]}`},
		{"n", "nocase", "a", nil, `{"id":"A","cs":[{"id":1},{"id":2}]}`},
	}
	for _, test := range tests {
		p := compile(t, s, &source.Spec{Table: test.table, Embeds: []source.Embed{{
			Name: "cs", On: []string{test.on},
			Spec: &source.Spec{Table: "c", Only: true,
				Fields: map[string]source.FieldSpec{"id": {}}},
		}}})
		if _, doc := load(t, p, test.key); doc != test.want {
			t.Errorf("%s on %s = %s, want %s", test.table, test.on, doc, test.want)
		}
		if dep := p.Deps()[1]; dep.Table != "c" || !slices.Equal(dep.Columns, test.columns) {
			t.Errorf("%s on %s: dep %+v, want columns %v", test.table, test.on, dep, test.columns)
		}
	}
}

func TestPlan_QueryChecks(t *testing.T) {
	path, _ := newFile(t, "WAL", append(oddTables, childSchema...)...)
	s := openTest(t, path, Options{})
	child := []source.Dep{{Table: "child", Columns: []string{"id"}}}
	tests := []struct {
		query, key string
		deps       []source.Dep
		want       string // in the error; "" for none
	}{
		{"SELECT id, code FROM child WHERE id = :key", "id", child, ""},
		{"SELECT id, code FROM child WHERE id = :id;", "id", child, ""},
		{"SELECT code FROM child WHERE id = :key -- :not\n/* :nor */", "id", child, ""},
		{"SELECT id, ':x' AS x FROM child WHERE id = :key", "id", child, ""},
		{"SELECT id, v FROM seen WHERE id = :key", "id",
			[]source.Dep{{Table: "nocase", Columns: []string{"id"}}}, ""},
		{"SELECT id, v FROM seen WHERE id = :key", "id", child, "reads nocase"},
		{"SELECT v FROM nocase WHERE id = :key", "id",
			[]source.Dep{{Table: "nocase", Columns: []string{"id"}}}, "select it in the query"},
		{"SELECT id FROM child WHERE id = :other", "id", child, ":other"},
		{"SELECT id FROM child WHERE id = ?", "id", child, ":key"},
		{"SELECT id FROM child WHERE id = ?1", "id", child, ":key"},
		{"SELECT id + 1 AS k FROM child WHERE id = :key", "k", []source.Dep{{Table: "child"}},
			"type of \"k\""},
		{"SELECT id FROM child, sqlite_schema WHERE id = :key", "id", child, "sqlite"},
		{"SELECT rowid AS id FROM search WHERE search MATCH :key", "id", child, "search"},
		{"WITH x AS (DELETE FROM child) SELECT :key AS id", "id", child, "DELETE"},
		{"ATTACH 'x.db' AS x /* :key */", "id", child, "key"},
		{"PRAGMA user_version = :key", "id", child, "syntax"},
		{"SELECT id FROM child WHERE id = :key) UNION SELECT (1", "id", child, "syntax"},
	}
	for _, test := range tests {
		spec := &source.Spec{Name: "q", Query: test.query, Key: []string{test.key},
			Depends: test.deps}
		p, err := s.Compile(t.Context(), spec)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.query, err)
		case test.want == "":
			if _, err := p.Load(t.Context(), []row.Key{"1"}); err != nil {
				t.Errorf("%s: Load: %v", test.query, err)
			}
		case err == nil || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: %v, want %q", test.query, err, test.want)
		}
	}
	p := compile(t, s, &source.Spec{Name: "q", Key: []string{"parent"}, Depends: []source.Dep{
		{Table: "child", Columns: []string{"parent"}}},
		Query: "SELECT parent, id FROM child WHERE parent = :key OR :key = 99"})
	if _, err := p.Load(t.Context(), []row.Key{"99"}); err == nil ||
		!strings.Contains(err.Error(), "more than one row") {
		t.Errorf("a query of several rows: %v", err)
	}
}

func TestPlan_Check(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE p (id integer PRIMARY KEY)",
		"CREATE TABLE c (id integer PRIMARY KEY, p integer, t text)")
	s := openTest(t, path, Options{})
	spec := func(on string) *source.Spec {
		return &source.Spec{Table: "p", Embeds: []source.Embed{{Name: "cs", On: []string{on},
			Spec: &source.Spec{Table: "c"}}}}
	}
	p := compile(t, s, spec("p"))
	findings, err := p.Check(t.Context())
	if err != nil || len(findings) != 1 || findings[0].Text != "no index on c(p)" {
		t.Fatalf("Check = %+v, %v", findings, err)
	}
	if err := s.Exec(t.Context(), findings[0].Apply...); err != nil {
		t.Fatal(err)
	}
	if findings, err := p.Check(t.Context()); err != nil || len(findings) != 0 {
		t.Errorf("with the index: %+v, %v", findings, err)
	}
	if err := s.Exec(t.Context(), findings[0].Remove...); err != nil {
		t.Error(err)
	}
	findings, err = compile(t, s, spec("t")).Check(t.Context())
	if err != nil || len(findings) != 2 || findings[1].Level != source.LevelInfo {
		t.Errorf("a reference of another type: %+v, %v", findings, err)
	}
	q := compile(t, s, &source.Spec{Name: "q", Key: []string{"t"},
		Query:   "SELECT t, count(*) AS n FROM c WHERE t = :key GROUP BY t",
		Depends: []source.Dep{{Table: "c", Columns: []string{"t"}}}})
	findings, err = q.Check(t.Context())
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Text, "reads all of c") {
		t.Errorf("a query: %+v, %v", findings, err)
	}
}

func TestPlan_WriteGeneratedColumn(t *testing.T) {
	path, _ := newFile(t, "WAL", oddTables...)
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "gen"})
	write := func(body string) (*source.Written, error) {
		in, err := p.Shape().DecodeJSON([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in})
	}
	// A document that was read may be sent back: the database computes anew.
	out, err := write(`{"a":10,"twice":1}`)
	if err != nil {
		t.Fatal(err)
	}
	got := string(p.Shape().AppendJSON(nil, out.Loaded.Values))
	if want := `{"id":1,"a":10,"twice":20,"half":5}`; got != want {
		t.Errorf("written %s, want %s", got, want)
	}
}

// TestPlan_NestedIsOneSnapshot checks that a document never mixes two states:
// each transaction moves all children and says so in the parent.
func TestPlan_NestedIsOneSnapshot(t *testing.T) {
	path, _ := newFile(t, "WAL", "CREATE TABLE p (id integer PRIMARY KEY, n integer)",
		"CREATE TABLE c (id integer PRIMARY KEY, p integer, n integer)",
		"CREATE INDEX c_p ON c (p)", "INSERT INTO p VALUES (1, 0)",
		"INSERT INTO c VALUES (1, 1, 0), (2, 1, 0), (3, 1, 0)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "p", Embeds: []source.Embed{{Name: "cs",
		On: []string{"p"}, Spec: &source.Spec{Table: "c"}}}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				out, err := p.Load(ctx, []row.Key{"1"})
				if errors.Is(err, context.Canceled) {
					return
				}
				if err != nil {
					t.Errorf("Load: %v", err)
					return
				}
				v := out[0].Values
				for _, c := range v[2].Rows() {
					if c[2].Int() != v[1].Int() {
						t.Errorf("parent of %d with child of %d", v[1].Int(), c[2].Int())
					}
				}
			}
		})
	}
	for i := range 200 {
		err := s.Exec(t.Context(), fmt.Sprintf("UPDATE p SET n = %d", i),
			fmt.Sprintf("UPDATE c SET n = %d", i))
		if err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	wg.Wait()
}

// TestPlan_WriteKeepsTheKeyAsTheRowHasIt checks a write that spells the key in
// another case: the children it makes must hold the key as the parent does.
func TestPlan_WriteKeepsTheKeyAsTheRowHasIt(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE p (id text COLLATE NOCASE PRIMARY KEY, v integer)",
		"CREATE TABLE c (id integer PRIMARY KEY, p text)", "INSERT INTO p VALUES ('Abc', 1)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "p", Embeds: []source.Embed{{Name: "cs",
		On: []string{"p"}, Spec: &source.Spec{Table: "c"}}}})
	in, err := p.Shape().DecodeJSON([]byte(`{"v":2,"cs":[{"id":1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "aBC", Input: in})
	if err != nil || out.Created || out.Loaded.Key != "Abc" {
		t.Fatalf("written %+v, %v", out, err)
	}
	if got := text(t, c, "SELECT p FROM c"); got != "Abc" {
		t.Errorf("the child holds %s, want Abc", got)
	}
}

// TestPlan_RefusesDecimalsThatWouldBeInfinite: SQLite keeps decimals as 64-bit numbers
// where it can, and makes an infinity of what is too large for them.
func TestPlan_RefusesDecimalsThatWouldBeInfinite(t *testing.T) {
	path, c := newFile(t, "WAL", "CREATE TABLE p (id integer PRIMARY KEY, v decimal(10,2))",
		"INSERT INTO p VALUES (1, 1.5)")
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "p"})
	for number, refused := range map[string]bool{
		"1e400": true, "-1e309": true, "1e300": false, "1e-400": false,
	} {
		in, err := p.Shape().DecodeJSON([]byte(`{"v":` + number + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1", Input: in})
		if refused != (source.ClassOf(err) == source.Invalid) || !refused && err != nil {
			t.Errorf("%s: %v, refused %v", number, err, refused)
		}
		if refused && !strings.Contains(err.Error(), `"v"`) {
			t.Errorf("%s: the error does not name the member: %v", number, err)
		}
	}
	if got := text(t, c, "SELECT CAST(abs(v) < 1e301 AS text) FROM p"); got != "1" {
		t.Error("an infinity was stored")
	}
}
