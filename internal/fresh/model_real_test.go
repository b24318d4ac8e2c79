package fresh

import (
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// real drives package fresh itself.
type real struct {
	d      *Domain
	s      *Space
	store  map[flight]*row.Document
	loads  []*Lease
	holds  map[int]*modelHold // by transaction
	notify bool
	disk   *modelDisk // nil: there is none
	clock  int64      // counts the fences that have begun
	broken breach
}

// A breach is a rule that is left out.
type breach uint8

const (
	unbroken     breach = iota
	keepsOthers         // an answer leaves the copies of other formats alone
	storesOthers        // and their loads, which are stored whatever they read
	joinsOthers         // a load is joined although others have been answered since
	beginsFirst         // an epoch begins before what is not visible yet is marked
	appliedOnly         // a token is what is applied, whatever the answer shows
)

func newReal(notify bool) *real { return newRealOn(notify, nil) }

// newRealOn is newReal with a disk behind it.
func newRealOn(notify bool, disk *modelDisk) *real {
	r := &real{d: NewDomain(0), store: make(map[flight]*row.Document), notify: notify, disk: disk}
	r.s = r.d.NewSpace(func(k row.Key) {
		for f := range row.Format(row.NumFormats) {
			delete(r.store, flight{k, f})
		}
		disk.drop(k)
	}, r.agree)
	r.s.OnWhole(disk.dropAll)
	r.d.Reset("o", 0, nil, 0)
	return r
}

// agree removes what is of another state than an answer.
func (r *real) agree(l *Lease, doc *row.Document, stored bool) {
	for f := range row.Format(row.NumFormats) {
		fl := flight{l.Key, f}
		if stored && f == l.Format || f != l.Format && r.broken == keepsOthers {
			continue
		}
		if r.store[fl] != nil && SameVersion(r.store[fl], doc) {
			continue
		}
		if delete(r.store, fl); f == l.Format && r.disk != nil {
			delete(r.disk.now.copies, fl)
		}
	}
}

// docKeys are the documents of the model by their number.
var docKeys = [...]row.Key{"d0", "d1", "d2"}

func (r *real) send(load int) { r.s.Send(r.loads[load]) }

func (r *real) begin(doc int, f row.Format, need Need) (int, bool) {
	if r.broken == joinsOthers {
		for _, l := range r.loads {
			after := l.after
			l.after = nil
			defer func() { l.after = after }()
		}
	}
	l, leader := r.s.Begin(docKeys[doc], f, need)
	if leader {
		r.loads = append(r.loads, l)
	}
	return slices.Index(r.loads, l), leader
}

func (r *real) found(load int) bool {
	l := r.loads[load]
	return r.s.Found(l, r.store[flight{l.Key, l.Format}])
}

func (r *real) finish(load int, value string, logged int) {
	l := r.loads[load]
	r.s.Saw(l, Position(logged))
	if r.broken == storesOthers {
		for _, o := range r.loads {
			if o.Format != l.Format {
				after, invalidated := o.after, o.invalidated
				defer func() { o.after, o.invalidated = after, invalidated }()
			}
		}
	}
	doc := r.document(l, value)
	r.s.Finish(l, doc, nil, func() {
		r.store[flight{l.Key, l.Format}] = doc
		r.disk.put(flight{l.Key, l.Format}, doc)
	})
}

// document makes what a load has read: values that are equal are of one state.
func (r *real) document(l *Lease, value string) *row.Document {
	stamp := l.Stamp
	stamp.At = r.clock
	return row.NewDocument("", l.Format, []byte(value), row.Hash([]byte(value)), stamp)
}

// shows is what package resource makes of an answer.
func (r *real) shows(load, doc int, f row.Format) int {
	p, fenced := r.d.Applied().Pos, r.d.FencedAt()
	switch {
	case r.broken == appliedOnly:
	case load < 0:
		p = r.d.Shown(r.store[flight{docKeys[doc], f}].At(), fenced, p)
	case r.loads[load].Shows() != 0:
		p = max(r.loads[load].AsOf.Pos, r.loads[load].Shows())
	default:
		p = r.d.Shown(r.loads[load].doc.At(), fenced, p)
	}
	return int(p)
}

func (r *real) claim(load, _ int) int {
	if load < 0 {
		return int(r.d.Applied().Pos)
	}
	return int(r.loads[load].AsOf.Pos)
}

func (r *real) deliver(tx *modelTx, call int) (last bool) {
	t := Invalidation{Space: r.s, Whole: tx.whole || tx.barrier}
	for _, d := range tx.docs {
		t.Keys = append(t.Keys, docKeys[d])
	}
	var ref any
	if !r.notify {
		ref = tx.id
	}
	switch {
	case tx.lost, r.broken == beginsFirst && tx.barrier && call == 0:
		r.d.Reset("o", Position(tx.id), nil, 0)
		return tx.lost
	case tx.barrier && r.broken != beginsFirst:
		r.d.Reset("o", Position(tx.id), ref, 0)
	default:
		r.d.Apply(Position(tx.id), []Invalidation{t}, ref, 0)
	}
	return true
}

func (r *real) unsettled() txs {
	var s txs
	for _, p := range r.d.pending {
		s.add(p.Ref.(int) - 1)
	}
	return s
}

// settle settles a transaction, if it is pending still: the first, when it has come
// twice.
func (r *real) settle(tx int) {
	i := slices.IndexFunc(r.d.pending, func(p *Pending) bool { return p.Ref == tx })
	if i >= 0 {
		r.d.Settle(r.d.pending[i])
	}
}

func (r *real) cached(doc int, f row.Format) (string, bool) {
	d, ok := r.store[flight{docKeys[doc], f}]
	if !ok || !r.s.Valid(d.Stamp()) {
		return "", false
	}
	return string(d.Body()), true
}

func (r *real) hold(tx *modelTx) {
	t := Invalidation{Space: r.s, Keys: []row.Key{docKeys[tx.own]}}
	if r.holds == nil {
		r.holds = make(map[int]*modelHold)
	}
	r.holds[tx.id] = &modelHold{invalidations: []Invalidation{t}}
	r.d.Hold([]Invalidation{t})
}

// A modelHold is a write under way: what it holds, and what it has read back.
type modelHold struct {
	invalidations []Invalidation
	l             *Lease
	value         string
}

// writeThrough is the second hold of a write, of what it has changed.
func (r *real) writeThrough(tx *modelTx, value string) {
	h := r.holds[tx.id]
	t := Invalidation{Space: r.s, Keys: []row.Key{docKeys[tx.own]}}
	r.d.Hold([]Invalidation{t})
	h.invalidations, h.value = append(h.invalidations, t), value
	h.l = r.s.WriteThrough(docKeys[tx.own], 0, Position(tx.id), len(h.invalidations))
}

func (r *real) release(tx *modelTx) {
	h, pos := r.holds[tx.id], Position(0)
	if h.l != nil {
		pos = h.l.at
	}
	r.d.Release(h.invalidations, pos)
	r.d.Saw(r.d.Applied(), Position(tx.id))
}

func (r *real) keep(tx *modelTx) {
	l := r.holds[tx.id].l
	doc := r.document(l, r.holds[tx.id].value)
	r.s.EndWriteThrough(l, doc, func() { r.store[flight{l.Key, l.Format}] = doc })
}

// number names a lease, from 1 on.
func (r *real) number(l *Lease) byte {
	if l != nil && l.at != 0 {
		return byte(100 + l.at)
	}
	return byte(1 + slices.Index(r.loads, l))
}

// state leaves nothing out that a later move could show: two states that are
// taken for one are explored once.
func (r *real) state(b []byte) []byte {
	b = append(b, byte(r.d.seen.Load()), byte(r.clock), byte(r.d.epoch.Load()),
		byte(r.s.generation.Load()), byte(r.s.wholes.Load()))
	for _, p := range r.d.pending {
		b = append(b, byte(p.Ref.(int)), bit(p.begins))
		for i := range p.invalidations {
			b = r.touched(b, &p.invalidations[i])
		}
	}
	for doc, k := range docKeys {
		sh := r.s.shard(k)
		b = append(b, byte(sh.dirty[k]))
		for f := range row.Format(row.NumFormats) {
			told := sh.answeredAt[f] != nil && sh.answeredAt[f][r.s.slot(k)] > r.d.FencedAt()
			b = append(b, bit(told), r.number(sh.inflight[flight{k, f}]))
			v, ok := r.cached(doc, f)
			b = appendText(append(b, bit(ok)), v)
		}
	}
	leases := r.loads
	for id := range 8 {
		if h := r.holds[id]; h != nil && h.l != nil {
			leases = append(leases[:len(leases):len(leases)], h.l)
		}
	}
	for _, l := range leases {
		progress := Position(0)
		if l.AsOf != nil {
			progress = l.AsOf.Pos
		}
		b = append(b, bit(l.storable), bit(l.settled), bit(l.invalidated), bit(l.sent), bit(l.now),
			bit(l.answered),
			byte(l.Stamp.Epoch), byte(l.Stamp.Generation), byte(progress), byte(l.shows),
			r.number(l.older))
		if l.after != nil {
			b = appendText(b, l.after.ETag())
		}
		b = append(b, '|')
	}
	return b
}

// touched appends the keys that a settling will unmark, in order.
func (r *real) touched(b []byte, t *Invalidation) []byte {
	at := len(b)
	for _, k := range t.Keys {
		b = append(b, k[1])
	}
	slices.Sort(b[at:])
	return append(b, '|')
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
