package sqlfront

import (
	"encoding/binary"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// Where memory answers, what a client sends is held back until a group is whole, as long as nothing
// is under way and memory may have the answer. A group is answered whole from memory or passed on
// whole. So what belongs together stays with the server: the transaction of a group, and what is
// passed over behind an error.

// nothing is a group that does nothing.
var nothing = []byte{msgSync, 0, 0, 0, headSize - 1}

// held returns the size of the group that p begins with, if memory may answer it. waits says that
// it is not whole yet.
func (t *track) held(p []byte) (n int, waits bool) {
	o := t.observer
	if o == nil || !o.serves || t.closes || !t.idle || !t.rests() || isShow(p) {
		return 0, false
	}
	n, waits = groupOf(p)
	return n, waits && len(p) < front.SQLChunk && o.mayAnswer(p)
}

// groupOf returns the size of the group that p begins with; 0: it is not whole, or has a message
// that is not held back. waits says that more may make it whole.
func groupOf(p []byte) (n int, waits bool) {
	for at := 0; at < len(p); {
		kind := p[at]
		switch kind {
		case msgParse, msgBind, msgDescribe, msgExecute, msgSync:
		case msgQuery:
			if at > 0 {
				return 0, false
			}
		default:
			return 0, false
		}
		if len(p)-at < headSize {
			return 0, true
		}
		size := binary.BigEndian.Uint32(p[at+1:])
		if size < headSize-1 || size > front.SQLChunk {
			return 0, false
		}
		if at += 1 + int(size); at > len(p) {
			return 0, true
		}
		if kind == msgQuery || kind == msgSync {
			return at, false
		}
	}
	return 0, true
}

// mayAnswer reports whether memory may answer the group that p is the beginning of. The server does
// nothing before a message has come whole, so that one which has not may wait.
func (o *observer) mayAnswer(p []byte) bool {
	if len(p) < headSize || len(p) <= int(binary.BigEndian.Uint32(p[1:])) {
		return true
	}
	body := p[headSize : 1+binary.BigEndian.Uint32(p[1:])]
	var one *prepared
	switch p[0] {
	case msgParse:
		t, ok := texts(body, 2)
		return ok && len(t[0]) == 0 && o.shapes.of(t[1]).isEligible()
	case msgBind:
		if t, ok := texts(body, 2); ok {
			one = o.names.find(string(t[1]))
		}
	case msgDescribe:
		one = o.described(body)
	}
	return one != nil && one.isEligible()
}

func (k *known) isEligible() bool { return k.reading.Reason == sqlread.Eligible }

// whole takes a group that was held back.
func (t *track) whole(p []byte, v *verdict) {
	o := t.observer
	o.part++
	o.clean = true
	o.holds, o.out, o.fromMemory = true, v.out, false
	t.before = nil
	t.sent.feed(p, (*sentSide)(t))
	v.before, v.out, v.passes = t.before, o.out, !o.fromMemory
	o.holds, o.out, o.fromMemory = false, nil, false
	switch now := time.Now(); {
	case v.passes:
		o.passedAt = now
		if t.before != nil {
			t.asked = swallower{active: true, state: true}
		}
		if o.names.behind {
			t.catchUp(v, p, o.uses)
		}
	case now.Sub(o.passedAt) > front.SQLKeepAlive:
		o.passedAt = now
		v.before, t.asked = nothing, swallower{active: true}
	}
}

// catchUp has the server hear what memory has answered of a statement without a name, if it is
// needed, before p is passed on.
func (t *track) catchUp(v *verdict, p []byte, needed bool) {
	n := &t.observer.names
	switch {
	case p[0] == msgQuery, p[0] == msgParse && len(p) > headSize && p[headSize] == 0:
	case needed:
		v.before, t.asked = n.catchUp(t.observer.of.Number()), swallower{active: true, one: true}
	default:
		return
	}
	n.behind = false
}
