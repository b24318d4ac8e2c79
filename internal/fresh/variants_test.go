package fresh

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hotrow/hotrow/internal/row"
)

// A variant is a protocol with some rules left out, or with a wrong one in
// their place: what the literature and other caches do. Each must be caught.
type variant struct {
	lease     bool // a delivered change invalidates the loads in flight
	settled   bool // a load is storable only if no change was unsettled at its lease
	atStore   bool // the same, but looked at when it is stored
	lsn       bool // a load carries the log's end; stored if no later change was delivered
	genStore  bool // the table's generation is taken at the store, not at the lease
	joinAny   bool // every reader joins the load in flight, invalidated or not
	joinToken bool // a reader with a token joins a load that is not storable
	keepNow   bool // an answer leaves copies and loads that may be older alone
	noBarrier bool // a new feed forgets what was logged and not visible as it began
	noGap     bool // a lost change goes unnoticed
	lateDirty bool // a change of the whole table is flushed, not held until settled

	gen      int
	delivers map[int]int // document: last transaction delivered
	inflight map[int]int // document: load
	dirty    map[int]int
	wholes   int
	loads    []variantLoad
	store    map[int]variantCopy
	pending  []modelTx
}

type variantLoad struct {
	doc, gen                   int
	storable, invalidated, now bool
	sent, done                 bool
}

type variantCopy struct {
	value string
	gen   int
}

func (v variant) fresh() *variant {
	v.delivers, v.inflight, v.dirty = map[int]int{}, map[int]int{}, map[int]int{}
	v.store = map[int]variantCopy{}
	return &v
}

func (v *variant) begin(doc int, _ row.Format, need Need) (int, bool) {
	if n, ok := v.inflight[doc]; ok {
		l := &v.loads[n]
		good := !l.invalidated && l.gen == v.gen
		l.now = l.now || need == Now && good && !l.sent
		switch {
		case v.joinAny, good && need == Any,
			good && need == Settled && (l.storable || v.joinToken), good && need == Now && !l.sent:
			return n, false
		}
	}
	if need == Now && !v.keepNow {
		v.invalidate(doc)
	}
	storable := !v.settled || v.dirty[doc] == 0 && (v.wholes == 0 || v.lateDirty)
	v.loads = append(v.loads, variantLoad{
		doc: doc, gen: v.gen, storable: storable, now: need == Now,
	})
	v.inflight[doc] = len(v.loads) - 1
	return len(v.loads) - 1, true
}

func (v *variant) send(load int) { v.loads[load].sent = true }

func (v *variant) found(load int) bool {
	l := &v.loads[load]
	if l.now && !v.keepNow {
		return false
	}
	l.done = true
	if n, ok := v.inflight[l.doc]; ok && n == load {
		delete(v.inflight, l.doc)
	}
	return true
}

func (v *variant) finish(load int, value string, logged int) {
	l := &v.loads[load]
	l.done = true
	if n, ok := v.inflight[l.doc]; ok && n == load {
		delete(v.inflight, l.doc)
	}
	for i := range v.loads { // those that may have read before
		o := &v.loads[i]
		o.invalidated = o.invalidated || !v.keepNow && o.doc == l.doc && !o.done && o.sent
	}
	ok := l.storable && (!l.invalidated || !v.lease) && (v.genStore || l.gen == v.gen)
	if v.atStore {
		ok = ok && v.dirty[l.doc] == 0
	}
	if v.lsn {
		ok = ok && logged >= v.delivers[l.doc]
	}
	switch {
	case ok:
		v.store[l.doc] = variantCopy{value, v.gen}
	case !v.keepNow:
		delete(v.store, l.doc)
	}
}

func (v *variant) invalidate(doc int) {
	for i := range v.loads {
		if l := &v.loads[i]; l.doc == doc && !l.done {
			l.invalidated = true
		}
	}
}

func (v *variant) drop(doc int) {
	v.invalidate(doc)
	delete(v.store, doc)
}

func (v *variant) deliver(tx *modelTx, _ int) (last bool) {
	if tx.lost {
		if !v.noGap {
			v.gen++
		}
		return true
	}
	t := *tx
	t.docs = slices.Clone(tx.docs)
	if tx.barrier {
		t.docs, t.whole = nil, true
		v.gen++
		if v.noBarrier {
			return true
		}
	}
	if t.whole {
		v.wholes++
		v.gen++
	}
	for _, d := range t.docs {
		v.dirty[d]++
		v.delivers[d] = t.id
		v.drop(d)
	}
	v.pending = append(v.pending, t)
	return true
}

