package lists

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A lemmaColumn is a column of the table whose lists are checked, with values as SQL and
// as operands.
type lemmaColumn struct {
	name, typ string
	values    []string // in the words of SQL, and NULL; none: it is computed
	operands  []string
	notNull   bool
}

func texts(name, typ string, more ...string) lemmaColumn {
	c := lemmaColumn{name: name, typ: typ}
	for _, v := range append([]string{"a", "A", "a ", "b", "1", "", "é", "E"}, more...) {
		c.values, c.operands = append(c.values, "'"+v+"'"), append(c.operands, v)
	}
	return c
}

func times(name, typ string) lemmaColumn {
	return lemmaColumn{name: name, typ: typ, values: []string{"'2024-01-02 03:04:05'",
		"'2024-01-02 03:04:06'", "'1999-12-31 23:59:59'"},
		operands: []string{"2024-01-02T03:04:05Z", "2024-01-02 03:04:05.000Z", "2024-01-02T03:04:06Z",
			"1999-12-31T23:59:59Z"}}
}

func column(name, typ string, values, operands []string) lemmaColumn {
	return lemmaColumn{name: name, typ: typ, values: values, operands: operands}
}

// lemmaColumns are those that each database has, in its types.
func lemmaColumns(typ map[string]string, more ...lemmaColumn) []lemmaColumn {
	numbers := column("n", typ["numeric"], []string{"1.5", "2", "1.50"},
		[]string{"1.5", "2", "2.0"})
	return append([]lemmaColumn{
		column("a", "int", []string{"1", "2", "3", "-1"}, []string{"1", "02", "+3", "-1", "4"}),
		column("d", "int", []string{"1", "2"}, []string{"1", "2"}),
		column("e", typ["boolean"], []string{typ["true"], typ["false"]}, []string{"true", "false"}),
		column("c", "date", []string{"'2024-01-02'", "'2024-02-29'"},
			[]string{"2024-01-02", "2024-02-29", "2024-01-02T00:00:00Z"}),
		texts("b", typ["exact"]), texts("w", typ["wide"]), times("t", typ["datetime"]), numbers,
	}, more...)
}

// A lemma checks that what memory answers with is what the database has, whatever was
// changed: that the classes which a list depends on and those that a change names do not
// miss each other.
type lemma struct {
	t       *testing.T
	s       *testbed.Bed
	name    string // of the resource
	rng     *rand.Rand
	columns []lemmaColumn
	exec    func(statements ...string)
	coarse  bool   // every change is one of every list
	replace string // how a row is inserted in the place of others; "": there is no way

	next, kids         int // keys of the last rows
	kept, missed, same int // lists after changes: answered from memory; missed; in vain
}

// create returns the statements that make the table and its rows.
func (l *lemma) create() []string {
	parts := []string{"id int PRIMARY KEY"}
	for _, c := range l.columns {
		parts = append(parts, c.name+" "+c.typ)
	}
	all := []string{"CREATE TABLE item (" + strings.Join(parts, ", ") + ")",
		"CREATE TABLE kid (id int PRIMARY KEY, item int, v int)",
		"CREATE INDEX kids ON kid (item)"}
	for range 40 {
		all = append(all, l.insert("INSERT"), l.kid(5))
	}
	return all
}

func (l *lemma) insert(verb string) string {
	l.next++
	names, values := []string{"id"}, []string{fmt.Sprint(l.next)}
	if verb != "INSERT" {
		values[0] = fmt.Sprint(1 + l.rng.IntN(l.next))
	}
	for i := range l.columns {
		c := &l.columns[i]
		if c.values == nil {
			continue
		}
		names, values = append(names, c.name), append(values, l.value(c))
	}
	return fmt.Sprintf("%s INTO item (%s) VALUES (%s)", verb, strings.Join(names, ", "),
		strings.Join(values, ", "))
}

