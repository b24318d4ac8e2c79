package eventloop

import "time"

const (
	tickLength = 100 * time.Millisecond
	wheelSlots = 512 // a power of two; one turn is 51.2 s
)

// A wheel finds the connections whose deadline has passed, without a timer
// for each. Time is in ticks since the server was started.
//
// A connection is in one slot, and is looked at when that comes up. Putting a
// deadline off, as every request does, is one store: the connection is found
// too early and moves on.
type wheel struct {
	slots [wheelSlots]*conn
	at    int64 // the last tick of which all was looked at
	size  int
}

// timing is a connection's place in the wheel.
type timing struct {
	deadline int64 // 0: none
	tickAt   int64 // of the next Protocol.Tick; 0: never
	due      int64 // when the wheel will look; 0: not in the wheel
	prev     *conn
	next     *conn
}

// set gives c a deadline. now is the present tick.
func (w *wheel) set(c *conn, deadline, now int64) {
	c.time.deadline = deadline
	if c.time.due == 0 || c.time.soonest() < c.time.due {
		w.unlink(c)
		w.link(c, now)
	}
}

// soonest returns when c must be looked at.
func (t *timing) soonest() int64 {
	const never = 1 << 62
	at := int64(never)
	if t.deadline != 0 {
		at = t.deadline
	}
	if t.tickAt != 0 {
		at = min(at, t.tickAt)
	}
	return at
}

// link puts c where it is looked at when it is due, or one turn from now.
func (w *wheel) link(c *conn, now int64) {
	// What is due already waits for the next tick: the present one may have
	// been looked at. Nothing is due later than in one turn.
	c.time.due = min(max(c.time.soonest(), now+1, w.at+1), w.at+wheelSlots-1)
	head := &w.slots[c.time.due%wheelSlots]
	c.time.prev, c.time.next = nil, *head
	if *head != nil {
		(*head).time.prev = c
	}
	*head = c
	w.size++
}

// unlink takes c out.
func (w *wheel) unlink(c *conn) {
	t := &c.time
	if t.due == 0 {
		return
	}
	if t.prev != nil {
		t.prev.time.next = t.next
	} else {
		w.slots[t.due%wheelSlots] = t.next
	}
	if t.next != nil {
		t.next.time.prev = t.prev
	}
	t.prev, t.next, t.due = nil, nil, 0
	w.size--
}

// advance calls look for the connections that are due until now, outside the wheel, but
// for some of them only. look puts a connection back, or forgets it and reports that it did:
// no more than cuts are forgotten. The rest stays due, and at behind now.
func (w *wheel) advance(now int64, some, cuts int, look func(*conn) bool) {
	for w.at = max(w.at, now-wheelSlots); w.at < now; w.at++ {
		slot := &w.slots[(w.at+1)%wheelSlots]
		for c := *slot; c != nil; c = *slot {
			if some <= 0 || cuts <= 0 {
				return
			}
			some--
			w.unlink(c)
			if look(c) {
				cuts--
			}
		}
	}
}

// ticks returns how many ticks are at least d.
func ticks(d time.Duration) int64 { return int64((d + tickLength - 1) / tickLength) }
