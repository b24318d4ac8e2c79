package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	wirehttp "github.com/hotrow/hotrow/internal/wire/exchange"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A tunnelUpstream is what an upstream connection is to the relay when the upstream is
// reached over the wire: a net.Conn that takes requests of HTTP/1.1, one after
// the other, and gives their answers, each of them an exchange of its own. So
// retries, deadlines and framing are those of the normal road.
//
// A request that is there whole and small is a request of the wire; any other is
// a stream. One goroutine may read while another writes.
type tunnelUpstream struct {
	remote *remote
	scheme wirehttp.Scheme
	stop   stopper
	slot   *slot // whose connection is in use

	// Of the request; who writes it has these to itself.
	req   http1.RequestHead
	text  []byte // as it was written, until the head is whole
	ask   wirehttp.Request
	body  []byte // of a small one that came in chunks
	up    body
	out   []byte // payloads
	ready bool   // all of it is in ask, and it is not sent
	began bool
	over  atomic.Bool // all of it was sent

	st *wire.Stream // set before anything is read beside the writing

	// Of the answer; who reads it has these to itself.
	payload []byte
	answer  wirehttp.Answer
	part    wirehttp.Part
	down    answerText
	in      []byte // text that was not read, from at on
	at      int
	ended   bool
}

// openRemote returns a new tunnelUpstream as an upstream connection.
func (b *backend) openRemote() *upstream {
	u := &tunnelUpstream{remote: b.target.remote, scheme: b.target.scheme}
	u.stop.init()
	b.inflight.Add(1)
	// The connection beneath was there before: a request that is lost with it is
	// as one that is lost with a kept connection.
	return &upstream{
		socket: newSocket(u, u), backend: b, born: b.target.srv.now.Load(), uses: 2,
	}
}

