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
	// keepBy is how long the feed may take to tell of a write whose document waits to
	// be kept.
	keepBy = time.Second

	// keepMost bounds how many wait.
	keepMost = 4096
)

// A promise is the document of a write that memory had, as the write has read it back:
// once the feed has told of the change it is stored as if it had been read then, and
// nobody reads it again. It takes a source that knows in advance where the transaction
// will be: see source.Write. Whatever else a write has dropped is read when somebody asks
// for it: to read it again in the background cost more than it saved.
type promise struct {
	form  *form
	lease *fresh.Lease
	doc   *row.Document
	pos   fresh.Position
	by    int64 // when it is not worth waiting for the feed any more
}

// promises are those of one source.
type promises struct {
	waiting atomic.Int32 // how many there are

	mu   sync.Mutex // guards list
	list []promise
}

// look notes in which formats memory has the document of the write, before it is dropped.
func (h *holding) look() {
	f := h.f
	if h.key == "" || f.memory == nil || f.wide || f.tracked || !f.src.followed.Load() {
		return
	}
	for asked := f.asked.Load(); asked != 0; asked &= asked - 1 {
		of := row.Format(bits.TrailingZeros32(asked))
		ref := tier.Ref{Resource: f.number, Format: of, Key: h.key}
		if _, ok := f.memory.Get(ref); ok {
			h.had = append(h.had, of)
		}
	}
}

// promise takes the leases of what the write is going to read back: the document that
// it names, in each format that memory had. at is where the transaction will be; 0: nobody
// knows.
func (h *holding) promise(at source.Position) {
	f := h.f
	if at == 0 || f.tracked || f.wide {
		return
	}
	h.at = fresh.Position(at)
	marks := 0
	for i := range h.touches {
		for _, k := range h.touches[i].Keys {
			if k == h.key && h.touches[i].Space == f.space {
				marks++
			}
		}
	}
	for _, of := range h.had {
		l := f.space.Promise(h.key, of, h.at, marks)
		h.promises = append(h.promises, promise{form: f, lease: l, pos: h.at})
	}
	h.had = nil
}

// breakPromises ends the leases of what is not kept.
func breakPromises(list []promise) {
	for _, p := range list {
		p.form.space.Keep(p.lease, nil, nil)
	}
}

// fulfil makes the documents that were promised from what the write has read back, and
// keeps them as soon as that may be.
func (h *holding) fulfil(found *source.Loaded) {
	if len(h.promises) == 0 {
		return
	}
	if !h.f.keeps(h.promises[0].lease, found) || !found.Found() {
		breakPromises(h.promises)
		h.promises = nil
		return
	}
	by := monotonic() + int64(keepBy)
	for i := range h.promises {
		p := &h.promises[i]
		p.doc, p.by = h.f.document(p.lease, found), by
	}
	u := h.f.src
	breakPromises(u.promises.add(h.promises))
	u.keepDue() // the feed may have been faster
}

// document returns the document in a format, if it was promised.
func (h *holding) document(of row.Format) *row.Document {
	for _, p := range h.promises {
		if p.lease.Format == of {
			return p.doc
		}
	}
	return nil
}

// add adds promises and returns those for which there is no room.
func (p *promises) add(list []promise) (rest []promise) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(list), keepMost-len(p.list))
	p.list = append(p.list, list[:n]...)
	p.waiting.Store(int32(len(p.list)))
	return list[n:]
}

// take returns the promises whose changes are applied and settled, and those for which
// it is too late: that does no harm, see fresh.Space.Keep.
func (p *promises) take(settled fresh.Position, now int64) (due []promise) {
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

// keepDue stores what writes have promised, as far as the feed has come. It is called
// whenever that has moved.
func (u *upstream) keepDue() {
	if u.promises.waiting.Load() == 0 {
		return
	}
	for _, p := range u.promises.take(u.domain.Settled().Pos, monotonic()) {
		p.keep()
	}
}

// keep stores the document if nothing has come between.
func (p *promise) keep() {
	f, l := p.form, p.lease
	f.space.Keep(l, p.doc, f.store(l, p.doc))
	if l.Stored() {
		f.r.counts.kept.Add(1)
		f.sampled(l)
	}
}
