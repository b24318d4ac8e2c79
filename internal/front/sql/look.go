package sqlfront

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlcache"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// A timed is a group on its way.
type timed struct {
	sent    time.Time
	one     *shape   // the only statement; nil: there are others, or none
	more    []*shape // the statements
	defines []define
	failed  bool // its answer has an error

	describing []*prepared // whose descriptions are to come; nil: nobody knows of what

	look     *sqlcache.Look // nil: memory was not looked into
	prepared *prepared      // the statement, then
	of       int            // how many groups it stands for
	answer   answer
}

// begins notes the first message of a group. waiting is how many are under way before it.
func (o *observer) begins(waiting int, idle bool) {
	o.group = group{running: o.group.running[:0], describing: o.group.describing[:0]}
	g := &o.group
	g.quiet, g.inside = waiting == 0 && idle, waiting == 0 && !idle
	g.within = !idle
	g.first = o.clean
	o.clean = false
	if o.of != nil {
		g.doubts, g.number = o.of.Doubts(), o.of.Number()
	}
}

// look looks into memory for the answer to the group, which is whole and was not sent. It returns
// what asks for the session's state in front of it.
func (o *observer) look(t *timed) (before []byte) {
	g := &o.group
	switch {
	case !g.run:
	case !g.quiet && g.within:
		g.passes(sqlcache.WhyInside)
	case !g.quiet:
		g.passes(sqlcache.WhyPiped)
	case g.one == nil, !g.describes():
		g.passes(sqlcache.WhySeveral)
	case g.binds > 0 && g.part != o.part:
		g.passes(sqlcache.WhySplit)
	case o.serves && !g.isPlain():
		g.passes(sqlcache.WhySeveral)
	case o.serves && g.one.tally.Wrong.Load() > 0:
		g.passes(sqlcache.WhyWrong)
	}
	if g.run && g.why == sqlcache.Looked && !o.chosen(t) {
		g.why = sqlcache.WhySample
	}
	asks := !o.off && g.quiet && g.first && g.asks && g.why != sqlcache.WhySample &&
		o.of.Known() == nil && o.of.Doubts() == g.doubts &&
		(!o.names.behind || o.holds && !g.uses)
	if g.run && g.why == sqlcache.Looked {
		if l := o.cache.Look(o.of, &g.ask, asks); l.Why != sqlcache.Looked && !l.Keeps() {
			g.why = l.Why
		} else {
			g.why, t.look, t.prepared = l.Why, l, g.one
			t.answer.exact = l.Exact()
			if l.Hit && !o.answer(g, l) {
				l.Release()
				t.look = l.Retain()
			}
		}
	}
	if g.run {
		o.tell(t, g)
	}
	if asks {
		o.of.Asked()
		return askState
	}
	return nil
}

// answer answers a group from memory if it is held back and memory has the answer, but for one of
// many: of that the server is asked, to see whether it says the same. It reports whether it did.
func (o *observer) answer(g *group, l *sqlcache.Look) bool {
	if !o.holds || o.sample.audits() {
		return false
	}
	a := l.Answer()
	o.out, o.fromMemory = g.answer(o.out, a), true
	if g.ask.Told == 'S' || g.ask.Told == 'P' {
		g.one.answered(a.Described, g.ask.Told)
	}
	for i := range g.defines { // of no name
		g.defines[i].one.number = l.Number()
	}
	if g.order[0] == msgQuery || g.order[0] == msgParse {
		o.names.behind = true
	}
	l.Release()
	one := &g.one.shape.tally
	// It would have taken as long as those that the server has answered.
	if n := int64(g.one.count.Load()-one.Hits.Load()) - 1; n > 0 {
		one.Saved.Add(g.one.took.Load() / n)
	}
	return true
}

// chosen reports whether memory is looked into for a group: for each that it could not answer
// anyhow, which costs little, and for a part of the others.
func (o *observer) chosen(t *timed) (ok bool) {
	one := o.group.one
	if !one.isEligible() {
		return true
	}
	hash := one.hash
	if values := o.group.ask.Values; len(values) > 0 {
		hash ^= maphash.Bytes(o.shapes.seed, values)
	}
	ok, t.of = o.sample.takes(hash, t.sent)
	return ok
}

// tell counts what has become of a group that runs a statement.
func (o *observer) tell(t *timed, g *group) {
	if g.one != nil && g.one.reading.Reason == sqlread.Eligible {
		switch g.why {
		case sqlcache.Looked:
			g.one.tally.Looks.Add(1)
		case sqlcache.WhySample:
		default:
			g.one.tally.Refused.Store(uint32(g.why))
		}
	}
	switch {
	case g.why != sqlcache.Looked:
		o.count.pass(g.why)
	case t.look.Hit:
		g.one.tally.Hits.Add(1)
		o.count.hits.Add(1)
	default:
		o.count.misses.Add(1)
	}
}

