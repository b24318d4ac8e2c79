package proxy

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A statusError is an error that the client is told with a status of its own.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// statusClientGone is what nginx calls it; it is logged and never sent.
const statusClientGone = 499

// What can go wrong with a request.
var (
	errHostRule       = &statusError{400, "the Host names no upstream"}
	errUpstreamName   = &statusError{400, "malformed name of an upstream"}
	errBodyEnded      = &statusError{400, "the request's body ended too early"}
	errLoop           = &statusError{508, "the request has been through this proxy before"}
	errTwoNames       = &statusError{400, "two names of an upstream"}
	errForeign        = &statusError{403, "a page of another site may not use the proxy"}
	errNotAllowed     = &statusError{403, "the upstream is not among those of --allow"}
	errDenied         = &statusError{403, "the upstream's address is refused; see --allow-address"}
	errNoPage         = &statusError{404, "there are /metrics, /.api/stats and /.api/http-stats"}
	errConnect        = &statusError{405, "CONNECT is switched off"}
	errSlowClient     = &statusError{408, "the request did not arrive in time"}
	errSlowUpstream   = &statusError{504, "the upstream did not answer in time"}
	errUpstreamClosed = &statusError{502, "the upstream closed the connection"}
	errCutShort       = &statusError{502, "the upstream cut its answer short"}
	errInterim        = &statusError{502, "the upstream sent too many 1xx answers"}
	errNoAddress      = &statusError{502, "the upstream has no address"}
	errOpen           = &statusError{503, "the upstream has failed repeatedly"}
	errQueue          = &statusError{503, "too many requests to the upstream"}
)

// An errResponse is a response that cannot be trusted.
type errResponse struct{ error }

func (e errResponse) Error() string { return "malformed response: " + e.error.Error() }
func (e errResponse) Unwrap() error { return e.error }

// statusOf returns the status that tells the client about err.
func statusOf(err error) int {
	var own *statusError
	var head *http1.HeadError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errClientGone):
		return statusClientGone
	case errors.As(err, new(errResponse)):
		return http.StatusBadGateway
	case errors.As(err, &own):
		return own.status
	case errors.As(err, &head):
		return head.Status
	case errors.As(err, &timeout) && timeout.Timeout():
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// textOf returns what the client is told about err. Of what went wrong on the
// upstream's side it is told no more than the kind: the rest names addresses,
// resolvers and certificates, and is in the log.
func textOf(err error) string {
	var own *statusError
	var head *http1.HeadError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, new(errResponse)):
		return "malformed response of the upstream"
	case errors.As(err, &own):
		return own.text
	case errors.As(err, &head):
		return head.Reason
	case errors.As(err, &dns):
		return "the upstream's name cannot be resolved"
	case errors.As(err, &certificate):
		return "the upstream's certificate cannot be trusted"
	case statusOf(err) == http.StatusGatewayTimeout:
		return errSlowUpstream.text
	}
	return "the upstream cannot be reached"
}

// refuseHead answers a request whose head is broken, and ends the connection:
// nothing behind it can be trusted.
func (c *client) refuseHead(x *roundTrip, err error) {
	x.began = time.Now()
	x.log = Entry{Time: x.began, Remote: c.remote}
	x.uri, x.host, x.method, x.agent = x.uri[:0], x.host[:0], x.method[:0], x.agent[:0]
	x.id = c.srv.ids.append(x.id[:0], x.began)
	x.req.HTTP10, x.req.IsHead = false, false
	x.up.total, x.down.total, x.addr, x.to = 0, 0, "", nil
	c.srv.count.requests.Add(1)
	c.srv.count.refused.Add(1)
	c.reply(x, statusOf(err), textOf(err), true)
	c.finish(x, statusOf(err), err)
	c.linger()
}

// fail tells the client that its request has failed. It reports whether the
// connection may be used again.
func (c *client) fail(x *roundTrip, err error) (keep bool) {
	c.discard()
	status := statusOf(err)
	if status == statusClientGone || errors.Is(err, os.ErrClosed) {
		c.stopUpload(x)
		c.finish(x, statusClientGone, errClientGone)
		return false
	}
	complete := x.whole || x.req.Length <= 0 && !x.req.Chunked
	if x.uploaded != nil {
		complete = c.stopUpload(x) && x.up.readErr == nil
	}
	closing := !complete || c.mustClose(x)
	sent := c.reply(x, status, textOf(err), closing)
	c.finish(x, status, err)
	if sent && !complete {
		c.linger()
	}
	return sent && !closing
}

// reply sends an answer of our own.
func (c *client) reply(x *roundTrip, status int, text string, closing bool) bool {
	out := strconv.AppendInt(append(x.reply[:0], "HTTP/1.1 "...), int64(status), 10)
	out = append(append(append(out, ' '), http.StatusText(status)...), "\r\n"...)
	out = http1.AppendDate(out, time.Now())
	out = append(out, "Content-Type: text/plain; charset=utf-8\r\n"...)
	text += "\n"
	out = http1.AppendLength(out, len(text))
	switch status {
	case http.StatusServiceUnavailable:
		out = append(out, "Retry-After: 1\r\n"...)
	case http.StatusMethodNotAllowed:
		out = append(out, "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n"...)
	}
	out = append(append(append(out, "X-Chocon-Id: "...), x.id...), "\r\n"...)
	out = append(c.appendConnection(out, x, closing), "\r\n"...)
	if !x.req.IsHead {
		out = append(out, text...)
		x.down.total = int64(len(text))
	}
	x.reply = out
	c.beforeWrite(false)
	_, err := c.sock.write(out)
	c.due.Store(0)
	return err == nil
}
