package resource

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ddl = `
CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT, loc TEXT);
CREATE TABLE emp (empno INTEGER PRIMARY KEY, ename TEXT, sal INTEGER,
	deptno INTEGER REFERENCES dept);
CREATE INDEX emp_deptno ON emp(deptno);
CREATE TABLE city (name TEXT, state TEXT, pop INTEGER, PRIMARY KEY (name, state));
CREATE TABLE person (name TEXT COLLATE NOCASE PRIMARY KEY, mail TEXT);
INSERT INTO dept VALUES (10, 'ACCOUNTING', 'NEW YORK'), (20, 'RESEARCH', 'DALLAS');
INSERT INTO emp VALUES (7782, 'CLARK', 2450, 10), (7839, 'KING', 5000, 10),
	(7369, 'SMITH', 800, 20);
INSERT INTO city VALUES ('Tulsa', 'OK', 413066);
INSERT INTO person VALUES ('alice', 'a@example.org');`

// house is a Set over a SQLite file, with a second program that writes to it.
type house struct {
	t      testing.TB
	set    *Set
	source source.Source
	other  *sql.DB
	memory *tier.Memory
}

// newHouse serves dept (with its emps), emp, city and person. change may alter
// what is about to be opened.
func newHouse(t testing.TB, change func(*SetOptions)) *house {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	other, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	h := &house{t: t, other: other, memory: tier.NewMemory(64 << 20)}
	h.exec(ddl)
	ctx := t.Context()
	if h.source, err = sqlite.Open(ctx, path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.source.Close() })
	o := SetOptions{
		Memory:    h.memory,
		Sources:   []SourceOptions{{Name: "main", Source: h.source}},
		Resources: houseSpecs(),
	}
	if change != nil {
		change(&o)
	}
	h.memory = o.Memory
	if h.set, err = Open(ctx, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checks(t, h.set) })
	h.ready()
	return h
}

func houseSpecs() []Spec {
	emp := &source.Spec{Name: "emp", Table: "emp"}
	dept := &source.Spec{Name: "dept", Table: "dept", Embeds: []source.Embed{
		{Name: "emps", Spec: emp, On: []string{"deptno"}, Order: []string{"empno"}},
	}}
	specs := []Spec{{Table: dept}, {Table: emp},
		{Table: &source.Spec{Name: "city", Table: "city"}},
		{Table: &source.Spec{Name: "person", Table: "person"}}}
	for i := range specs {
		specs[i].Source, specs[i].Writable = "main", true
		specs[i].Access = Access{Read: "public", Write: "public"}
	}
	return specs
}

// ready waits until the feed is fresh.
func (h *house) ready() {
	h.t.Helper()
	h.until(func() bool { return h.set.Ready() == nil })
}

// until waits for ok, a minute at most.
func (h *house) until(ok func() bool) {
	h.t.Helper()
	waittest.UntilEvery(h.t, time.Millisecond, "waited in vain", ok,
		func() string { return fmt.Sprint(h.set.Ready()) })
}

// exec changes the database as another program does.
func (h *house) exec(sql string) {
	h.t.Helper()
	if _, err := h.other.Exec(sql); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) resource(name string) *Resource {
	h.t.Helper()
	r, ok := h.set.Lookup(name)
	if !ok {
		h.t.Fatalf("no resource %s", name)
	}
	return r
}

// get returns the body of a document, "" for none, and where it came from.
func (h *house) get(name, key string, o Options) (string, Origin) {
	h.t.Helper()
	a, err := h.resource(name).Get(h.t.Context(), row.Key(key), o)
	if err != nil {
		h.t.Fatalf("Get(%s/%s): %v", name, key, err)
	}
	return string(a.Doc.Body()), a.Origin
}

// hit reads until the answer comes from memory, and returns it.
func (h *house) hit(name, key string) string {
	h.t.Helper()
	var body string
	h.until(func() bool {
		b, origin := h.get(name, key, Options{})
		body = b
		return origin == HitMemory
	})
	return body
}

func TestResource_ReadsThroughMemory(t *testing.T) {
	h := newHouse(t, nil)
	const want = `{"deptno":10,"dname":"ACCOUNTING","loc":"NEW YORK","emps":[` +
		`{"empno":7782,"ename":"CLARK","sal":2450,"deptno":10},` +
		`{"empno":7839,"ename":"KING","sal":5000,"deptno":10}]}`
	got, origin := h.get("dept", "10", Options{})
	if got != want || origin != Stored {
		t.Errorf("first read = %s, %d; want %s, Stored", got, origin, want)
	}
	if got, origin = h.get("dept", "10", Options{}); got != want || origin != HitMemory {
		t.Errorf("second read = %s, %d; want a hit", got, origin)
	}
}

