package eventloop

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// dialSilent connects and says nothing.
func dialSilent(t *testing.T, s *site) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", s.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(timeLimit))
	return nc
}

// TestTLS_HandshakesHaveADeadline: whether nothing comes or too little.
func TestTLS_HandshakesHaveADeadline(t *testing.T) {
	c := Config{Header: 300 * time.Millisecond, Idle: time.Minute}
	each(t, []string{"tls"}, c, func(t *testing.T, s *site) {
		silent, slow := dialSilent(t, s), dialSilent(t, s)
		// The header of a record, and a little of a ClientHello.
		if _, err := io.WriteString(slow, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, c := range []net.Conn{silent, slow} {
			if b, err := io.ReadAll(c); len(b) > 100 || waittest.Late(time.Since(start), 3*time.Second) {
				t.Errorf("%q, %v after %v", b, err, time.Since(start))
			}
		}
		eventually(t, "both are counted", func() bool {
			n := s.server.Stats()
			return n.TimedOut == 2 && n.Open == 0
		})
	})
}

// TestTLS_ShutdownDoesNotWaitForHandshakes of peers that say nothing.
func TestTLS_ShutdownDoesNotWaitForHandshakes(t *testing.T) {
	each(t, []string{"tls"}, Config{Header: time.Minute}, func(t *testing.T, s *site) {
		dialSilent(t, s)
		eventually(t, "it is accepted", func() bool { return s.server.Stats().Open == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
		defer cancel()
		if err := s.server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

// TestTLS_TellsPeersThatSpeakPlain what the protocol wants them told.
func TestTLS_TellsPeersThatSpeakPlain(t *testing.T) {
	c := Config{NotTLS: func(begin [5]byte) []byte {
		if string(begin[:]) == "PLAIN" {
			return []byte("TLS, please")
		}
		return nil
	}}
	each(t, []string{"tls"}, c, func(t *testing.T, s *site) {
		for text, want := range map[string]string{"PLAIN and more": "TLS, please", "OTHER": ""} {
			nc := dialSilent(t, s)
			if _, err := io.WriteString(nc, text); err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(nc)
			if string(b) != want {
				t.Errorf("%q is told %q, %v; want %q", text, b, err, want)
			}
		}
		c := s.dial(t)
		c.send(get("/hit/1"))
		c.want(200, "hit 1")
	})
}

// TestTLS_ResumesSessions: a ticket of one connection is good for the next.
func TestTLS_ResumesSessions(t *testing.T) {
	each(t, []string{"tls"}, Config{}, func(t *testing.T, s *site) {
		cfg := clientTLS()
		cfg.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		for i := range 2 {
			nc, err := tls.Dial("tcp", s.addr.String(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			_ = nc.SetDeadline(time.Now().Add(timeLimit))
			if got := nc.ConnectionState().DidResume; got != (i > 0) {
				t.Errorf("connection %d: resumed %v", i, got)
			}
			// The ticket comes with what the server sends first.
			if _, err := io.WriteString(nc, get("/hit/1", "Connection: close")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(nc); err != nil {
				t.Error(err)
			}
			_ = nc.Close()
		}
	})
}
