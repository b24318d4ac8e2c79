package clicks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
)

// The defaults of Options.
const (
	DefaultEvery = 200 * time.Millisecond
	DefaultBatch = 10_000
	DefaultKeep  = 90 * 24 * time.Hour
)

// Sizes of what a Drainer remembers of the database, in each of two generations.
const (
	cachedSketches = 32_768
	cachedDays     = 16_384
)

// Options are what a Drainer is made of. A zero field takes its default.
type Options struct {
	Store source.Store  // has the tables of package schema
	Log   *clicklog.Log // made with Cursors(Store)

	IP        IPPolicy
	Countries *Countries // nil: every country is Nowhere

	KeepRaw   time.Duration // of raw clicks, in whole months: DefaultKeep; below 0: for ever
	KeepHours time.Duration // of sums by hour: DefaultKeep; below 0: for ever

	Every  time.Duration // between two batches when there is little: DefaultEvery
	Batch  int           // clicks of one transaction: DefaultBatch
	Logger *slog.Logger
	Now    func() time.Time // for tests: time.Now
}

// complete fills in the defaults.
func (o *Options) complete() {
	if o.Every == 0 {
		o.Every = DefaultEvery
	}
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.KeepRaw == 0 {
		o.KeepRaw = DefaultKeep
	}
	if o.KeepHours == 0 {
		o.KeepHours = DefaultKeep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// A Drainer takes clicks from the log to the database, in one goroutine; another
// one counts what the first has not come to. Its methods may be called by any
// goroutine.
type Drainer struct {
	opts  Options
	store source.Store
	click *clicklog.Log
	log   *slog.Logger

	// What follows is the draining goroutine's.
	reader   *clicklog.Reader
	months   map[string]bool // whose table the view shows
	sketches *recent[timeKey, *sketch]
	values   *recent[dimDay, *valueSet]
	alone    bool   // no other process writes the same rows
	others   fronts // where sums of other directories were complete when last sought
	saltDay  int64
	salted   bool
	pruned   int64 // day
	batch    *batch
	sumsTo   fronts // where the database's sums are complete
	rowsTo   fronts // and its rows
	pending  pending
	compare  bool                  // the next batch looks whether its rows are there
	left     map[clicklog.Seq]bool // clicks that the database refuses
	poisoned int                   // clicks in a row that were left out
	limit    int                   // clicks of the next batch: fewer while a bad one is looked for

	meaning  sync.Mutex // guards meanings
	meanings meanings

	counting       sync.Mutex // guards backlog and, while they are filled, tail and live
	backlog        *clicklog.Reader
	backlogRecords clicklog.Batch
	seen           []click // what backlog has read, made into clicks
	tail           tail
	live           live

	counts  counts
	empty   bool        // the log and what is pending were; the draining goroutine's
	resting atomic.Bool // until the log is written again
	writing atomic.Bool // a transaction is under way
	behind  atomic.Bool // there is more than the last batch has read
	reached uint64      // where the log ended when yield looked last; the draining goroutine's
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	held    atomic.Bool
}

// counts are what Stats tells.
type counts struct {
	drained   atomic.Uint64
	summed    atomic.Uint64
	batches   atomic.Uint64
	bad       atomic.Uint64
	poison    atomic.Uint64
	replays   atomic.Uint64
	twice     atomic.Uint64
	conflicts atomic.Uint64
	failures  atomic.Uint64
	away      atomic.Bool
	lastNanos atomic.Int64 // up to when the database has all clicks
	busyNanos atomic.Int64
}

// ErrTaken is what Start wraps when another process has taken a number of the log after
// the log was opened. Nothing has been written under it: the log is closed and opened
// again with Cursors, and takes another number.
var ErrTaken = errors.New("another process has taken it: restart this one")

// Start claims the writers of the log, counts what the database does not have yet
// and begins to drain. Close ends it; the log is the caller's.
func Start(ctx context.Context, o Options) (*Drainer, error) {
	o.complete()
	d := &Drainer{opts: o, store: o.Store, click: o.Log, log: o.Logger, limit: o.Batch,
		reader:   o.Log.NewReader(nil),
		sketches: newRecent[timeKey, *sketch](cachedSketches),
		values:   newRecent[dimDay, *valueSet](cachedDays), pruned: -1,
	}
	d.counts.lastNanos.Store(o.Now().UnixNano())
	words, err := newDictionary()
	if err != nil {
		return nil, fmt.Errorf("the patterns of crawlers: %w", err)
	}
	d.meanings = meanings{words: words, countries: o.Countries, policy: o.IP}
	d.tail.counts = make(map[int64]Count)
	d.batch = &batch{d: d, months: make(map[string][]*click)}
	d.pending = pending{sums: newSums(), ends: make(map[[2]int]clicklog.Cursor)}
	d.left = make(map[clicklog.Seq]bool)
	if err := d.claim(ctx); err != nil {
		return nil, err
	}
	if _, err := d.loadMonths(ctx); err != nil {
		return nil, err
	}
	if err := d.renewSalt(ctx, DayOf(o.Now().UnixMilli())); err != nil {
		return nil, err
	}
	from := d.reader.Places()
	d.backlog = o.Log.NewReader(from)
	d.live = live{fronts: make(fronts), wake: make(chan struct{}), dir: o.Log.ID()}
	for _, c := range from {
		d.live.fronts.move(c)
	}
	if err := d.look(); err != nil {
		return nil, err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d.cancel = cancel
	d.ended.Go(func() { d.drains(run) })
	d.ended.Go(func() { d.looks(run) })
	return d, nil
}

// Close drains what there is, as far as the database takes it within a moment, and
// ends.
func (d *Drainer) Close() error {
	d.cancel()
	d.ended.Wait()
	return nil
}

// Hold stops draining until Hold(false): to measure what recording alone costs.
func (d *Drainer) Hold(hold bool) { d.held.Store(hold) }

// backOff is how long the database is left alone after failures, at most.
const backOff = 2 * time.Second

// lastWords is how long Close goes on draining.
const lastWords = 2 * time.Second

// drains is the goroutine that drains.
func (d *Drainer) drains(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	var still <-chan struct{} // what a rest ends with; nil: there is none
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			d.finish(last)
			return
		case <-timer.C:
		case <-still:
		}
		d.rest(false)
		wait := d.opts.Every
		still = d.click.Still() // before the log is read
		began := time.Now()
		n, err := d.turn(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			failures++
			d.failed(err, failures)
			wait = min(d.opts.Every<<min(failures-1, 8), backOff)
		case err == nil:
			d.succeeded(failures, n >= d.limit)
			failures = 0
			if n >= d.limit {
				wait = d.yield(time.Since(began))
			}
		}
		d.behind.Store(n >= d.limit)
		if still != nil && d.empty {
			wait = max(wait, d.untilTomorrow())
			d.rest(true)
		} else {
			still = nil
		}
		timer.Reset(wait)
	}
}

// rest notes that the drainer sleeps until the log is written again, or does not.
func (d *Drainer) rest(yes bool) {
	if was := d.resting.Swap(yes); was && !yes {
		d.counts.lastNanos.Store(d.opts.Now().UnixNano()) // all was there so far
	}
}

// maxRest bounds a rest: the clock may have been set.
const maxRest = time.Minute

// untilTomorrow returns how long the drainer may rest: a new day has a salt of its own.
func (d *Drainer) untilTomorrow() time.Duration {
	const day = 24 * time.Hour
	return min(day-time.Duration(d.opts.Now().UnixMilli())*time.Millisecond%day, maxRest)
}

// turn is one batch and what is due once a day.
func (d *Drainer) turn(ctx context.Context) (int, error) {
	d.empty = false
	if d.held.Load() {
		return 0, nil
	}
	now := d.opts.Now()
	day := DayOf(now.UnixMilli())
	if err := d.renewSalt(ctx, day); err != nil {
		return 0, err
	}
	n, err := d.drain(ctx)
	if err == nil && d.pruned != day && n < d.limit {
		if err = d.prune(ctx, now); err == nil {
			d.pruned = day
		}
	}
	return n, err
}

// failed tells that a batch was not written.
func (d *Drainer) failed(err error, failures int) {
	d.counts.failures.Add(1)
	if failures == 1 {
		d.counts.away.Store(true)
		d.log.Error("clicks do not reach the database; they are kept in the log", "err", err)
	}
}

// succeeded tells that the database takes clicks; more: it has them up to the batch's last.
func (d *Drainer) succeeded(failures int, more bool) {
	reached := d.opts.Now()
	if n := len(d.batch.clicks); more && n > 0 {
		reached = time.UnixMilli(d.batch.clicks[n-1].at)
	}
	d.counts.lastNanos.Store(reached.UnixNano())
	if failures > 0 {
		d.counts.away.Store(false)
		d.log.Info("clicks reach the database again", "tries", failures)
	}
}

// drain writes one batch. It returns how many clicks that was.
func (d *Drainer) drain(ctx context.Context) (int, error) {
	began := time.Now()
	b := d.batch
	_, err := d.reader.Read(&b.raw, d.limit)
	if err != nil {
		d.log.Warn("a part of the click log cannot be read now", "err", err)
	}
	if len(b.raw.Moves) == 0 && (len(d.pending.ends) == 0 || !d.due(0)) {
		d.empty = err == nil && len(d.pending.ends) == 0 && d.limit == d.opts.Batch
		return 0, nil
	}
	d.understand(b)
	if err := d.put(ctx, b); err != nil {
		return 0, err
	}
	for _, m := range b.raw.Moves {
		d.counts.bad.Add(uint64(m.Bad))
	}
	d.counts.drained.Add(uint64(len(b.clicks)))
	d.counts.batches.Add(1)
	d.counts.busyNanos.Add(int64(time.Since(began)))
	if d.limit < d.opts.Batch {
		d.limit = min(d.limit*2, d.opts.Batch)
		return d.limit, nil // there is more
	}
	return len(b.clicks), nil
}

// finish drains what there is and writes the sums that wait, before Close.
func (d *Drainer) finish(ctx context.Context) {
	for !d.held.Load() && ctx.Err() == nil {
		n, err := d.drain(ctx)
		if err != nil {
			return
		}
		if n == 0 {
			break
		}
	}
	if len(d.pending.ends) > 0 && ctx.Err() == nil {
		d.pending.since = time.Time{}
		_, _ = d.drain(ctx) // what is left out is read again by the next process
	}
}
