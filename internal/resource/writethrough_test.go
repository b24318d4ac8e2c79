package resource

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// What a write answers with is what memory has from then on: nobody reads the database
// for it.
func TestKeep_IsWhatTheWriterWasTold(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "20")
	before := h.resource("dept").Stats()
	for i := range 10 {
		told := h.mustWrite("dept", Write{Op: source.OpMerge, Key: "20"},
			fmt.Sprintf(`{"loc":"%d"}`, i)).Doc
		if got := h.kept("dept", "20", row.FormatJSON); got != string(told.Body()) {
			t.Fatalf("memory has %s, its writer was told %s", got, told.Body())
		}
	}
	after := h.resource("dept").Stats()
	if after.Kept != 10 || after.Stored != before.Stored || after.Misses != before.Misses {
		t.Errorf("%d were kept, %d stored by loads and %d missed, want 10 and no others", after.Kept,
			after.Stored-before.Stored, after.Misses-before.Misses)
	}
}

// A row that was not there is kept as it is now, and what is deleted is not.
func TestKeep_OfARowThatComesAndGoes(t *testing.T) {
	h := newHouse(t, nil)
	if _, origin := h.get("dept", "77", Options{}); origin == Stored {
		h.hit("dept", "77") // that there is none
	}
	h.mustWrite("dept", Write{Op: source.OpReplace, Key: "77"}, `{"dname":"NEW","loc":"X"}`)
	if got, _ := h.get("dept", "77", Options{}); !strings.Contains(got, `"NEW"`) {
		t.Fatalf("dept/77 = %s after it was made", got)
	}
	h.hit("dept", "77")
	h.mustWrite("dept", Write{Op: source.OpDelete, Key: "77"}, "")
	if got, _ := h.get("dept", "77", Options{}); got != "" {
		t.Fatalf("dept/77 = %s after it was deleted", got)
	}
}

// A write that fails within its transaction leaves what there was, and the next one is
// kept as ever.
func TestKeep_NotWhenTheWriteFails(t *testing.T) {
	h := newHouse(t, nil)
	was := h.hit("dept", "20")
	for range 3 {
		_, err := h.write("dept", Write{Op: source.OpMerge, Key: "20", IfMatch: []string{`"other"`}},
			`{"loc":"LOST"}`)
		if err == nil {
			t.Fatal("a write passes whose condition does not hold")
		}
		if got, _ := h.get("dept", "20", Options{}); got != was {
			t.Fatalf("dept/20 = %s after a write that failed, was %s", got, was)
		}
		h.hit("dept", "20")
	}
	h.mustWrite("dept", Write{Op: source.OpMerge, Key: "20"}, `{"loc":"KEPT"}`)
	if got := h.kept("dept", "20", row.FormatJSON); !strings.Contains(got, "KEPT") {
		t.Errorf("dept/20 = %s", got)
	}
	if n := h.resource("dept").Stats().Kept; n != 1 {
		t.Errorf("%d documents were kept, want 1", n)
	}
}

// Writers of one row beside each other, and of the rows in it: what memory has in the end
// is what the database has.
func TestKeep_BesideOtherWriters(t *testing.T) {
	h := newHouse(t, nil)
	for round := range 20 {
		h.hit("dept", "10")
		var writers sync.WaitGroup
		for w := range 4 {
			writers.Go(func() {
				for i := range 5 {
					loc := fmt.Sprintf("%d-%d-%d", round, w, i)
					h.mustWrite("dept", Write{Op: source.OpMerge, Key: "10"}, `{"loc":"`+loc+`"}`)
					h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7839"},
						fmt.Sprintf(`{"sal":%d}`, round*100+w*10+i))
				}
			})
		}
		writers.Wait()
		want, _ := h.get("dept", "10", Options{NoCache: true})
		for range 10 {
			if got, _ := h.get("dept", "10", Options{}); got != want {
				t.Fatalf("round %d: dept/10 = %s, the database has %s", round, got, want)
			}
		}
	}
}

