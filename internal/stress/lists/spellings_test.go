package lists

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
)

// A spelledTable has a key of a type by which texts are equal that are not the same.
type spelledTable struct {
	name, key string   // the key's type, as the database writes it
	texts     []string // that keys are made of; nil: letters of all kinds
	list      bool     // with a column before it, which is an integer
	unique    bool     // it is no primary key, and so not what names a row in the log
	query     string   // over the table before it; "": it is a table of its own
}

// letters are equal to others by case, accents, width, expansion or order of marks, or are
// passed over, each by some collation.
var letters = []string{"a", "A", "b", "B", "k", "K", "\u212a", "á", "Á", "a\u0301", "ss", "SS", "ß", "ẞ", "s",
	"aa", "å", "Å", "ö", "o", "oe", "ﬁ", "fi", "İ", "i", "ı", "I", "\x01", "\u200d", "あ", "ア", "-", "1", "１"}

// spellings is hotrow and a database beside each other, with tables whose keys have several
// spellings.
type spellings struct {
	t      *testing.T
	rng    *rand.Rand
	src    source.Source
	stand  *testbed.Bed
	tables []spelledTable
	plans  []source.Plan
	exec   func(statements ...string) error

	asked, absent, others atomic.Int64
}

func newSpellings(t *testing.T, src source.Source, mode source.FeedMode, tables []spelledTable) *spellings {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &spellings{t: t, rng: rand.New(rand.NewPCG(seed, 0)), src: src, tables: tables}
	s.exec = func(statements ...string) error { return src.Exec(context.Background(), statements...) }
	p := testbed.Plan{Mode: mode}
	for i, table := range tables {
		columns := fmt.Sprintf("k %s NOT NULL, v int NOT NULL, PRIMARY KEY (k)", table.key)
		served := testbed.Spec(table.name)
		switch {
		case table.list:
			columns = fmt.Sprintf("g int NOT NULL, k %s NOT NULL, v int NOT NULL, PRIMARY KEY (g, k)", table.key)
		case table.unique:
			columns = fmt.Sprintf("k %s NOT NULL UNIQUE, v int NOT NULL PRIMARY KEY", table.key)
			served.Table.Key = []string{"k"}
		case table.query != "":
			served.Table.Table, served.Writable = "", false
			served.Table.Query, served.Table.Key = table.query, []string{"k"}
			served.Table.Depends = []source.Dep{{Table: tables[i-1].name}}
		}
		if table.query == "" {
			if err := s.exec(fmt.Sprintf("CREATE TABLE %s (%s)", table.name, columns)); err != nil {
				t.Fatal(err)
			}
		}
		p.Specs = append(p.Specs, served)
		compiled, err := src.Compile(t.Context(), served.Table)
		if err != nil {
			t.Fatal(err)
		}
		if !compiled.KeyType().Wide() {
			t.Fatalf("%s: no other texts are equal", table.name)
		}
		s.plans = append(s.plans, compiled)
	}
	s.install(mode)
	s.stand = testbed.Over(t, src, p)
	return s
}

// install does what a feed asks for.
func (s *spellings) install(mode source.FeedMode) {
	findings, err := s.src.Doctor(s.t.Context(), mode, resource.Watched(s.plans))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range findings {
		if err := s.exec(f.Apply...); err != nil {
			s.t.Fatal(err)
		}
	}
}

// text returns a random text for a key of a table: few parts, so that many are equal.
func (s *spellings) text(rng *rand.Rand, table *spelledTable) string {
	from := table.texts
	if from != nil {
		return from[rng.IntN(len(from))]
	}
	if from = letters; rng.IntN(2) == 0 {
		from = letters[:6]
	}
	var b strings.Builder
	for range 1 + rng.IntN(2) {
		b.WriteString(from[rng.IntN(len(from))])
	}
	return b.String() + strings.Repeat(" ", max(0, rng.IntN(5)-2))
}

