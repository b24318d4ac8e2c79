package load

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// event takes what epoll says about a connection.
func (l *loop) event(k int32, events uint32) {
	c := &l.conns[k]
	if c.fd < 0 {
		return
	}
	if c.waiting {
		if events&(unix.EPOLLOUT|unix.EPOLLERR|unix.EPOLLHUP) != 0 {
			l.opened(k)
		}
		return
	}
	if events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		c.ended = true
	}
	if len(c.out) > 0 && events&unix.EPOLLOUT != 0 {
		if fd := c.fd; !l.send(k, c.out) && c.fd != fd {
			return
		}
	}
	if events&^unix.EPOLLOUT != 0 {
		l.readable(k)
	}
}

// readable reads until the socket is empty. A short read says that it is, and
// any later byte makes a new edge, but an end of stream that epoll has already
// reported does not.
func (l *loop) readable(k int32) {
	c := &l.conns[k]
	for fd := c.fd; c.fd == fd; {
		n, e := nonblock.Recv(fd, l.in)
		switch {
		case e == unix.EAGAIN:
			return
		case e == unix.EINTR:
			continue
		case e != 0:
			l.lose(k, closedError, e)
			return
		case n == 0:
			c.ended = true
			c.session.ended(l.worker, l.run.now())
			l.lose(k, closedError, errClosed)
			return
		}
		short := n < len(l.in)
		if !l.took(k, l.in[:n]) || short && !c.ended {
			return
		}
	}
}

// took gives what was read to the session, and asks for more. It reports
// whether the connection is still the same.
func (l *loop) took(k int32, data []byte) bool {
	c := &l.conns[k]
	now := l.run.now()
	if len(c.in) > 0 { // Slow path: an answer came in parts.
		c.in = append(c.in, data...)
		data = c.in
	}
	rest, closes, err := c.take(l.worker, data, now)
	switch {
	case err != nil:
		l.lose(k, framingError, err)
		return false
	case closes:
		c.proven = true
		l.lose(k, closedError, fmt.Errorf("%w: it wants a new one for each answer", errClosed))
		return false
	}
	c.in = append(c.in[:0], rest...)
	c.proven = c.proven || !c.rd.begun()
	if c.ended {
		return true
	}
	fd := c.fd
	l.ready(k, now)
	return c.fd == fd
}

// ready says that there is room for a request.
func (l *loop) ready(k int32, now int64) {
	c := &l.conns[k]
	if c.n == len(c.flights) || l.run.over() {
		return
	}
	if l.pace.interval > 0 {
		l.free.push(l.conns, k)
		l.pump(now)
		return
	}
	if !c.queued {
		c.queued = true
		l.asking = append(l.asking, k)
	}
}

// askAll asks on every connection of a closed loop that has room. It follows
// the events of a turn: first all that came is read and timed, then all is
// sent, so that a server which has gone to sleep wakes up once for many
// requests and not for each, at the cost of whoever wakes it.
func (l *loop) askAll() {
	for _, k := range l.asking {
		c := &l.conns[k]
		c.queued = false
		if c.fd < 0 || c.waiting || c.ended {
			continue
		}
		now := l.run.now()
		l.out = l.out[:0]
		for c.n < len(c.flights) {
			l.out = c.ask(l.worker, l.out, now, now)
		}
		l.write(k, l.out)
	}
	l.asking = l.asking[:0]
}

// pump sends the requests of an open loop that are due, each on the connection
// that has been free for longest. If that is the only one, it takes as many as
// it may in one write.
func (l *loop) pump(now int64) {
	for l.dueBy(now) {
		k, ok := l.free.pop(l.conns)
		if !ok {
			return // ready comes here again
		}
		c := &l.conns[k]
		if c.fd < 0 || c.waiting || c.ended {
			continue
		}
		l.out = l.out[:0]
		for first := true; first || l.free.n == 0 && c.n < len(c.flights) && l.dueBy(now); {
			l.out = c.ask(l.worker, l.out, l.pace.due(), now)
			l.pace.next++
			first = false
		}
		if l.write(k, l.out); c.n < len(c.flights) && c.fd >= 0 {
			l.free.push(l.conns, k)
		}
	}
}

// dueBy reports whether the next request of an open loop is due.
func (l *loop) dueBy(now int64) bool {
	due := l.pace.due()
	return due <= now && due < l.run.closes
}

// A queue holds the connections of an open loop that may be asked, each once.
type queue struct {
	ring  []int32
	at, n int
}

// push adds a connection unless it is there.
func (q *queue) push(conns []conn, k int32) {
	if conns[k].queued {
		return
	}
	conns[k].queued = true
	q.ring[(q.at+q.n)%len(q.ring)] = k
	q.n++
}

// pop takes the connection that has been there for longest.
func (q *queue) pop(conns []conn) (k int32, ok bool) {
	if q.n == 0 {
		return 0, false
	}
	k = q.ring[q.at]
	q.at = (q.at + 1) % len(q.ring)
	q.n--
	conns[k].queued = false
	return k, true
}

// write sends requests behind what the kernel has not taken yet.
func (l *loop) write(k int32, out []byte) {
	c := &l.conns[k]
	if len(c.out) > 0 {
		c.out = append(c.out, out...)
		return
	}
	l.send(k, out)
}

// send sends what the kernel takes and keeps the rest, which may be a part of
// c.out itself. It reports whether all went out.
func (l *loop) send(k int32, out []byte) bool {
	c := &l.conns[k]
	for len(out) > 0 {
		n, e := nonblock.Send(c.fd, out)
		switch {
		case e == unix.EAGAIN:
			c.out = append(c.out[:0], out...)
			return false
		case e == unix.EINTR:
			continue
		case e != 0:
			l.lose(k, closedError, e)
			return false
		}
		out = out[n:]
	}
	c.out = c.out[:0]
	return true
}
