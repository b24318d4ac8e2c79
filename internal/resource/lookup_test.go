package resource

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// lookup is Lookup at a time of its own.
func lookup(r *Resource, key row.Key) (*row.Document, State, *AsOf) {
	var s Snapshot
	s.Begin(time.Now())
	defer s.End()
	doc, state, at := r.Lookup(key, row.FormatJSON, &s)
	if doc != nil {
		doc = doc.Keep()
	}
	return doc, state, at
}

func TestResource_LookupSaysWhatMemoryHas(t *testing.T) {
	h := newHouse(t, nil)
	r := h.resource("dept")
	if doc, state, at := lookup(r, "10"); doc != nil || state != Miss || at != nil {
		t.Errorf("what nobody has read: %v, %d, %v", doc, state, at)
	}
	h.hit("dept", "10")
	h.get("dept", "99", Options{})
	doc, state, at := lookup(r, "10")
	if state != Hit || doc.Absent() || !at.Fresh || !at.Token.Includes(r.Position()) {
		t.Errorf("what memory has: %v, %d, %+v", doc, state, at)
	}
	if doc, state, _ := lookup(r, "99"); state != Absent || !doc.Absent() {
		t.Errorf("a row that is not there: %v, %d", doc, state)
	}
	if _, state, _ := lookup(r, "010"); state != Miss {
		t.Errorf("another spelling: %d", state)
	}
}

// TestLookups_SayWhatLookupDoes: of several resources, of what is there, is not, and nobody
// knows, in groups of every size.
func TestLookups_SayWhatLookupDoes(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	h.hit("city", "Tulsa,OK")
	h.get("dept", "99", Options{})
	var s Snapshot
	s.Begin(time.Now())
	var l Lookups
	all := []struct {
		name string
		key  row.Key
	}{{"dept", "10"}, {"dept", "20"}, {"city", "Tulsa,OK"}, {"dept", "99"}, {"dept", "010"},
		{"city", "10"}, {"dept", "Tulsa,OK"}}
	for len(all) < MaxLookups {
		all = append(all, all[:min(7, MaxLookups-len(all))]...)
	}
	for n := range len(all) + 1 {
		for _, one := range all[:n] {
			l.Add(h.resource(one.name), one.key, row.FormatJSON)
		}
		l.Add(h.resource("dept"), "20", row.FormatJSON)
		l.Get(&s)
		for i, one := range all[:n] {
			doc, state, at := l.Result(i, &s)
			want, wantState, wantAt := h.resource(one.name).Lookup(one.key, row.FormatJSON, &s)
			if !sameDocument(doc, want) || state != wantState || at != wantAt {
				t.Errorf("%d look-ups, %s/%s: %v, %d, %p; want %v, %d, %p", n, one.name, one.key,
					doc, state, at, want, wantState, wantAt)
			}
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		s.Begin(time.Now())
		l.Add(h.resource("dept"), "10", row.FormatJSON)
		l.Add(h.resource("dept"), "10", row.FormatJSON)
		l.Get(&s)
		if _, state, _ := l.Result(1, &s); state != Hit {
			t.Fatal(state)
		}
	}); n != 0 {
		t.Errorf("look-ups allocate %v times", n)
	}
}

// sameDocument reports whether two look-ups have found one copy.
func sameDocument(a, b *row.Document) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Stamp() == b.Stamp() && a.Absent() == b.Absent() && a.ETag() == b.ETag() &&
		bytes.Equal(a.Body(), b.Body())
}

func TestResource_LoadAnswersEachKey(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	got := h.resource("dept").Load(t.Context(), []row.Key{"10", "x", "020", "99"}, Options{})
	if got[0].Origin != HitMemory || got[2].Origin != Stored || got[2].Key != "20" ||
		got[3].Err != nil || !got[3].Doc.Absent() {
		t.Errorf("%+v", got)
	}
	if !errors.Is(got[1].Err, row.ErrKey) {
		t.Errorf("a key that no row has: %v", got[1].Err)
	}
}

func TestResource_HitAllocatesNothing(t *testing.T) {
	h := newHouse(t, nil)
	h.hit("dept", "10")
	h.hit("city", "Tulsa,OK")
	for _, tt := range []struct{ name, key string }{{"dept", "10"}, {"city", "Tulsa,OK"}} {
		r, ctx, key := h.resource(tt.name), t.Context(), row.Key(tt.key)
		if a, err := r.Get(ctx, key, Options{}); err != nil || a.Origin != HitMemory {
			t.Fatal(a.Origin, err)
		}
		var s Snapshot
		n := testing.AllocsPerRun(1000, func() {
			s.Begin(time.Now())
			if _, state, _ := r.Lookup(key, row.FormatJSON, &s); state != Hit {
				t.Fatal(state)
			}
		})
		if n != 0 {
			t.Errorf("a look-up of %s/%s allocates %v times", tt.name, tt.key, n)
		}
	}
}
