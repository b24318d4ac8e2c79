package links

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// A database is a Store that tests may close.
type database interface {
	source.Store
	Close() error
}

func openSQLite(t testing.TB) (database, error) {
	return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "links.db"), sqlite.Options{Own: true})
}

func TestStore(t *testing.T) { runStore(t, openSQLite) }

func TestPostgres_Store(t *testing.T) {
	runStore(t, func(t testing.TB) (database, error) {
		return postgres.Open(t.Context(), dbtest.Postgres(t), postgres.Options{})
	})
}

func TestMariaDB_Store(t *testing.T) {
	runStore(t, func(t testing.TB) (database, error) {
		return mysql.Open(t.Context(), dbtest.MariaDB(t), mysql.Options{})
	})
}

// A bed is a store under test.
type bed struct {
	*Store
	keys    *Keys
	stats   *Stats
	changed map[string]int // codes that Changed was told, guarded by mu
	mu      sync.Mutex
	clock   atomic.Int64 // milliseconds
}

// newBed opens a store over an empty database.
func newBed(t testing.TB, open func(testing.TB) (database, error), o Options) *bed {
	t.Helper()
	db, err := open(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := schema.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	b := &bed{changed: make(map[string]int)}
	b.clock.Store(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).UnixMilli())
	now := func() time.Time { return time.UnixMilli(b.clock.Load()) }
	b.Store = NewStore(Deps{DB: db, Rules: rules(t, o), Now: now,
		Changed: func(_ context.Context, pos source.Position, codes []string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, c := range codes {
				b.changed[c]++
			}
			if pos == 0 {
				t.Error("a change without a position")
			}
		}})
	b.keys, b.stats = NewKeys(db, now), &Stats{DB: db, Now: now}
	return b
}

// told returns the codes that Changed was told since it was called last.
func (b *bed) told() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	codes := slices.Sorted(maps.Keys(b.changed))
	clear(b.changed)
	return codes
}

func draft(t testing.TB, body string) *Draft {
	t.Helper()
	d, err := ParseDraft([]byte(body), row.FormatJSON)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return d
}

// make makes a link.
func (b *bed) make(t testing.TB, body string) Link {
	t.Helper()
	l, made, err := b.Create(t.Context(), draft(t, body), "me")
	if err != nil || !made {
		t.Fatalf("%s: made %t, %v", body, made, err)
	}
	return l
}

func runStore(t *testing.T, open func(testing.TB) (database, error)) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bed)
		o    Options
	}{
		{"Round", roundTrip, Options{}},
		{"Reuse", reuse, Options{}},
		{"Change", changes, Options{}},
		{"Replace", replaces, Options{}},
		{"Delete", deletes, Options{}},
		{"Restore", restores, Options{}},
		{"NumbersWithClicks", numbersWithClicks, Options{}},
		{"NumbersOfDeleted", numbersOfDeleted, Options{}},
		{"NumbersAtTheEnd", numbersAtTheEnd, Options{}},
		{"List", lists, Options{}},
		{"Search", searches, Options{BaseURL: "https://s.example"}},
		{"Race", races, Options{}},
		{"Grow", grows, Options{CodeAlphabet: "a", CodeLength: 1}},
		{"Keys", keys, Options{}},
		{"Stats", statistics, Options{}},
		{"Raw", rawClicks, Options{}},
		{"Exact", exactCase, Options{ExactCase: true}},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBed(t, open, test.o)) })
	}
}

