package proxy

import "syscall"

// Most requests come whole, on a connection that had others before. They are
// answered within the wait for them: the runtime's poller keeps every event as long
// as a call of RawConn.Read lasts, so the wait for the next request need not begin
// with a read that finds nothing, which costs as much as one that does not.
//
// What is lost is the end of the client's stream when it comes together with a
// request: the poller tells of it once. It is found by client.lookIdle.

// receiveIdle is the part of await that tries. It returns false to wait for more.
func (c *client) receiveIdle(fd uintptr) bool {
	x := c.srv.takeRoundTrip(c)
	n, e := recv(fd, x.in.b)
	if e == syscall.EAGAIN {
		c.srv.putRoundTrip(x)
		return false
	}
	c.x = x
	c.sock.received(n, e)
	x.in.r, x.in.w = 0, n
	return !c.within || !c.answerWhole(x)
}

// waitsWithin reports whether requests may be answered within the coming wait: not
// the first of a connection, which may be its last, too.
func (c *client) waitsWithin() bool {
	if !c.waited {
		c.waited = true
		return false
	}
	lazy, ok := c.sock.under.(interface{ polled() bool })
	return !ok || lazy.polled()
}

// answerWhole answers the request in x if it is whole, and reports whether to wait
// for another. If not, c.over says whether the connection is to end, or the request
// is still to be answered.
func (c *client) answerWhole(x *roundTrip) bool {
	r := &x.req
	if x.in.size() == 0 || x.in.size() == len(x.in.b) {
		return false // it has ended, or there is more
	}
	skip, _ := c.gap.Skip(x.in.bytes())
	x.in.consume(skip)
	if x.in.size() == 0 {
		return false
	}
	n, err := r.Parse(x.in.bytes())
	if err != nil || n != x.in.size() || r.Chunked || r.Length > 0 || r.Upgrade || r.Connect {
		return false // what it takes to answer it reads from the socket
	}
	if !c.answer(x, n) {
		c.over = true
		return false
	}
	c.idle()
	return true
}

// lookIdle finds out that a client which is idle wants nothing more, once for each
// time that it becomes idle. It is called by the sweeper.
func (c *client) lookIdle(now int64) {
	due := c.due.Load()
	if due == c.seen || c.state.Load() != stateIdle ||
		now < due-int64(c.srv.opts.Idle)+int64(leaveAfter) {
		return
	}
	c.seen = due
	if c.sock.look() == peekEnd {
		c.sock.interruptRead()
	}
}