// Nobody waits for a write-through whose change the feed never tells of.
func TestPromises_EndInTime(t *testing.T) {
	var p writeThroughs
	if rest := p.add([]writeThrough{{pos: 5, by: 100}, {pos: 9, by: 100}, {pos: 9, by: 50}}); len(rest) != 0 {
		t.Errorf("%d are refused", len(rest))
	}
	for _, tt := range []struct {
		settled   fresh.Position
		now       int64
		due, left int32
	}{{4, 10, 0, 3}, {5, 10, 1, 2}, {5, 51, 1, 1}, {8, 100, 0, 1}, {8, 101, 1, 0}} {
		due := p.take(tt.settled, tt.now)
		if len(due) != int(tt.due) || p.waiting.Load() != tt.left {
			t.Errorf("settled %d at %d: %d due, %d left, want %d and %d", tt.settled, tt.now, len(due),
				p.waiting.Load(), tt.due, tt.left)
		}
	}
	if rest := p.add(make([]writeThrough, maxWriteThroughs+3)); len(rest) != 3 {
		t.Errorf("%d of too many are refused, want 3", len(rest))
	}
}

// kept waits until memory has a document, and returns it. Nobody asks the database
// for it meanwhile.
func (h *house) kept(name, key string, of row.Format) string {
	h.t.Helper()
	var doc string
	h.until(func() bool {
		a, err := h.resource(name).Get(h.t.Context(), row.Key(key),
			Options{Format: of, OnlyIfCached: true})
		if err == nil {
			doc = string(a.Doc.Body())
		} else if !errors.Is(err, ErrNotCached) {
			h.t.Fatal(err)
		}
		return err == nil
	})
	return doc
}

// What memory had is there again soon after a write, in each format that it had, as the
// write has read it back. What the row is a part of in another resource is read by its
// next reader, as it is now.
func TestKeep_WhatMemoryHad(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("emp", "7839")
	h.hit("dept", "10")
	if _, err := h.resource("emp").Get(t.Context(), "7839",
		Options{Format: row.FormatMsgPack}); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		h.mustWrite("emp", Write{Op: source.OpMerge, Key: "7839"}, fmt.Sprintf(`{"sal":%d}`, i))
		want := fmt.Sprintf(`"sal":%d,`, i)
		if got := h.kept("emp", "7839", row.FormatJSON); !strings.Contains(got, want) {
			t.Fatalf("emp/7839 = %s, want %s", got, want)
		}
		h.kept("emp", "7839", row.FormatMsgPack)
		if doc, _ := h.get("dept", "10", Options{}); !strings.Contains(doc, want) {
			t.Fatalf("dept/10 = %s, want %s", doc, want)
		}
	}
	if emp := h.resource("emp").Stats(); emp.Kept != 40 {
		t.Errorf("%d documents were kept, want 40", emp.Kept)
	}
	if dept := h.resource("dept").Stats(); dept.Kept != 0 {
		t.Errorf("of the other resource %d were kept, want none", dept.Kept)
	}
}

// What memory had not is not read because it is written.
func TestKeep_LeavesAloneWhatMemoryHadNot(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10") // which shows when all is done: it is kept
	for i := range 20 {
		h.mustWrite("dept", Write{Op: source.OpMerge, Key: "20"}, fmt.Sprintf(`{"loc":"%d"}`, i))
	}
	h.mustWrite("dept", Write{Op: source.OpMerge, Key: "10"}, `{"loc":"X"}`)
	h.kept("dept", "10", row.FormatJSON)
	_, err := h.resource("dept").Get(t.Context(), "20", Options{OnlyIfCached: true})
	if !errors.Is(err, ErrNotCached) {
		t.Errorf("dept/20, which nobody has read: %v, want %v", err, ErrNotCached)
	}
	if s := h.resource("dept").Stats(); s.Kept != 1 {
		t.Errorf("%d documents were kept, want 1", s.Kept)
	}
}

// Whoever reads before the document of a write is kept gets the new one too, and
// never an older one from then on.
func TestKeep_BesideReaders(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	var readers sync.WaitGroup
	defer readers.Wait()
	done := make(chan struct{})
	defer close(done)
	for range 4 {
		readers.Go(func() {
			last := -1
			for {
				select {
				case <-done:
					return
				default:
				}
				a, err := h.resource("dept").Get(t.Context(), "10", Options{})
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				_, tail, _ := strings.Cut(string(a.Doc.Body()), `"loc":"`)
				if _, err := fmt.Sscanf(tail, "%d", &n); err == nil && n < last {
					t.Errorf("%d was read after %d", n, last)
				} else if err == nil {
					last = n
				}
			}
		})
	}
	for i := range 300 {
		h.mustWrite("dept", Write{Op: source.OpMerge, Key: "10"}, fmt.Sprintf(`{"loc":"%d"}`, i))
	}
}
