// Package wire is a transport for messages between programs: one-way messages,
// requests and streams, both ways over one connection. It speaks the protocol of
// github.com/bnclabs/gofast with such peers, and with its own kind also errors,
// deadlines, cancelling, credits, fragments and a graceful end.
//
// A Conn has one goroutine that reads and one that writes; a caller that is alone
// does both itself. What several callers send at the same time goes out in one
// write, and nothing is held back to wait for more. Dial and Accept make the two
// ends; from then on they are the same.
// Messages are bytes with an id: what they mean is for the application, or for
// package client, which reads and writes the rows of a hotrow server.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
)

// ALPN is the protocol's name in TLS.
const ALPN = "hotrow/1"

// Code is why a request or stream has failed: gRPC's codes, by number and name.
type Code = gofast.Code

// The codes.
const (
	Canceled           = gofast.Canceled
	Unknown            = gofast.Unknown
	InvalidArgument    = gofast.InvalidArgument
	DeadlineExceeded   = gofast.DeadlineExceeded
	NotFound           = gofast.NotFound
	AlreadyExists      = gofast.AlreadyExists
	PermissionDenied   = gofast.PermissionDenied
	ResourceExhausted  = gofast.ResourceExhausted
	FailedPrecondition = gofast.FailedPrecondition
	Aborted            = gofast.Aborted
	OutOfRange         = gofast.OutOfRange
	Unimplemented      = gofast.Unimplemented
	Internal           = gofast.Internal
	Unavailable        = gofast.Unavailable
	DataLoss           = gofast.DataLoss
	Unauthenticated    = gofast.Unauthenticated
)

// An Error is what the peer has answered in place of an answer, or what a
// handler returns to have it answered. Any other error of a handler is told as
// Unknown.
type Error = gofast.Error

// The errors that callers branch on. Those of the peer are *Error, those of a
// context the context's own.
var (
	// ErrClosed says that Close was called.
	ErrClosed = errors.New("wire: connection is closed")
	// ErrTooLarge says that the peer does not take a message of this size.
	ErrTooLarge = gofast.ErrTooLarge
	// ErrGoingAway says that one end is about to close: use another connection.
	ErrGoingAway = gofast.ErrGoingAway
	// ErrReserved says that a message id belongs to the protocol, or is 0.
	ErrReserved = gofast.ErrReserved
	// ErrFinished says that the stream was finished or closed on this side.
	ErrFinished = errors.New("wire: stream is finished")
)

// A LostError says that the connection has ended before the answer came.
type LostError struct {
	// Sent says that the peer may have seen the request; false: it has not.
	Sent bool
	Err  error // why the connection has ended
}

// Error says why the connection has ended.
func (e *LostError) Error() string {
	if e.Sent {
		return "wire: connection lost before the answer: " + e.Err.Error()
	}
	return "wire: connection lost before the request was sent: " + e.Err.Error()
}

// Unwrap returns why the connection has ended.
func (e *LostError) Unwrap() error { return e.Err }

// Options say how a Conn behaves. A zero field takes the default that its
// comment names.
type Options struct {
	Name    string // told to the peer (hotrow)
	Version uint64 // told to the peer, which decides what it means (1)
	Token   []byte // told to a server

	// Handlers say what is done with what the peer sends. nil: requests and
	// streams are refused, posts are dropped.
	Handlers *Handlers

	// TLS is used by Dial and Accept, if set. The peers then agree on the
	// protocol ALPN, or there is no connection.
	TLS *tls.Config

	MaxMessage   int // bytes of the longest message that is accepted (1 MiB)
	MaxExchanges int // requests and streams that the peer may have open (1,024)
	MaxCalls     int // that this end opens at most; callers beyond it wait (16,384)
	Queue        int // bytes that may wait to be written; callers beyond it wait (1 MiB)
	StreamCredit int // bytes of a stream that may wait to be received (256 KiB)

	// Compression are the encodings that are read, and that are used to send when
	// the peer reads them: gzip, lzw, and zstd with peers that know it. Empty: none.
	Compression []string

	HandshakeTimeout time.Duration // for the peer to say who it is (10s)
	Heartbeat        time.Duration // between signs of life (5s); negative: none
	Missed           int           // heartbeats until the peer counts as dead (3)
	StuckTimeout     time.Duration // until a peer that takes nothing is cut off (30s)

	// Opaques are the first and the last number of exchanges of this end, which an
	// old gofast peer must not use for its own. Zero: a range that none is known
	// to use.
	Opaques [2]uint64

	// Legacy says to offer nothing beyond gofast's own protocol.
	Legacy bool
}

