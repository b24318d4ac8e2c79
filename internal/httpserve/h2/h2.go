// Package h2 speaks HTTP/2 over the connections of an event loop. It is an adapter of
// frames: each stream's request becomes one of HTTP/1.1, which the protocol of HTTP/1.1
// answers, and that answer becomes the stream's. So there is one set of rules for both.
// A request that the protocol hands over goes to net/http as a connection of its own
// (pipe), streams side by side.
package h2

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// A Protocol is an eventloop.Protocol that answers by another one, of HTTP/1.1.
type Protocol struct {
	// Amend returns an answer that the protocol of HTTP/1.1 has not made as it is to be sent.
	// It is set before the first connection; nil: as it is.
	Amend func(answer []byte) []byte

	one   eventloop.Protocol
	count counters
}

var (
	_ eventloop.Ender   = (*Protocol)(nil)
	_ eventloop.Drainer = (*Protocol)(nil)
	_ eventloop.Expirer = (*Protocol)(nil)
)

// New returns the protocol of connections whose requests one answers, and
// eventloop.Config.HandedOver what one hands over.
func New(one eventloop.Protocol) *Protocol { return &Protocol{one: one} }

// A conn is a connection. All but events belongs to the goroutine that owns the
// eventloop.Conn.
type conn struct {
	of            *Protocol
	conn          *eventloop.Conn
	local, remote net.Addr

	begun   bool   // the client's preface has come
	settled bool   // and its first settings
	leaving bool   // the peer was told that the connection ends
	served  uint32 // the highest stream then

	dec    *http2.Decoder
	head   http2.Head
	block  block
	data   frame // whose payload has come in part
	parsed http1.ResponseHead

	streams map[uint32]*stream
	last    uint32 // the highest stream that the peer has begun
	cut     cut    // streams that were ended early
	working int    // requests that others answer, those of streams that were reset too
	waiting int    // requests that wait for their bodies
	spare   *seat

	window  int64 // what may be sent, of all streams
	initial int64 // what may be sent of a new one
	recv    int64 // what may come, of all streams
	owed    int   // bytes of bodies that were taken, which recv has not back
	unsent  int   // bytes of answers that wait for a window
	kept    int   // bytes of them, and of bodies, that the connection knows of
	heard   int   // bytes of events that were heeded, and that it still counts
	stalled bool  // a timer has streams looked at that wait for a window, or for a body
	timer   *time.Timer
	blocked []*stream // whose they are, in turn
	starved []*stream // have output elsewhere, which waits for room here
	asked   uint64    // streams that were begun and are not counted
	wrong   int       // requests whose tokens nobody has

	mu     sync.Mutex // guards events
	events []event
	taken  []event // events that were; the loop's
}

// A frame whose payload has not come as a whole.
type frame struct {
	http2.Frame
	left int
}

// A block is a header block that has not come as a whole.
type block struct {
	stream uint32 // 0: there is none
	end    bool   // the request has no body
	size   int
	parts  int
	err    error // of the stream
	begun  bool  // the stream was begun before: these are trailers
}

// An event is what other goroutines have to say.
type event struct {
	s     *stream
	timer bool // it is time to look for streams that wait
	pipe  bool // the stream's pipe has output, was read from, or is over
	seat  *seat
	b     []byte
	next  eventloop.Next
}

// A stream is a request and its answer. Its window and recv are bytes.
type stream struct {
	id      uint32
	isHead  bool   // it is a HEAD
	token   bool   // it says who asks
	reset   bool   // nobody waits for the answer
	ended   bool   // the request has come as a whole
	waits   bool   // the request waits for its body
	late    bool   // it has done so for some time
	hungry  bool   // it is in conn.starved
	queued  bool   // it is in conn.blocked
	outEnd  bool   // the body of the answer ends with out
	endless bool   // Send goes on with the answer: see eventloop.Stream
	text    []byte // the request, as HTTP/1.1, that was not consumed; its head alone, if it waits
	body    []byte // what has come of the body that it waits for
	length  int64  // of its body, as announced; -1: it was not
	got     int64  // of its body
	recv    int64
	pipe    *pipe // it is handed over

	answer reply
	window int64
	out    []byte    // the part of the answer's body that waits for a window
	sent   int       // of out
	since  time.Time // when the peer took some of out last
	seat   *seat     // where the answer is made; nil: that is done, or net/http makes it
}

