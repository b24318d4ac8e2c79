package h2

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// takeHeaders begins a header block: a request, or the trailers of one.
func (c *conn) takeHeaders(f *http2.Frame, payload, out []byte) ([]byte, error) {
	fragment, err := f.Content(payload)
	if err != nil {
		return out, err
	}
	s := c.streams[f.Stream]
	switch {
	case s != nil && s.ended:
		return out, &http2.Error{Code: http2.StreamClosed,
			Reason: "fields come behind the end of a stream"}
	case s == nil && f.Stream <= c.last && !c.cut.has(f.Stream):
		return out, &http2.Error{Code: http2.StreamClosed, Reason: "a stream has ended"}
	}
	c.block = block{stream: f.Stream, end: f.Has(http2.FlagEndStream), begun: f.Stream <= c.last}
	c.last = max(c.last, f.Stream)
	c.head.Reset(c.block.begun)
	c.block.err = f.CheckPriority(payload)
	return c.takeBlock(fragment, f.Has(http2.FlagEndHeaders), out)
}

// takeBlock goes on with a header block. What it says is part of the decoder's state,
// whatever becomes of the stream.
func (c *conn) takeBlock(fragment []byte, end bool, out []byte) ([]byte, error) {
	b := &c.block
	b.size += len(fragment)
	if b.parts++; b.size > front.HTTP2BlockBytes || b.parts > front.HTTP2BlockParts {
		return out, &http2.Error{Code: http2.EnhanceYourCalm, Reason: "a header block is too large"}
	}
	_, err := c.dec.Write(fragment)
	if err == nil && end {
		err = c.dec.Close()
	}
	switch {
	case err != nil:
		return out, &http2.Error{Code: http2.CompressionError, Reason: err.Error()}
	case !end:
		return out, nil
	}
	done := *b
	*b = block{}
	s := c.streams[done.stream]
	switch {
	case s == nil && done.begun && done.end: // it was ended here, before its trailers or meanwhile
		c.cut.remove(done.stream)
		return out, nil
	case s == nil && done.begun:
		return out, &http2.Error{Stream: done.stream, Code: http2.ProtocolError,
			Reason: "trailers do not end a stream"}
	case s != nil && done.err == nil:
		return c.takeTrailers(s, &done, out)
	case s == nil && done.err == nil:
		out, done.err = c.begin(&done, out)
	}
	if done.err != nil && s == nil && !done.end {
		c.cut.add(done.stream)
	}
	return out, done.err
}

// takeTrailers ends a body. Nobody asks for what the trailers say.
func (c *conn) takeTrailers(s *stream, b *block, out []byte) ([]byte, error) {
	if c.head.Wrong() != "" || !b.end {
		return out, &http2.Error{Stream: s.id, Code: http2.ProtocolError,
			Reason: "malformed trailers"}
	}
	return c.bodyOf(s, nil, 0, true, out)
}

// begin begins a stream, whose request is in c.head.
func (c *conn) begin(b *block, out []byte) ([]byte, error) {
	bad := func(code http2.Code, reason string) ([]byte, error) {
		return out, &http2.Error{Stream: b.stream, Code: code, Reason: reason}
	}
	h := &c.head
	c.asked++
	switch reason := h.Check(b.end); {
	case reason != "" && !h.Large:
		return bad(http2.ProtocolError, reason)
	case c.guesses(), len(c.streams) >= front.HTTP2Streams, c.working >= front.HTTP2Streams:
		c.of.count.refused.Add(1)
		return bad(http2.RefusedStream, "too many streams")
	}
	s := &stream{
		id: b.stream, isHead: h.IsHead(), token: h.HasToken(), ended: b.end, length: h.Length(),
		window: c.initial, recv: http2.InitialWindow,
	}
	c.streams[s.id] = s
	if h.Large {
		answer := []byte(tooLarge)
		if c.of.Amend != nil {
			answer = c.of.Amend(answer)
		}
		return c.reply(s, answer, out), nil
	}
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	buf.text = h.Append(buf.text[:0], b.end)
	if !b.end {
		return c.await(s, bytes.Clone(buf.text), h.Waits(), out), nil
	}
	return c.whole(s, buf, out), nil
}