// The defaults of Options that are not the session's.
const (
	defaultQueue     = 1 << 20
	defaultHandshake = 10 * time.Second
	defaultStuck     = 30 * time.Second
)

// config returns the session's part of o.
func (o *Options) config(server bool) (gofast.Config, error) {
	c := gofast.Config{
		Server: server, Name: o.Name, Version: o.Version, Legacy: o.Legacy, Token: o.Token,
		MaxMessage: o.MaxMessage, Credit: o.StreamCredit, Exchanges: o.MaxExchanges,
		Own: o.MaxCalls, Handshake: o.handshake(), Heartbeat: o.Heartbeat, Missed: o.Missed,
	}
	for _, name := range o.Compression {
		tag := gofast.ParseTags(name)
		if tag == 0 {
			return c, fmt.Errorf("compression %q is not known: want gzip, lzw or zstd", name)
		}
		c.Tags |= tag
	}
	c.Compress = c.Tags != 0
	if o.Opaques != [2]uint64{} {
		c.Opaques = gofast.Range{First: o.Opaques[0], Last: o.Opaques[1], Step: 1}
		if o.Opaques[0] < gofast.FirstOpaque || o.Opaques[1] > gofast.LastOpaque ||
			o.Opaques[1] < o.Opaques[0]+16 {
			return c, fmt.Errorf("opaques %d to %d: want at least 17 from %d to %d", o.Opaques[0],
				o.Opaques[1], gofast.FirstOpaque, gofast.LastOpaque)
		}
	}
	return c, nil
}

// handshake returns the timeout of the handshake.
func (o *Options) handshake() time.Duration {
	if o.HandshakeTimeout > 0 {
		return o.HandshakeTimeout
	}
	return defaultHandshake
}

// Dial connects to an address, "127.0.0.1:9900" or "unix:/path", and returns
// when the two ends know each other.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	network := "tcp"
	if len(address) > 5 && address[:5] == "unix:" {
		network, address = "unix", address[5:]
	}
	ctx, cancel := context.WithTimeout(ctx, o.handshake())
	defer cancel()
	var d net.Dialer
	nc, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	if o.TLS != nil {
		cfg := o.TLS.Clone()
		cfg.NextProtos = []string{ALPN}
		if cfg.ServerName == "" {
			cfg.ServerName, _, _ = net.SplitHostPort(address)
		}
		nc = tls.Client(nc, cfg)
	}
	c, err := start(ctx, nc, o, false)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	return c, nil
}

// Client is Dial for a connection that is there already. It closes nc when it
// fails.
func Client(ctx context.Context, nc net.Conn, o Options) (*Conn, error) {
	if o.TLS != nil {
		cfg := o.TLS.Clone()
		cfg.NextProtos = []string{ALPN}
		nc = tls.Client(nc, cfg)
	}
	return start(ctx, nc, o, false)
}

// Accept makes the other end of a connection that a listener has accepted, and
// returns when the two ends know each other. It closes nc when it fails. Do not
// call it in the loop that accepts: a slow peer would keep others waiting.
func Accept(ctx context.Context, nc net.Conn, o Options) (*Conn, error) {
	if o.TLS != nil {
		cfg := o.TLS.Clone()
		cfg.NextProtos = []string{ALPN}
		nc = tls.Server(nc, cfg)
	}
	return start(ctx, nc, o, true)
}

// start makes a Conn and waits for the handshake.
func start(ctx context.Context, nc net.Conn, o Options, server bool) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.handshake())
	defer cancel()
	cfg, err := o.config(server)
	if err == nil {
		err = secure(ctx, nc)
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	c := newConn(nc, o, cfg)
	select {
	case <-c.ready:
		return c, nil
	case <-c.done:
		err = c.Err()
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = c.Close()
	return nil, fmt.Errorf("handshake: %w", err)
}

// secure makes the handshake of TLS, if nc is such a connection.
func secure(ctx context.Context, nc net.Conn) error {
	tc, ok := nc.(*tls.Conn)
	if !ok {
		return nil
	}
	if err := tc.HandshakeContext(ctx); err != nil {
		return err
	}
	if got := tc.ConnectionState().NegotiatedProtocol; got != ALPN {
		return fmt.Errorf("the peer does not speak %s over TLS: is this the wire port?", ALPN)
	}
	return nil
}
