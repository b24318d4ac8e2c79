package proxy

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A client is a connection that was accepted, and the goroutine that serves it.
type client struct {
	srv    *Server
	sock   *socket
	remote string     // if somebody wants to know
	x      *roundTrip // what a request needs while it is under way; else nil
	idleFn func(fd uintptr) bool
	closed bool
	gap    http1.Gap // before the next request
	waited bool      // for a first request
	within bool      // the wait that is under way may answer requests
	over   bool      // the last of those has ended the connection
	seen   int64     // due when the sweeper last looked at an idle client; its own
	ops    bool      // it gets our own pages and nothing else

	state  atomic.Uint32 // a clientState
	due    atomic.Int64  // when what this side waits for is late; 0: never
	upDue  atomic.Int64  // the same for an upload beside it
	since  atomic.Int64  // since when only the upstream is waited for; 0: it is not
	reason atomic.Uint32 // a cancelReason

	mu     sync.Mutex // guards what follows: the sweeper and Close use it
	up     *upstream  // in use
	cancel context.CancelFunc
	cut    bool // the server is closed: nothing may be waited for
}

// A clientState is what a shutdown must know.
type clientState = uint32

const (
	stateIdle clientState = iota // between requests
	stateHead                    // a part of a request has come
	stateBusy
)

// A cancelReason is why the sweeper has interrupted a client's waiting.
type cancelReason = uint32

const (
	reasonNone cancelReason = iota
	reasonLate              // it took too long
	reasonGone              // the client has left
)

// newClient returns a client for an accepted connection.
func newClient(s *Server, nc net.Conn) *client {
	c := &client{srv: s, sock: newSocket(nc, nc)}
	if s.opts.Access != nil {
		if a := nc.RemoteAddr(); a != nil {
			c.remote = a.String()
		}
	}
	c.idleFn = c.receiveIdle
	return c
}

// serve answers requests until one side wants no more.
func (c *client) serve() {
	defer c.end()
	for c.next() {
	}
	c.dropRoundTrip()
}

// end closes the connection. A bug that shows up as a panic costs this
// connection only; what it may have left in the round trip is not used again.
func (c *client) end() {
	if v := recover(); v != nil {
		c.srv.log.Error("panic while relaying", "panic", v, "stack", string(debug.Stack()))
		c.sock.interrupt()
		c.discard()
	}
	c.sock.close()
}

// next answers one request. It reports whether another may follow.
func (c *client) next() bool {
	if c.x == nil && !c.await() {
		return false
	}
	x := c.x
	n, err := c.readHead(x)
	if err != nil {
		c.refuseHead(x, err)
		return false
	}
	if n == 0 {
		return false
	}
	return c.answer(x, n)
}

// answer answers the request whose head is the first n bytes of the input. It
// reports whether another may follow.
func (c *client) answer(x *roundTrip, n int) bool {
	c.state.Store(stateBusy)
	c.due.Store(0)
	if !c.roundTrip(x, n) || c.closed {
		return false
	}
	if x.in.size() == 0 {
		c.dropRoundTrip()
	}
	return true
}

// idle notes that a request is waited for.
func (c *client) idle() {
	c.state.Store(stateIdle)
	c.due.Store(c.srv.after(c.srv.opts.Idle))
}

// await waits for the first bytes of a request, holding no memory meanwhile.
func (c *client) await() bool {
	c.idle()
	if !c.sock.plain() {
		c.takeExchange()
		_, err := c.x.in.fill(c.sock)
		return err == nil
	}
	c.within = c.waitsWithin()
	err := c.sock.raw.Read(c.idleFn)
	c.within = false
	if err != nil {
		return c.lastLook()
	}
	return !c.over && c.sock.inErr == nil
}

// lastLook finds a request that came just when the client's time was over.
func (c *client) lastLook() bool {
	if c.sock.under.SetDeadline(time.Time{}) != nil {
		return false // it has been closed
	}
	err := c.sock.raw.Control(func(fd uintptr) { c.receiveIdle(fd) })
	return err == nil && c.x != nil && c.sock.inErr == nil
}

// takeExchange gets what a request needs.
func (c *client) takeExchange() {
	if c.x == nil {
		c.x = c.srv.takeRoundTrip(c)
	}
}

// dropRoundTrip gives it back.
func (c *client) dropRoundTrip() {
	if c.x != nil {
		c.srv.putRoundTrip(c.x)
		c.x = nil
	}
}

