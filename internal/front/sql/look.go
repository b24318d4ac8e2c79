package sqlfront

import (
	"encoding/binary"
	"hash/maphash"
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

	look   *sqlcache.Look // nil: memory was not looked into
	of     int            // how many groups it stands for
	answer answer
}

// begins notes the first message of a group. waiting is how many are under way before it.
func (o *observer) begins(waiting int, idle bool) {
	o.group = group{running: o.group.running[:0]}
	g := &o.group
	g.quiet, g.inside = waiting == 0 && idle, waiting == 0 && !idle
	g.within = !idle
	g.first = o.clean
	o.clean = false
	if o.of != nil {
		g.doubts = o.of.Doubts()
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
	case g.bound && g.part != o.part:
		g.passes(sqlcache.WhySplit)
	}
	if g.run && g.why == sqlcache.Looked && !o.chosen(t) {
		g.why = sqlcache.WhySample
	}
	asks := !o.off && g.quiet && g.first && g.asks && g.why != sqlcache.WhySample &&
		o.of.Known() == nil && o.of.Doubts() == g.doubts
	if g.run && g.why == sqlcache.Looked {
		if l := o.cache.Look(o.of, &g.ask, asks); l.Why != sqlcache.Looked && !l.Keeps() {
			g.why = l.Why
		} else {
			g.why, t.look = l.Why, l
			t.answer.exact = l.Exact()
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

// chosen reports whether memory is looked into for a group: for each that it could not answer
// anyhow, which costs little, and for a part of the others.
func (o *observer) chosen(t *timed) (ok bool) {
	one := o.group.one
	if one.reading.Reason != sqlread.Eligible {
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
	if len(o.groups) == 0 || o.groups[0].look == nil {
		return 0
	}
	switch kind {
	case msgDataRow, msgRowDescription, msgComplete, msgSuspended, msgNoData, msgEmpty, msgError:
		if a := &o.groups[0].answer; size <= front.SQLKept && a.size+int(size) <= front.SQLKept {
			return size
		}
	}
	return 0
}

// hears sees a message of the server.
func (o *observer) hears(kind byte, body []byte, size uint32) {
	if kind == msgStatus && o.of != nil {
		o.of.Doubt()
	}
	if len(o.groups) == 0 {
		return
	}
	g := &o.groups[0]
	switch kind {
	case msgError:
		g.failed = true
		g.answer.state = stateIn(body)
	case msgNotice, msgNotification, msgStatus:
		g.answer.other = true
	case msgDataRow, msgRowDescription, msgComplete, msgSuspended, msgNoData, msgEmpty:
		if g.look == nil {
			break
		}
		if int(size) != len(body) {
			g.answer.tooLarge = true
			break
		}
		if kind == msgRowDescription && !isOf(body, g.look.Table()) {
			g.answer.other = true
		}
		g.answer.add(kind, body)
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
	} else {
		g.look.Keep(o.of, a.sum())
	}
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
	if len(body) < 2 {
		return false
	}
	n := int(binary.BigEndian.Uint16(body))
	body = body[2:]
	for range n {
		end := 0
		for end < len(body) && body[end] != 0 {
			end++
		}
		if len(body) < end+19 {
			return false
		}
		if oid := binary.BigEndian.Uint32(body[end+1:]); oid != 0 && oid != table {
			return false
		}
		body = body[end+19:]
	}
	return true
}
