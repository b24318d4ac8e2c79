// Package fresh is the freshness protocol: it decides whether what a load read
// may be kept, and whether what is kept may still be trusted. It does no I/O,
// reads no clock and starts no goroutine, so that every interleaving of it can
// be tried by a test (model_test.go) and every seed replayed (sim_test.go).
//
// A Domain is the state of one source: its epoch, how far its feed has been
// applied, which transactions are not settled yet. A Space is the keys of one
// resource: loads in flight (Lease) and dirty marks. The rules, and why they
// are enough, stand at Space.Finish.
package fresh

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// Position is a place in the order of a source's changes (source.Position).
type Position uint64

// Progress is how far the feed of a domain has been applied. Origin names the
// history that Pos belongs to: positions of two origins cannot be compared.
type Progress struct {
	Epoch  uint64
	Origin string
	Pos    Position
}

// A Domain is the freshness of one source. Reset, Apply and Advance are called
// by one goroutine, the feed's; all else by any.
type Domain struct {
	staleAfter time.Duration

	// epoch changes when something may have been missed: no stamp of before is
	// valid then. applied is never ahead of what Apply has finished.
	epoch   atomic.Uint64
	applied atomic.Pointer[Progress]

	// fenced is when the last fence that was reached began, in nanoseconds of
	// the caller's monotonic clock; 0: none was reached yet.
	fenced atomic.Int64

	// seen is the highest position of this origin that a read has shown nothing behind: see
	// Saw. It is written under mu.
	seen atomic.Uint64

	versions *Versions // of lists

	held, heldMoves atomic.Int64 // touches of Holds that are not released: see Check

	// mu guards what follows. It is taken before no other lock of the package
	// but Space.mu and shard.mu, and never inside them.
	mu       sync.Mutex
	spaces   []*Space
	pending  []*Pending // not settled, in the order of Apply
	least    Position   // up to where a load is complete that may miss what is pending
	looked   uint64     // how many of pending Settle has looked at
	past     [16]past   // the last fences of the epochs before, a ring
	advanced chan struct{}
	waiting  int
	wanted   chan struct{} // see Wanted
}

// past is what is remembered of an epoch that has ended.
type past struct {
	epoch  uint64
	fenced int64
}

// NewDomain returns a domain whose answers count as fresh for staleAfter after
// the begin of the last fence that was reached. No feed is attached yet: until
// Reset and Fenced have been called its State is Lagging.
func NewDomain(staleAfter time.Duration) *Domain {
	d := &Domain{staleAfter: staleAfter, advanced: make(chan struct{}), versions: newVersions(),
		least: noLimit, wanted: make(chan struct{}, 1)}
	d.applied.Store(&Progress{})
	return d
}

// State is what the gate says of a domain.
type State uint8

// The states.
const (
	Fresh   State = iota // the feed was complete within staleAfter
	Lagging              // nobody knows what has changed since
)

// Gate returns the state of the domain at now, and how long ago the feed was
// known to be complete. now is read from a clock that goes on while the
// process or the machine is stopped, after the request has come: that is what
// makes a process that was suspended notice before it answers.
func (d *Domain) Gate(now int64) (State, time.Duration) {
	fenced := d.fenced.Load()
	lag := time.Duration(now - fenced)
	if fenced != 0 && lag <= d.staleAfter {
		return Fresh, lag
	}
	return Lagging, lag
}

// Need returns what a reader whose need is n must ask of a load at now. A load in
// flight may have read at any time before, and while the gate is closed a change since
// then may be one of those that nobody knows of, which do not invalidate it. So only a
// load that has not been sent will do.
func (d *Domain) Need(n Need, now int64) Need {
	if state, _ := d.Gate(now); state != Fresh {
		return Now
	}
	return n
}

// Fenced records that a fence which began at begin has been reached: every
// change that was visible then has been applied.
func (d *Domain) Fenced(begin int64) {
	for {
		old := d.fenced.Load()
		if begin <= old || d.fenced.CompareAndSwap(old, begin) {
			return
		}
	}
}

// Break ends d for good: a panic has left undone what a change means. Nothing that is kept is
// valid any more, and nothing is stored. The source begins anew, in another domain.
func (d *Domain) Break() {
	all := d.NewSet()
	all.Any()
	d.versions.touch(all, true)
	d.epoch.Store(0)
}