// whole has a request answered that has come whole, and is the text of buf.
func (c *conn) whole(s *stream, buf *buffer, out []byte) []byte {
	if c.unsent >= front.HTTP2Unsent { // net/http makes no more of an answer than is taken
		return c.handOver(s, bytes.Clone(buf.text), out)
	}
	return c.ask(s, c.seat(), buf.text, buf, out)
}

// tooLarge is the answer to a request whose fields are too many.
const tooLarge = "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\n\r\n"

// seat returns one that is free.
func (c *conn) seat() *seat {
	t := c.spare
	if c.spare = nil; t != nil {
		return t
	}
	t = &seat{c: c}
	t.conn = c.conn.Channel(c.of.one, t)
	c.of.one.Open(t.conn, nil) // a server of HTTP/1.1 speaks second
	return t
}

// ask has the protocol of HTTP/1.1 answer text, the request of s.
func (c *conn) ask(s *stream, t *seat, text []byte, buf *buffer, out []byte) []byte {
	t.s = s
	n, answer, next := c.conn.StepChannel(t.conn, text, buf.answer[:0])
	buf.answer = answer
	switch {
	case next == eventloop.Parked: // text may be another's soon
		s.text = append([]byte(nil), text[n:]...)
		s.seat = t
		c.working++
		return c.reply(s, answer, out)
	case next == eventloop.HandOver:
		c.spare = t
		return c.handOver(s, append([]byte(nil), text[n:]...), out)
	case next != eventloop.Close: // which is the end of a connection of HTTP/1.1
		c.spare = t
	}
	return c.replyWhole(s, answer, out)
}

// replyWhole is reply where nothing more comes.
func (c *conn) replyWhole(s *stream, b, out []byte) []byte {
	out = c.reply(s, b, out)
	if s.answer.state != atEnd && !s.reset {
		return c.resetStream(out, s.id, http2.InternalError)
	}
	return out
}

// resumed goes on with a stream whose answer others have made.
func (c *conn) resumed(e *event, out []byte) []byte {
	s := e.s
	if !s.endless {
		c.working--
	}
	s.endless = s.endless || e.next == eventloop.Stream
	switch {
	case s.reset:
		return out // what its seat holds is of no use any more
	case e.next == eventloop.Stream:
		return c.reply(s, e.b, out)
	}
	s.seat = nil
	switch {
	case s.endless && s.answer.state == untilEnd:
		return c.sendBody(s, nil, true, c.reply(s, e.b, out))
	case e.next == eventloop.HandOver:
		return c.handOver(s, s.text, c.reply(s, e.b, out))
	case e.next == eventloop.More && len(s.text) > 0: // memory has it now, say
		buf := buffers.Get().(*buffer)
		defer buffers.Put(buf)
		return c.ask(s, e.seat, s.text, buf, c.reply(s, e.b, out))
	case e.next == eventloop.More:
		c.spare = e.seat
	}
	return c.replyWhole(s, e.b, out)
}

// unseat has whoever makes the answer to s know that nobody waits for it.
func (c *conn) unseat(s *stream) {
	if e, ok := c.of.one.(eventloop.Ender); ok && s.seat != nil {
		e.End(s.seat.conn)
	}
	s.seat = nil
}

// handOver has net/http answer text, the request of s.
func (c *conn) handOver(s *stream, text, out []byte) []byte {
	s.pipe = newPipe(s, c, text)
	var x eventloop.Borrowed = s.pipe
	if state, ok := c.conn.ConnectionState(); ok {
		x = &securePipe{s.pipe, state}
	}
	if !c.conn.HandOver(x) {
		return c.resetStream(out, s.id, http2.InternalError)
	}
	c.working++
	return out
}
