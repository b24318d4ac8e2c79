package fresh

import (
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

// A wordMove is one turn: of the database, or of an actor that goes on or begins a call.
type wordMove struct {
	what wordTurn
	i    int8
}

type wordTurn uint8

const (
	wordLog wordTurn = iota
	wordVisible
	wordFail
	wordGo // the actor's call goes on
	wordFeed
	wordProbe
	wordHold
	wordRelease
	wordRead
	wordEvict
	wordRegister
	wordRemove
)

var wordTurns = [...]string{"log", "visible", "fail", "go", "feed", "probe", "hold", "release",
	"read", "evict", "register", "remove"}

func (m wordMove) String() string { return fmt.Sprint("{", wordTurns[m.what], " ", m.i, "}") }

// moves appends the turns that can be taken now.
func (w *wordWorld) moves(m []wordMove) []wordMove {
	for i := range w.sc.txs {
		m = w.txMoves(m, i)
	}
	for i, a := range w.actors {
		if a.ready() {
			m = append(m, wordMove{wordGo, int8(i)})
		}
	}
	i := w.delivered
	for i < len(w.sc.txs) && w.failed.has(i) {
		i++
	}
	if i < len(w.sc.txs) && w.logged.has(i) && (!w.sc.notify || w.visible.has(i)) &&
		!w.feed.running && w.apply == nil {
		m = append(m, wordMove{wordFeed, int8(i)})
	}
	if !w.settler.running && len(w.proof)+len(w.provable()) > 0 {
		m = append(m, wordMove{wordProbe, 0})
	}
	others := true
	for i, a := range w.actors {
		if r := a.reader; r != nil && !a.begun &&
			(!r.last || others) && (r.min == 0 || w.visible.has(r.min-1) && w.delivered >= r.min) {
			m = append(m, wordMove{wordRead, int8(i)})
		}
		others = others && (a.reader == nil || a.ended)
	}
	if w.sc.evicts && !w.evicted && w.store[0] != nil {
		m = append(m, wordMove{wordEvict, 0})
	}
	if w.apply == nil && !w.registrar.running {
		for i, t := range w.sc.templates {
			switch {
			case t.later && !w.registered[i]:
				m = append(m, wordMove{wordRegister, int8(i)})
			case t.removed && !w.removed[i]:
				m = append(m, wordMove{wordRemove, int8(i)})
			}
		}
	}
	return m
}

// txMoves appends what may become of one transaction.
func (w *wordWorld) txMoves(m []wordMove, i int) []wordMove {
	tx, a := &w.sc.txs[i], w.actors[3+i]
	before := i == 0 || w.visible.has(i-1) || w.failed.has(i-1) // the row's lock
	switch {
	case a.running:
	case tx.own && !w.held.has(i):
		if before && w.apply == nil {
			m = append(m, wordMove{wordHold, int8(i)})
		}
	case w.failed.has(i) || w.visible.has(i):
		if tx.own && !w.released.has(i) {
			m = append(m, wordMove{wordRelease, int8(i)})
		}
	case tx.fails:
		m = append(m, wordMove{wordFail, int8(i)})
	case !w.logged.has(i):
		if before {
			m = append(m, wordMove{wordLog, int8(i)})
		}
	default:
		m = append(m, wordMove{wordVisible, int8(i)})
	}
	return m
}

// take takes one turn.
func (w *wordWorld) take(m wordMove) {
	i := int(m.i)
	switch m.what {
	case wordLog:
		w.logged.add(i)
	case wordVisible:
		w.visible.add(i)
	case wordFail:
		w.failed.add(i)
	case wordGo:
		w.actors[i].resume()
	case wordFeed:
		w.apply = w.feed
		w.feed.call(i, func() { w.deliver(i) })
	case wordProbe:
		w.settle()
	case wordHold:
		w.apply = w.actors[3+i]
		w.actors[3+i].call(i, func() {
			w.invalidations[i] = []Invalidation{w.moved(&w.sc.txs[i]).Invalidation()}
			w.d.Hold(w.invalidations[i])
			w.held.add(i)
		})
	case wordRelease:
		w.actors[3+i].call(i, func() {
			w.d.Release(w.invalidations[i], 0)
			w.released.add(i)
		})
	case wordRead:
		w.read(w.actors[i])
	case wordEvict:
		w.evicted, w.store[0] = true, nil
	case wordRegister:
		w.apply = w.registrar
		w.registrar.call(i, func() { w.register(i) })
	case wordRemove:
		w.apply, w.removed[i] = w.registrar, true
		w.registrar.call(i, func() {
			w.tables[w.sc.templates[i].table].Remove(w.known[i])
		})
	}
	w.watch(m)
}

// deliver is a call of the feed.
func (w *wordWorld) deliver(i int) {
	tx := &w.sc.txs[i]
	var ref any
	if !w.sc.notify {
		ref = i
	}
	if tx.lost {
		w.d.Reset("o", Position(i+1), ref, 0)
	} else {
		w.d.Apply(Position(i+1), []Invalidation{w.moved(tx).Invalidation()}, ref, 0)
	}
	w.delivered = i + 1
}

// settle is the settler: what is pending and visible is settled, one after the other.
func (w *wordWorld) settle() {
	if len(w.proof) == 0 {
		w.proof = w.provable()
	}
	p := w.proof[0]
	w.proof = w.proof[1:]
	w.settler.call(p.Ref.(int), func() {
		w.d.Settle(p)
		w.settled.add(p.Ref.(int))
	})
}

// provable returns what a probe would prove now.
func (w *wordWorld) provable() (list []*Pending) {
	for _, p := range w.d.Unsettled() {
		if w.visible.has(p.Ref.(int)) {
			list = append(list, p)
		}
	}
	return list
}

// read lets a reader ask. What it must see at least is as in world.begin.
func (w *wordWorld) read(a *actor) {
	a.begun = true
	r := a.reader
	for t := range w.sc.txs {
		known := w.settled.has(t) || w.released.has(t) && w.visible.has(t) ||
			w.sc.notify && t < w.delivered && w.visible.has(t)
		if known || r.min > t && w.visible.has(t) || r.need == Now && w.visible.has(t) {
			a.floor.add(t)
		}
	}
	for _, o := range w.actors {
		if o.ended {
			a.told += o.answer
		}
	}
	a.call(0, func() { w.ask(a) })
}

// ask is one read, as the resource does it.
func (w *wordWorld) ask(a *actor) {
	r := a.reader
	if r.need == Any || r.need == Settled {
		asof := w.d.Applied()
		a.note(uint64(asof.Pos))
		c := w.store[r.format]
		a.noteCopy(c)
		if c != nil && c.Valid() {
			w.judge(a, string(c.doc.Body()), int(asof.Pos))
			return
		}
	}
	a.pause(stop{sh: true})
	w.shard = a
	q := w.question()
	for i := range q.Tags { // those without a template are of their table, whatever comes
		a.note(uint64(bit(q.Tags[i].TagColumns != nil)))
	}
	l, leader := w.s.BeginList("q", r.format, r.need, q)
	w.shard = nil
	a.note(uint64(slices.Index(w.leases, l)))
	if !leader {
		a.pause(stop{on: l})
		w.judge(a, string(l.doc.Body()), int(l.AsOf.Pos))
		return
	}
	w.leases = append(w.leases, l)
	a.pause(stop{sh: true})
	w.s.Send(l)
	value, more := w.sc.query.read(w.visible)
	a.note(uint64(w.visible))
	a.pause(stop{sh: true})
	w.shard = a
	doc := row.NewDocument("", l.Format, []byte(value), row.Hash([]byte(value)), l.Stamp)
	w.s.FinishList(l, doc, nil, w.classes(more), func(c *ReadSet) { w.store[l.Format] = &wordCopy{c, doc} })
	w.shard = nil
	w.judge(a, value, int(l.AsOf.Pos))
}

func (w *wordWorld) question() *Question {
	q := &Question{Tags: w.classes(w.sc.query.tags)}
	for _, t := range w.sc.query.reads {
		q.Read = append(q.Read, w.tables[t])
	}
	return q
}

func (w *wordWorld) classes(list []wordClass) []Tag {
	var out []Tag
	for _, c := range list {
		out = append(out, Tag{Table: w.tables[c.table], TagColumns: w.template(c), Key: c.key})
	}
	return out
}

// judge compares an answer with the oldest one that is allowed, and with what the
// position that travels with it says.
func (w *wordWorld) judge(a *actor, answer string, claim int) {
	a.answer, a.ended = answer, true
	floor, _ := w.sc.query.read(a.floor)
	claimed, _ := w.sc.query.read((1<<claim - 1) &^ w.failed)
	switch {
	case !includes(answer, floor):
		w.failf("an answer is %q, must include %q", answer, floor)
	case !includes(answer, a.told):
		w.failf("an answer is %q after others were %q", answer, a.told)
	case !includes(answer, claimed):
		w.failf("an answer is %q, which is not as of %d", answer, claim)
	}
}

// watch checks that no copy, valid or not, is older than an answer.
func (w *wordWorld) watch(m wordMove) {
	for _, a := range w.actors {
		for _, c := range w.store {
			if a.ended && c != nil && !includes(string(c.doc.Body()), a.answer) {
				w.failf("%v: the copy %q is older than the answer %q", m, c.doc.Body(), a.answer)
			}
		}
	}
}

// final checks the end: no valid copy differs from the database, nothing is dirty, and a
// list that is loaded now is kept.
func (w *wordWorld) final() {
	want, more := w.sc.query.read(w.visible)
	for _, c := range w.store {
		if c != nil && c.Valid() && string(c.doc.Body()) != want {
			w.failf("the list is %q for ever, the database has %q", c.doc.Body(), want)
		}
	}
	w.eachWord(func(name string, v uint64) {
		if v&dirtyMask != 0 {
			w.failf("%s is dirty for ever", name)
		}
		if v>>dirtyBits > w.d.versions.clock.v.Load() {
			w.failf("%s is ahead of the clock", name)
		}
	})
	l, _ := w.s.BeginList("q", 0, Now, w.question())
	doc := row.NewDocument("", 0, []byte(want), row.Hash([]byte(want)), l.Stamp)
	w.s.FinishList(l, doc, nil, w.classes(more), func(c *ReadSet) { w.store[0] = &wordCopy{c, doc} })
	if !l.Stored() || !w.store[0].Valid() {
		w.failf("a list that is loaded at rest is not kept")
	}
}

// eachWord calls f for each version that is not zero.
func (w *wordWorld) eachWord(f func(name string, v uint64)) {
	f("all", w.d.versions.all.v.Load())
	for i, t := range w.tables {
		f(fmt.Sprint("table ", i), t.version.v.Load())
		f(fmt.Sprint("whole ", i), t.whole.v.Load())
	}
	for i := range w.d.versions.slots {
		if v := w.d.versions.slots[i].Load(); v != 0 {
			f(fmt.Sprint("class ", i), v)
		}
	}
}