// write changes one random row, as another program would.
func (s *spellings) write(rng *rand.Rand) {
	table := &s.tables[rng.IntN(len(s.tables))]
	if table.query != "" {
		return
	}
	given, found := "", "k = "
	if table.list {
		g := rng.IntN(2)
		given, found = fmt.Sprintf("%d, ", g), fmt.Sprintf("g = %d AND k = ", g)
	}
	quoted := func() string { return "'" + s.text(rng, table) + "'" }
	k, v := quoted(), rng.IntN(1_000_000)
	var list []string
	switch rng.IntN(6) {
	case 0, 1:
		list = []string{fmt.Sprintf("INSERT INTO %s VALUES (%s%s, %d)", table.name, given, k, v)}
	case 2:
		list = []string{fmt.Sprintf("DELETE FROM %s WHERE %s%s", table.name, found, k),
			fmt.Sprintf("INSERT INTO %s VALUES (%s%s, %d)", table.name, given, k, v)}
	case 3:
		list = []string{fmt.Sprintf("UPDATE %s SET k = %s WHERE %s%s", table.name, quoted(), found, k)}
	case 4:
		list = []string{fmt.Sprintf("UPDATE %s SET v = %d WHERE %s%s", table.name, v, found, k)}
	default:
		list = []string{fmt.Sprintf("DELETE FROM %s WHERE %s%s", table.name, found, k)}
	}
	_ = s.exec(list...) // a key that is taken is refused
}

// own writes one random row through hotrow.
func (s *spellings) own(rng *rand.Rand) {
	at := rng.IntN(len(s.tables))
	key := s.key(rng, at)
	w := resource.Write{Op: source.OpDelete, Key: key}
	if rng.IntN(3) > 0 {
		in, err := s.plans[at].Shape().DecodeJSON(fmt.Appendf(nil, `{"v":%d}`, rng.IntN(1_000_000)))
		if err != nil {
			s.t.Error(err)
		}
		w.Op, w.Input = source.OpReplace, in
	}
	_, _ = s.stand.Resource(s.tables[at].name).Write(s.t.Context(), w) // or no row can have the key
}

func (s *spellings) key(rng *rand.Rand, at int) row.Key {
	table := &s.tables[at]
	if table.list {
		return row.JoinKey(fmt.Sprint(rng.IntN(2)), s.text(rng, table))
	}
	return row.JoinKey(s.text(rng, table))
}

// beside runs writers and readers beside each other.
func (s *spellings) beside() {
	var wg sync.WaitGroup
	for i := range 6 {
		rng := rand.New(rand.NewPCG(s.rng.Uint64(), 1))
		wg.Go(func() {
			for range 12 {
				switch {
				case i < 2:
					s.write(rng)
				case i == 2:
					s.own(rng)
				default:
					at := rng.IntN(len(s.tables))
					o := resource.Options{NoCache: rng.IntN(8) == 0, Format: row.Format(rng.IntN(2))}
					_, _ = s.stand.Resource(s.tables[at].name).Get(s.t.Context(), s.key(rng, at), o)
				}
			}
		})
	}
	wg.Wait()
}

// compare asks for n random keys of each table, twice each, when nothing changes: the answers
// are those of the database, and the second comes from memory.
func (s *spellings) compare(n int) {
	t := s.t
	s.stand.Quiet()
	for at := range s.tables {
		var keys []row.Key
		for range n {
			if k, err := s.plans[at].KeyType().Parse(s.key(s.rng, at)); err == nil {
				keys = append(keys, k)
			}
		}
		want, err := s.plans[at].Load(t.Context(), keys)
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range keys {
			s.compareOne(at, k, &want[i])
		}
	}
}

func (s *spellings) compareOne(at int, k row.Key, want *source.Loaded) {
	t, r := s.t, s.stand.Resource(s.tables[at].name)
	body, key := "", k
	if want.Found() {
		body, key = string(s.plans[at].Shape().AppendJSON(nil, want.Values)), want.Key
	}
	for ask := range 2 {
		a, err := r.Get(t.Context(), k, resource.Options{})
		if err != nil {
			t.Fatal(err)
		}
		have := ""
		if !a.Doc.Absent() {
			have = string(a.Doc.Body())
		}
		if have != body || a.Key != key {
			t.Fatalf("%s: %q is %q of %q by origin %v, but %q of %q in the database", s.tables[at].name, k, have,
				a.Key, a.Origin, body, key)
		}
		// A fence that is late on a busy machine closes the gate.
		for busy := 0; ask == 1 && a.Origin != resource.HitMemory; busy++ {
			s.stand.Quiet()
			if a, err = r.Get(t.Context(), k, resource.Options{}); err != nil || busy == 100 {
				t.Fatalf("%s: %q (%q) does not come from memory: %v, %v", s.tables[at].name, k, body, a.Origin, err)
			}
		}
	}
	if s.asked.Add(1); !want.Found() {
		s.absent.Add(1)
	} else if want.Key != k {
		s.others.Add(1)
	}
}