func roundTrip(t *testing.T, b *bed) {
	made := b.make(t, `{"url":"https://example.com/spring?x=1","code":"Spring","status":301,
		"tags":["mail","a","mail"],"title":"Frühling","starts_at":"2026-11-21T00:00:00.5Z",
		"expires_at":"2026-12-31T23:59:59+01:00","expired_url":"https://example.com/late",
		"max_clicks":9007199254740993,"enabled":false,"pass_query":false,"pass_path":true}`)
	got, err := b.Get(t.Context(), "SPRING")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("what was made is not what is read: %s", diff)
	}
	want := `{"code":"spring","short_url":"https://s.example/spring",` +
		`"url":"https://example.com/spring?x=1","status":301,"title":"Frühling","tags":["a","mail"],` +
		`"enabled":false,"pass_query":false,"pass_path":true,"starts_at":"2026-11-21T00:00:00.5Z",` +
		`"expires_at":"2026-12-31T22:59:59Z","expired_url":"https://example.com/late",` +
		`"max_clicks":9007199254740993,"created_at":"2026-11-22T12:00:00Z",` +
		`"updated_at":"2026-11-22T12:00:00Z","clicks":0,"bots":0,"last_click_at":null,"owner":"me",` +
		`"state":"off"}`
	if diff := cmp.Diff(want, string(got.Append(nil, row.FormatJSON, b.Rules, 1))); diff != "" {
		t.Error(diff)
	}
	plain := b.make(t, `{"url":"https://example.com/"}`)
	if len(plain.Code) != 7 || plain.Status != 302 || !plain.Enabled || !plain.PassQuery ||
		plain.PassPath || plain.ETag() != `"1"` {
		t.Errorf("the defaults are %+v", plain)
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values([]string{plain.Code, "spring"})), b.told()); diff != "" {
		t.Error(diff)
	}
	for _, code := range []string{"nobody", "a/b", "", strings.Repeat("x", 100)} {
		if _, err := b.Get(t.Context(), code); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q): %v", code, err)
		}
	}
}

func reuse(t *testing.T, b *bed) {
	first := b.make(t, `{"url":"https://example.com/a","code":"old"}`)
	second := b.make(t, `{"url":"https://example.com/a","code":"new"}`)
	b.make(t, `{"url":"https://example.com/a","code":"off","enabled":false}`)
	b.make(t, `{"url":"https://example.com/a","code":"limited","max_clicks":3}`)
	for body, want := range map[string]string{
		`{"url":"HTTPS://Example.com/a","reuse":true}`:                second.Code,
		`{"url":"https://example.com/a","reuse":true,"code":"old"}`:   first.Code,
		`{"url":"https://example.com/a","reuse":true,"max_clicks":3}`: "limited",
	} {
		l, made, err := b.Create(t.Context(), draft(t, body), "")
		if err != nil || made || l.Code != want {
			t.Errorf("%s: %s, made %t, %v; want %s", body, l.Code, made, err, want)
		}
	}
	for _, body := range []string{
		`{"url":"https://example.com/a","reuse":true,"status":301}`,
		`{"url":"https://example.com/A","reuse":true}`,
		`{"url":"https://example.com/a"}`,
	} {
		if l, made, err := b.Create(t.Context(), draft(t, body), ""); err != nil || !made {
			t.Errorf("%s: %s, made %t, %v; want a new one", body, l.Code, made, err)
		}
	}
	_, _, err := b.Create(t.Context(), draft(t, `{"url":"https://example.com/b","code":"OLD"}`), "")
	if !errors.Is(err, ErrTaken) {
		t.Errorf("a code that is taken: %v", err)
	}
}

