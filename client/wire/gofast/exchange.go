package gofast

import "math/bits"

// An exchange is a request that has no answer yet, a stream, or a message of
// which fragments are missing.
type exchange struct {
	opaque uint64
	id     uint64
	user   any
	state  state
	// credit is how many bytes of data we may send on the stream, grant how
	// many the peer may, used how many have been consumed since we last said so.
	// wide is what its window has been widened by.
	credit, grant, used int64
	wide                int64
	partial             []byte  // fragments so far
	first               Message // of a partial message: what its first frame says
	queue               []queued
	err                 *Error   // said before the stream's finish
	seg                 *segment // of a parked request
}

// state is a set of facts about an exchange.
type state uint16

const (
	local     state = 1 << iota // we have opened it
	stream                      // not a request
	sentEnd                     // we have sent our finish
	gotEnd                      // the peer has sent its finish
	abandoned                   // the owner wants to hear no more of it
	receiving                   // fragments of a message have come, not all
	opening                     // these are of the message that opens the exchange
	oneWay                      // and that is a post
	sending                     // queue is not empty
	sunk                        // its messages are dropped
)

func (x *exchange) is(s state) bool { return x.state&s != 0 }

// locals are the exchanges that we have opened, by opaque: open addressing
// where an opaque that finds its slot taken is not used. So a look-up is one
// comparison. The table is never more than half full.
type locals struct {
	slots []*exchange
	shift uint8
	live  int
}

const firstSlots = 16

// slot spreads opaques that follow each other (Knuth's multiplicative hash).
func (t *locals) slot(opaque uint64) uint64 {
	return opaque * 0x9e3779b97f4a7c15 >> (t.shift & 63)
}

// get returns the exchange of the opaque, nil for none.
func (t *locals) get(opaque uint64) *exchange {
	if t.live == 0 {
		return nil
	}
	if x := t.slots[t.slot(opaque)]; x != nil && x.opaque == opaque {
		return x
	}
	return nil
}

// room makes room for one more.
func (t *locals) room() {
	if 2*(t.live+1) > len(t.slots) {
		t.grow()
	}
}

// grow doubles the table. Two opaques that differ in the first bits of their
// hash differ in more of them, too.
func (t *locals) grow() {
	old := t.slots
	t.slots = make([]*exchange, max(firstSlots, 2*len(old)))
	t.shift = uint8(64 - bits.TrailingZeros(uint(len(t.slots))))
	for _, x := range old {
		if x != nil {
			t.slots[t.slot(x.opaque)] = x
		}
	}
}

// put adds x if the slot of its opaque is free.
func (t *locals) put(x *exchange) bool {
	p := &t.slots[t.slot(x.opaque)]
	if *p != nil {
		return false
	}
	*p = x
	t.live++
	return true
}

// remove takes x, which is in the table, out of it.
func (t *locals) remove(x *exchange) {
	t.slots[t.slot(x.opaque)] = nil
	t.live--
}

// A segment counts the requests that are parked between two barriers. A barrier
// is a whoami request: its answer comes after those of all requests before it.
type segment struct {
	left    int
	barrier uint64 // opaque of the whoami that ends the segment
	closed  bool
}

// keptExchanges is how many ended exchanges are kept for reuse.
const keptExchanges = 64

// take returns an empty exchange.
func (s *Session) take(opaque, id uint64, st state) *exchange {
	n := len(s.free)
	if n == 0 {
		return &exchange{opaque: opaque, id: id, state: st}
	}
	x := s.free[n-1]
	s.free = s.free[:n-1]
	x.opaque, x.id, x.state = opaque, id, st
	return x
}

// drop forgets an exchange that has ended.
func (s *Session) drop(x *exchange) {
	if s.last == x {
		s.last = nil
	}
	s.unfinished -= len(x.partial)
	if x.is(sending) {
		s.unqueue(x)
	}
	if x.is(local) {
		s.locals.remove(x)
	} else {
		delete(s.remotes, x.opaque)
		s.leave(x.seg)
	}
	if len(s.free) < keptExchanges {
		*x = exchange{}
		s.free = append(s.free, x)
	}
}

// find returns the live exchange of an opaque, whoever has opened it.
func (s *Session) find(opaque uint64) *exchange {
	if x := s.last; x != nil && x.opaque == opaque {
		return x
	}
	x := s.locals.get(opaque)
	if x == nil && len(s.remotes) > 0 {
		x = s.remotes[opaque]
	}
	if x != nil {
		s.last = x
	}
	return x
}

// adopt makes a live exchange of what the peer has opened.
func (s *Session) adopt(opaque, id uint64, st state) *exchange {
	if s.remotes == nil {
		s.remotes = make(map[uint64]*exchange)
	}
	x := s.take(opaque, id, st)
	if st&stream != 0 {
		x.credit, x.grant = s.peerCredit, s.ourCredit
	}
	s.remotes[opaque] = x
	return x
}