// asksFor reports whether it is of use to know the state of a session that runs a statement.
func asksFor(r *sqlcache.Reading) bool {
	if r.Reason == sqlread.Eligible {
		return true
	}
	for _, e := range r.Effects() {
		if e.Doing == sqlread.Writes || e.Doing == sqlread.Begins {
			return true
		}
	}
	return false
}

// wants returns how much of a message of the server is of use.
func (o *observer) wants(kind byte, size uint32) uint32 {
	if len(o.groups) == 0 {
		return 0
	}
	g := &o.groups[0]
	if g.awaits(kind) {
		return min(size, front.SQLKept)
	}
	if g.look == nil {
		return 0
	}
	switch kind {
	case msgDataRow, msgRowDescription, msgParameters, msgComplete, msgSuspended, msgNoData,
		msgEmpty, msgError:
		if a := &g.answer; size <= front.SQLKept && a.size+int(size) <= front.SQLKept {
			return size
		}
	}
	return 0
}

// hears sees a message of the server.
func (o *observer) hears(kind byte, body []byte, size uint32) {
	o.aside(kind)
	if len(o.groups) == 0 {
		return
	}
	g := &o.groups[0]
	g.describes(kind, body, int(size))
	switch kind {
	case msgError:
		g.failed = true
		g.answer.state = stateIn(body)
	case msgNotice, msgNotification, msgStatus:
		g.answer.other = true
	case msgDataRow, msgRowDescription, msgParameters, msgComplete, msgSuspended, msgNoData,
		msgEmpty:
		if g.look == nil {
			break
		}
		if int(size) != len(body) || !g.look.Record(kind, body, tellsColumns(kind)) {
			g.answer.tooLarge = true
			break
		}
		if kind == msgRowDescription && !g.look.Hit && !isOf(body, g.look.Table()) {
			g.answer.other = true
		}
		g.answer.add(kind, body)
	}
}

// aside notes a message of the server that may come at any time.
func (o *observer) aside(kind byte) {
	if o.of == nil {
		return
	}
	switch kind {
	case msgStatus:
		o.of.Doubt()
	case msgNotification:
		o.of.Notified()
	}
}

// tellsColumns reports whether a message tells what a statement takes or gives.
func tellsColumns(kind byte) bool { return kind == msgRowDescription || kind == msgParameters }

// awaits reports whether a message describes a statement of the group.
func (g *timed) awaits(kind byte) bool {
	return len(g.describing) > 0 && (tellsColumns(kind) || kind == msgNoData)
}

// describes sees a message that may describe a statement.
func (g *timed) describes(kind byte, body []byte, size int) {
	if !g.awaits(kind) {
		return
	}
	one := g.describing[0]
	if one != nil && size == len(body) {
		one.hears(kind, body)
	} else if one != nil {
		one.blind = true
	}
	if kind != msgParameters { // it is the last about the statement
		g.describing = g.describing[1:]
	}
}

// learn takes the end of a group that memory was looked into for.
func (o *observer) learn(g *timed, idle bool, took time.Duration) {
	if g.look == nil {
		return
	}
	a := &g.answer
	if g.look.Hit {
		g.one.tally.Saved.Add(int64(took) * int64(g.of))
		if a.tooLarge || g.failed && !a.isAbout() {
			g.one.tally.Uncompared.Add(1)
		} else {
			g.look.Compare(a.sum(), g.failed, &g.one.tally, g.one.text)
		}
		return
	}
	if g.failed || a.other || a.tooLarge || !idle {
		g.look.Drop()
		return
	}
	g.look.Keep(o.of, a.sum(), g.prepared.described)
}

// stateIn returns the SQLSTATE of an error.
func stateIn(body []byte) string {
	for len(body) > 1 {
		end := 1
		for end < len(body) && body[end] != 0 {
			end++
		}
		if body[0] == 'C' {
			return string(body[1:end])
		}
		body = body[min(end+1, len(body)):]
	}
	return ""
}

// isOf reports whether all columns that a RowDescription takes from a table are of this one.
func isOf(body []byte, table uint32) bool {
	list := columnsOf(body)
	return list != nil && !slices.ContainsFunc(list, func(c []byte) bool {
		oid := binary.BigEndian.Uint32(c[len(c)-18:])
		return oid != 0 && oid != table
	})
}

// columnsOf returns the columns of a RowDescription, each with its name; nil: it is none.
func columnsOf(body []byte) (list [][]byte) {
	if len(body) < 2 {
		return nil
	}
	n := int(binary.BigEndian.Uint16(body))
	body = body[2:]
	list = make([][]byte, 0, n)
	for range n {
		end := bytes.IndexByte(body, 0) + 19
		if end < 19 || len(body) < end {
			return nil
		}
		list, body = append(list, body[:end]), body[end:]
	}
	return list
}