func changes(t *testing.T, b *bed) {
	ctx := t.Context()
	b.make(t, `{"url":"https://example.com/a","code":"a","title":"A","tags":["x","y"],"max_clicks":5}`)
	b.make(t, `{"url":"https://example.com/b","code":"b"}`)
	b.told()
	b.clock.Add(1000)
	merge := func(code, body string, c Condition) (Link, error) {
		return b.Merge(ctx, code, draft(t, body), c, "you")
	}
	l, err := merge("a", `{"title":null,"tags":["y","z"],"url":"https://example.com/c"}`,
		Condition{Match: []string{`"1"`}})
	if err != nil || l.Version != 2 || l.Title != "" || l.MaxClicks != 5 ||
		!slices.Equal(l.Tags, []string{"y", "z"}) || l.UpdatedAt != b.clock.Load() {
		t.Errorf("merged: %+v, %v", l, err)
	}
	if same, err := merge("a", `{"tags":["z","y"]}`, Condition{}); err != nil || same.Version != 2 {
		t.Errorf("a change of nothing: %+v, %v", same, err)
	}
	if diff := cmp.Diff([]string{"a"}, b.told()); diff != "" {
		t.Error(diff)
	}
	for _, c := range []Condition{{Match: []string{`"1"`}}, {Match: []string{}},
		{NoneMatch: []string{"*"}}, {NoneMatch: []string{`"2"`}}} {
		if _, err := merge("a", `{"title":"no"}`, c); !errors.Is(err, ErrPrecondition) {
			t.Errorf("with %+v: %v", c, err)
		}
	}
	if _, err := merge("a", `{"code":"b"}`, Condition{}); !errors.Is(err, ErrTaken) {
		t.Errorf("renamed to a code that is taken: %v", err)
	}
	if l, err = merge("a", `{"code":"c","url":null}`, Condition{}); err == nil {
		t.Errorf("a link without a target: %+v", l)
	}
	if _, err := merge("a", `{"code":"C"}`, Condition{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "c"}, b.told()); diff != "" {
		t.Errorf("a new name drops both copies: %s", diff)
	}
	if _, err := b.Get(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the old name: %v", err)
	}
	if _, err := merge("a", `{"title":"x"}`, Condition{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a link that is not there: %v", err)
	}
	edits, err := b.Edits(ctx, "c", 10)
	if err != nil || len(edits) != 3 || edits[0].Who != "you" || edits[2].Who != "me" ||
		edits[2].Before != "" || !strings.Contains(edits[0].Before, `"code":"a"`) ||
		!strings.Contains(edits[0].After, `"code":"c"`) {
		t.Errorf("history %+v, %v", edits, err)
	}
}

func replaces(t *testing.T, b *bed) {
	ctx := t.Context()
	put := func(code, body string, c Condition) (Link, bool, error) {
		return b.Replace(ctx, code, draft(t, body), c, "me")
	}
	l, made, err := put("A", `{"url":"https://example.com/","title":"T","max_clicks":2}`, Condition{})
	if err != nil || !made || l.Code != "a" {
		t.Fatalf("put: %+v, %t, %v", l, made, err)
	}
	for range 2 {
		l, made, err = put("a", `{"url":"https://example.com/","code":"A","title":"T"}`, Condition{})
		if err != nil || made || l.Version != 2 || l.MaxClicks != 0 {
			t.Errorf("put twice: %+v, %t, %v", l, made, err)
		}
	}
	if _, _, err := put("a", `{"url":"https://example.com/","code":"b"}`, Condition{}); err == nil {
		t.Error("another code than the path's was taken")
	}
	_, _, err = put("a", `{"url":"https://example.com/"}`, Condition{NoneMatch: []string{"*"}})
	if !errors.Is(err, ErrPrecondition) {
		t.Errorf("only to make it: %v", err)
	}
	_, _, err = put("z", `{"url":"https://example.com/"}`, Condition{Match: []string{"*"}})
	if !errors.Is(err, ErrPrecondition) {
		t.Errorf("only to change it: %v", err)
	}
	// A link can be sent back as it was read, also once it has expired.
	l, _, err = put("e", `{"url":"https://example.com/","expires_at":"2026-11-22T12:00:01Z"}`,
		Condition{})
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Add(time.Hour.Milliseconds())
	back := string(l.Append(nil, row.FormatJSON, b.Rules, 1))
	if l, made, err = put("e", back, Condition{}); err != nil || made || l.Version != 1 {
		t.Errorf("as it was read: %+v, %t, %v", l, made, err)
	}
	if _, _, err = put("e", `{"url":"https://example.com/","expires_at":"2026-11-22T12:00:02Z"}`,
		Condition{}); err == nil {
		t.Error("a new expiry in the past was taken")
	}
}

func deletes(t *testing.T, b *bed) {
	ctx := t.Context()
	old := b.make(t, `{"url":"https://example.com/","code":"a","tags":["x"]}`)
	// A link with clicks is deleted like any other.
	count(t, b, old.ID, 7)
	b.told()
	if err := b.Delete(ctx, "a", Condition{Match: []string{`"9"`}}, ""); !errors.Is(err, ErrPrecondition) {
		t.Errorf("with another version: %v", err)
	}
	if err := b.Delete(ctx, "A", Condition{}, "me"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, b.told()); diff != "" {
		t.Error(diff)
	}
	if err := b.Delete(ctx, "a", Condition{}, ""); !errors.Is(err, ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	again := b.make(t, `{"url":"https://example.com/","code":"a"}`)
	if again.ID <= old.ID {
		t.Errorf("number %d came back after %d", again.ID, old.ID)
	}
	if l, err := b.Get(ctx, "a"); err != nil || l.Clicks != 0 || len(l.Tags) != 0 {
		t.Errorf("the new link has the old one's: %+v, %v", l, err)
	}
}

// count adds clicks to a link, as a drainer does.
func count(t *testing.T, b *bed, link, n int64) {
	t.Helper()
	_, err := b.DB.Tx(t.Context(), func(tx source.StoreTx) error {
		return tx.Bulk(t.Context(), &source.Bulk{
			Table: "link_stats", Columns: []string{"link_id", "clicks", "bots", "last_at"}, Rows: 1,
			Row:   func(_ int, into []any) { copy(into, []any{link, n, int64(1), b.clock.Load()}) },
			Key:   []string{"link_id"},
			Merge: []source.Merge{{Column: "clicks", How: source.MergeAdd}},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// races has many make the same code: one of them does.
func races(t *testing.T, b *bed) {
	for round := range 10 {
		var wins, taken atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				d := draft(t, fmt.Sprintf(`{"url":"https://example.com/","code":"race%d"}`, round))
				_, made, err := b.Create(context.WithoutCancel(t.Context()), d, "")
				switch {
				case made && err == nil:
					wins.Add(1)
				case errors.Is(err, ErrTaken):
					taken.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 || taken.Load() != 7 {
			t.Fatalf("%d made it, %d were told that it is taken", wins.Load(), taken.Load())
		}
	}
}

// grows makes codes of an alphabet that runs out.
func grows(t *testing.T, b *bed) {
	const workers, each = 10, 20
	codes := make(chan string, workers*each)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range each {
				l, made, err := b.Create(context.WithoutCancel(t.Context()),
					draft(t, `{"url":"https://example.com/"}`), "")
				if err != nil || !made {
					t.Error(made, err)
					return
				}
				codes <- l.Code
			}
		})
	}
	wg.Wait()
	close(codes)
	seen := make(map[string]bool)
	for c := range codes {
		seen[c] = true
	}
	if len(seen) != workers*each {
		t.Errorf("%d different codes of %d", len(seen), workers*each)
	}
}

func exactCase(t *testing.T, b *bed) {
	b.make(t, `{"url":"https://example.com/1","code":"Ab"}`)
	b.make(t, `{"url":"https://example.com/2","code":"aB"}`)
	l, err := b.Get(t.Context(), "aB")
	if err != nil || l.URL != "https://example.com/2" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := b.Get(t.Context(), "ab"); !errors.Is(err, ErrNotFound) {
		t.Errorf("another case: %v", err)
	}
}

// A heldTail is clicks that are not in the database yet. Once it is asked for
// a link's, it moves them there first.
type heldTail struct {
	count   clicks.Count
	version uint64
	move    func()
}

func (h *heldTail) Tail(link int64) (clicks.Count, uint64) {
	if h.move != nil && link != clicks.All {
		h.move()
	}
	return h.count, h.version
}

func TestStore_CountsAClickOnceWhileItIsDrained(t *testing.T) {
	b := newBed(t, openSQLite, Options{})
	l := b.make(t, `{"url":"https://example.com/","code":"a"}`)
	tail := &heldTail{count: clicks.Count{Clicks: 5, LastAt: 9}}
	tail.move = func() { // the row has been read, without the five
		tail.move = nil
		count(t, b, l.ID, 5)
		tail.count = clicks.Count{}
		tail.version += 2
	}
	b.Store.Tail = tail
	got, err := b.Get(t.Context(), "a")
	if err != nil || got.Clicks != 5 {
		t.Errorf("%d clicks, %v; want 5", got.Clicks, err)
	}
}
