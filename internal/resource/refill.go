package resource

import (
	"math/bits"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

const (
	// refillEvery is how long changes are gathered: what has changed meanwhile is
	// read with one statement. Who cannot wait so long reads by himself.
	refillEvery = 10 * time.Millisecond

	// refillMost bounds what waits. The rest is read when somebody asks for it.
	refillMost = 4096

	// refillBy is how long the feed may take to tell of a change.
	refillBy = time.Second
)

// A refill is a document that memory had when a write through here has changed it.
// It is read again in the background, so that its next reader need not wait for the
// database: of 10,601 documents that one PUT in ten requests changed in a run, a reader
// came first to 111.
type refill struct {
	form   *form
	key    row.Key
	format row.Format
	epoch  uint64
	pos    fresh.Position // from which on what is read includes the change
	by     int64          // when it is not worth waiting for that any more
}

// refills are those of one source.
type refills struct {
	kick chan struct{} // there is something to do

	mu   sync.Mutex // guards list
	list []refill
}

// refill notes documents that a transaction at pos has changed.
func (u *upstream) refill(had []refill, pos source.Position) {
	if len(had) == 0 || pos == 0 {
		return
	}
	epoch, by := u.domain.Applied().Epoch, monotonic()+int64(refillBy)
	for i := range had {
		had[i].epoch, had[i].pos, had[i].by = epoch, fresh.Position(pos), by
	}
	r := &u.refills
	r.mu.Lock()
	r.list = append(r.list, had[:min(len(had), refillMost-len(r.list))]...)
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// take returns the refills that can be kept if they are read now, given how far the
// feed is. It forgets those that cannot be kept any more.
func (r *refills) take(p *fresh.Progress, now int64) (due []refill, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	later := r.list[:0]
	for _, one := range r.list {
		switch {
		case one.epoch != p.Epoch || now > one.by:
		case one.pos <= p.Pos:
			due = append(due, one)
		default:
			later = append(later, one)
		}
	}
	clear(r.list[len(later):])
	r.list = later
	return due, len(later)
}

// refillAll reads what was changed, one statement at a time, until the upstream is
// closed.
func (u *upstream) refillAll() {
	for {
		select {
		case <-u.ctx.Done():
			return
		case <-u.refills.kick:
		}
		for left := 1; left > 0 && sleep(u.ctx, refillEvery); {
			var due []refill
			due, left = u.refills.take(u.domain.Settled(), monotonic())
			for len(due) > 0 {
				n := min(len(due), warmBatch)
				u.reread(due[:n])
				due = due[n:]
			}
		}
	}
}

// reread reads documents again, each resource's with one statement. While the feed
// lags it does not: nothing would be kept.
func (u *upstream) reread(due []refill) {
	u.awake(u.ctx)
	if state, _ := u.domain.Gate(monotonic()); state != fresh.Fresh {
		return
	}
	leases := make(map[*form][]*fresh.Lease)
	for _, one := range due {
		f := one.form
		ref := tier.Ref{Resource: f.number, Format: one.format, Key: one.key}
		if _, ok := f.memory.Get(ref); ok || f.r.form.Load() != f {
			continue // a reader was faster
		}
		if l, leader := f.join(one.key, one.format, fresh.Any); leader {
			f.r.counts.refilled.Add(1)
			leases[f] = f.lead(leases[f], l, fresh.Any)
		}
	}
	for f, list := range leases {
		if list = f.enter(list); len(list) == 0 {
			continue
		}
		found, err := f.read(list)
		f.loaded(list, found, err)
	}
}

// had appends the representations of a document that memory has.
func (f *form) had(list []refill, key row.Key) []refill {
	for asked := f.asked.Load(); asked != 0; asked &= asked - 1 {
		of := row.Format(bits.TrailingZeros32(asked))
		_, ok := f.memory.Get(tier.Ref{Resource: f.number, Format: of, Key: key})
		if ok {
			list = append(list, refill{form: f, key: key, format: of})
		}
	}
	return list
}