// Every kind of change by another program, for every document that it touches,
// through every spelling of the key.
func TestResource_ForeignChangeShows(t *testing.T) {
	tests := []struct {
		name, sql string
		reads     map[string]string // path: a part of the new document; "" for none
	}{
		{"update of a child", "UPDATE emp SET sal = 1 WHERE empno = 7839",
			map[string]string{"dept/10": `"sal":1,`, "dept/010": `"sal":1,`, "emp/7839": `"sal":1,`}},
		{"update of the parent", "UPDATE dept SET loc = 'X' WHERE deptno = 10",
			map[string]string{"dept/10": `"loc":"X"`, "dept/+10": `"loc":"X"`}},
		{"insert of a child", "INSERT INTO emp VALUES (1, 'NEW', 2, 20)",
			map[string]string{"dept/20": `"NEW"`, "emp/1": `"NEW"`, "emp/01": `"NEW"`}},
		{"delete of a child", "DELETE FROM emp WHERE ename = 'KING'",
			map[string]string{"dept/10": `"emps":[{"empno":7782`, "emp/7839": ""}},
		{"move of a child", "UPDATE emp SET deptno = 20 WHERE empno = 7839",
			map[string]string{"dept/10": `NEW YORK","emps":[{"empno":7782,"ename":"CLARK","sal":2450,` +
				`"deptno":10}]`, "dept/20": `"KING"`}},
		{"delete of all", "DELETE FROM emp", map[string]string{"dept/10": `"emps":[]`,
			"dept/20": `"emps":[]`, "emp/7369": ""}},
		{"a row for a 404", "INSERT INTO dept VALUES (30, 'SALES', NULL)",
			map[string]string{"dept/30": `"SALES"`, "dept/030": `"SALES"`}},
		{"a child before its parent", "INSERT INTO emp VALUES (2, 'EARLY', 1, 30);" +
			"INSERT INTO dept VALUES (30, 'SALES', NULL)", map[string]string{"dept/30": `"EARLY"`}},
		{"change of a key", "UPDATE dept SET deptno = 40 WHERE deptno = 10",
			map[string]string{"dept/10": "", "dept/40": `"ACCOUNTING"`}},
		{"composite key", "UPDATE city SET pop = 1", map[string]string{"city/Tulsa,OK": `"pop":1`}},
		{"case-insensitive key", "UPDATE person SET mail = 'new'",
			map[string]string{"person/alice": "new", "person/ALICE": "new"}},
		{"case-insensitive key, 404", "INSERT INTO person VALUES ('Bob', 'new')",
			map[string]string{"person/bob": "new", "person/Bob": "new"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, nil)
			for path := range tt.reads { // so that it is in memory, if it ever is
				name, key, _ := strings.Cut(path, "/")
				for range 3 {
					h.get(name, key, Options{})
				}
			}
			h.exec(tt.sql)
			changed := time.Now()
			for path, want := range tt.reads {
				name, key, _ := strings.Cut(path, "/")
				for {
					asked := time.Since(changed)
					got, origin := h.get(name, key, Options{})
					if want == "" && got == "" || want != "" && strings.Contains(got, want) {
						break
					}
					if asked > 250*time.Millisecond && origin != HitStale || asked > time.Minute {
						t.Fatalf("%s is %q after %v, want %q", path, got, asked, want)
					}
				}
			}
		})
	}
}

// SQLite tells the old parent of a row that moves, so nothing needs to remember
// which documents hold a row: that would cost more than the documents.
func TestResource_HoldsNoRowsWhereTheFeedKnowsOldParents(t *testing.T) {
	h := newHouse(t, nil)
	if h.resource("dept").revision.Load().docDeps != nil {
		t.Error("dept over SQLite remembers its rows")
	}
}