// readHead reads a whole head and returns its length, 0 when the client has
// gone or is too slow.
func (c *client) readHead(x *roundTrip) (int, error) {
	for first := true; ; first = false {
		skip, gap := c.gap.Skip(x.in.bytes())
		x.in.consume(skip)
		if x.in.size() > 0 && gap != http1.NeedMore {
			n, err := x.req.Parse(x.in.bytes())
			if n > 0 || err != nil {
				return n, err
			}
		}
		if first {
			c.state.Store(stateHead)
			c.due.Store(c.srv.after(c.srv.opts.Header))
		}
		if !c.readLine(x) {
			return 0, nil
		}
	}
}

// readLine reads until a line has ended, or there is too much without one: a
// head that comes in small parts is not parsed at each of them.
func (c *client) readLine(x *roundTrip) bool {
	for {
		n, err := x.in.fill(c.sock)
		if err != nil {
			return false
		}
		b := x.in.bytes()
		if bytes.IndexByte(b[len(b)-n:], '\n') >= 0 || bytes.IndexByte(b, '\n') < 0 ||
			len(b) >= http1.MaxRelayHead {
			return true
		}
	}
}

// beforeRead notes what the coming wait is for.
func (c *client) beforeRead(upload bool) {
	if upload {
		c.upDue.Store(c.srv.after(c.srv.opts.Read))
		c.wait()
		return
	}
	c.due.Store(0)
	c.since.Store(c.srv.now.Load())
}

// afterRead ends what beforeRead has begun.
func (c *client) afterRead(upload bool) {
	if upload {
		c.upDue.Store(0)
		return
	}
	c.since.Store(0)
}

// beforeWrite notes by when a write must have made progress.
func (c *client) beforeWrite(upload bool) {
	if upload {
		c.upDue.Store(c.srv.after(c.srv.opts.Write))
		c.wait()
		return
	}
	c.due.Store(c.srv.after(c.srv.opts.Write))
}

// wait begins the wait for an answer anew: nobody can have answered a request that has not
// come whole. It is for who moves the request while another waits for the answer, and leaves
// any other wait as it is.
func (c *client) wait() {
	if due := c.due.Load(); due != 0 && c.since.Load() != 0 {
		c.due.CompareAndSwap(due, c.srv.after(c.srv.opts.ProxyRead))
	}
}

// attach notes the upstream connection that is in use.
func (c *client) attach(up *upstream) {
	c.mu.Lock()
	c.up = up
	if c.cut {
		up.interrupt()
	}
	c.mu.Unlock()
}

// onCancel notes what ends the present wait that is none for a socket; nil ends
// it.
func (c *client) onCancel(cancel context.CancelFunc) {
	c.mu.Lock()
	c.cancel = cancel
	if c.cut && cancel != nil {
		cancel()
	}
	c.mu.Unlock()
}

// cutOff ends the connection and whatever is waited for, now and later.
func (c *client) cutOff() {
	c.mu.Lock()
	c.cut = true
	c.mu.Unlock()
	c.reason.CompareAndSwap(reasonNone, reasonGone)
	c.interruptUpstream()
	_ = c.sock.under.Close()
}

// detach takes the upstream connection away from the sweeper and returns it.
func (c *client) detach() *upstream {
	c.mu.Lock()
	up := c.up
	c.up = nil
	c.mu.Unlock()
	return up
}

// interruptUpstream makes waiting for the upstream, or for a connection to it,
// fail.
func (c *client) interruptUpstream() {
	c.mu.Lock()
	if c.up != nil {
		c.up.interrupt()
	}
	if c.cancel != nil {
		c.cancel()
	}
	c.mu.Unlock()
}

// leaveAfter is how long an upstream is waited for before anybody asks whether
// the client is still there.
const leaveAfter = time.Second

// sweep ends waits that have lasted too long. It is called by the sweeper.
func (c *client) sweep(now int64, draining bool) {
	if due := c.due.Load(); due != 0 && now >= due {
		if c.due.CompareAndSwap(due, 0) {
			c.reason.CompareAndSwap(reasonNone, reasonLate)
			if c.since.Load() != 0 {
				c.interruptUpstream()
			} else {
				c.sock.interrupt()
			}
		}
		return
	}
	if due := c.upDue.Load(); due != 0 && now >= due {
		c.upDue.CompareAndSwap(due, 0)
		c.reason.CompareAndSwap(reasonNone, reasonLate)
		c.sock.interruptRead()
		c.interruptUpstream()
		return
	}
	since := c.since.Load()
	if since != 0 && now-since > int64(leaveAfter) && c.upDue.Load() == 0 &&
		c.sock.look() == peekEnd {
		c.reason.CompareAndSwap(reasonNone, reasonGone)
		c.interruptUpstream()
	}
	c.lookIdle(now)
	if draining && c.state.Load() == stateIdle && c.sock.look() == peekNothing {
		c.sock.interrupt()
	}
}

// errClientGone is the end of a request whose client did not wait for it.
var errClientGone = errors.New("client closed request")