func (v *variant) unsettled() txs {
	var s txs
	for _, t := range v.pending {
		s.add(t.id - 1)
	}
	return s
}

// claim: a variant says nothing of how complete its answers are.
func (v *variant) claim(int, int) int { return 0 }

// shows: nor of how far they reach.
func (v *variant) shows(int, int, row.Format) int { return 8 }

func (v *variant) settle(id int) {
	i := slices.IndexFunc(v.pending, func(t modelTx) bool { return t.id == id })
	for _, d := range v.pending[i].docs {
		v.dirty[d]--
		if v.settled {
			v.invalidate(d)
		}
	}
	if v.pending[i].whole {
		v.wholes--
		if !v.lateDirty {
			v.gen++
		}
	}
	v.pending = slices.Delete(v.pending, i, i+1)
}

// cached: a variant has one format.
func (v *variant) cached(doc int, f row.Format) (string, bool) {
	if f != row.FormatJSON {
		return "", false
	}
	c, ok := v.store[doc]
	return c.value, ok && c.gen == v.gen
}

// A variant reads again what a write has changed.
func (v *variant) writeThrough(*modelTx, string) {}
func (v *variant) keep(*modelTx)                 {}

func (v *variant) hold(tx *modelTx) { v.dirty[tx.own]++; v.drop(tx.own) }

func (v *variant) release(tx *modelTx) { v.invalidate(tx.own); v.dirty[tx.own]-- }

func (v *variant) state(b []byte) []byte {
	return fmt.Append(b, v.gen, v.delivers, v.inflight, v.dirty, v.wholes, v.loads, v.store, v.pending)
}

// right is the protocol with all of its rules.
var right = variant{lease: true, settled: true}

func with(change func(*variant)) variant {
	v := right
	change(&v)
	return v
}

// TestModel_RightVariantPasses: what fails of the others is what is left out.
// A variant has one format, and keeps no writes.
func TestModel_RightVariantPasses(t *testing.T) {
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			if sc.writtenThrough() ||
				slices.ContainsFunc(sc.readers, func(r modelReader) bool { return r.format != 0 }) {
				return
			}
			states, failures := explore(&sc, func() protocol { return right.fresh() })
			t.Logf("%d states", states)
			for _, f := range failures {
				t.Error(f)
			}
		})
	}
}

// TestModel_VariantsFail shows that the check can fail: every wrong variant
// does, in the scenario named.
func TestModel_VariantsFail(t *testing.T) {
	const one = "one key, log feed"
	tests := []struct {
		name     string
		v        variant
		scenario string
	}{
		{"delete only", variant{}, one},
		{"delete only, notify feed", variant{}, "one key, notify feed"},
		{"lease only", variant{lease: true}, one},
		{"log position only", variant{lsn: true}, one},
		{"log position only, notify feed", variant{lsn: true}, "one key, notify feed"},
		{"lease and log position", variant{lease: true, lsn: true}, one},
		{"settled at the store only", variant{lease: true, atStore: true}, one},
		{"settled at the lease, no lease", variant{settled: true}, one},
		{"generation taken at the store", with(func(v *variant) { v.genStore = true }),
			"whole table"},
		{"whole table not held until settled", with(func(v *variant) { v.lateDirty = true }),
			"whole table"},
		{"join of a invalidated load", with(func(v *variant) { v.joinAny = true }), one},
		{"join of an unstorable load with a token",
			with(func(v *variant) { v.joinToken = true }), "token"},
		{"answers invalidate nothing", with(func(v *variant) { v.keepNow = true }), "bypass"},
		{"gap not noticed", with(func(v *variant) { v.noGap = true }), "feed lost"},
		{"feed begins without a barrier", with(func(v *variant) { v.noBarrier = true }),
			"feed begins after a log"},
	}
	all := scenarios()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == tt.scenario })
			_, failures := explore(&all[i], func() protocol { return tt.v.fresh() })
			if len(failures) == 0 {
				t.Fatalf("the check does not catch it in %q", tt.scenario)
			}
			t.Log(failures[0])
		})
	}
}
