package fresh

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// The stress runs the protocol as it is used, by many goroutines at once, for
// the race detector and for what the turns of the other checks are too coarse
// to show. Its database is a counter for each key.
type stress struct {
	t     *testing.T
	d     *Domain
	s     *Space
	store sync.Map // flight: *row.Document

	locks   [stressKeys]sync.Mutex    // of a key's row, by its writer
	visible [stressKeys]atomic.Uint64 // what a read sees
	known   [stressKeys]atomic.Uint64 // what hotrow knows to be visible

	epochs  sync.Mutex // held while an epoch begins, and while one transaction is settled
	log     chan *stressTx
	end     chan struct{} // closed when nothing is written any more
	answers atomic.Int64
	hits    atomic.Int64
}

type stressTx struct {
	key     int
	version uint64
	shown   atomic.Bool
}

const stressKeys = 4

var stressNames = [stressKeys]row.Key{"a", "b", "c", "d"}

// TestStress_ManyGoroutines checks every answer, and at rest every copy.
func TestStress_ManyGoroutines(t *testing.T) {
	x := &stress{t: t, d: NewDomain(100), log: make(chan *stressTx, 16), end: make(chan struct{})}
	x.s = x.d.NewSpace(func(k row.Key) {
		for f := range row.Format(row.NumFormats) {
			x.store.Delete(flight{k, f})
		}
	}, x.agree)
	x.d.Reset("a", 0, nil, 0)
	x.d.Fenced(1)
	writes := 1000
	if testing.Short() {
		writes = 200
	}
	var writers, fed, rest sync.WaitGroup
	for i := range 3 {
		writers.Go(func() { x.write(i == 0, writes) })
	}
	fed.Go(x.feed)
	rest.Go(x.settle)
	for i := range 4 {
		rest.Go(func() { x.read(rand.New(rand.NewPCG(uint64(i), 0))) })
	}
	rest.Go(x.operate)
	writers.Wait()
	close(x.log)
	fed.Wait()
	close(x.end)
	rest.Wait()
	x.check()
}

// write changes keys one after the other: log, then visible; or through a hold.
func (x *stress) write(own bool, n int) {
	for range n {
		k := rand.IntN(stressKeys)
		x.locks[k].Lock()
		tx := &stressTx{key: k, version: x.visible[k].Load() + 1}
		invalidations := []Invalidation{{Space: x.s, Keys: []row.Key{stressNames[k]}}}
		if own {
			x.d.Hold(invalidations)
		}
		x.log <- tx
		runtime.Gosched() // the feed may be first
		x.visible[k].Store(tx.version)
		tx.shown.Store(true)
		x.locks[k].Unlock()
		if own {
			x.d.Release(invalidations, 0)
			x.know(k, tx.version)
		}
	}
}

// know notes that every read which begins from now on sees a version.
func (x *stress) know(k int, version uint64) {
	for {
		old := x.known[k].Load()
		if version <= old || x.known[k].CompareAndSwap(old, version) {
			return
		}
	}
}

// feed delivers what is logged: by key, as a whole, or not at all, but then with a
// new epoch.
func (x *stress) feed() {
	pos := Position(0)
	for tx := range x.log {
		pos++
		name := stressNames[tx.key]
		ref := []*stressTx{tx}
		switch touch := (Invalidation{Space: x.s}); rand.IntN(12) {
		case 0:
			x.epochs.Lock()
			for _, p := range x.d.Unsettled() { // the new feed will not tell of these
				ref = append(ref, p.Ref.([]*stressTx)...)
			}
			x.d.Reset("a", pos, nil, 0)
			touch.Whole = true
			x.d.Apply(pos, []Invalidation{touch}, ref, 0)
			x.epochs.Unlock()
		case 1:
			touch.Whole = true
			x.d.Apply(pos, []Invalidation{touch}, ref, 0)
		default:
			touch.Keys = []row.Key{name}
			x.d.Apply(pos, []Invalidation{touch}, ref, 0)
		}
		x.d.Fenced(int64(pos))
		x.d.Advance(pos)
	}
}

// settle settles what is visible, until all is.
func (x *stress) settle() {
	for {
		ended := false
		select {
		case <-x.end:
			ended = true
		default:
		}
		batch := x.d.Unsettled()
		for _, p := range batch {
			x.settleOne(p)
		}
		if ended && len(batch) == 0 {
			return
		}
		runtime.Gosched()
	}
}