// Write takes a part of a request.
func (u *tunnelUpstream) Write(p []byte) (int, error) {
	if u.began && !u.over.Load() && !u.ready {
		if err := u.upload(p); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	if u.began {
		u.next()
	}
	u.text = append(u.text, p...)
	n, err := u.req.Parse(u.text)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return len(p), nil
	}
	if err := u.begin(u.text[n:]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// next makes u ready for another exchange.
func (u *tunnelUpstream) next() {
	u.leave()
	u.began, u.ready, u.ended, u.st = false, false, false, nil
	u.over.Store(false)
	u.text, u.in, u.at = u.text[:0], u.in[:0], 0
	u.stop.limit(0)
	u.down = answerText{}
}

// leave ends the use of a connection.
func (u *tunnelUpstream) leave() {
	if u.slot != nil {
		u.slot.busy.Add(-1)
		u.slot = nil
	}
}

// begin begins an exchange whose head is in u.req, with what is there of the
// body.
func (u *tunnelUpstream) begin(rest []byte) error {
	r := &u.req
	u.began = true
	upgrade := r.Upgrade && !r.Chunked && r.Length <= 0
	u.ask = wirehttp.Request{
		Method: r.Method, Scheme: u.scheme, Authority: r.Host, Path: r.Target,
		Fields: u.ask.Fields[:0],
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Kind {
		case http1.EndToEnd, http1.FieldContentLength, http1.FieldExpect, http1.FieldTE:
		case http1.FieldUpgrade:
			if !upgrade {
				continue
			}
		default:
			continue
		}
		u.ask.Fields = append(u.ask.Fields, wirehttp.Field{Name: r.Name(f), Value: r.FieldValue(f)})
	}
	u.up = body{kind: bodyNone}
	switch {
	case r.Chunked:
		u.up.kind = bodyChunked
	case r.Length > 0:
		u.up = body{kind: bodyLength, left: r.Length}
	}
	if !upgrade && u.small(rest) {
		u.ready = true
		return nil
	}
	u.ask.Streamed, u.ask.Body = true, nil
	if err := u.open(); err != nil {
		return err
	}
	if upgrade { // what follows the head may be another protocol
		u.up.kind = bodyToEOF
	}
	if len(rest) == 0 && u.up.kind != bodyNone {
		return nil
	}
	return u.upload(rest)
}

// small takes the body if all of it is there and fits into one message.
func (u *tunnelUpstream) small(rest []byte) bool {
	if len(rest) > wirehttp.MaxBody {
		return false
	}
	if u.up.kind != bodyChunked {
		u.ask.Body = rest
		return u.up.kind == bodyNone || int64(len(rest)) == u.up.left
	}
	trial := u.up
	u.body = u.body[:0]
	for {
		data, n, err := trial.next(rest)
		if err != nil || n == 0 && !trial.done() {
			return false // what is wrong with it is found when it is sent
		}
		u.body = append(u.body, data...)
		rest = rest[n:]
		if trial.done() {
			u.ask.Body = u.body
			return len(trial.chunks.Trailers) == 0
		}
	}
}

// open opens a stream with the head.
func (u *tunnelUpstream) open() (err error) {
	u.out = u.ask.Append(u.out[:0])
	for tries := 0; ; tries++ {
		var conn *wire.Conn
		if u.slot, conn, err = u.remote.take(&u.stop); err != nil {
			return err
		}
		u.st, err = conn.Stream(&u.stop, wirehttp.ID, u.out)
		if err == nil {
			u.remote.streams.Add(1)
			return nil
		}
		if !u.another(conn, err, tries) {
			return farError(err)
		}
	}
}

// upload sends bytes that follow the head.
func (u *tunnelUpstream) upload(p []byte) error {
	for p = u.up.with(p); len(p) > 0 || u.up.kind == bodyNone; {
		data, n, err := u.up.next(p)
		if err != nil {
			return err
		}
		for len(data) > 0 {
			piece := data[:min(len(data), maxPiece)]
			data = data[len(piece):]
			u.out = wirehttp.AppendData(u.out[:0], piece)
			if err := u.st.Send(&u.stop, u.out); err != nil {
				return u.uploadError(err)
			}
		}
		if u.up.done() {
			return u.finish()
		}
		if p = p[n:]; n == 0 {
			u.up.tail = bytes.Clone(p)
			break
		}
	}
	return nil
}

// maxPiece is how much of a body goes into one frame: it is sent from where it
// is, without a copy that waits.
const maxPiece = wirehttp.MaxPart - 1<<10

// finish says that the request is complete.
func (u *tunnelUpstream) finish() error {
	u.over.Store(true)
	if u.up.kind == bodyChunked { // the end of the stream alone may be that of a peer
		u.out = wirehttp.AppendTrailers(u.out[:0], trailerFields(nil, u.up.chunks.Trailers))
		if err := u.st.Send(&u.stop, u.out); err != nil {
			return u.uploadError(err)
		}
	}
	return farError(u.st.Finish())
}

// uploadError is the error of sending a part of the body. An answer may come
// nevertheless.
func (u *tunnelUpstream) uploadError(err error) error {
	if errors.Is(err, wire.ErrFinished) {
		return os.ErrClosed
	}
	return farError(err)
}

// Read gives a part of the answer.
func (u *tunnelUpstream) Read(p []byte) (int, error) {
	for u.at == len(u.in) {
		if u.ended {
			return 0, io.EOF
		}
		u.in, u.at = u.in[:0], 0
		if err := u.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, u.in[u.at:])
	u.at += n
	return n, nil
}

// more gets the next part of the answer.
func (u *tunnelUpstream) more() (err error) {
	switch {
	case u.ready:
		u.ready = false
		u.over.Store(true)
		return u.request()
	case u.st == nil:
		<-u.stop.Done() // nothing was asked
		return u.stop.Err()
	}
	u.payload, err = u.st.Recv(&u.stop, u.payload[:0])
	switch {
	case errors.Is(err, io.EOF) && u.down.tunnel:
		u.ended = true
	case errors.Is(err, io.EOF): // what has its length known does not come here
		return io.ErrUnexpectedEOF
	case err != nil:
		return farError(err)
	case !u.render():
		return errBadRemote
	}
	if u.down.finished && u.over.Load() {
		u.leave()
	}
	return nil
}

// render writes the part that has come as text. It reports false if it has no
// place in an answer.
func (u *tunnelUpstream) render() bool {
	p := &u.part
	if u.part.Decode(u.payload) != nil || u.down.begun == (p.Kind == wirehttp.Head) {
		return false
	}
	switch p.Kind {
	case wirehttp.Head:
		u.in = u.down.appendHead(u.in, p.Status, p.Fields, u.req.IsHead)
	case wirehttp.Data:
		u.in = u.down.appendData(u.in, p.Data)
	case wirehttp.Trailers:
		u.ended = true
		u.in = u.down.appendEnd(u.in, p.Fields)
	default:
		return false
	}
	return true
}

// request sends the request and takes its answer, or the beginning of it.
func (u *tunnelUpstream) request() (err error) {
	u.stop.limit(u.remote.srv.opts.ProxyRead)
	u.out = u.ask.Append(u.out[:0])
	var conn *wire.Conn
	for tries := 0; ; tries++ {
		if u.slot, conn, err = u.remote.take(&u.stop); err != nil {
			return err
		}
		u.payload, err = conn.Request(&u.stop, wirehttp.ID, u.out, u.payload[:0])
		if err == nil {
			break
		}
		if !u.another(conn, err, tries) {
			return farError(err)
		}
	}
	u.remote.requests.Add(1)
	a := &u.answer
	if err := a.Decode(u.payload); err != nil {
		return errBadRemote
	}
	u.in = u.down.appendHead(u.in, a.Status, a.Fields, u.req.IsHead)
	u.in = u.down.appendData(u.in, a.Body)
	if a.Rest == 0 && !u.down.begun {
		return errBadRemote
	}
	if a.Rest == 0 {
		u.ended = true
		u.in = u.down.appendEnd(u.in, a.Trailers)
		u.leave()
		return nil
	}
	u.stop.limit(0)
	u.out = wirehttp.AppendNumber(u.out[:0], a.Rest)
	if u.st, err = conn.Stream(&u.stop, wirehttp.ID, u.out); err == nil {
		u.remote.streams.Add(1)
		err = u.st.Finish()
	}
	return farError(err)
}

// another ends the use of a connection on which a request has failed, and reports
// whether to try another one: that the far end has not seen it.
func (u *tunnelUpstream) another(conn *wire.Conn, err error, tries int) bool {
	again := unsent(err)
	if again {
		u.remote.leave(u.slot, conn)
	}
	u.leave()
	return again && tries < len(u.remote.slots)
}

// unsent reports whether the far end has not seen what has failed with err, and
// another connection may do.
func unsent(err error) bool {
	var lost *wire.LostError
	var told *wire.Error
	return errors.Is(err, wire.ErrGoingAway) || errors.As(err, &lost) && !lost.Sent ||
		errors.As(err, &told) && told.Code == wire.Unavailable && told.Retryable
}

// farError returns the error of a request that has failed on the wire.
func farError(err error) error {
	var lost *wire.LostError
	var told *wire.Error
	switch {
	case errors.As(err, &lost), errors.Is(err, wire.ErrClosed):
		return errLostRemote
	case errors.As(err, &told):
		status, text := http.StatusBadGateway, "the far end: "+told.Text
		switch told.Code {
		case wire.Unavailable, wire.ResourceExhausted:
			status = http.StatusServiceUnavailable
		case wire.DeadlineExceeded:
			status = http.StatusGatewayTimeout
		case wire.Unimplemented:
			text = "the far end takes no HTTP: is it hotrow proxy --exit, or hotrow serve?"
		}
		return &statusError{status, text}
	}
	return err
}

// Close ends the exchange, if one is under way.
func (u *tunnelUpstream) Close() error {
	if u.st != nil && !(u.down.finished && u.over.Load()) {
		_ = u.st.Close()
	}
	u.leave()
	u.stop.stop()
	return nil
}

// CloseWrite says that nothing more is sent through a tunnel.
func (u *tunnelUpstream) CloseWrite() error {
	if u.st == nil {
		return net.ErrClosed
	}
	u.over.Store(true)
	return u.st.Finish()
}

// The rest of net.Conn.

func (u *tunnelUpstream) SetDeadline(t time.Time) error      { u.stop.set(t); return nil }
func (u *tunnelUpstream) SetReadDeadline(t time.Time) error  { u.stop.set(t); return nil }
func (u *tunnelUpstream) SetWriteDeadline(t time.Time) error { u.stop.set(t); return nil }
func (u *tunnelUpstream) LocalAddr() net.Addr                { return wireAddr{} }
func (u *tunnelUpstream) RemoteAddr() net.Addr               { return wireAddr{} }

// A wireAddr is the address of what has none.
type wireAddr struct{}

func (wireAddr) Network() string { return "wire" }
func (wireAddr) String() string  { return "wire" }
