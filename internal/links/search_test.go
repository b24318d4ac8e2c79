package links

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// many is how many links a search looks through: more than it looks at for one page.
const many = 30_000

// fill writes many links as another program does: at once, half of them without a row of
// counts. The oldest three have the tag "rare", and the very oldest is the needle.
func fill(t *testing.T, b *bed) {
	t.Helper()
	ctx := t.Context()
	code := func(i int) string { return fmt.Sprintf("n%05d", i) }
	bulks := []*source.Bulk{
		{Table: Table, Rows: many, Columns: append([]string{"id"}, insertColumns...),
			Row: func(i int, into []any) {
				url := fmt.Sprintf("https://host%d.example/%d", i%7, i)
				copy(into, []any{int64(i + 1), code(i), url, hashOf(url), int64(302), int64(1), int64(1), int64(0)})
				into[13], into[14], into[15], into[16] = "bulk", int64(i/2), int64(i/2), int64(1)
				if i == 0 {
					into[1], into[2] = "needle7", "https://old.example/haystack"
					into[12] = "Die Übersicht der Dinge"
				}
			}},
		{Table: "link_stats", Rows: many / 2, Columns: []string{"link_id", "clicks", "bots"},
			Row: func(i int, into []any) { into[0], into[1], into[2] = int64(2*i+1), int64(i%100), int64(0) }},
		{Table: "link_tags", Rows: many + 3, Columns: []string{"tag", "link_id"},
			Row: func(i int, into []any) {
				if into[0], into[1] = "all", int64(i+1); i >= many {
					into[0], into[1] = "rare", int64(i-many+1)
				}
			}},
	}
	_, err := b.DB.Tx(ctx, func(tx source.StoreTx) error {
		for _, bulk := range bulks {
			if err := tx.Bulk(ctx, bulk); err != nil {
				return err
			}
		}
		return AfterNumbers(ctx, b.DB.Dialect(), tx, Table)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// find follows Next to the end and returns the codes, and how many pages they were on.
func find(t *testing.T, b *bed, q Query) (codes []string, pages int) {
	t.Helper()
	for pages = 1; ; pages++ {
		p, err := b.List(t.Context(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		for _, l := range p.Links {
			codes = append(codes, l.Code)
		}
		if p.Next != "" && len(p.Links) < q.Limit && p.Looked == 0 {
			t.Errorf("%+v: page %d is not full, goes on, and has looked at nothing", q, pages)
		}
		if q.After = p.Next; p.Next == "" {
			return codes, pages
		}
	}
}

// Of what a search has not looked at it never says that there is nothing.
func searches(t *testing.T, b *bed) {
	fill(t, b)
	for _, o := range []Order{ByCreated, ByClicks, ByCode} {
		for _, text := range []string{"needle7", " NEEDLE7 ", "https://s.example/needle7"} {
			p, err := b.List(t.Context(), Query{Search: text, Order: o, Limit: 1, time: -1})
			if err != nil || len(p.Links) != 1 || p.Links[0].Code != "needle7" {
				t.Errorf("%c: the first of %q: %+v, %v", o, text, p.Links, err)
			}
		}
		for _, q := range []Query{{Search: "needle7"}, {Search: "haystack"}, {Search: "NEEDLE"},
			{Search: "die Übersicht"}, {Search: "haystack", Tag: "all"}, {Search: "old.ex", Tag: "rare"}} {
			q.Order, q.Limit, q.time = o, 50, -1
			codes, pages := find(t, b, q)
			if !slices.Equal(codes, []string{"needle7"}) {
				t.Errorf("%c %+v: found %q", o, q, codes)
			}
			if pages < many/scanWindow/2 && q.Tag != "rare" {
				t.Errorf("%c %+v: %d pages without an index", o, q, pages)
			}
		}
		codes, pages := find(t, b, Query{Tag: "rare", Order: o, Limit: 50, time: -1})
		if slices.Sort(codes); !slices.Equal(codes, []string{"n00001", "n00002", "needle7"}) || pages > 1 {
			t.Errorf("%c: of the tag rare: %q on %d pages", o, codes, pages)
		}
		for _, q := range []Query{{}, map[Order]Query{ByCreated: {Tag: "all"},
			ByClicks: {Search: "E"}, ByCode: {Owner: "bulk"}}[o]} {
			q.Order, q.Limit = o, MaxPage
			codes, _ := find(t, b, q)
			slices.Sort(codes)
			if n := len(slices.Compact(codes)); n != many || len(codes) != many {
				t.Errorf("%c %+v: %d of %d links", o, q, n, many)
			}
		}
		if codes, _ := find(t, b, Query{Search: "not there", Order: o, Limit: 9}); len(codes) > 0 {
			t.Errorf("%c: found %q", o, codes)
		}
	}
	indexed(t, b)
}

// A told is a Watcher that a test tells.
type told struct {
	codes chan string // "": all
	once  sync.Once
	gone  chan struct{}
}

func (w *told) Sound() bool { return true }
func (w *told) Close()      { w.once.Do(func() { close(w.gone) }) }

func (w *told) Next(ctx context.Context) ([]string, bool, error) {
	select {
	case code := <-w.codes:
		return []string{code}, code == "", nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// With an index, what many links would have to be looked at for is on one page.
func indexed(t *testing.T, b *bed) {
	w := &told{codes: make(chan string), gone: make(chan struct{})}
	b.Watch = func() Watcher { return w }
	defer b.Close()
	await := func(what string, ok func() bool) {
		t.Helper()
		for end := waittest.Deadline(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what, "is not seen")
			}
		}
	}
	at := func(text string) bool {
		p, err := b.List(t.Context(), Query{Search: text, time: -1})
		return err == nil && p.Looked == 0 && p.Next == "" && len(p.Links) == 1
	}
	await("the index", func() bool { return at("haystack") })
	for _, o := range []Order{ByCreated, ByClicks, ByCode} {
		for _, q := range []Query{{Search: "host3.example/21"}, {Search: "n0000"},
			{Search: "Übersicht"}, {Search: "host3.example/21", Tag: "all"}} {
			q.Order, q.Limit = o, 30
			with, _ := find(t, b, q)
			s := b.Store
			b.Store = NewStore(Deps{DB: s.DB, Rules: s.Rules})
			without, _ := find(t, b, q)
			b.Store = s
			if diff := cmp.Diff(without, with); diff != "" || len(with) == 0 {
				t.Errorf("%c %+v: with an index %s", o, q, diff)
			}
		}
	}
	b.make(t, `{"url":"https://example.com/quokka"}`)
	l := b.make(t, `{"url":"https://example.com/"}`)
	if _, err := b.Merge(t.Context(), l.Code, draft(t, `{"title":"Axolotl"}`), Condition{}, ""); err != nil {
		t.Fatal(err)
	}
	if !at("quokka") || !at("axolotl") {
		t.Error("a link of this store is not found at once")
	}
	_, err := b.DB.Tx(t.Context(), func(tx source.StoreTx) error {
		_, err := tx.Exec(t.Context(), "UPDATE links SET title = 'Wombat' WHERE code = 'n00009'")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.codes <- "n00009"
	await("what another program has changed", func() bool { return at("wombat") })
	w.codes <- ""
	<-w.gone
	if codes, _ := find(t, b, Query{Search: "wombat", Limit: 9}); !slices.Equal(codes, []string{"n00009"}) {
		t.Errorf("after anything may have changed: %q", codes)
	}
}

// TestGrams_LeaveNothingOut: the blocks that they name have every link with a text.
func TestGrams_LeaveNothingOut(t *testing.T) {
	g := newGrams()
	texts := map[int64]string{}
	holds := func(id uint32, before, text, after string) bool {
		n := int64(id % (40 * blockSize * partBlocks))
		texts[n] = before + text + after
		if !g.add(n, texts[n]) {
			return false
		}
		for _, spelling := range []string{text, strings.ToUpper(text), strings.ToLower(text)} {
			if !slices.Contains(g.find(spelling, 1<<20), n/blockSize) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(holds, nil); err != nil {
		t.Error(err)
	}
	if !holds(5, "https://", "ÄÖÜ.example/a_b%c", "x") || !holds(77, "", "a", "") {
		t.Error("a plain text is left out")
	}
	if g.add(-1, "x") {
		t.Error("a number that is none is taken")
	}
}
