package sqlfront

import (
	"context"
	"crypto/tls"
	"io"
	"net"
)

// ALPN is what a client says in a handshake of TLS that begins the connection.
const ALPN = "postgresql"

// negotiate answers what a client asks for before it says whom it is, and returns that, or its
// request to cancel. The client's leg is there from then on.
func (s *session) negotiate(ctx context.Context) (startup, error) {
	nc := s.conn
	var begin [1]byte
	if _, err := io.ReadFull(nc, begin[:]); err != nil {
		return startup{}, err
	}
	came := begin[:]
	if begin[0] == tlsHello && s.site.secure != nil {
		secured, err := s.handshake(ctx, &begun{nc, came})
		if err != nil {
			return startup{}, err
		}
		if secured.ConnectionState().NegotiatedProtocol != ALPN {
			return startup{}, errStartup // as PostgreSQL: it may be a browser
		}
		nc, came = secured, nil
	}
	for range 3 {
		first, err := readStartup(nc, came)
		came = nil
		if err != nil {
			return startup{}, err
		}
		if !first.asks() {
			s.client = newLeg(nc, s.share)
			return first, s.wantsTLS(&first)
		}
		answer := byte('N')
		_, already := nc.(*tls.Conn)
		if first.code == codeTLS && s.site.secure != nil && !already {
			answer = 'S'
		}
		if _, err := nc.Write([]byte{answer}); err != nil {
			return startup{}, err
		}
		if answer == 'S' {
			if nc, err = s.handshake(ctx, nc); err != nil {
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
func (s *session) handshake(ctx context.Context, nc net.Conn) (*tls.Conn, error) {
	end, ok := s.site.gate.BeginHandshake(ctx)
	if !ok {
		return nil, ctx.Err()
	}
	defer end()
	secured := tls.Server(nc, s.site.secure)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured, nil
}

// A begun is a connection whose first bytes were read.
type begun struct {
	net.Conn
	came []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.came) > 0 {
		n := copy(p, b.came)
		b.came = b.came[n:]
		return n, nil
	}
	return b.Conn.Read(p)
}
