package resource

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/workers"
)

// SourceOptions configure one source of a Set.
type SourceOptions struct {
	Name   string
	Source source.Source
	Mode   source.FeedMode

	Readers      int           // loads at one time; the size of the source's pool
	Acquire      time.Duration // how long a load waits for a place
	Timeout      time.Duration // of one load, the wait included
	StaleAfter   time.Duration // see freshness: a hit is fresh this long after a fence
	OnLag        OnLag         // what reads get while the feed lags; "": LagStale
	MaxStale     time.Duration // how long hits go on, flagged, while the feed lags
	StaleIfError time.Duration // the same while the source cannot be read
	Audit        int           // documents a second that are compared with the source; 0: none

	// LookBetter is how often it is looked, beside a feed that works, whether the mode
	// auto would choose a better one; 0: each minute.
	LookBetter time.Duration
}

// maxWaiting is how many loads of a source may wait for a place; one more fails at once.
const maxWaiting = 4096

// A feed that broke is connected again after a pause, which grows from one to the other.
const (
	reconnectMin = 50 * time.Millisecond
	reconnectMax = 500 * time.Millisecond
)

// bypass returns how many of the readers serve while the feed lags.
func (o *SourceOptions) bypass() int { return max(o.Readers/2, 1) }

// withDefaults fills in what is zero.
func (o SourceOptions) withDefaults() SourceOptions {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if o.Readers == 0 {
		o.Readers = 16
	}
	if o.Mode == "" {
		o.Mode = source.FeedAuto
	}
	if o.OnLag == "" {
		o.OnLag = LagStale
	}
	set(&o.Acquire, 2*time.Second)
	set(&o.Timeout, 5*time.Second)
	set(&o.StaleAfter, 250*time.Millisecond)
	set(&o.MaxStale, 10*time.Second)
	set(&o.StaleIfError, time.Hour)
	set(&o.LookBetter, lookBetter)
	return o
}

// A sourceState is one source with its freshness: it follows the feed, takes
// fences, settles transactions, and bounds the loads.
type sourceState struct {
	name   string
	source source.Source
	domain *fresh.Domain
	grants grants
	disk   *tier.DiskSource // nil: there is no disk
	log    *slog.Logger
	opts   SourceOptions

	ctx    context.Context // of the feed; ends when the source state is closed
	cancel context.CancelFunc
	loops  sync.WaitGroup // the goroutines of follow.go

	entry   sync.Mutex // guards closed, and the first Add of loads against their Wait
	closed  bool
	loads   sync.WaitGroup // loads and late releases under way
	workers workers.Pool   // reads the source

	lanes        sync.Map // of *lane by the name of the table
	tablesServed atomic.Int64

	loadPermits chan struct{} // one for each load that may run
	bypass      chan struct{} // one for each that may run while the feed lags
	down        atomic.Int64  // until when the source is taken to be unreachable; 0: it is not
	timing      timings

	slowed   atomic.Uint64 // statements that took long
	slowSaid atomic.Int64  // when the log said so; 0: never
	audits   audits

	writeThroughs writeThroughs
	waits         fresh.Waits // of those who follow lists

	waiting atomic.Int64 // loads that wait for a place
	writing atomic.Int64 // writes of a source that makes one after the other

	// followed is true once a feed has been chosen; reason says which and why.
	followed atomic.Bool
	feed     atomic.Pointer[chosen]
	follower *follower
	epoch    atomic.Pointer[beginning]   // of the present epoch
	born     int64                       // when it was made
	next     atomic.Pointer[sourceState] // which has taken its place; nil: none has

	renew       func(f *revision, reshaped bool) // compiles a revision again; see Set.renew
	again       func(f *revision)                // the same; see Set.again
	rebuild     func()                           // has another take the place; see Set.rebuild
	schemaStale chan struct{}                    // has revisions compiled; see Set.recompile
	later       bool                             // see Set.compilesLater; guarded by Set.mu
	warming     bool                             // see warmSoon; the same

	lastRequest atomic.Int64   // when somebody has asked last; 0: the source state rests
	wakeFences  *source.Fences // the fences that end a rest; see sourceState.wake
	idling      sync.Mutex     // held while the feed is told whether it may rest; innermost

	looks    *source.Fences // for changes of definitions; see sourceState.lookAtSchema
	lookedAt atomic.Int64   // when the last began; 0: there was none

	// compiling is held while a revision is compiled again, so that the last to be
	// stored is the last that was compiled; it guards revision.renewed. Taken before
	// Set.mu.
	compiling sync.Mutex

	// routes is what changes mean for resources. It is replaced as a whole,
	// under apply.
	apply     sync.Mutex // held while a transaction is applied; taken before all of fresh's
	routes    map[string][]route
	tables    sync.Map // of *fresh.Table by the name of the table: what lists depend on
	revisions []*revision
	served    atomic.Pointer[[]*revision] // revisions
	bySpace   map[*fresh.Space]*revision
	excluded  map[string]string // the tables that the feed leaves out, and why
	follows   map[string]bool   // the tables that it follows; nil: it has not attached yet
	told      int               // how often definitions were said to have changed
	leaves    atomic.Int64      // len(left)
	changes   changes
	broken    bool // see breaks

	followsNow atomic.Pointer[map[string]bool] // follows, for who does not hold apply

	// recompiling is how many recompilations there are, and recompiled from when on there may
	// be one more; see again.go.
	recompiling int
	recompiled  int64
}

