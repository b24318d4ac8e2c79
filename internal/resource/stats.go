package resource

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
)

// counts are the counters of a resource. Those of the hit path stand apart from
// the rest, so that a hit and a miss on two cores do not share a cache line.
type counts struct {
	hits                                      atomic.Uint64
	_                                         [56]byte
	negative, stale, misses                   atomic.Uint64
	stored, discarded, collapsed, fromDisk    atomic.Uint64
	kept, bypassed, over                      atomic.Uint64
	errors, writes, fed, written, gaps, admin atomic.Uint64

	lists listCounts
}

// count adds what touches have invalidated to a counter of each resource: the
// documents, or one for all of them. u.apply is held.
func (u *sourceState) count(
	invalidations []fresh.Invalidation, which func(*counts) *atomic.Uint64,
) {
	for i := range invalidations {
		f := u.bySpace[invalidations[i].Space]
		if f == nil {
			continue
		}
		n := uint64(len(invalidations[i].Keys))
		if invalidations[i].Whole {
			n++
		}
		which(&f.r.counts).Add(n)
	}
}

// countHot counts the keys whose documents have changed. u.apply is held.
func (u *sourceState) countHot(invalidations []fresh.Invalidation) {
	for i := range invalidations {
		if f := u.bySpace[invalidations[i].Space]; f != nil {
			for _, k := range invalidations[i].Keys {
				f.r.hot.Changed(f.r.name, string(k))
			}
		}
	}
}

// ResourceStats is a snapshot of one resource.
type ResourceStats struct {
	Name, Source                         string
	Hits, Negative, Stale, Misses        uint64
	Bypassed                             uint64 // of Misses, those that no copy could answer
	Stored, Discarded, Collapsed, Errors uint64
	Writes                               uint64
	Disk                                 bool   // the disk keeps its documents
	FromDisk                             uint64 // misses that the disk has answered
	Kept                                 uint64 // as a write through here has read them back
	Worded                               bool   // changes do not always name its documents
	Over                                 uint64 // of Stored, those that depend on all rows
	Fed, Written, Gaps, Admin            uint64 // invalidations by their cause
	Warm                                 WarmStats
	Watchers                             int
	WatchDropped                         uint64
	Ready                                bool
	Lists                                ListCounts
}

// ListCounts count requests for lists, by what memory had, and those that were not kept.
type ListCounts struct {
	Hits, Absent, Evicted, Moved, Dirty, Bypassed uint64
	Once, TooLarge                                uint64
	Discarded                                     uint64 // a change came while they were read
	Unchanged                                     uint64 // read again, and found as they were
}

// SourceStats is a snapshot of one source.
type SourceStats struct {
	Name     string
	Feed     source.FeedMode
	Reason   string // why that feed
	Left     int    // tables that it leaves out: see UnfollowedError of package source
	State    string // fresh, lagging, none, down
	Attached bool
	Lag      time.Duration
	Idle     bool   // fresh, and nobody asks: Lag is since the source was looked at last
	Gaps     uint64 // times that the feed was lost
	Fences   uint64

	FencesFailed uint64 // times that the feed could not be shown to be complete
	Probes       uint64 // times that the source was asked which transactions are visible
	Elsewhere    uint64 // reads of the primary for a standby that is late: see source.Replicated
	Position     source.Position
	Place        string // Position, as the database writes it
	Epoch        uint64
	EpochSince   time.Time // when it began; zero: there was none yet
	EpochWhy     string    // what ended the one before
	Stats        source.FeedStats
	Pool         source.PoolStats
	Waiting      int
	Rejected     uint64

	Templates int // sets of columns by whose values lists are told apart

	Audited, AuditStale uint64 // documents compared, and those that differed for good

	Unsettled       int
	UnsettledOldest time.Duration
	Timings         map[string]Timing
}

// Stats is a snapshot of a Set.
type Stats struct {
	Resources []ResourceStats
	Sources   []SourceStats
	Copies    CopyStats
}

// Timing is a histogram of durations.
type Timing struct {
	Buckets [len(TimingBounds) + 1]uint64 // not cumulative; the last is above all bounds
	Count   uint64
	Sum     time.Duration
}