// A seat is a channel of the protocol of HTTP/1.1, which has one request at a time.
type seat struct {
	c    *conn
	conn *eventloop.Conn
	s    *stream

	given atomic.Int64 // bytes of events that were not heeded
	held  atomic.Int64 // bytes that wait for a window
}

// Unsent implements eventloop.Resumer.
func (t *seat) Unsent(*eventloop.Conn) int { return int(t.given.Load() + t.held.Load()) }

// Resumed implements eventloop.Resumer.
func (t *seat) Resumed(_ *eventloop.Conn, b []byte, next eventloop.Next) {
	t.given.Add(int64(len(b)))
	t.c.conn.Keep(len(b)) // until it is output, or waits for a window
	t.c.notify(event{s: t.s, seat: t, b: b, next: next})
}

// notify has the loop look at an event.
func (c *conn) notify(e event) {
	c.mu.Lock()
	c.events = append(c.events, e)
	first := len(c.events) == 1
	c.mu.Unlock()
	if first {
		c.conn.Poke()
	}
}

// Open implements eventloop.Protocol.
func (p *Protocol) Open(lc *eventloop.Conn, out []byte) []byte {
	c := &conn{
		of: p, conn: lc, local: lc.LocalAddr(), remote: lc.RemoteAddr(),
		streams: make(map[uint32]*stream),
		window:  http2.InitialWindow, initial: http2.InitialWindow, recv: front.HTTP2Window,
	}
	p.count.open.Add(1)
	c.dec = http2.NewDecoder(&c.head)
	lc.Data = c
	out = http2.AppendSettings(out, http2.SettingMaxConcurrentStreams, front.HTTP2Streams,
		http2.SettingMaxHeaderListSize, http2.MaxHead)
	return http2.AppendWindowUpdate(out, 0, front.HTTP2Window-http2.InitialWindow)
}

// Step implements eventloop.Protocol.
func (p *Protocol) Step(lc *eventloop.Conn, in, out []byte) (n int, _ []byte, next eventloop.Next) {
	c := lc.Data.(*conn)
	for {
		used, grown, err := c.step(in[n:], out)
		n, out = n+used, grown
		switch {
		case err != nil:
			return len(in), c.fail(out, err), eventloop.Close
		case used == 0:
			out, next = c.after(out)
			return n, out, next
		case len(out) >= eventloop.FlushSize:
			if out, next = c.after(out); next == eventloop.More {
				next = eventloop.Flush
			}
			return n, out, next
		}
	}
}

// step takes one frame, or a part of a body's. used is 0 when more must come.
func (c *conn) step(in, out []byte) (used int, _ []byte, err error) {
	switch {
	case len(in) == 0:
		return 0, out, nil
	case !c.begun:
		return c.preface(in, out)
	case c.data.left > 0:
		used = min(c.data.left, len(in))
		c.data.left -= used
		out, err = c.takeBody(&c.data, in[:used], used, out)
		return used, out, err
	case len(in) < http2.FrameHead:
		c.conn.Want(http2.FrameHead)
		return 0, out, nil
	}
	f, err := http2.ParseFrame(in)
	if err == nil {
		err = c.inOrder(&f)
	}
	switch {
	case err != nil:
		return 0, out, err
	case f.Type == http2.Data && !f.Has(http2.FlagPadded) && f.Length > 0:
		c.data = frame{f, f.Length} // whatever has come of it is taken
		return http2.FrameHead, out, nil
	case len(in) < http2.FrameHead+f.Length:
		c.conn.Want(http2.FrameHead + f.Length)
		return 0, out, nil
	}
	used = http2.FrameHead + f.Length
	out, err = c.takeFrame(&f, in[http2.FrameHead:used], out)
	return used, out, err
}

// preface takes what a client sends first.
func (c *conn) preface(in, out []byte) (used int, _ []byte, err error) {
	n := min(len(in), len(http2.Preface))
	switch {
	case string(in[:n]) != http2.Preface[:n]:
		return 0, out, &http2.Error{Code: http2.ProtocolError, Reason: "this is not HTTP/2"}
	case n < len(http2.Preface):
		c.conn.Want(len(http2.Preface))
		return 0, out, nil
	}
	c.begun = true
	return n, out, nil
}

