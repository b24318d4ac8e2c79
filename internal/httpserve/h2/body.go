package h2

import (
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// A request waits for its body as long as the windows have room for that, and is then
// answered as one of HTTP/1.1 whose body has come with its head. Larger ones, those that take
// long, and those whose clients may wait for a word net/http reads as they come.

// await has a request wait for its body, which begins behind head. word says that its client
// may wait for a word before it sends that.
func (c *conn) await(s *stream, head []byte, word bool, out []byte) []byte {
	s.text, s.waits = head, true
	c.waiting++
	if word {
		return c.letGo(s, out)
	}
	return c.waitOn(s, out)
}

// waitOn goes on to wait, or lets the request go: to who has announced more than the window
// has room for, or sends another frame, it would never be opened.
func (c *conn) waitOn(s *stream, out []byte) []byte {
	rest := s.length - s.got
	if s.length < 0 {
		rest = http2.MaxPayload
	}
	if rest > s.recv || c.untaken() > front.HTTP2Bodies {
		return c.letGo(s, out)
	}
	return out
}

// endWait ends the wait for a body. It returns how many bytes of windows that has taken.
func (c *conn) endWait(s *stream) (spent int) {
	c.waiting--
	s.text, s.body, s.waits = nil, nil, false
	return http2.InitialWindow - int(s.recv)
}

// letGo has net/http read a body: what has come, and the rest.
func (c *conn) letGo(s *stream, out []byte) []byte {
	text, body := http2.AppendLength(s.text, s.length), s.body
	spent := c.endWait(s)
	out = c.handOver(s, text, out)
	s.pipe.feed(body, spent, s.length < 0, false)
	return out
}

// letLateGo lets those go that have waited since it was called last: net/http knows how long
// a request may take.
func (c *conn) letLateGo(out []byte) []byte {
	if c.waiting == 0 {
		return out
	}
	for _, s := range c.streams {
		switch {
		case !s.waits:
		case s.late:
			out = c.letGo(s, out)
		default:
			s.late = true
		}
	}
	return out
}

// untaken returns how many bytes of bodies wait for the rest of them, or for net/http.
func (c *conn) untaken() int { return front.HTTP2Window - int(c.recv) - c.owed }

// takeBody takes a part of a body: b, which flow bytes of the windows were spent for.
func (c *conn) takeBody(f *frame, b []byte, flow int, out []byte) ([]byte, error) {
	if c.recv -= int64(flow); c.recv < 0 {
		return out, &http2.Error{Code: http2.FlowControlError, Reason: "more has come than may"}
	}
	end := f.left == 0 && f.Has(http2.FlagEndStream)
	if s := c.streams[f.Stream]; s != nil && !s.ended {
		out, err := c.bodyOf(s, b, flow, end, out)
		if err != nil {
			c.owed += flow
		}
		return c.streamError(out, err)
	}
	if flow > 0 { // at once: who reads nothing of it is not read from
		c.recv += int64(flow)
		out = http2.AppendWindowUpdate(out, 0, flow)
	}
	known := c.cut.has(f.Stream)
	if end {
		c.cut.remove(f.Stream)
	}
	if f.left > 0 || known { // one RST_STREAM a frame, or a stream
		return out, nil
	}
	return c.resetStream(out, f.Stream, http2.StreamClosed), nil
}

// bodyOf is takeBody for a stream whose body goes on.
func (c *conn) bodyOf(s *stream, b []byte, flow int, end bool, out []byte) ([]byte, error) {
	got := s.got + int64(len(b))
	switch {
	case int64(flow) > s.recv:
		return out, &http2.Error{Stream: s.id, Code: http2.FlowControlError,
			Reason: "more has come than may"}
	case s.length >= 0 && (got > s.length || end && got < s.length):
		return out, &http2.Error{Stream: s.id, Code: http2.ProtocolError,
			Reason: "a body is not as long as content-length says"}
	}
	s.recv -= int64(flow)
	s.got, s.ended = got, end
	switch {
	case s.pipe != nil:
		s.pipe.feed(b, flow, s.length < 0, end)
	case !s.waits: // it is answered, and the answer waits for a window
		c.owed += flow
	case end:
		buf := buffers.Get().(*buffer)
		defer buffers.Put(buf)
		buf.text = http2.AppendLength(append(buf.text[:0], s.text...), got)
		buf.text = append(append(buf.text, s.body...), b...)
		c.owed += c.endWait(s)
		return c.whole(s, buf, out), nil
	default:
		s.body = append(s.body, b...)
		return c.waitOn(s, out), nil
	}
	return out, nil
}

// refund lets n bytes more of the body of a stream come.
func (c *conn) refund(s *stream, n int, out []byte) []byte {
	c.owed += n
	if n > 0 && c.streams[s.id] == s && !s.ended {
		s.recv += int64(n)
		out = http2.AppendWindowUpdate(out, s.id, n)
	}
	return out
}