// TimingBounds are the upper bounds of the buckets of a Timing.
var TimingBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second,
}

// timings are the durations of a source's queries by kind.
type timings struct {
	rejected atomic.Uint64
	mu       sync.Mutex // guards byOp
	byOp     map[string]*Timing
}

func (t *timings) add(op string, ns int64) {
	d := time.Duration(ns)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byOp == nil {
		t.byOp = make(map[string]*Timing)
	}
	h := t.byOp[op]
	if h == nil {
		h = new(Timing)
		t.byOp[op] = h
	}
	i := 0
	for i < len(TimingBounds) && d > TimingBounds[i] {
		i++
	}
	h.Buckets[i]++
	h.Count++
	h.Sum += d
}

func (t *timings) snapshot() map[string]Timing {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := make(map[string]Timing, len(t.byOp))
	for op, h := range t.byOp {
		m[op] = *h
	}
	return m
}

// Stats returns a snapshot of the resource's counters.
func (r *Resource) Stats() ResourceStats {
	c := &r.counts
	f := r.revision.Load()
	hits, absent, stale := r.tallied()
	return ResourceStats{
		Name: r.name, Source: f.src.name, Ready: f.plan != nil,
		Hits: c.hits.Load() + hits, Negative: c.negative.Load() + absent,
		Stale:  c.stale.Load() + stale,
		Misses: c.misses.Load(), Bypassed: c.bypassed.Load(),
		Stored: c.stored.Load(), Discarded: c.discarded.Load(),
		Collapsed: c.collapsed.Load(), Errors: c.errors.Load(), Writes: c.writes.Load(),
		Disk: f.disk != nil, FromDisk: c.fromDisk.Load(),
		Kept: c.kept.Load(), Worded: f.docDeps != nil && !f.docDeps.named, Over: c.over.Load(),
		Fed: c.fed.Load(), Written: c.written.Load(), Gaps: c.gaps.Load(), Admin: c.admin.Load(),
		Warm:     r.warmStats(),
		Lists:    c.lists.snapshot(r.listed()),
		Watchers: int(r.watch.count.Load()), WatchDropped: r.watch.dropped.Load(),
	}
}

// stats returns a snapshot of the source.
func (u *sourceState) stats() SourceStats {
	now := monotonic()
	s := SourceStats{
		Name: u.name, Feed: source.FeedNone, State: "down",
		Pool: u.source.Stats(), Waiting: int(u.waiting.Load()),
		Rejected: u.timing.rejected.Load(), Timings: u.timing.snapshot(),
		Audited: u.audits.checked.Load(), AuditStale: u.audits.stale.Load(),
		Position: source.Position(u.domain.Applied().Pos), Epoch: u.domain.Applied().Epoch,
		Left: int(u.leaves.Load()),
	}
	s.Place = u.spell(s.Position)
	u.tables.Range(func(_, t any) bool {
		s.Templates += len(*t.(*listTable).tagColumns.Load())
		return true
	})
	state, lag := u.condition(now)
	if s.Lag = lag; u.domain.FencedAt() == 0 { // the clock begins somewhere
		s.Lag = time.Duration(now - u.born)
	}
	b := u.beginning()
	s.EpochSince, s.EpochWhy = b.at, b.why
	if c := u.feed.Load(); c != nil {
		s.Reason, s.State = c.reason, "none"
		if c.feed != nil {
			s.Feed, s.Stats, s.State = c.feed.Mode(), c.feed.Stats(), "lagging"
			s.Attached = u.follower.attached.Load()
			s.Gaps, s.Fences = u.follower.gaps.Load(), u.follower.fences.Load()
			if r := u.replica(); r != nil {
				s.Elsewhere = r.Elsewhere()
			}
			s.FencesFailed, s.Probes = u.follower.failed.Load(), u.follower.probes.Load()
			if state == fresh.Fresh {
				s.State, s.Idle = "fresh", u.idle(state)
			}
		}
	}
	pending := u.domain.Unsettled()
	if s.Unsettled = len(pending); s.Unsettled > 0 {
		s.UnsettledOldest = time.Duration(now - pending[0].Since)
	}
	return s
}