func (x *stress) settleOne(p *Pending) {
	x.epochs.Lock()
	defer x.epochs.Unlock()
	txs := p.Ref.([]*stressTx)
	if slices.ContainsFunc(txs, func(tx *stressTx) bool { return !tx.shown.Load() }) {
		return
	}
	pending := slices.Contains(x.d.Unsettled(), p) // else a barrier stands for it
	x.d.Settle(p)
	for _, tx := range txs {
		if pending {
			x.know(tx.key, tx.version)
		}
	}
}

// operate forgets documents, as a tier and an operator do, and waits for
// progress.
func (x *stress) operate() {
	for {
		k := stressNames[rand.IntN(stressKeys)]
		switch rand.IntN(8) {
		case 0:
			x.s.Drop(k)
		case 1:
			x.s.DropAll()
		default:
			x.store.Delete(flight{k, row.FormatJSON})
		}
		x.d.Suspect(x.s, row.Stamp{Epoch: 1}, 5)
		_, changed := x.d.Changed()
		select {
		case <-changed:
		case <-x.end:
			return
		}
	}
}

// read asks for documents and checks every answer against what was known when
// it was asked for. It goes on for a while at rest if there was no hit before.
func (x *stress) read(rng *rand.Rand) {
	for n := 0; ; {
		select {
		case <-x.end:
			if n++; n > 10_000 || x.hits.Load() > 0 {
				return
			}
		default:
		}
		k, f, need := rng.IntN(stressKeys), row.Format(rng.IntN(row.NumFormats)), Any
		switch rng.IntN(8) {
		case 0:
			need = Now
		case 1:
			need = Settled
		}
		floor := x.known[k].Load()
		if need == Now {
			floor = x.visible[k].Load()
		}
		if got := x.answer(k, f, need); got < floor {
			x.t.Errorf("%s is %d, must be at least %d (need %d)", stressNames[k], got, floor, need)
			return
		}
		x.answers.Add(1)
	}
}

// answer reads one document: a copy, a load that is under way, or its own.
func (x *stress) answer(k int, f row.Format, need Need) uint64 {
	fl := flight{stressNames[k], f}
	if need != Now {
		if doc, ok := x.store.Load(fl); ok && x.s.Valid(doc.(*row.Document).Stamp()) {
			x.hits.Add(1)
			return versionOf(doc.(*row.Document))
		}
	}
	l, leader := x.s.Begin(fl.key, f, need)
	if !leader {
		<-l.Done()
		doc, _ := l.Result()
		return versionOf(doc)
	}
	x.s.Send(l)
	doc := x.document(k, l)
	x.s.Finish(l, doc, nil, func() { x.store.Store(fl, doc) })
	return versionOf(doc)
}

func (x *stress) document(k int, l *Lease) *row.Document {
	body := binary.BigEndian.AppendUint64(nil, x.visible[k].Load())
	return row.NewDocument("", l.Format, body, row.Hash(body), l.Stamp)
}

func versionOf(d *row.Document) uint64 { return binary.BigEndian.Uint64(d.Body()) }

// check is done at rest: no copy is stale, and nothing is left over.
func (x *stress) check() {
	if x.answers.Load() == 0 || x.hits.Load() == 0 {
		x.t.Errorf("%d answers, %d hits: nobody has read", x.answers.Load(), x.hits.Load())
	}
	x.store.Range(func(fl, doc any) bool {
		d, k := doc.(*row.Document), int(fl.(flight).key[0]-'a')
		if x.s.Valid(d.Stamp()) && versionOf(d) != x.visible[k].Load() {
			x.t.Errorf("%v is %d for ever, the database has %d", fl, versionOf(d), x.visible[k].Load())
		}
		return true
	})
	if left := leftover(x.s); left != "" || x.s.wholes.Load() != 0 || len(x.d.pending) != 0 {
		x.t.Errorf("at rest: %s, %d whole changes, %d pending", left, x.s.wholes.Load(),
			len(x.d.pending))
	}
	for k := range stressKeys {
		l, leader := x.s.Begin(stressNames[k], row.FormatJSON, Any)
		if !leader || !finish(x.s, l) {
			x.t.Errorf("%s cannot be stored any more", stressNames[k])
		}
	}
}

// agree removes the copies of other states than an answer's.
func (x *stress) agree(l *Lease, doc *row.Document, stored bool) {
	for f := range row.Format(row.NumFormats) {
		fl := flight{l.Key, f}
		if held, ok := x.store.Load(fl); ok && !(stored && f == l.Format) &&
			!SameVersion(held.(*row.Document), doc) {
			x.store.Delete(fl)
		}
	}
}