// kid returns a statement that changes rows within documents: by the first of so many ways
// it makes one.
func (l *lemma) kid(ways int) string {
	item, v := 1+l.rng.IntN(l.next), l.rng.IntN(9)
	one := fmt.Sprintf(" WHERE id = %d", 1+l.rng.IntN(l.kids+1))
	switch l.rng.IntN(ways) {
	case 1:
		return fmt.Sprintf("UPDATE kid SET item = %d", item) + one
	case 2:
		return "UPDATE kid SET item = NULL" + one
	case 3:
		return "DELETE FROM kid" + one
	case 4:
		return fmt.Sprintf("UPDATE kid SET v = %d", v) + one
	}
	l.kids++
	return fmt.Sprintf("INSERT INTO kid VALUES (%d, %d, %d)", l.kids, item, v)
}

func (l *lemma) value(c *lemmaColumn) string {
	if l.rng.IntN(5) == 0 && !c.notNull {
		return "NULL"
	}
	return c.values[l.rng.IntN(len(c.values))]
}

func (l *lemma) column() *lemmaColumn { return &l.columns[l.rng.IntN(len(l.columns))] }

// change returns a statement that changes some rows.
func (l *lemma) change() string {
	id, c := 1+l.rng.IntN(l.next), l.column()
	for c.values == nil {
		c = l.column()
	}
	switch l.rng.IntN(16) {
	case 12, 13, 14, 15:
		return l.kid(6)
	case 0, 1:
		return l.insert("INSERT")
	case 2:
		return fmt.Sprintf("DELETE FROM item WHERE id = %d", id)
	case 3:
		l.next++
		return fmt.Sprintf("UPDATE item SET id = %d WHERE id = %d", l.next, id)
	case 4:
		return fmt.Sprintf("UPDATE item SET %s = %s WHERE a = %s", c.name, l.value(c), "2")
	case 5:
		if l.replace != "" {
			return l.insert(l.replace)
		}
	}
	return fmt.Sprintf("UPDATE item SET %s = %s WHERE id = %d", c.name, l.value(c), id)
}

// condition returns one condition of a query, as a parameter or as one of a group.
func (l *lemma) condition(group bool) string {
	c := l.column()
	operand := func() string { return c.operands[l.rng.IntN(len(c.operands))] }
	quoted := func() string { return `"` + operand() + `"` }
	test := ""
	switch l.rng.IntN(8) {
	case 0:
		test = "is.null"
	case 1:
		test = "in.(" + quoted() + "," + quoted() + ")"
	case 2:
		test = "not.isdistinct." + operand()
	case 3:
		test = "gt." + operand()
	default:
		test = "eq." + operand()
		if group {
			test = "eq." + quoted()
		}
	}
	if group {
		if strings.HasPrefix(test, "not.") || strings.HasPrefix(test, "gt.") {
			test = "is.null"
		}
		return c.name + "." + test
	}
	return c.name + "=" + url.QueryEscape(test)
}

// question returns a random query.
func (l *lemma) question() (raw string, o query.Options) {
	parts := []string{l.condition(false)}
	switch l.rng.IntN(4) {
	case 0:
		parts = append(parts, l.condition(false))
	case 1:
		parts[0] = "or=" + url.QueryEscape("("+l.condition(true)+","+l.condition(true)+")")
	}
	if l.rng.IntN(2) == 0 {
		parts = append(parts, "order="+l.column().name+[]string{"", ".desc"}[l.rng.IntN(2)])
	}
	if l.rng.IntN(2) == 0 {
		parts = append(parts, fmt.Sprint("limit=", 1+l.rng.IntN(4)))
	}
	switch l.rng.IntN(10) {
	case 0:
		parts = append(parts, "offset=1")
	case 1:
		o.Count = query.CountExact
	case 2, 3:
		parts = append(parts, "select=id,a")
	}
	return strings.Join(parts, "&"), o
}

