package lane

// read does what the letters ask for.
func (l *loop) read() {
	if !l.mail.full.Load() {
		return
	}
	letters := l.mail.take(l.spare)
	for i := range letters {
		l.obey(&letters[i])
		letters[i] = letter{}
	}
	l.spare = letters
	for i, c := range l.dirty {
		l.dirty[i] = nil
		c.dirty = false
		l.turn(c)
	}
	l.dirty = l.dirty[:0]
}

// obey does what one letter asks for. A connection that has ended in the
// meantime gets no mail.
func (l *loop) obey(m *letter) {
	switch m.kind {
	case adopt:
		l.adopt(m.fd)
	case drain:
		if l.listener != nil {
			l.listener.close(l)
		}
		l.tell()
	case reap, abort:
		l.closeAll(m.kind == abort)
	default:
		if m.c.phase == closed {
			return
		}
		l.obeyFor(m.c, m)
	}
}

// obeyFor is obey for letters about an open connection.
func (l *loop) obeyFor(c *conn, m *letter) {
	defer l.rescue(c)
	switch m.kind {
	case resume:
		unchanged(m.b, m.fd)
		l.resume(c, m.b, m.next)
	case push:
		unchanged(m.b, m.fd)
		c.queued.Add(-int64(len(m.b))) // what stays in out is added by account
		if !c.phase.in(served) {
			return
		}
		b := m.b
		if c.secure != nil {
			b, _ = l.seal(c, b) // an error stays, and ends the next flush
		}
		c.out = append(c.out, b...)
		release(l.sealedOut)
		if !c.dirty {
			c.dirty = true
			l.dirty = append(l.dirty, c)
		}
	case cut:
		if !c.phase.in(borrowed) {
			l.srv.count.cut.Add(1)
			l.drop(c)
		}
	case giveBack:
		if c.lent == m.lent {
			l.takeBack(c, m)
		}
	case shaken:
		if c.lent == m.lent {
			l.shaken(c)
		}
	case tick:
		if c.phase.in(served) {
			l.callTick(c)
		}
	case giveUp:
		if c.lent == m.lent {
			l.drop(c)
		}
	}
}

// tell has those told that the server ends whose protocol says so by itself.
func (l *loop) tell() {
	for _, c := range l.conns {
		if c != nil && c.http2 && c.phase.in(served) {
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
				c.lent.noteReset(true)
				c.lent.end() // nobody may be in a system call when we close
			}
			l.drop(c)
		case c.phase == shaking:
			c.lent.end()
			l.drop(c)
		case c.idle():
			l.drop(c)
		}
	}
}
