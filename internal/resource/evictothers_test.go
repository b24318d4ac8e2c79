package resource

import (
	"testing"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// told waits until the feed has told of everything that was committed before.
func (h *house) told() {
	h.t.Helper()
	before := h.set.Stats().Sources[0].Fences
	h.until(func() bool {
		s := h.set.Stats().Sources[0]
		return s.Fences >= before+2 && s.Unsettled == 0 // the second began after the call
	})
}

// TestResource_FormatsStayTogether: two formats that are read in turn both come
// from memory, also where every load asks the database itself.
func TestResource_FormatsStayTogether(t *testing.T) {
	h := newHouse(t, nil)
	h.exec(`INSERT INTO person VALUES ('ann', 'a@b')`)
	h.told()
	for _, tt := range []struct {
		name, key string
		wide      bool
	}{{"dept", "10", false}, {"person", "ann", true}} {
		if wide := h.resource(tt.name).revision.Load().wide; wide != tt.wide {
			t.Errorf("%s: wide %v, want %v", tt.name, wide, tt.wide)
		}
		h.hit(tt.name, tt.key)
		before := h.set.Stats().Sources[0].Timings["load"].Count
		for i := range 20 {
			for _, of := range []row.Format{row.FormatJSON, row.FormatMsgPack, row.FormatCBOR} {
				if _, from := h.get(tt.name, tt.key, Options{Format: of}); from != HitMemory && i > 0 {
					t.Errorf("%s, format %d, read %d: from %v, not from memory", tt.name, of, i, from)
				}
			}
		}
		if n := h.set.Stats().Sources[0].Timings["load"].Count - before; n != 2 {
			t.Errorf("%s: %d loads for two more formats, want 2", tt.name, n)
		}
	}
}

// TestResource_AnswerDropsOtherFormatsOfOtherStates, whether the feed has come so
// far or not: what was told in one format holds for all.
func TestResource_AnswerDropsOtherFormatsOfOtherStates(t *testing.T) {
	h := newHouse(t, nil)
	f := h.resource("dept").revision.Load()
	doc := func(of row.Format, hash uint64) *row.Document {
		return row.NewDocument("10", of, []byte("x"), hash, row.Stamp{Owner: f.number})
	}
	ref := func(of row.Format) tier.Ref {
		return tier.Ref{Resource: f.number, Format: of, Key: "10"}
	}
	for of := range row.Format(row.NumFormats) {
		f.asked.Or(1 << of)
	}
	for _, stored := range []bool{true, false} {
		f.memory.Put(ref(row.FormatJSON), doc(row.FormatJSON, 1))
		f.memory.Put(ref(row.FormatMsgPack), doc(row.FormatMsgPack, 2))
		f.memory.Put(ref(row.FormatCBOR), doc(row.FormatCBOR, 1))
		l := &fresh.Lease{Key: "10", Format: row.FormatCBOR}
		f.evictOthers(l, doc(row.FormatCBOR, 2), stored)
		for of, want := range map[row.Format]bool{
			row.FormatJSON: false, row.FormatMsgPack: true, row.FormatCBOR: stored,
		} {
			if _, ok := f.memory.Get(ref(of)); ok != want {
				t.Errorf("stored %v: format %d is kept %v, want %v", stored, of, ok, want)
			}
		}
	}
}
