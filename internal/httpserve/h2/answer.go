package h2

import (
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// A buffer is for one request as HTTP/1.1, and for its answer, until that is a stream's.
type buffer struct{ text, answer []byte }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A reply is how far an answer of HTTP/1.1 was read.
type reply struct {
	state  state
	left   int64 // of a body with a length
	chunks http1.Chunked
	rest   []byte // what was not enough to read on
}

type state uint8

const (
	atHead state = iota
	inLength
	inChunks
	untilEnd // of the connection
	atEnd
)

// reply goes on with the answer to s: b, of HTTP/1.1, of which nothing is kept.
func (c *conn) reply(s *stream, b, out []byte) []byte {
	a := &s.answer
	if len(a.rest) > 0 {
		b = append(a.rest, b...)
	}
	for len(b) > 0 && a.state != atEnd && !s.reset {
		n := 0
		if n, out = c.replyPart(s, b, out); n == 0 {
			break
		}
		b = b[n:]
	}
	if a.rest = a.rest[:0]; a.state != atEnd && !s.reset {
		a.rest = append(a.rest, b...)
	}
	return out
}

// replyPart goes on with one part of it, of n bytes. 0: more is needed.
func (c *conn) replyPart(s *stream, b, out []byte) (n int, _ []byte) {
	a := &s.answer
	switch a.state {
	case atHead:
		n, err := c.parsed.Parse(b)
		if err != nil || c.parsed.Status == 101 {
			return 0, c.resetStream(out, s.id, http2.InternalError)
		}
		if n > 0 {
			out = c.sendHead(s, &c.parsed, out)
		}
		return n, out
	case inLength:
		n = int(min(a.left, int64(len(b))))
		a.left -= int64(n)
		return n, c.sendBody(s, b[:n], a.left == 0, out)
	case inChunks:
		n, data, err := a.chunks.Next(b)
		if err != nil {
			return 0, c.resetStream(out, s.id, http2.InternalError)
		}
		return n, c.sendBody(s, data, a.chunks.Done(), out)
	}
	return len(b), c.sendBody(s, b, false, out)
}

// sendHead sends the head of an answer.
func (c *conn) sendHead(s *stream, h *http1.ResponseHead, out []byte) []byte {
	a := &s.answer
	if h.Status < 200 {
		return http2.AppendHead(out, s.id, h, false)
	}
	if h.Status == 401 && s.token {
		c.wrong++
	}
	end := h.Bodiless(s.isHead) || h.Length == 0 && !h.Chunked
	out = http2.AppendHead(out, s.id, h, end)
	switch {
	case end:
		return c.sent(s, out)
	case h.Chunked:
		a.state = inChunks
	case h.Length > 0:
		a.state, a.left = inLength, h.Length
	default:
		a.state = untilEnd
	}
	return out
}

// sendBody sends a part of a body, as far as windows allow, and keeps the rest. end says
// that it is the last part.
func (c *conn) sendBody(s *stream, b []byte, end bool, out []byte) []byte {
	if !s.queued {
		var n int
		n, out = c.sendNow(s, b, end, out)
		b = b[n:]
	}
	if end {
		s.answer.state = atEnd
	}
	switch {
	case len(b) > 0 || end && s.queued:
		s.out = append(s.out, b...)
		s.outEnd = end
		c.unsent += len(b)
		s.holds()
		if !s.queued {
			s.queued = true
			c.blocked = append(c.blocked, s)
		}
		return out
	case end:
		return c.sent(s, out)
	}
	return out
}

// holds tells the maker of an answer without an end how much of it waits for a window.
func (s *stream) holds() {
	if s.seat != nil {
		s.seat.held.Store(int64(len(s.out) - s.sent))
	}
}

// sendNow sends what windows allow of b, and says whether it ends the stream.
func (c *conn) sendNow(s *stream, b []byte, end bool, out []byte) (n int, _ []byte) {
	for n < len(b) {
		size := int(min(int64(len(b)-n), http2.MaxPayload, c.window, s.window))
		if size <= 0 {
			return n, out
		}
		out = http2.AppendData(out, s.id, b[n:n+size], end && n+size == len(b))
		n += size
		c.window -= int64(size)
		s.window -= int64(size)
	}
	if len(b) == 0 && end {
		out = http2.AppendData(out, s.id, nil, true)
	}
	return n, out
}

// sent forgets a stream whose answer was sent. A request that nobody has read to its end
// is not sent on.
func (c *conn) sent(s *stream, out []byte) []byte {
	s.answer.state = atEnd
	delete(c.streams, s.id)
	if !s.ended {
		c.cut.add(s.id)
		out = http2.AppendReset(out, s.id, http2.NoError)
		if s.pipe != nil { // net/http would wait for the rest of the body
			s.pipe.abort()
		}
	}
	return out
}

// pump sends what has waited for windows, a frame of each stream in turn.
func (c *conn) pump(out []byte) []byte {
	for idle := 0; idle < len(c.blocked) && c.window > 0 && c.room(out); {
		s := c.blocked[0]
		copy(c.blocked, c.blocked[1:])
		c.blocked = c.blocked[:len(c.blocked)-1]
		rest := s.out[s.sent:]
		part := rest[:min(len(rest), http2.MaxPayload)]
		n, grown := c.sendNow(s, part, s.outEnd && len(part) == len(rest), out)
		out = grown
		s.sent += n
		c.unsent -= n
		s.holds()
		if s.sent < len(s.out) {
			c.blocked = append(c.blocked, s)
			if idle++; n > 0 {
				idle, s.since = 0, time.Time{}
			}
			continue
		}
		idle, s.queued, s.out, s.sent = 0, false, nil, 0
		if s.outEnd {
			out = c.sent(s, out)
		}
		out = c.fromPipe(s, out)
	}
	return out
}

// cutStalled resets the streams whose windows have let nothing of an answer pass for as long
// as a peer may take nothing. net/http has limits of its own for what is handed over. stuck
// says that the window of the whole connection is what they have waited for. While streams
// wait, or requests for their bodies, a timer has them looked at, for a silent peer causes no
// event.
func (c *conn) cutStalled(out []byte) (_ []byte, stuck bool) {
	now, limit := time.Now(), c.conn.WriteLimit()
	waits := c.waiting > 0
	for i := len(c.blocked) - 1; i >= 0; i-- {
		s := c.blocked[i]
		switch {
		case s.pipe != nil:
		case s.since.IsZero():
			s.since, waits = now, true
		case now.Sub(s.since) > limit:
			out = c.resetStream(out, s.id, http2.Cancel)
			stuck = stuck || c.window <= 0
		default:
			waits = true
		}
	}
	if waits && !c.stalled {
		c.stalled = true
		c.lookAgain(limit / 4)
	}
	return out, stuck
}

// lookAgain has Tick called after d.
func (c *conn) lookAgain(d time.Duration) {
	if c.timer == nil {
		c.timer = time.AfterFunc(d, func() { c.notify(event{timer: true}) })
		return
	}
	c.timer.Reset(d)
}

// fromPipe goes on with a stream that is handed over: what has come, was read, or is over.
func (c *conn) fromPipe(s *stream, out []byte) []byte {
	p := s.pipe
	if p == nil {
		return out
	}
	if !s.reset && (s.queued || !c.room(out)) { // the peer takes no more at present
		if !s.queued && !s.hungry {
			s.hungry = true
			c.starved = append(c.starved, s)
		}
		return out
	}
	b, read, over := p.take()
	out = c.refund(s, read, out)
	if !s.reset {
		out = c.reply(s, b, out)
	}
	if !over {
		return out
	}
	s.pipe = nil
	c.working--
	switch {
	case s.reset:
	case s.answer.state == atEnd:
		c.conn.Returned()
	case s.answer.state == untilEnd:
		c.conn.Returned()
		out = c.sendBody(s, nil, true, out)
	default:
		out = c.resetStream(out, s.id, http2.InternalError)
	}
	return out
}

// feedStarved goes on with the streams that have waited for room.
func (c *conn) feedStarved(out []byte) []byte {
	list := c.starved
	c.starved = nil
	for _, s := range list {
		s.hungry = false
		out = c.fromPipe(s, out)
	}
	return out
}