func TestResource_HerdMakesOneLoad(t *testing.T) {
	h := newHouse(t, nil)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 5000 {
		wg.Go(func() {
			<-start
			if _, err := h.resource("dept").Get(t.Context(), "10", Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	if n := h.resource("dept").Stats().Stored; n != 1 {
		t.Errorf("%d loads were stored, want 1", n)
	}
	if n := h.set.Stats().Sources[0].Timings["load"].Count; n != 1 {
		t.Errorf("5,000 concurrent reads made %d loads, want 1", n)
	}
}

func TestResource_AbsenceIsKept(t *testing.T) {
	h := newHouse(t, nil)
	if body, _ := h.get("dept", "99", Options{}); body != "" {
		t.Fatalf("dept/99 = %q, want none", body)
	}
	if body := h.hit("dept", "99"); body != "" {
		t.Errorf("dept/99 = %q from memory, want none", body)
	}
}

func TestResource_BadKey(t *testing.T) {
	h := newHouse(t, nil)
	for _, path := range []string{"dept/abc", "dept/1.5", "dept/99999999999999999999",
		"dept/", "city/Tulsa", "city/a,b,c", "dept/10' OR '1'='1"} {
		name, key, _ := strings.Cut(path, "/")
		_, err := h.resource(name).Get(t.Context(), row.Key(key), Options{})
		if !errors.Is(err, row.ErrKey) {
			t.Errorf("Get(%s) = %v, want row.ErrKey", path, err)
		}
	}
}

func TestResource_LoadReadsOnce(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	before := h.set.Stats().Sources[0].Timings["load"].Count
	answers := h.resource("dept").Load(t.Context(),
		[]row.Key{"20", "10", "99", "020", "77"}, Options{})
	var got []string
	for _, a := range answers {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		got = append(got, fmt.Sprint(a.Key, a.Doc.Absent()))
	}
	if want := "20false 10false 99true 20false 77true"; strings.Join(got, " ") != want {
		t.Errorf("Load = %v, want %s", got, want)
	}
	if n := h.set.Stats().Sources[0].Timings["load"].Count - before; n != 1 {
		t.Errorf("Load made %d loads, want 1", n)
	}
}

func TestResource_NoCacheReadsTheDatabase(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	h.exec("UPDATE dept SET loc = 'X' WHERE deptno = 10")
	body, origin := h.get("dept", "10", Options{NoCache: true})
	if !strings.Contains(body, `"loc":"X"`) || origin != Requested {
		t.Errorf("no-cache = %s, %d; want the new row", body, origin)
	}
	if body, _ = h.get("dept", "10", Options{}); !strings.Contains(body, `"loc":"X"`) {
		t.Errorf("the next read = %s, older than the answer before", body)
	}
}

func TestResource_OnlyIfCached(t *testing.T) {
	h := newHouse(t, nil)
	_, err := h.resource("dept").Get(t.Context(), "10", Options{OnlyIfCached: true})
	if !errors.Is(err, ErrNotCached) {
		t.Errorf("a miss = %v, want ErrNotCached", err)
	}
	h.hit("dept", "10")
	if _, origin := h.get("dept", "10", Options{OnlyIfCached: true}); origin != HitMemory {
		t.Errorf("origin = %d, want a hit", origin)
	}
}

func TestResource_FormatsAreEntriesOfTheirOwn(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	a, err := h.resource("dept").Get(t.Context(), "10", Options{Format: row.FormatMsgPack})
	if err != nil || a.Doc.Format() != row.FormatMsgPack || a.Origin != Stored {
		t.Fatalf("MessagePack = %v, %v; want a load of its own", a.Origin, err)
	}
	j, err := h.resource("dept").Get(t.Context(), "10", Options{})
	if err != nil || !row.SameETag(j.Doc.ETag(), a.Doc.ETag()) || j.Doc.ETag() == a.Doc.ETag() {
		t.Errorf("tags %s and %s must differ by their suffix only", j.Doc.ETag(), a.Doc.ETag())
	}
	h.exec("UPDATE dept SET loc = 'X' WHERE deptno = 10")
	h.until(func() bool {
		a, err = h.resource("dept").Get(t.Context(), "10", Options{Format: row.FormatMsgPack})
		return err == nil && strings.Contains(string(a.Doc.Body()), "\xa1X")
	})
}

func TestResource_Keys(t *testing.T) {
	h := newHouse(t, nil)
	keys, more, err := h.resource("emp").Keys(t.Context(), nil, 2)
	if err != nil || len(keys) != 2 || !more || keys[1] != "7782" {
		t.Fatalf("Keys = %v, %v, %v", keys, more, err)
	}
	keys, more, err = h.resource("emp").Keys(t.Context(), &keys[1], 2)
	if err != nil || len(keys) != 1 || more || keys[0] != "7839" {
		t.Errorf("Keys after = %v, %v, %v", keys, more, err)
	}
}

func TestResource_PassThroughKeepsNothing(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Resources[0].Pass = true })
	for range 3 {
		if _, origin := h.get("dept", "10", Options{}); origin != Bypassed {
			t.Errorf("origin = %d, want Bypassed", origin)
		}
	}
}

func TestResource_WithoutFeedKeepsNothing(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) { o.Sources[0].Mode = source.FeedNone })
	for range 3 {
		if _, origin := h.get("dept", "10", Options{}); origin != Bypassed {
			t.Errorf("origin = %d, want Bypassed", origin)
		}
	}
}

