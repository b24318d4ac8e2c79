package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	wirehttp "github.com/hotrow/hotrow/internal/wire/exchange"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A tunnelClient is what a client's connection is to the relay when the client is
// behind a wire: a net.Conn that holds one request of HTTP/1.1, and takes its
// answer, which goes back as an exchange. So everything about upstreams is that
// of the normal road.
type tunnelClient struct {
	link   *link
	client *client
	stop   stopper
	reply  *wire.Reply  // of a request; nil: it is a stream
	st     *wire.Stream // nil: not yet

	// Of the request; who reads has these to itself.
	ask     wirehttp.Request
	part    wirehttp.Part
	payload []byte
	text    []byte // that was not read; in payload or chunk
	chunk   []byte // a part, framed
	chunked bool   // the body is framed so
	over    bool   // all of the request was read

	// Of the answer; who writes has these to itself.
	head     []byte // as it was written; what answer has points into it
	resp     http1.ResponseHead
	down     body
	answer   wirehttp.Answer
	body     []byte // of a small answer
	out      []byte
	final    bool        // the final head was there
	complete atomic.Bool // and all of the body
	tunnel   bool

	number uint64            // of the rest; 0: there is none
	begun  atomic.Bool       // the answer has
	opened chan *wire.Stream // gets the stream with the rest
	ended  chan struct{}     // closed when all was sent
	err    error             // then
}

// newTunnelClient returns a tunnel client without a request.
func newTunnelClient(k *link) *tunnelClient {
	g, _ := k.srv.tunnelClients.Get().(*tunnelClient)
	if g == nil {
		g = &tunnelClient{}
		g.stop.init()
		g.client = &client{srv: k.srv, sock: newSocket(g, g), tunnelClient: g}
	}
	g.link, g.client.remote = k, k.remote
	return g
}

// reuse keeps a tunnel client whose exchange went as most do, and to whom nobody else has
// a reference.
func (g *tunnelClient) reuse() {
	c := g.client
	if g.number != 0 || g.st != nil || g.stop.Err() != nil || c.reason.Load() != reasonNone {
		return
	}
	for _, b := range []*[]byte{&g.payload, &g.chunk, &g.head, &g.body, &g.out} {
		if *b = (*b)[:0]; cap(*b) > 2*flushSize {
			*b = nil
		}
	}
	g.reply, g.text, g.chunked, g.over, g.final, g.tunnel = nil, nil, false, false, false, false
	g.complete.Store(false)
	c.due.Store(0)
	c.upDue.Store(0)
	c.since.Store(0)
	c.closed, c.gap = false, http1.Gap{}
	g.link.srv.tunnelClients.Put(g)
}

// run relays the exchange and returns when it has ended.
func (g *tunnelClient) run(ctx context.Context) error {
	s, c := g.link.srv, g.client
	c.state.Store(stateBusy)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errCut
	}
	s.clients[c] = struct{}{}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { g.left(ctx) })
	c.serveTunnelClient()
	unheard := stop()
	s.mu.Lock()
	delete(s.clients, c)
	s.mu.Unlock()
	err := g.end()
	if err == nil && unheard {
		g.reuse()
	}
	return err
}

// left ends an exchange whose peer wants no answer any more. An answer that has
// begun outlives the deadline for its beginning.
func (g *tunnelClient) left(ctx context.Context) {
	if g.begun.Load() && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return
	}
	g.client.cutOff()
}

// serveTunnelClient answers the one request of a tunnel client.
func (c *client) serveTunnelClient() {
	defer c.end()
	c.takeExchange()
	x := c.x
	x.in.b = c.tunnelClient.appendRequest(x.in.b[:0])
	x.in.r, x.in.w = 0, len(x.in.b)
	x.in.b = x.in.b[:cap(x.in.b)]
	c.next()
	c.dropExchange()
}

// end says how the exchange has ended, to all who want to know.
func (g *tunnelClient) end() error {
	var err error
	if !g.complete.Load() {
		err = errCut
	}
	if g.ended != nil {
		g.link.forget(g.number)
		g.err = err
		close(g.ended)
	}
	return err
}