// chosen is a feed with the sentence that says why it was chosen.
type chosen struct {
	feed   source.Feed // nil: none is possible
	reason string
}

func newSourceState(o SourceOptions, log *slog.Logger) *sourceState {
	o = o.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	u := &sourceState{
		name: o.Name, source: o.Source, opts: o, log: log.With("source", o.Name),
		domain: fresh.NewDomain(o.StaleAfter),
		ctx:    ctx, cancel: cancel,
		loadPermits: make(chan struct{}, o.Readers), bypass: make(chan struct{}, o.bypass()),
		schemaStale: make(chan struct{}, 1),
		looks:       source.NewFences(), wakeFences: source.NewFences(),
	}
	u.grants.of, _ = o.Source.(source.Granter)
	u.born = monotonic()
	u.lastRequest.Store(u.born)
	return u
}

// reached waits until the position of t has been applied. A position that is
// ahead of all that the feed has brought is waited for only if a fence taken
// now covers it: nobody can make requests wait for what does not exist.
func (u *sourceState) reached(ctx context.Context, t Token) bool {
	ok := func(p *fresh.Progress) bool {
		return p.Origin == t.Origin && p.Pos >= fresh.Position(t.Pos)
	}
	p, changed := u.domain.Changed()
	if p.Origin != t.Origin {
		return false
	}
	c := u.feed.Load()
	if ok(p) || c == nil || c.feed == nil {
		return ok(p)
	}
	fenced := make(chan source.Position, 1)
	go u.guarded("take a fence", func() {
		var at source.Position // 0: there is none
		defer func() { fenced <- at }()
		if pos, err := c.feed.Fence(ctx); err == nil {
			at = pos
		}
	})
	for {
		select {
		case <-ctx.Done():
			return false
		case pos := <-fenced:
			p = u.domain.Applied()
			if pos < t.Pos || ok(p) {
				return ok(p)
			}
			fenced = nil
		case <-changed:
		}
		if p, changed = u.domain.Changed(); ok(p) {
			return true
		}
	}
}

// feedless reports whether the source was reached and has no feed.
func (u *sourceState) feedless() bool {
	c := u.feed.Load()
	return c != nil && c.feed == nil
}

// notReady is the error of a resource that has no plan: it does not compile, or the database
// has not been reached since the start.
func (f *revision) notReady() error {
	if err := f.refused.Load(); err != nil {
		return &source.Error{Class: source.Missing, Err: *err,
			Message: (*err).Error() + ": it is not served until it compiles"}
	}
	return f.src.notReady()
}

// notReady is the error of a source that has not been reached since the start.
func (u *sourceState) notReady() error {
	return &source.Error{
		Class: source.Unavailable, After: time.Second,
		Message: fmt.Sprintf("source %s has not been reached since the start", u.name),
	}
}

// replica returns the source if it reads a replica; nil: it does not.
func (u *sourceState) replica() source.Replicated {
	if r, ok := u.source.(source.Replicated); ok && r.Replica() {
		return r
	}
	return nil
}

// reads runs read, which reads the source; now says that it must see all that is visible in
// the database now. It reports whether it may have read elsewhere than the feed follows: then
// nothing of it may be kept.
func (u *sourceState) reads(
	ctx context.Context, now bool, read func() error,
) (elsewhere bool, err error) {
	r := u.replica()
	if r == nil {
		return false, read()
	}
	if now {
		if err := r.Current(ctx); err != nil {
			return false, err
		}
	}
	before := r.Elsewhere()
	err = read()
	return r.Elsewhere() != before, err
}

// lagOf returns how old an answer may be that was read under l, at now: where a replica is
// read, it has what it had at the lease, whatever fence was reached since. lag is what the
// gate says.
func (u *sourceState) lagOf(l *fresh.Lease, lag time.Duration, now int64) time.Duration {
	if u.replica() != nil && l.Fenced != 0 {
		return time.Duration(now - l.Fenced)
	}
	return lag
}

// enter counts a load in, unless the source state has been closed.
func (u *sourceState) enter() bool {
	u.entry.Lock()
	defer u.entry.Unlock()
	if u.closed {
		return false
	}
	u.loads.Add(1)
	return true
}

// close ends the feed and waits for the loads under way.
func (u *sourceState) close() {
	u.entry.Lock()
	u.closed = true
	u.entry.Unlock()
	u.cancel()
	u.loops.Wait()
	u.loads.Wait()
	dropWriteThroughs(u.writeThroughs.take(^fresh.Position(0), 0)) // nobody tells of them now
	if c := u.feed.Load(); c != nil && c.feed != nil {
		if err := c.feed.Close(); err != nil {
			u.log.Warn("feed did not close", "err", err)
		}
	}
}
