package eventloop

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// handshake does TLS's. It reports whether the connection stays.
func (s *stream) handshake(tc *tls.Conn) bool {
	ctx, cancel := context.WithTimeout(context.Background(), s.srv.cfg.Header)
	defer cancel()
	s.idle.Store(true) // nobody has asked for anything yet: a shutdown does not wait
	err := os.ErrDeadlineExceeded
	if !s.srv.reaping.Load() {
		if end, ok := s.srv.gate.BeginHandshake(ctx); ok {
			err = doHandshake(ctx, tc, end)
		}
	}
	s.idle.Store(false)
	switch {
	case err != nil:
		s.srv.refuse(s.nc, err)
	case !agreedOnHTTP2(tc):
		return true
	case s.srv.cfg.HTTP2 != nil:
		s.speakHTTP2()
		return true
	}
	s.close()
	return false
}

// doHandshake does a handshake whose turn it is, and ends the turn whatever happens.
func doHandshake(ctx context.Context, tc *tls.Conn, end func()) error {
	defer end()
	return tc.HandshakeContext(ctx)
}

// agreedOnHTTP2 reports whether the peer speaks h2 from now on.
func agreedOnHTTP2(tc *tls.Conn) bool {
	return tc.ConnectionState().NegotiatedProtocol == "h2"
}

// refuse says why a handshake has failed. A peer that does not speak TLS at all
// may be told so in its own language.
func (s *Server) refuse(nc net.Conn, err error) {
	if !s.reaping.Load() && errors.Is(err, context.DeadlineExceeded) {
		s.count.timedOut.Add(1)
	}
	s.cfg.Log.Debug("TLS handshake failed", "peer", nc.RemoteAddr(), "error", err)
	var plain tls.RecordHeaderError
	if !errors.As(err, &plain) || plain.Conn == nil || s.cfg.NotTLS == nil {
		return
	}
	answer := s.cfg.NotTLS(plain.RecordHeader)
	if len(answer) == 0 || plain.Conn.SetDeadline(time.Now().Add(s.cfg.Header)) != nil {
		return
	}
	if _, err := plain.Conn.Write(answer); err == nil {
		lingerOn(plain.Conn)
	}
}
