package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A Warm says which documents are loaded before anybody asks for them, in the
// background: at the start, and again whenever everything had to be forgotten.
type Warm struct {
	Query string // a SELECT of keys; "": every row
}

const (
	// warmBatch is how many documents are loaded with one statement. One statement
	// runs at a time, and after each there is a pause as long as it took: warming
	// takes at most half of one connection.
	warmBatch = 200

	warmPauseMax = time.Second
	warmLook     = 250 * time.Millisecond
	warmReport   = 10 * time.Second

	// warmFull is the share of a tier's bound (in 1/256) from which on it counts as
	// full: more would only push out what was loaded before.
	warmFull = 243
)

// warmProgress is how far the warming of a resource is.
type warmProgress struct {
	keys    atomic.Uint64 // looked at in this round
	loaded  atomic.Uint64 // from the source, in all rounds
	running atomic.Bool
	rounds  atomic.Uint64 // that are done
}

// WarmStats is a snapshot of a resource's warming.
type WarmStats struct {
	Asked   bool // by the configuration
	Running bool
	Keys    uint64 // looked at in this round
	Loaded  uint64 // documents that the source was read for, in all rounds
	Rounds  uint64 // done
}

func (r *Resource) warmStats() WarmStats {
	return WarmStats{
		Asked: r.rules.Load().Warm != nil, Running: r.warmed.running.Load(),
		Keys: r.warmed.keys.Load(), Loaded: r.warmed.loaded.Load(), Rounds: r.warmed.rounds.Load(),
	}
}

// A warmed revision has been warmed, in an epoch and as a configuration asked for it.
type warmed struct {
	epoch uint64
	as    Warm
}

// warmSoon has what the configuration asks for warmed, if it asks for anything and nobody does
// it yet. Set.mu is held, and a feed is followed.
func (u *sourceState) warmSoon() {
	if !u.warming && slices.ContainsFunc(u.revisions, func(f *revision) bool {
		return f.r.rules.Load().Warm != nil
	}) {
		u.warming = true
		u.loops.Go(func() { u.outlives("warm", u.warm) })
	}
}

// cold returns the revisions that are to be warmed in an epoch and were not.
func (u *sourceState) cold(done map[*revision]warmed, epoch uint64) (list []*revision) {
	for _, f := range *u.served.Load() {
		w := f.r.rules.Load().Warm
		if w != nil && done[f] != (warmed{epoch, *w}) {
			list = append(list, f)
		}
	}
	return list
}

// warm loads what the configuration asks for, of each revision in each epoch once.
func (u *sourceState) warm() {
	for done := make(map[*revision]warmed); sleep(u.ctx, warmLook); {
		p := u.domain.Applied()
		list := u.cold(done, p.Epoch)
		if len(list) == 0 {
			continue
		}
		u.wake(u.ctx)
		if state, _ := u.domain.Gate(monotonic()); state != fresh.Fresh ||
			u.follower.suspect.Load() {
			continue
		}
		maps.DeleteFunc(done, func(_ *revision, w warmed) bool { return w.epoch != p.Epoch })
		ok := true
		for _, f := range list {
			as := f.r.rules.Load().Warm
			if as == nil {
				continue
			}
			is := false
			u.guarded("warm "+f.r.name, func() { is = u.warmRevision(f, as, p.Epoch) })
			if is {
				done[f] = warmed{p.Epoch, *as}
			}
			ok = is && ok
		}
		if !ok {
			sleep(u.ctx, warmPauseMax)
		}
	}
}

// errCold ends a round that is of no use any more.
var errCold = errors.New("everything was forgotten meanwhile")

// errWarmFull ends a round that has filled the cache.
var errWarmFull = errors.New("the cache is full")

// warmRevision makes one round, and reports whether it is done.
func (u *sourceState) warmRevision(f *revision, as *Warm, epoch uint64) bool {
	r := f.r
	if f.plan == nil || f.memory == nil || r.revision.Load() != f {
		return f.memory == nil
	}
	w := &warming{f: f, epoch: epoch, reported: time.Now()}
	r.warmed.keys.Store(0)
	r.warmed.running.Store(true)
	defer r.warmed.running.Store(false)
	var err error
	if as.Query == "" {
		err = w.all(u.ctx)
	} else {
		err = w.query(u.ctx, as.Query)
	}
	log := u.log.With("resource", r.name, "keys", r.warmed.keys.Load())
	switch {
	case u.ctx.Err() != nil:
		return true
	case err == nil:
		log.Info("warm")
	case errors.Is(err, errWarmFull):
		log.Info("warm as far as the cache has room")
	case errors.Is(err, errCold), errors.Is(err, errReplaced):
		return false
	default:
		log.Warn("warming has stopped, trying again", "err", err)
		return false
	}
	r.warmed.rounds.Add(1)
	return true
}

// A warming is one round of one resource.
type warming struct {
	f        *revision
	epoch    uint64
	reported time.Time
	largest  uint64 // bytes of a document, of the last that were loaded; 0: none was
}

// all walks through every row in the order of the key.
func (w *warming) all(ctx context.Context) error {
	var after *row.Key
	for {
		begin := time.Now()
		found, err := w.f.page(ctx, after, warmBatch)
		if err != nil || len(found.Rows) == 0 {
			return err
		}
		keys := keysOf(found.Rows)
		if err := w.load(ctx, keys, begin); err != nil {
			return err
		}
		after = &keys[len(keys)-1]
	}
}