// packAll makes an answer that says all that was found.
func packAll(p *resource.Page, _ row.Format) (resource.Packed, error) {
	var b bytes.Buffer
	for _, d := range p.Docs {
		fmt.Fprintf(&b, "%s\n", d.Body())
	}
	fmt.Fprint(&b, p.More, p.Total)
	return resource.Packed{Body: b.Bytes(), Rows: len(p.Docs)}, nil
}

// ask asks for a list.
func (l *lemma) ask(q *query.Query, o resource.Options) resource.ListAnswer {
	l.t.Helper()
	for begin := time.Now(); ; {
		a, err := l.s.Resource(l.name).SelectList(l.t.Context(),
			&resource.ListAsk{Query: q, Pack: packAll}, o)
		late := source.ClassOf(err) == source.Unavailable && time.Since(begin) < 2*testbed.Patience
		if err != nil && !late {
			l.t.Fatalf("%s: %v", q, err)
		}
		if err == nil {
			return a
		}
	}
}

// run changes rows and checks lists until the time is over.
func (l *lemma) run(length time.Duration) {
	l.t.Helper()
	var asks []*query.Query
	for len(asks) < 60 {
		raw, o := l.question()
		q, err := l.s.Resource("item").Query(raw, o)
		if err != nil {
			l.t.Fatalf("%s: %v", raw, err)
		}
		asks = append(asks, q)
	}
	rounds := 0
	for end := time.Now().Add(length); rounds < 8 || time.Now().Before(end); rounds++ {
		before := make([][]byte, len(asks))
		for i, q := range asks {
			for range 3 {
				before[i] = l.ask(q, resource.Options{}).Doc.Body()
			}
		}
		statements := []string{l.change()}
		for l.rng.IntN(3) == 0 {
			statements = append(statements, l.change())
		}
		l.exec(statements...)
		l.s.Quiet()
		for i, q := range asks {
			a := l.ask(q, resource.Options{})
			is := l.ask(q, resource.Options{NoCache: true}).Doc.Body()
			switch {
			case !bytes.Equal(a.Doc.Body(), is):
				l.t.Fatalf("%s is stale after %q:\n%s\nnow\n%s", q, statements, a.Doc.Body(), is)
			case a.Origin == resource.HitMemory:
				l.kept++
			case bytes.Equal(before[i], is):
				l.missed, l.same = l.missed+1, l.same+1
			default:
				l.missed++
			}
		}
	}
	testbed.Figures(l.t, "%d rounds of changes, %d lists: %d answered from memory after them, %d read "+
		"again, %d of those in vain", rounds, len(asks), l.kept, l.missed, l.same)
	if l.kept == 0 && !l.coarse || l.missed == l.same {
		l.t.Error("a part of the test has done nothing")
	}
}

// begin serves the table that create made.
func (l *lemma) begin(src source.Source, mode source.FeedMode) {
	l.s = testbed.Over(l.t, src, testbed.Plan{Specs: []resource.Spec{testbed.Spec("item",
		source.Embed{Name: "kids", On: []string{"item"}, Spec: &source.Spec{Name: "kids", Table: "kid"}})},
		Mode: mode})
}

func newLemma(t *testing.T, columns []lemmaColumn) *lemma {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return &lemma{t: t, name: "item", rng: rand.New(rand.NewPCG(seed, 1)), columns: slices.Clone(columns)}
}