// FencedAt returns when the last fence that was reached began; 0: none was.
func (d *Domain) FencedAt() int64 { return d.fenced.Load() }

// Applied returns how far the feed has been applied. Load it before a look-up:
// then the answer includes every change up to there. What it shows may be ahead of that: see
// Shown.
func (d *Domain) Applied() *Progress { return d.applied.Load() }

// Reset begins a new epoch at pos of origin: something may have been missed, so
// nothing kept before is trusted. What is kept stays where it is, as a suspect
// that Suspect may still vouch for while the source cannot be read.
//
// The feed tells nothing of what was logged before pos, and a transaction of that
// may not be visible yet. ref is what proves that all of it is: until Settle is
// called for what Unsettled returns, nothing is stored, and no load claims a
// position. nil: every read that begins from now on sees it.
//
// All of that is one step, in this order: the marks of the beginning, the epoch, the
// position, and then the end of the marks of before, whose proof belongs to the feed
// of before. A lease that is taken meanwhile is of the epoch that ends, or is
// not storable: see Space.lease. For lists the mark is one of all versions.
func (d *Domain) Reset(origin string, pos Position, ref any, now int64) {
	all := d.NewSet()
	all.Any()
	d.versions.touch(all, ref != nil) // before the epoch
	before := d.begin(Progress{Origin: origin, Pos: pos}, all, ref, now)
	for _, p := range before {
		p.unmark()
	}
}

// begin is Reset without the end of the marks of before, which it returns.
func (d *Domain) begin(at Progress, all *InvalidationSet, ref any, now int64) (before []*Pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &Pending{Pos: at.Pos, Ref: ref, Since: now, begins: true}
	for _, s := range d.spaces {
		if ref != nil {
			s.wholes.Add(1) // before the epoch: see Space.lease
			p.invalidations = append(p.invalidations, Invalidation{Space: s, Whole: true})
		}
		s.watchedReads.reset()
	}
	if ref != nil {
		p.invalidations = append(p.invalidations, Invalidation{InvalidationSet: all})
	}
	at.Epoch = d.epoch.Load() + 1
	d.past[(at.Epoch-1)%uint64(len(d.past))] = past{at.Epoch - 1, d.fenced.Load()}
	if at.Origin != d.applied.Load().Origin {
		d.seen.Store(0)
	}
	d.epoch.Store(at.Epoch)
	d.applied.Store(&at)
	before, d.pending, d.least = d.pending, nil, noLimit
	for _, o := range before {
		o.pends = false
	}
	if ref != nil {
		d.pend(p)
	}
	d.wake()
	return before
}

// Advance says that there is nothing more to apply up to pos.
func (d *Domain) Advance(pos Position) {
	if pos <= d.applied.Load().Pos {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.publish(pos)
}

// publish sets the applied position and wakes who waits for it. d.mu is held.
func (d *Domain) publish(pos Position) {
	p := *d.applied.Load()
	if pos > p.Pos {
		p.Pos = pos
		d.applied.Store(&p)
	}
	d.wake()
}

// wake lets every waiter look at the progress again. d.mu is held.
func (d *Domain) wake() {
	if d.waiting > 0 {
		close(d.advanced)
		d.advanced = make(chan struct{})
		d.waiting = 0
	}
}

// Changed returns the progress and a channel that is closed when it changes.
func (d *Domain) Changed() (*Progress, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting++
	return d.applied.Load(), d.advanced
}

// Suspect reports how old a copy with stamp s may be at most, when s is of an
// epoch that has ended but its tables have not changed as a whole since. It is
// for answers that are flagged as stale, when the source cannot be read.
func (d *Domain) Suspect(sp *Space, s row.Stamp, now int64) (time.Duration, bool) {
	if s.Generation != sp.generation.Load() {
		return 0, false
	}
	if s.Epoch == d.epoch.Load() {
		_, lag := d.Gate(now)
		return lag, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.past[s.Epoch%uint64(len(d.past))]
	if p.epoch != s.Epoch || p.fenced == 0 {
		return 0, false
	}
	return time.Duration(now - p.fenced), true
}
