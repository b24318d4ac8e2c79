package resource

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

const (
	// writeThroughWait is how long the feed may take to report a write whose document waits to
	// be kept.
	writeThroughWait = time.Second

	// maxWriteThroughs bounds how many wait.
	maxWriteThroughs = 4096
)

// A writeThrough is the document of a write that memory had, as the write has read it back:
// once the feed has delivered the change it is stored as if it had been read then, and
// nobody reads it again. It takes a source that knows in advance where the transaction
// will be: see source.Write. Whatever else a write has dropped is read when somebody asks
// for it: to read it again in the background cost more than it saved.
type writeThrough struct {
	form  *revision
	lease *fresh.Lease
	doc   *row.Document
	pos   fresh.Position
	by    int64 // when it is not worth waiting for the feed any more
}

// writeThroughs are those of one source.
type writeThroughs struct {
	waiting atomic.Int32 // how many there are

	mu   sync.Mutex // guards list
	list []writeThrough
}

// look notes in which formats memory has the document of the write, before it is dropped.
func (h *writeIntent) look() {
	f := h.f
	if h.key == "" || f.memory == nil || f.wide || f.docDeps != nil || !f.followed() {
		return
	}
	for asked := f.asked.Load(); asked != 0; asked &= asked - 1 {
		of := row.Format(bits.TrailingZeros32(asked))
		ref := tier.Ref{Resource: f.number, Format: of, Key: h.key}
		if f.memory.Has(ref) {
			h.had = append(h.had, of)
		}
	}
}

// leaseWriteThrough takes the leases of what the write is going to read back: the document that
// it names, in each format that memory had. at is where the transaction will be; 0: nobody
// knows.
func (h *writeIntent) leaseWriteThrough(at source.Position) {
	f := h.f
	if at == 0 || f.docDeps != nil || f.wide {
		return
	}
	h.at = fresh.Position(at)
	marks := 0
	for i := range h.invalidations {
		for _, k := range h.invalidations[i].Keys {
			if k == h.key && h.invalidations[i].Space == f.space {
				marks++
			}
		}
	}
	h.writeThroughs = nil
	for _, of := range h.had {
		l := f.space.WriteThrough(h.key, of, h.at, marks)
		h.writeThroughs = append(h.writeThroughs, writeThrough{form: f, lease: l, pos: h.at})
	}
}

// dropWriteThroughs ends the leases of what is not kept.
func dropWriteThroughs(list []writeThrough) {
	for _, p := range list {
		p.form.space.EndWriteThrough(p.lease, nil, nil)
	}
}

// fill makes the documents from what the write has read back, and
// keeps them as soon as that may be.
func (h *writeIntent) fill(found *source.Loaded) {
	if len(h.writeThroughs) == 0 {
		return
	}
	if !h.f.keeps(h.writeThroughs[0].lease, found) || !found.Found() {
		dropWriteThroughs(h.writeThroughs)
		h.writeThroughs = nil
		return
	}
	by := monotonic() + int64(writeThroughWait)
	for i := range h.writeThroughs {
		p := &h.writeThroughs[i]
		p.doc, p.by = h.f.document(p.lease, found), by
	}
	u := h.f.src
	dropWriteThroughs(u.writeThroughs.add(h.writeThroughs))
	u.storeDue() // the feed may have been faster
}

// document returns the document in a format, if it is written through.
func (h *writeIntent) document(of row.Format) *row.Document {
	for _, p := range h.writeThroughs {
		if p.lease.Format == of {
			return p.doc
		}
	}
	return nil
}

// add adds write-throughs and returns those for which there is no room.
func (p *writeThroughs) add(list []writeThrough) (rest []writeThrough) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(list), maxWriteThroughs-len(p.list))
	p.list = append(p.list, list[:n]...)
	p.waiting.Store(int32(len(p.list)))
	return list[n:]
}

// take returns the write-throughs whose changes are applied and settled, and those for which
// it is too late: that does no harm, see fresh.Space.Keep.
func (p *writeThroughs) take(settled fresh.Position, now int64) (due []writeThrough) {
	p.mu.Lock()
	defer p.mu.Unlock()
	later := p.list[:0]
	for _, one := range p.list {
		if one.pos <= settled || now > one.by {
			due = append(due, one)
		} else {
			later = append(later, one)
		}
	}
	clear(p.list[len(later):])
	p.list = later
	p.waiting.Store(int32(len(later)))
	return due
}

// storeDue stores what writes have read back, as far as the feed has come. It is called
// whenever that has moved.
func (u *sourceState) storeDue() {
	if u.writeThroughs.waiting.Load() == 0 {
		return
	}
	for _, p := range u.writeThroughs.take(u.domain.Settled().Pos, monotonic()) {
		p.keep()
	}
}

// keep stores the document if nothing has come between.
func (p *writeThrough) keep() {
	f, l := p.form, p.lease
	f.space.EndWriteThrough(l, p.doc, f.store(l, p.doc))
	if l.Stored() {
		f.r.counts.kept.Add(1)
		f.sampled(l)
	}
}