// TestStressPostgres_LemmaOfClasses: no list that memory answers with is other than the
// database's, with each replica identity.
func TestStressPostgres_LemmaOfClasses(t *testing.T) {
	t.Parallel()
	columns := lemmaColumns(map[string]string{"boolean": "boolean", "true": "true",
		"false": "false", "exact": "text", "wide": `char(4)`, "datetime": "timestamp",
		"numeric": "numeric"}, times("z", "timestamptz"), texts("v", "varchar(3)"),
		column("u", "uuid", []string{"'00000000-0000-0000-0000-00000000000a'"},
			[]string{"00000000-0000-0000-0000-00000000000A", "0000000000000000000000000000000b"}),
		texts("f", "citext"), column("y", "bytea", []string{`'\x61'`, `'\x6162'`}, []string{"61", "6162"}),
		column("g", "int GENERATED ALWAYS AS (a * 10) STORED", nil, []string{"10", "20"}))
	for name, sql := range map[string]string{"default": "", "full": "ALTER TABLE item REPLICA " +
		"IDENTITY FULL; ALTER TABLE kid REPLICA IDENTITY FULL", "index": "ALTER TABLE item ALTER d " +
		"SET NOT NULL; CREATE UNIQUE INDEX x ON item (id, d); ALTER TABLE item REPLICA IDENTITY " +
		"USING INDEX x"} {
		t.Run(name, func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			l := newLemma(t, columns)
			l.exec = func(statements ...string) {
				testbed.MustExec(t, conn, strings.Join(statements, "; ")) // one transaction
			}
			if name == "index" {
				l.columns[1].notNull = true
			}
			l.exec(append(append([]string{"CREATE EXTENSION citext"}, l.create()...), sql)...)
			l.begin(testbed.OpenPostgres(t, url), source.FeedLogical)
			l.run(testbed.Length(time.Second / 2))
		})
	}
}

