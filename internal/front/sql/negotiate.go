package sqlfront

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/hotrow/hotrow/internal/eventloop"
)

// ALPN is what a client says in a handshake of TLS that begins the connection.
const ALPN = "postgresql"

// negotiate answers what a client asks for before it says whom it is, and returns that, or its
// request to cancel. The client's leg is there from then on.
func (s *session) negotiate(ctx context.Context) (startup, error) {
	plain := &begun{s.conn, s.conn.Unread()} // there is some
	var nc net.Conn = plain
	if plain.came[0] == tlsHello && s.site.secure != nil {
		secured, err := s.handshake(ctx, plain)
		if err != nil {
			return startup{}, err
		}
		if secured.ConnectionState().NegotiatedProtocol != ALPN {
			return startup{}, errStartup // as PostgreSQL: it may be a browser
		}
		nc = secured
	}
	for range 3 {
		first, err := readStartup(nc)
		if err != nil {
			return startup{}, err
		}
		if !first.asks() {
			s.client = newLeg(nc, eventloop.MeterOf(s.conn))
			return first, s.wantsTLS(&first)
		}
		answer := byte('N')
		if first.code == codeTLS && s.site.secure != nil && nc == plain {
			answer = 'S'
		}
		if _, err := nc.Write([]byte{answer}); err != nil {
			return startup{}, err
		}
		if answer == 'S' {
			if nc, err = s.handshake(ctx, plain); err != nil {
				return startup{}, err
			}
		}
	}
	return startup{}, errStartup
}

// wantsTLS returns why a session without TLS is none, where there is TLS. A request to cancel
// has no secrets but its own, and many clients send it so; a unix socket has no wire.
func (s *session) wantsTLS(first *startup) error {
	if s.site.secure == nil || s.client.secured() || first.code == codeCancel ||
		s.conn.LocalAddr().Network() == "unix" {
		return nil
	}
	return &fault{state: stateRefused, text: "this listener wants TLS",
		hint: "connect with sslmode=require", result: loginRefused}
}

// handshake does that of TLS, when it is its turn.
func (s *session) handshake(ctx context.Context, plain *begun) (*tls.Conn, error) {
	end, ok := s.site.server.BeginHandshake(ctx)
	if !ok {
		return nil, ctx.Err()
	}
	defer end()
	secured := tls.Server(eventloop.BelowTLS(plain.Borrowed, plain.came), s.site.secure)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, nil
}

// A begun is a client's connection whose first bytes were read.
type begun struct {
	eventloop.Borrowed
	came []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.came) > 0 {
		n := copy(p, b.came)
		b.came = b.came[n:]
		return n, nil
	}
	return b.Borrowed.Read(p)
}