// appendRequest appends the request as text.
func (g *tunnelClient) appendRequest(dst []byte) []byte {
	r := &g.ask
	dst = append(append(append(dst, r.Method...), ' '), r.Path...)
	dst = append(append(append(dst, " HTTP/1.1\r\nHost: "...), r.Authority...), "\r\n"...)
	sized, upgrade, te := false, false, false
	for i := range r.Fields {
		f := &r.Fields[i]
		sized = sized || isName(f.Name, "content-length")
		upgrade = upgrade || isName(f.Name, "upgrade")
		te = te || isName(f.Name, "te")
		dst = appendLine(dst, f)
	}
	switch {
	case upgrade:
		dst = append(dst, "Connection: Upgrade\r\n"...)
	case te:
		dst = append(dst, "Connection: TE\r\n"...)
	}
	g.chunked = !sized && !upgrade && (r.Streamed || len(r.Body) > 0)
	g.tunnel = upgrade
	if !g.chunked {
		return append(append(dst, "\r\n"...), r.Body...)
	}
	dst = append(dst, "Transfer-Encoding: chunked\r\n\r\n"...)
	if r.Streamed {
		return dst
	}
	return append(appendChunk(dst, r.Body), "0\r\n\r\n"...)
}

// Read gives a part of the request's body.
func (g *tunnelClient) Read(p []byte) (int, error) {
	for len(g.text) == 0 {
		if g.over || g.reply != nil {
			return 0, io.EOF
		}
		if err := g.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, g.text)
	g.text = g.text[n:]
	return n, nil
}

// more gets the next part of the request.
func (g *tunnelClient) more() (err error) {
	g.payload, err = g.st.Recv(&g.stop, g.payload[:0])
	switch {
	case errors.Is(err, io.EOF) && g.chunked:
		return io.ErrUnexpectedEOF // the end alone may be that of a peer
	case errors.Is(err, io.EOF):
		g.over = true
		return nil
	case err != nil:
		return err
	case g.part.Decode(g.payload) != nil:
		return errMalformed
	}
	switch p := &g.part; {
	case p.Kind == wirehttp.Data && g.chunked:
		g.text = nil
		if len(p.Data) > 0 {
			g.chunk = appendChunk(g.chunk[:0], p.Data)
			g.text = g.chunk
		}
	case p.Kind == wirehttp.Data:
		g.text = p.Data
	case p.Kind == wirehttp.Trailers && g.chunked:
		g.over = true
		g.text = appendLastChunk(nil, p.Fields)
	default:
		return errMalformed
	}
	return nil
}

// Write takes a part of the answer.
func (g *tunnelClient) Write(p []byte) (int, error) {
	size := len(p)
	for !g.final {
		if len(g.head) == 0 && len(p) == 0 {
			return size, nil
		}
		g.head = append(g.head, p...)
		n, err := g.resp.Parse(g.head)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			return size, nil
		}
		p = g.head[n:]
		if err := g.takeHead(); err != nil {
			return 0, err
		}
		if g.final {
			break
		}
		p = append([]byte(nil), p...)
		g.head = g.head[:0]
	}
	if err := g.takeBody(p); err != nil {
		return 0, err
	}
	return size, nil
}

// takeHead takes a head that was written.
func (g *tunnelClient) takeHead() error {
	r := &g.resp
	status := r.Status
	g.final = status >= 200 || status == http.StatusSwitchingProtocols
	g.answer = wirehttp.Answer{Status: status, Fields: g.answer.Fields[:0]}
	for i := range r.Fields {
		f := &r.Fields[i]
		if n := r.Name(f); !wirehttp.Hop(n) {
			one := wirehttp.Field{Name: n, Value: r.FieldValue(f)}
			g.answer.Fields = append(g.answer.Fields, one)
		}
	}
	g.down = body{kind: bodyNone}
	switch {
	case status == http.StatusSwitchingProtocols:
		g.down.kind = bodyToEOF
	case r.Bodiless(g.client.x.req.IsHead):
	case r.Chunked:
		g.down.kind = bodyChunked
	case r.Length > 0:
		g.down = body{kind: bodyLength, left: r.Length}
	case r.Length < 0:
		g.down.kind = bodyToEOF
	}
	small := g.final && (g.down.kind == bodyNone || g.down.kind == bodyChunked ||
		g.down.kind == bodyLength && r.Length <= wirehttp.MaxBody)
	if g.st == nil && g.number == 0 && small {
		return nil // it may be all in one message
	}
	return g.sendHead()
}