// TestStressMariaDB_LemmaOfClasses is the same over the binary log.
func TestStressMariaDB_LemmaOfClasses(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	const exact = " COLLATE utf8mb4_nopad_bin"
	columns := lemmaColumns(map[string]string{"boolean": "boolean", "true": "true",
		"false": "false", "exact": "varchar(9)" + exact, "wide": "varchar(9)",
		"datetime": "datetime(3)", "numeric": "decimal(6,2)"},
		times("z", "timestamp NULL"), texts("h", "char(4)"+exact), texts("x", "text"+exact),
		column("y", "varbinary(4)", []string{"x'61'", "x'6100'"}, []string{"61", "6100"}),
		column("k", "binary(2)", []string{"x'61'", "x'6162'"}, []string{"61", "6100", "6162"}),
		column("i", "int unsigned", []string{"1", "4294967295"}, []string{"1", "4294967295"}),
		column("m", "bit(3)", []string{"b'101'", "b'1'"}, []string{"5", "1"}),
		column("r", "year", []string{"1999", "2024"}, []string{"1999", "2024"}),
		texts("f", "varchar(9) COLLATE utf8mb4_unicode_520_ci", "ß", "ss", "SS", "a-b"),
		column("l", "enum('a','B','é') COLLATE utf8mb4_unicode_ci", []string{"'a'", "'b'", "'E'"},
			[]string{"A", "b", "e", "é"}))
	if !dbtest.IsMySQL() { // which has no such type
		columns = append(columns, column("u", "uuid", []string{"'00000000-0000-0000-0000-00000000000a'"},
			[]string{"00000000-0000-0000-0000-00000000000A", "0000000000000000000000000000000b"}))
	}
	l := newLemma(t, columns)
	l.replace = "REPLACE"
	l.exec = func(statements ...string) {
		for _, s := range dbtest.SQLs(append(append([]string{"BEGIN"}, statements...), "COMMIT")...) {
			if _, err := conn.ExecContext(context.Background(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	l.exec(l.create()...)
	l.begin(testbed.OpenMariaDB(t, url), source.FeedBinlog)
	l.run(testbed.Length(time.Second / 2))
}

// TestStressSQLite_LemmaOfClasses is the same over the hooks of SQLite, and over what
// another program writes.
func TestStressSQLite_LemmaOfClasses(t *testing.T) {
	for _, by := range []string{"hotrow", "another program"} {
		t.Run(by, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lemma.db")
			src := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
			l := newLemma(t, lemmaColumns(map[string]string{"boolean": "boolean", "true": "1",
				"false": "0", "exact": "text", "wide": "text COLLATE NOCASE",
				"datetime": "datetime", "numeric": "numeric"},
				texts("f", "text COLLATE RTRIM"),
				column("y", "blob", []string{"x'61'", "x'6100'"}, []string{"61", "6100"}),
				column("o", "int", []string{"'a'", "1.5", "7", "'7'"}, []string{"7", "1"})))
			l.replace = "INSERT OR REPLACE"
			writes := src
			l.exec = func(statements ...string) {
				if err := writes.Exec(t.Context(), statements...); err != nil {
					t.Fatal(err)
				}
			}
			l.exec(l.create()...)
			l.begin(src, source.FeedAuto)
			if by != "hotrow" {
				writes = testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
				l.coarse = true
			}
			l.run(testbed.Length(time.Second / 2))
		})
	}
}

// TestMariaDB_WiderCollationIsSeen: a column whose texts have come to be equal to others makes
// no classes any more, although no statement and no document is another for it.
func TestMariaDB_WiderCollationIsSeen(t *testing.T) {
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	exec := func(sql string) {
		t.Helper()
		for _, sql := range dbtest.SQL(sql) {
			if _, err := conn.ExecContext(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	exec("CREATE TABLE item (id int PRIMARY KEY, b varchar(9) COLLATE utf8mb4_nopad_bin)")
	exec("CREATE TABLE kid (id int PRIMARY KEY, item int, v int, INDEX (item))")
	exec("INSERT INTO item VALUES (1, 'a'), (2, 'b')")
	l := newLemma(t, nil)
	l.begin(testbed.OpenMariaDB(t, url), source.FeedBinlog)
	ask := func(o resource.Options) resource.ListAnswer {
		q, err := l.s.Resource("item").Query("b=eq.a", query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l.ask(q, o)
	}
	kept := func() bool { return ask(resource.Options{}).Origin == resource.HitMemory }
	waittest.Until(t, "a list is kept beside writes to others", func() bool {
		waittest.Until(t, "kept", kept)
		exec("UPDATE item SET b = concat(b, 'b') WHERE id = 2")
		exec("UPDATE item SET b = 'b' WHERE id = 2")
		l.s.Quiet()
		return kept()
	})
	exec("ALTER TABLE item MODIFY b varchar(9) COLLATE utf8mb4_general_ci")
	l.s.Quiet()
	waittest.Until(t, "kept", kept)
	exec("UPDATE item SET b = 'A' WHERE id = 2")
	l.s.Quiet()
	a, is := ask(resource.Options{}), ask(resource.Options{NoCache: true})
	if a.Rows != 2 || is.Rows != 2 {
		t.Errorf("%d rows, and the database finds %d", a.Rows, is.Rows)
	}
}

// TestPostgres_TheRowBehindTheLastCounts: a list that says whether others follow depends on
// the first of them, of which the log does not tell what it was.
func TestPostgres_TheRowBehindTheLastCounts(t *testing.T) {
	url := dbtest.Postgres(t)
	conn := testbed.Dial(t, url)
	testbed.MustExec(t, conn, "CREATE TABLE item (id int PRIMARY KEY, a int, v int)",
		"CREATE TABLE kid (id int PRIMARY KEY, item int)", "CREATE INDEX ON kid (item)",
		"INSERT INTO item VALUES (1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 2, 0)")
	l := newLemma(t, nil)
	l.begin(testbed.OpenPostgres(t, url), source.FeedLogical)
	q, err := l.s.Resource("item").Query("a=eq.1&limit=2", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "a list that is kept beside writes to other rows", func() bool {
		waittest.Until(t, "kept", func() bool { return l.ask(q, resource.Options{}).Origin == resource.HitMemory })
		testbed.MustExec(t, conn, "UPDATE item SET v = v + 1 WHERE id = 4")
		l.s.Quiet()
		return l.ask(q, resource.Options{}).Origin == resource.HitMemory
	})
	testbed.MustExec(t, conn, "DELETE FROM item WHERE id = 3")
	l.s.Quiet()
	a, is := l.ask(q, resource.Options{}), l.ask(q, resource.Options{NoCache: true})
	if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
		t.Errorf("%s, and the database has %s", a.Doc.Body(), is.Doc.Body())
	}
}
