// Package fallback asks one HTTP server, that stands behind hotrow, what hotrow does not answer
// itself. It bounds how many ask at once, how long they wait and how large an answer may be, and
// leaves the server alone for a while when it is away. What may be asked is decided elsewhere.
package fallback

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// The bounds of every Server.
const (
	Relays     = 32               // requests that are under way: more wait for their turn
	RelayTurn  = time.Second      // how long they wait for it
	RelayWait  = 30 * time.Second // for a whole answer
	dialWait   = 5 * time.Second
	idleWait   = time.Minute
	headBytes  = 64 << 10
	firstBytes = 32 << 10 // of a body whose length is not said
)

// The errors of Ask. After ErrAway and ErrBusy nothing was done, after ErrTooLarge it was. After
// the others nobody knows.
var (
	ErrAway     = errors.New("it cannot be reached")
	ErrBusy     = errors.New("too many requests are under way")
	ErrLost     = errors.New("its answer broke off")
	ErrTimeout  = errors.New("it took too long")
	ErrTooLarge = errors.New("its answer is too large")
)

// Options are how a Server is asked.
type Options struct {
	URL  *url.URL         // of what paths are below: https://host/rest/v1
	Most int64            // bytes of an answer's body
	Log  *slog.Logger     // nil: none
	Now  func() time.Time // nil: time.Now
	Wait time.Duration    // for a whole answer; 0: RelayWait
}

// A Server is the one that stands behind. Its methods may be called by many goroutines.
type Server struct {
	o       Options
	host    string
	base    string // of paths, without a slash at the end
	client  *http.Transport
	turns   chan struct{}
	circuit circuit
	counts  counts
}

// Parse reads the URL of a server.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, fmt.Errorf("want a URL such as http://127.0.0.1:3000, found %q", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("want http or https, found %q", u.Scheme)
	case u.User != nil:
		return nil, errors.New("want a URL without a user: clients send tokens of their own")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("want a URL without a query")
	}
	return u, nil
}

// New returns the server of a URL that Parse has read.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait <= 0 {
		o.Wait = RelayWait
	}
	dialer := &net.Dialer{Timeout: dialWait}
	s := &Server{o: o, host: o.URL.Host, base: strings.TrimRight(o.URL.EscapedPath(), "/"),
		turns: make(chan struct{}, Relays)}
	s.client = &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: dialWait, ForceAttemptHTTP2: true,
		TLSClientConfig:    &tls.Config{MinVersion: tls.VersionTLS12},
		DisableCompression: true, MaxConnsPerHost: Relays, MaxIdleConnsPerHost: Relays,
		IdleConnTimeout: idleWait, MaxResponseHeaderBytes: headBytes,
	}
	return s
}

// Close closes the connections that nobody uses.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Base returns the path that all others are below; "" is the root.
func (s *Server) Base() string { return s.base }

// Origin returns the scheme and the host.
func (s *Server) Origin() string { return s.o.URL.Scheme + "://" + s.host }

// A Request is what is asked. Its path is escaped, and below that of the server.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// An Answer is what came of it.
type Answer struct {
	Status int
	Header http.Header // with those of the connection
	Body   []byte
}

// Ask sends a request and reads the answer. It follows no redirect, and sends nothing twice
// that the server may have got.
//
// Errors: those of this package, and that of ctx.
func (s *Server) Ask(ctx context.Context, r *Request) (*Answer, error) {
	a, err := s.ask(ctx, r)
	s.counts.note(err)
	return a, err
}

func (s *Server) ask(ctx context.Context, r *Request) (*Answer, error) {
	if !s.circuit.admits(s.o.Now()) {
		return nil, ErrAway
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.turns }()
	limited, cancel := context.WithTimeout(ctx, s.o.Wait)
	defer cancel()
	var sent atomic.Bool
	req := s.request(limited, r, &sent)
	resp, err := s.client.RoundTrip(req)
	var a *Answer
	if err == nil {
		a, err = s.read(resp)
	}
	if ctx.Err() != nil { // nobody waits any more: it says nothing of the server
		return nil, ctx.Err()
	}
	if err == nil || errors.Is(err, ErrTooLarge) {
		if s.circuit.succeeded() {
			s.o.Log.Info("the fallback answers again", "event", "fallback", "url", s.Origin())
		}
		return a, err
	}
	why := ErrLost
	switch {
	case limited.Err() != nil:
		why = ErrTimeout
	case !sent.Load():
		why = ErrAway
	}
	if wait := s.circuit.failed(s.o.Now()); wait > 0 {
		s.o.Log.Warn("the fallback is left alone", "event", "fallback", "url", s.Origin(),
			"for", wait, "err", err)
	}
	return nil, fmt.Errorf("%w: %w", why, err)
}

// enter waits for the turn of a request.
func (s *Server) enter(ctx context.Context) error {
	// Fast path.
	select {
	case s.turns <- struct{}{}:
		return nil
	default:
	}

	// Slow path.
	t := time.NewTimer(RelayTurn)
	defer t.Stop()
	select {
	case s.turns <- struct{}{}:
		return nil
	case <-t.C:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read reads an answer.
func (s *Server) read(resp *http.Response) (*Answer, error) {
	defer func() { _ = resp.Body.Close() }()
	if resp.ContentLength > s.o.Most && resp.Request.Method != http.MethodHead {
		return nil, ErrTooLarge
	}
	b := bytes.NewBuffer(make([]byte, 0, min(max(resp.ContentLength, 0), firstBytes)))
	if _, err := b.ReadFrom(io.LimitReader(resp.Body, s.o.Most+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > s.o.Most {
		return nil, ErrTooLarge
	}
	return &Answer{Status: resp.StatusCode, Header: resp.Header, Body: b.Bytes()}, nil
}
