package lane

import "net"

// A Conn is what a Protocol sees of a connection. Its fields and methods are
// for the goroutine that calls the Protocol, except where they say otherwise.
type Conn struct {
	// Data is the protocol's own state of this connection.
	Data any

	srv   *Server
	own   owner
	scope Scope
	want  int
	back  bool
}

// An owner is the form of a connection.
type owner interface {
	resume(b []byte, next Next)
	send(b []byte) bool
	backlog() int
	localAddr() net.Addr
	remoteAddr() net.Addr
}

// Resume gives the answer that the connection is parked for. It is called once
// per Parked, by any goroutine, and even before Step has returned. b must not
// be written to afterwards.
func (c *Conn) Resume(b []byte) { c.own.resume(b, More) }

// ResumeThen is Resume, and says what is next: More, HandOver or, after an
// answer that says so, Close.
//
// Step sees again what it has not consumed. So it may leave the request that
// it parks for in the input, and be resumed with nothing when memory holds the
// answer, or with HandOver when it turns out to be for the full road.
func (c *Conn) ResumeThen(b []byte, next Next) { c.own.resume(b, next) }

// Send appends b to the output at any time: a frame that has no place in the
// order of answers. Any goroutine may call it; it does not block. b must not be
// written to afterwards. Send reports false when the connection is closed, or
// is being cut because its peer does not take what it is sent.
func (c *Conn) Send(b []byte) bool { return c.own.send(b) }

// Backlog returns how many bytes of output the peer has not taken: those given to
// Send, and on a loop all others, too. Who has much to send waits while it is
// large. Any goroutine may call it.
func (c *Conn) Backlog() int { return c.own.backlog() }

// Want says that Step has no use for less than n bytes of input. It holds for
// the next call.
func (c *Conn) Want(n int) { c.want = n }

// Scope returns the state of the loop, or nil. It may be another one at the
// next call of the Protocol.
func (c *Conn) Scope() Scope { return c.scope }

// Back reports whether the connection has been lent and nothing has been
// consumed since it came back.
func (c *Conn) Back() bool { return c.back }

// Draining reports whether the server is shutting down: the answer should say
// that the connection ends, and Step return Close. Any goroutine may call it.
func (c *Conn) Draining() bool { return c.srv.draining.Load() }

// LocalAddr returns the address at which the connection arrived.
func (c *Conn) LocalAddr() net.Addr { return c.own.localAddr() }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.own.remoteAddr() }