// run lets rounds go by until d has passed and each kind of answer was compared.
func (s *spellings) run(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end) || s.absent.Load() == 0 || s.others.Load() == 0; {
		s.beside()
		s.compare(40)
	}
	testbed.Figures(s.t, "%d keys of %d tables compared, %d without a row, %d of rows with another text",
		s.asked.Load(),
		len(s.tables), s.absent.Load(), s.others.Load())
}

// TestStressMariaDB_KeysOfManySpellings: what memory says of a row, or of none, is what the
// database says under every text that it finds equal.
func TestStressMariaDB_KeysOfManySpellings(t *testing.T) {
	url := dbtest.MariaDB(t)
	collations := []string{"utf8mb4_general_ci", "utf8mb4_unicode_520_ci", "utf8mb4_bin", "utf8mb4_danish_ci",
		"utf8mb4_swedish_ci", "latin1_swedish_ci"}
	if dbtest.IsMySQL() {
		collations = append(collations, "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_ja_0900_as_cs")
	} else {
		collations = append(collations, "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_nopad_as_cs", "utf8mb4_nopad_bin")
	}
	some := strings.Fields(dbtest.MariaDBShell(t, url, "SELECT COLLATION_NAME FROM information_schema.COLLATIONS "+
		"WHERE COLLATION_NAME LIKE 'utf8mb4%' AND COLLATION_NAME NOT LIKE '%nopad_bin' AND "+
		"COLLATION_NAME NOT LIKE '%0900_bin' ORDER BY rand() LIMIT 4"))
	var tables []spelledTable
	for i, c := range append(collations, some...) {
		t.Log(c)
		if c != "utf8mb4_nopad_bin" {
			tables = append(tables, spelledTable{name: fmt.Sprint("t", i), key: "varchar(12) COLLATE " + c})
		}
	}
	tables = append(tables,
		spelledTable{name: "fixed", key: "char(12) COLLATE utf8mb4_general_ci"},
		spelledTable{name: "asked", query: "SELECT k, v FROM fixed WHERE k = :k"},
		spelledTable{name: "pairs", key: "varchar(12) COLLATE utf8mb4_general_ci", list: true},
		spelledTable{name: "others", key: "varchar(12) COLLATE utf8mb4_general_ci", unique: true},
		spelledTable{name: "enums", key: "enum('Ab', 'ac', 'ß') COLLATE utf8mb4_general_ci",
			texts: []string{"ab", "AB", "Ab ", "AC", "ac", "ß", "ss", "S", "s", "x"}},
		spelledTable{name: "decimals", key: "decimal(6,2)", texts: []string{"1.5", "1.50", "2", "2.00", "-0", "0"}})
	s := newSpellings(t, testbed.OpenMariaDB(t, url), source.FeedBinlog, tables)
	s.run(testbed.Length(time.Second))
}

func TestStress_KeysOfManySpellings(t *testing.T) {
	for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedNotify} {
		t.Run(string(mode), func(t *testing.T) {
			url := dbtest.Postgres(t, dbtest.Setup("CREATE EXTENSION citext",
				"CREATE COLLATION nd (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"))
			s := newSpellings(t, testbed.OpenPostgres(t, url), mode, []spelledTable{
				{name: "ci", key: "citext"}, {name: "asked", query: "SELECT k, v FROM ci WHERE k = :k"},
				{name: "fixed", key: "char(12)"},
				{name: "nondeterministic", key: "varchar(12) COLLATE nd"},
				{name: "pairs", key: "citext", list: true}, {name: "others", key: "citext", unique: true},
				{name: "numbers", key: "numeric", texts: []string{"1.5", "1.50", "2", "2.00", "0", "0.0", "NaN"}},
			})
			s.run(testbed.Length(time.Second))
		})
	}
}

func TestStressSQLite_KeysOfManySpellings(t *testing.T) {
	path := dbtest.SQLite(t)
	dbtest.SQLiteShell(t, path, "PRAGMA journal_mode = wal")
	src := testbed.OpenSQLite(t, path, sqlite.Options{})
	s := newSpellings(t, src, source.FeedSQLite, []spelledTable{
		{name: "ci", key: "TEXT COLLATE NOCASE"}, {name: "asked", query: "SELECT k, v FROM ci WHERE k = :k"},
		{name: "padded", key: "TEXT COLLATE RTRIM"},
		{name: "pairs", key: "TEXT COLLATE NOCASE", list: true},
		{name: "others", key: "TEXT COLLATE NOCASE", unique: true},
		{name: "numbers", key: "NUMERIC", texts: []string{"1.5", "1.50", "2", "2.00", "0", "0.0", "x"}},
	})
	s.run(testbed.Length(time.Second))
}