func TestResource_TimeToLiveWithoutFeed(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Sources[0].Mode = source.FeedNone
		o.Resources[0].TTL = 50 * time.Millisecond
	})
	h.hit("dept", "10")
	h.exec("UPDATE dept SET loc = 'X' WHERE deptno = 10")
	h.until(func() bool {
		body, _ := h.get("dept", "10", Options{})
		return strings.Contains(body, `"loc":"X"`)
	})
}

func TestResource_Invalidate(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	key := row.Key("010")
	if err := h.resource("dept").Invalidate(&key); err != nil {
		t.Fatal(err)
	}
	if _, origin := h.get("dept", "10", Options{}); origin != Stored {
		t.Errorf("origin = %d after Invalidate, want a load", origin)
	}
	h.hit("dept", "20")
	if err := h.resource("dept").Invalidate(nil); err != nil {
		t.Fatal(err)
	}
	if _, origin := h.get("dept", "20", Options{}); origin != Stored {
		t.Errorf("origin = %d after Invalidate of all, want a load", origin)
	}
}

// Whoever has just missed asks Load, which makes no load when somebody else has made one
// in between, whatever the spelling of the key.
func TestResource_MissedIsFoundLate(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	before := h.resource("dept").Stats().Stored
	for _, a := range h.resource("dept").Load(t.Context(), []row.Key{"10", "010"}, Options{}) {
		if a.Err != nil || a.Origin != HitMemory || a.Key != "10" {
			t.Errorf("%+v", a)
		}
	}
	if after := h.resource("dept").Stats().Stored; after != before {
		t.Errorf("%d loads, want none", after-before)
	}
	if err := h.resource("dept").Invalidate(nil); err != nil {
		t.Fatal(err)
	}
	got := h.resource("dept").Load(t.Context(), []row.Key{"10", "x"}, Options{})
	if a := got[0]; a.Err != nil || a.Origin != Stored || a.Key != "10" {
		t.Errorf("%+v; want a load", a)
	}
	if err := got[1].Err; !errors.Is(err, row.ErrKey) {
		t.Errorf("a key that no row has: %v", err)
	}
}

func TestResource_TokenIsWaitedFor(t *testing.T) {
	h := newHouse(t, nil)
	a, err := h.resource("dept").Get(t.Context(), "10", Options{})
	if err != nil || a.Token.IsZero() {
		t.Fatalf("token %v, %v", a.Token, err)
	}
	same, err := h.resource("dept").Get(t.Context(), "10", Options{Min: a.Token})
	if err != nil || same.Origin != HitMemory {
		t.Errorf("with its own token: origin %d, %v; want a hit", same.Origin, err)
	}
	for _, tok := range []Token{
		{Source: "main", Origin: "elsewhere", Pos: 1},
		{Source: "other", Origin: a.Token.Origin, Pos: 1},
		{Source: "main", Origin: a.Token.Origin, Pos: a.Token.Pos + 1<<40},
	} {
		begin := time.Now()
		got, err := h.resource("dept").Get(t.Context(), "10", Options{Min: tok})
		if err != nil || got.Origin != Bypassed {
			t.Errorf("token %v: origin %d, %v; want Bypassed", tok, got.Origin, err)
		}
		if d := time.Since(begin); waittest.Late(d, time.Second) {
			t.Errorf("token %v was waited for %v", tok, d)
		}
	}
}

func TestResource_FormatsAreMadeTogether(t *testing.T) {
	h := newHouse(t, func(o *SetOptions) {
		o.Resources[0].Formats = []row.Format{row.FormatJSON, row.FormatMsgPack}
	})
	key := row.Key("10")
	h.until(func() bool { // while the feed lags, nothing is made that nobody asks for
		if err := h.resource("dept").Invalidate(&key); err != nil {
			t.Fatal(err)
		}
		h.hit("dept", "10")
		// The second copy is stored after the first.
		for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); runtime.Gosched() {
			_, err := h.resource("dept").Get(t.Context(), key,
				Options{Format: row.FormatMsgPack, OnlyIfCached: true})
			if err == nil {
				return true
			}
		}
		return false
	})
}

// checks closes a set at the end of a test. What it holds must be what it says, before that
// and after.
func checks(t testing.TB, s *Set) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Errorf("before the end: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.Check(); err != nil {
		t.Errorf("at the end: %v", err)
	}
}