// Tick implements eventloop.Protocol.
func (p *Protocol) Tick(lc *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	c := lc.Data.(*conn)
	c.mu.Lock()
	c.events, c.taken = c.taken[:0], c.events
	c.mu.Unlock()
	for i := range c.taken {
		out = c.heed(&c.taken[i], out)
		c.taken[i] = event{}
	}
	out = c.feedStarved(out)
	return c.after(out)
}

// heed does what one event asks for.
func (c *conn) heed(e *event, out []byte) []byte {
	c.heard += len(e.b)
	if e.seat != nil {
		defer e.seat.given.Add(-int64(len(e.b)))
	}
	if e.timer {
		c.stalled = false
		return c.letLateGo(out)
	}
	if e.pipe {
		if e.s.pipe != nil {
			e.s.pipe.heed()
		}
		return c.fromPipe(e.s, out)
	}
	return c.resumed(e, out)
}

// after ends each call: it sends what windows have let pass, and says whether the
// connection goes on.
func (c *conn) after(out []byte) ([]byte, eventloop.Next) {
	c.count()
	out, stuck := c.cutStalled(c.pump(out))
	if c.owed >= http2.MaxPayload { // less is not worth a frame
		out = http2.AppendWindowUpdate(out, 0, c.owed)
		c.recv, c.owed = c.recv+int64(c.owed), 0
	}
	keeps := c.unsent + c.untaken()
	c.conn.Keep(keeps - c.kept - c.heard)
	c.kept, c.heard = keeps, 0
	c.conn.Hold(c.working + c.waiting)
	switch {
	case stuck:
		c.abandon()
		return http2.AppendGoAway(out, c.last, http2.NoError, "nothing is taken"), eventloop.Close
	case c.guesses() && len(c.streams) == 0 && c.working == 0:
		out = http2.AppendGoAway(out, c.last, http2.EnhanceYourCalm, "wrong tokens")
		return out, eventloop.Close
	case !c.conn.Draining():
	case !c.leaving: // what the peer asks until it has read this is answered
		c.leaving, c.served = true, c.last
		out = http2.AppendGoAway(out, http2.MaxStream, http2.NoError, "")
	case len(c.streams) == 0 && c.working == 0 && c.last > c.served:
		return http2.AppendGoAway(out, c.last, http2.NoError, ""), eventloop.Close
	}
	return out, eventloop.More
}

// guesses reports whether the connection has had so many wrong tokens that it ends, once what
// it has asked is answered.
func (c *conn) guesses() bool { return c.wrong >= front.WrongTokens }

// fail appends why the connection ends.
func (c *conn) fail(out []byte, err error) []byte {
	c.count()
	c.of.count.broken.Add(1)
	c.abandon()
	e, ok := err.(*http2.Error)
	if !ok {
		e = &http2.Error{Code: http2.InternalError}
	}
	return http2.AppendGoAway(out, c.last, e.Code, e.Reason)
}

// Expired implements eventloop.Expirer. A request that is on its way is behind the last stream:
// its client knows that nothing was done, and asks again.
func (p *Protocol) Expired(lc *eventloop.Conn, out []byte) []byte {
	c := lc.Data.(*conn)
	return http2.AppendGoAway(out, c.last, http2.NoError, "nothing has come in time")
}

// End implements eventloop.Ender.
func (p *Protocol) End(lc *eventloop.Conn) {
	p.count.open.Add(-1)
	lc.Data.(*conn).abandon()
}

// abandon gives up whatever is under way.
func (c *conn) abandon() {
	for _, s := range c.streams {
		s.reset = true
		c.unseat(s)
		if s.pipe != nil {
			s.pipe.abort()
		}
	}
	clear(c.streams)
	c.blocked, c.starved, c.unsent = nil, nil, 0
	if c.timer != nil {
		c.timer.Stop()
	}
}

// Drained implements eventloop.Drainer.
func (p *Protocol) Drained(lc *eventloop.Conn) { lc.Poke() }

// room reports whether more answers may be made. If not, Tick is called when they may.
func (c *conn) room(out []byte) bool {
	if c.conn.Backlog()+len(out) < front.HTTP2Backlog {
		return true
	}
	if !c.conn.Below(front.HTTP2BacklogLow) {
		c.conn.Poke()
	}
	return false
}
