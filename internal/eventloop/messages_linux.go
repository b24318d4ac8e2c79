package eventloop

import "slices"

// read does what the messages ask for.
func (l *loop) read() {
	if !l.queue.full.Load() {
		return
	}
	messages := l.queue.take(l.spare)
	for i := range messages {
		l.handle(&messages[i])
		messages[i] = message{}
	}
	l.spare = messages
}

// A turn of the loop sends their pushes to few connections, or to a small part of them. Each
// is a system call that wakes a peer, and costs more than an answer. When thousands are told
// of a change, those who ask for something wait for a few of them at most; and the last of
// the thousands is told in time.
const (
	pushesAtOnce = 4
	pushesPart   = 128 // one in so many of those that wait
)

// sendPushes sends what messages have put out, to some of those that it is for.
func (l *loop) sendPushes() {
	some := l.dirty[l.pushed:]
	some = some[:min(len(some), max(pushesAtOnce, len(some)/pushesPart))]
	for _, c := range some {
		c.dirty = false
		l.turn(c)
	}
	// Also when there are always more: the list is never twice what waits, and a turn's.
	if l.pushed += len(some); l.pushed > len(l.dirty)/2 {
		l.dirty, l.pushed = slices.Delete(l.dirty, 0, l.pushed), 0
	}
}

// handle does what one message asks for. A connection that has ended in the
// meantime gets no message.
func (l *loop) handle(m *message) {
	switch m.kind {
	case adopt:
		l.adopt(m.fd, m.from)
	case drain:
		if l.listener != nil {
			l.listener.close(l)
		}
		l.goAway()
	case reap, abort:
		l.closeAll(m.kind == abort)
	default:
		if m.c.phase == closed {
			if m.kind == join {
				m.join.upstream.abandon()
			}
			return
		}
		l.handleFor(m.c, m)
	}
}

// handleFor is handle for messages about an open connection.
func (l *loop) handleFor(c *conn, m *message) {
	defer l.rescue(c)
	switch m.kind {
	case resume:
		unchanged(m.b, m.fd)
		l.resume(c, m.b, m.next)
	case push:
		unchanged(m.b, m.fd)
		if c.phase.in(served) {
			l.putOut(c, m.b)
		}
		c.queued.Add(-int64(len(m.b))) // what is in out has been added
	case cut:
		if !c.phase.in(borrowed) {
			l.srv.count.cut.Add(1)
			l.drop(c)
		}
	case giveBack:
		if c.borrowed == m.borrowed {
			l.takeBack(c, m)
		}
	case join:
		if c.borrowed == m.borrowed {
			l.join(c, m)
		}
	case handshakeDone:
		if c.borrowed == m.borrowed {
			l.endHandshake(c)
		}
	case tick:
		if c.phase.in(served) {
			l.callTick(c)
			l.afterTurn(c) // it may be idle now
		}
	case giveUp:
		if c.borrowed == m.borrowed {
			l.drop(c)
		}
	}
}

// putOut puts a push behind c's output. It is sent at c's turn, or with an answer.
func (l *loop) putOut(c *conn, b []byte) {
	if c.within {
		c.aside = append(c.aside, b...)
		c.queued.Add(int64(len(b)))
		return
	}
	first := c.pending() == 0
	if c.secure != nil {
		b, _ = l.seal(c, b) // an error stays, and ends the next flush
	}
	c.out = append(c.out, b...)
	release(l.sealedOut)
	l.account(c)
	if first {
		l.arm(c)
	}
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// goAway pokes the connections whose protocol itself tells the peer that the server ends.
func (l *loop) goAway() {
	for _, c := range l.conns {
		if c != nil && (c.http2.Load() || c.linked != nil && !c.upstream) && c.phase.in(served) {
			c.poke()
		}
	}
}

// closeAll closes every connection, or those that are idle.
func (l *loop) closeAll(busyToo bool) {
	for _, c := range l.conns {
		switch {
		case c == nil:
		case busyToo:
			if c.phase.in(borrowed) {
				c.borrowed.noteReset(true)
				c.borrowed.end() // nobody may be in a system call when we close
			}
			l.drop(c)
		case c.phase == handshaking:
			c.borrowed.end()
			l.drop(c)
		case c.idle():
			l.drop(c)
		}
	}
}
