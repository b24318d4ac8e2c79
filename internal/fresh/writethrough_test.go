package fresh

import (
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// heldWrite is a domain in which a write of "k", at position 2, has been held twice.
type heldWrite struct {
	d     *Domain
	s     *Space
	holds []Invalidation
	kept  *row.Document
}

func newHeldWrite() *heldWrite {
	r := &heldWrite{}
	r.d, r.s = followedSpace()
	r.hold()
	r.hold()
	return r
}

func (r *heldWrite) key() []Invalidation { return []Invalidation{{Space: r.s, Keys: []row.Key{"k"}}} }
func (r *heldWrite) all() []Invalidation { return []Invalidation{{Space: r.s, Whole: true}} }

func (r *heldWrite) hold() {
	r.d.Hold(r.key())
	r.holds = append(r.holds, r.key()...)
}

func (r *heldWrite) writeThrough() *Lease {
	return r.s.WriteThrough("k", row.FormatJSON, 2, len(r.holds))
}

// deliver ends the write, and tells of it.
func (r *heldWrite) deliver() {
	r.d.Release(r.holds, 2)
	r.d.Apply(2, r.key(), nil, 0)
}

// keep ends the write and its write-through, and reports whether the document was kept.
func (r *heldWrite) keep(l *Lease, state uint64) bool {
	r.d.Release(r.holds, 2)
	doc := row.NewDocument("k", row.FormatJSON, []byte("{}"), state, l.Stamp)
	r.s.EndWriteThrough(l, doc, func() { r.kept = doc })
	return r.kept == doc
}

// What a write has read back is kept, whether the feed tells of it before its writer has
// an answer or after, and whatever it takes to settle it.
func TestWriteThrough_IsKept(t *testing.T) {
	tests := map[string]func(r *heldWrite){
		"delivered before the release": func(r *heldWrite) {
			r.d.Apply(2, r.key(), nil, 0)
			r.d.Release(r.holds, 2)
		},
		"delivered after it": func(r *heldWrite) {
			r.d.Release(r.holds, 2)
			r.d.Apply(2, r.key(), nil, 0)
		},
		"delivered, and settled later": func(r *heldWrite) {
			p := r.d.Apply(2, r.key(), "ref", 0)
			r.d.Release(r.holds, 2)
			r.d.Settle(p)
		},
		"delivered twice": func(r *heldWrite) {
			r.d.Apply(2, r.key(), nil, 0)
			r.d.Release(r.holds, 2)
			r.d.Apply(2, r.key(), nil, 0)
		},
		"another key written": func(r *heldWrite) {
			r.d.Apply(2, r.key(), nil, 0)
			r.d.Release(r.holds, 2)
			r.d.Apply(3, []Invalidation{{Space: r.s, Keys: []row.Key{"other"}}}, nil, 0)
		},
		"another reads the same": func(r *heldWrite) {
			r.d.Release(r.holds, 2)
			l, _ := r.s.Begin("k", row.FormatMsgPack, Any)
			r.s.Send(l)
			r.s.Finish(l, row.NewDocument("k", row.FormatMsgPack, nil, 7, l.Stamp), nil, nil)
			r.d.Apply(2, r.key(), nil, 0)
		},
	}
	for name, between := range tests {
		t.Run(name, func(t *testing.T) {
			r := newHeldWrite()
			l := r.writeThrough()
			if r.s.joinable(l) {
				t.Error("others may join it")
			}
			if between(r); r.kept != nil {
				t.Fatal("kept before Keep")
			}
			doc := row.NewDocument("k", row.FormatJSON, []byte("{}"), 7, l.Stamp)
			r.s.EndWriteThrough(l, doc, func() { r.kept = doc })
			if r.kept != doc || !l.Stored() || !r.s.Valid(doc.Stamp()) {
				t.Error("not kept, or not valid")
			}
			if left := leftover(r.s); left != "" {
				t.Error(left)
			}
		})
	}
}

// Each of these would leave a copy that is older than what a reader may have.
func TestWriteThrough_IsBroken(t *testing.T) {
	other := func(r *heldWrite, state uint64, of row.Format) {
		l, _ := r.s.Begin("k", of, Any)
		r.s.Send(l)
		r.s.Finish(l, row.NewDocument("k", of, nil, state, l.Stamp), nil, nil)
	}
	tests := map[string]struct {
		before, after func(r *heldWrite)
	}{
		"another write waits":          {before: func(r *heldWrite) { r.d.Hold(r.key()) }},
		"another write of all":         {before: func(r *heldWrite) { r.d.Hold(r.all()) }},
		"a change that is not settled": {before: func(r *heldWrite) { r.d.Apply(1, r.key(), "ref", 0) }},
		"no feed":                      {before: func(r *heldWrite) { r.d.epoch.Store(0) }},
		"a write since":                {after: func(r *heldWrite) { r.d.Hold(r.key()) }},
		"a change since":               {after: func(r *heldWrite) { r.d.Apply(3, r.key(), nil, 0) }},
		"a change since, not settled":  {after: func(r *heldWrite) { r.d.Apply(3, r.key(), "ref", 0) }},
		"a change of all since":        {after: func(r *heldWrite) { r.d.Apply(3, r.all(), nil, 0) }},
		"a new epoch":                  {after: func(r *heldWrite) { r.d.Reset("o", 1, nil, 0) }},
		"an operator":                  {after: func(r *heldWrite) { r.s.Drop("k") }},
		"an operator, all":             {after: func(r *heldWrite) { r.s.DropAll() }},
		"one who wants the source":     {after: func(r *heldWrite) { r.s.Begin("k", row.FormatJSON, Now) }},
		"another state was read":       {after: func(r *heldWrite) { other(r, 8, row.FormatJSON) }},
		"and in another format":        {after: func(r *heldWrite) { other(r, 8, row.FormatMsgPack) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newHeldWrite()
			if tt.before != nil {
				tt.before(r)
			}
			l := r.writeThrough()
			if tt.after != nil {
				tt.after(r)
			}
			if r.keep(l, 7) || l.Stored() {
				t.Error("kept")
			}
			if f := (flight{"k", row.FormatJSON}); r.s.shard("k").inflight[f] == l {
				t.Error("the lease is still in flight")
			}
		})
	}
}

// A write that was undone keeps nothing.
func TestWriteThrough_OfNothing(t *testing.T) {
	r := newHeldWrite()
	l := r.writeThrough()
	r.s.EndWriteThrough(l, nil, nil)
	r.d.Release(r.holds, 0)
	if l.Stored() {
		t.Error("a write that was undone is kept")
	}
	if left := leftover(r.s); left != "" {
		t.Error(left)
	}
}

// A document that is kept supersedes the loads beside it, and leaves no copy of another
// state.
func TestWriteThrough_SupersedesLoads(t *testing.T) {
	var dropped []row.Format
	r := &heldWrite{d: NewDomain(100)}
	r.s = r.d.NewSpace(func(row.Key) {}, func(l *Lease, _ *row.Document, stored bool) {
		if stored {
			dropped = append(dropped, l.Format)
		}
	})
	r.d.Reset("o", 1, nil, 0)
	r.hold()
	l := r.writeThrough()
	r.deliver()
	another, _ := r.s.Begin("k", row.FormatCBOR, Any)
	r.s.Send(another)
	r.s.EndWriteThrough(l, row.NewDocument("k", l.Format, nil, 7, l.Stamp), func() {})
	if !l.Stored() || len(dropped) != 1 || dropped[0] != row.FormatJSON {
		t.Errorf("kept: %v, the tier was told of %v", l.Stored(), dropped)
	}
	r.s.Finish(another, row.NewDocument("k", another.Format, nil, 8, another.Stamp), nil, func() {})
	if another.Stored() {
		t.Error("a load that has read another state is stored")
	}
}

// A load that has read the same state is stored beside it.
func TestWriteThrough_LeavesLoadsOfItsState(t *testing.T) {
	r := newHeldWrite()
	l := r.writeThrough()
	r.deliver()
	same, _ := r.s.Begin("k", row.FormatMsgPack, Any)
	r.s.Send(same)
	r.s.EndWriteThrough(l, row.NewDocument("k", l.Format, nil, 7, l.Stamp), func() {})
	r.s.Finish(same, row.NewDocument("k", same.Format, nil, 7, same.Stamp), nil, func() {})
	if !l.Stored() || !same.Stored() {
		t.Errorf("stored: the write-through %v, a load of the same state %v", l.Stored(), same.Stored())
	}
}

// What a slower tier has in other formats may be older than what is kept, until a fence
// says that it is not.
func TestWriteThrough_IsNotFollowedByOlderCopies(t *testing.T) {
	r := newHeldWrite()
	r.s.OnWhole(func() {})
	l := r.writeThrough()
	r.deliver()
	stamp := l.Stamp
	stamp.At = 50
	r.s.EndWriteThrough(l, row.NewDocument("k", l.Format, nil, 7, stamp), func() {})
	recall := func() bool {
		other, _ := r.s.Begin("k", row.FormatMsgPack, Any)
		return r.s.FinishFromDisk(other, row.NewDocument("k", other.Format, nil, 6, other.Stamp), func() {})
	}
	if recall() {
		t.Error("a copy in another format is recalled at once")
	}
	r.d.Fenced(51)
	if !recall() {
		t.Error("it is not recalled after a fence either")
	}
}
