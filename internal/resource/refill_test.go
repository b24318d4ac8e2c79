package resource

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

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

// What memory had is there again soon after a write, in each form that it had, as the
// write has read it back; and so is what the row is a part of in another resource, which
// is read again.
func TestRefill_ReadsAgainWhatMemoryHad(t *testing.T) {
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
		if got := h.kept("dept", "10", row.FormatJSON); !strings.Contains(got, want) {
			t.Fatalf("dept/10 = %s, want %s", got, want)
		}
		h.kept("emp", "7839", row.FormatMsgPack)
	}
	emp, dept := h.resource("emp").Stats(), h.resource("dept").Stats()
	if emp.Kept != 40 || emp.Refilled != 0 {
		t.Errorf("%d documents were kept and %d read again, want 40 and none", emp.Kept, emp.Refilled)
	}
	if dept.Kept != 0 || dept.Refilled < 20 {
		t.Errorf("of the other resource %d were kept and %d read again, want none and 20", dept.Kept,
			dept.Refilled)
	}
}

// What memory had not is not read because it is written.
func TestRefill_LeavesAloneWhatMemoryHadNot(t *testing.T) {
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
	if s := h.resource("dept").Stats(); s.Kept != 1 || s.Refilled != 0 {
		t.Errorf("%d documents were kept and %d read again, want 1 and none", s.Kept, s.Refilled)
	}
}

// Whoever reads between a write and its refill gets the new document too, and
// never an older one from then on.
func TestRefill_BesideReaders(t *testing.T) {
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