// sendHead sends a head, and what was kept of the body.
func (g *tunnelClient) sendHead() error {
	if g.st == nil && g.number == 0 {
		g.opened, g.ended = make(chan *wire.Stream, 1), make(chan struct{})
		g.number = g.link.register(g)
		g.begun.Store(true)
		g.answer.Rest, g.answer.Body = g.number, g.body
		g.link.srv.count.rests.Add(1)
		g.reply.Send(g.answer.Append(g.out[:0]))
		g.out = nil
		return nil
	}
	g.out = wirehttp.AppendAnswerHead(g.out[:0], g.answer.Status, g.answer.Fields)
	return g.send(g.out)
}

// send sends a part on the stream, for which it may have to wait.
func (g *tunnelClient) send(part []byte) error {
	if g.st == nil {
		select {
		case g.st = <-g.opened:
		case <-g.stop.Done():
			return g.stop.Err()
		case <-g.link.ctx.Done():
			return net.ErrClosed
		}
	}
	return g.st.Send(&g.stop, part)
}

// takeBody takes bytes of the body that were written.
func (g *tunnelClient) takeBody(p []byte) error {
	for p = g.down.with(p); len(p) > 0; {
		data, n, err := g.down.next(p)
		if err != nil {
			return err
		}
		if err := g.sendData(data); err != nil {
			return err
		}
		if g.down.done() {
			break
		}
		if p = p[n:]; n == 0 {
			g.down.tail = append([]byte(nil), p...)
			break
		}
	}
	if g.down.done() {
		return g.finish()
	}
	if g.reply != nil && g.number == 0 && g.down.kind == bodyChunked {
		return g.sendHead() // who knows when the rest comes
	}
	return nil
}

// sendData sends bytes of the body, or keeps them while the answer may be small.
func (g *tunnelClient) sendData(data []byte) error {
	if g.reply != nil && g.number == 0 {
		if g.body = append(g.body, data...); len(g.body) <= wirehttp.MaxBody {
			return nil
		}
		return g.sendHead()
	}
	for len(data) > 0 {
		piece := data[:min(len(data), maxPiece)]
		data = data[len(piece):]
		g.out = wirehttp.AppendData(g.out[:0], piece)
		if err := g.send(g.out); err != nil {
			return err
		}
	}
	return nil
}

// finish takes the end of the body.
func (g *tunnelClient) finish() error {
	if g.complete.Load() {
		return nil
	}
	var trailers []wirehttp.Field
	if g.down.kind == bodyChunked {
		trailers = trailerFields(nil, g.down.chunks.Trailers)
	}
	if g.reply != nil && g.number == 0 {
		g.complete.Store(true)
		g.answer.Body, g.answer.Trailers = g.body, trailers
		g.reply.Send(g.answer.Append(g.out[:0]))
		return nil
	}
	if g.st == nil || g.down.kind == bodyChunked {
		g.out = wirehttp.AppendTrailers(g.out[:0], trailers)
		if err := g.send(g.out); err != nil {
			return err
		}
	}
	g.complete.Store(true)
	return nil
}

// CloseWrite ends the answer of a tunnel.
func (g *tunnelClient) CloseWrite() error {
	if !g.tunnel || g.st == nil || !g.final {
		return errHalfClose
	}
	g.complete.Store(true)
	return g.st.Finish()
}

// Close implements net.Conn. What is open is ended by run.
func (g *tunnelClient) Close() error {
	if !g.complete.Load() {
		g.stop.stop()
	}
	return nil
}

// The rest of net.Conn.

func (g *tunnelClient) SetDeadline(t time.Time) error      { g.stop.set(t); return nil }
func (g *tunnelClient) SetReadDeadline(t time.Time) error  { g.stop.set(t); return nil }
func (g *tunnelClient) SetWriteDeadline(t time.Time) error { return nil }
func (g *tunnelClient) LocalAddr() net.Addr                { return wireAddr{} }
func (g *tunnelClient) RemoteAddr() net.Addr               { return wireAddr{} }