// errNoQueries is why no query can say what is loaded.
var errNoQueries = errors.New("this kind of source has no queries: warm: all")

// CheckWarm returns why the query that says what of a resource is loaded cannot be run on its
// source, without running it. "" is no query, which is none that is wrong.
func CheckWarm(ctx context.Context, src source.Source, name, query string) error {
	if query == "" {
		return nil
	}
	err := errNoQueries
	if finder, ok := src.(source.KeyFinder); ok {
		err = finder.CheckKeys(ctx, query)
	}
	if err != nil {
		return fmt.Errorf("resource %s: warm: %w", name, err)
	}
	return nil
}

// query walks through the keys that the configuration's query gives.
func (w *warming) query(ctx context.Context, query string) error {
	finder, ok := w.f.src.source.(source.KeyFinder)
	if !ok {
		return errNoQueries
	}
	keys, err := finder.Keys(ctx, query)
	for err == nil && len(keys) > 0 {
		n := min(len(keys), warmBatch)
		err = w.load(ctx, keys[:n], time.Now())
		keys = keys[n:]
	}
	return err
}

// load loads those of keys that are not kept yet, and pauses for as long as that
// has taken since begin. It waits while the feed lags: nothing would be kept.
func (w *warming) load(ctx context.Context, keys []row.Key, begin time.Time) error {
	f := w.f
	for {
		if f.src.domain.Applied().Epoch != w.epoch || f.r.revision.Load() != f {
			return errCold
		}
		f.src.wake(ctx)
		state, _ := f.src.domain.Gate(monotonic())
		if state == fresh.Fresh && !f.space.Unstorable() {
			break
		}
		if !sleep(ctx, warmLook) {
			return ctx.Err()
		}
	}
	if w.full() {
		return errWarmFull
	}
	missing, err := f.notKept(keys)
	if err != nil {
		return err
	}
	for len(missing) > 0 {
		n, err := w.part(ctx, len(missing))
		if err != nil {
			return err
		}
		if err := w.loadNow(ctx, missing[:n]); err != nil {
			return err
		}
		missing = missing[n:]
	}
	f.r.warmed.keys.Add(uint64(len(keys)))
	if time.Since(w.reported) >= warmReport {
		w.reported = time.Now()
		f.src.log.Info("warming", "resource", f.r.name, "keys", f.r.warmed.keys.Load())
	}
	if !sleep(ctx, min(time.Since(begin), warmPauseMax)) {
		return ctx.Err()
	}
	return nil
}

// loadNow loads keys.
func (w *warming) loadNow(ctx context.Context, keys []row.Key) error {
	f := w.f
	before := f.r.counts.fromDisk.Load()
	answers := make([]Answer, len(keys))
	f.load(ctx, keys, &Options{Format: f.warmFormat()}, answers)
	w.largest -= w.largest / 4 // of those a while ago
	for i := range answers {
		if err := answers[i].Err; err != nil {
			return err
		}
		w.largest = max(w.largest, uint64(answers[i].Doc.Size())+besideDocument)
	}
	fromDisk := f.r.counts.fromDisk.Load() - before
	f.r.warmed.loaded.Add(uint64(len(keys)) - min(fromDisk, uint64(len(keys))))
	return nil
}

// besideDocument is what a document that waits for the disk takes besides, at most as a rule.
const besideDocument = 256

// part returns how many of n documents are loaded next, and waits until the disk has room for
// them: it would refuse what comes faster than it writes.
func (w *warming) part(ctx context.Context, n int) (int, error) {
	if w.f.disk == nil {
		return n, nil
	}
	each := w.largest * uint64(max(1, len(w.f.spec.Formats)))
	room, err := w.f.disk.Room(ctx, each)
	switch {
	case err != nil:
		return 0, err
	case each == 0: // how large they are is not known yet
		return 1, nil
	case room == 0:
		return n, nil
	}
	return int(min(uint64(n), room/each)), nil
}

// full reports whether loading more would push out what is there, or would not be kept.
func (w *warming) full() bool {
	full := func(s tier.Stats) bool {
		return max(s.Bytes, s.HeldBytes) > s.MaxBytes/256*warmFull
	}
	if d := w.f.disk; d != nil {
		if st := d.DiskStats(); st.On {
			return st.Full || full(d.Stats())
		}
	}
	return full(w.f.memory.Stats())
}

// warmFormat is the representation that is loaded; the others that the
// configuration wants are made with it.
func (f *revision) warmFormat() row.Format {
	if len(f.spec.Formats) > 0 {
		return f.spec.Formats[0]
	}
	return row.FormatJSON
}

// notKept returns those of keys that memory has no good copy of.
func (f *revision) notKept(keys []row.Key) ([]row.Key, error) {
	var out []row.Key
	at := f.src.asOf(monotonic())
	for _, asked := range keys {
		k, err := f.canonical(asked)
		if err != nil {
			return nil, err
		}
		_, state, _ := f.lookup(k, f.warmFormat(), &at, false)
		if state == Miss || state == Stale {
			out = append(out, k)
		}
	}
	return out, nil
}
