package httpfront

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// newTLSSite is newServer over TLS, whatever the road of this run.
func newTLSSite(t *testing.T, road string, change ...func(*Options)) *site {
	t.Helper()
	t.Setenv("HOTROW_TEST_ROAD", road)
	return newServer(t, change...)
}

func TestTLS_HitsStayOnTheLoop(t *testing.T) {
	s := newTLSSite(t, "tls")
	for range 3 {
		s.hot("/depts/10")
	}
	a := s.do("PATCH", "/depts/10", `{"loc":"OSLO"}`)
	s.want(a, 200, "")
	for range 5 {
		if a = s.hot("/depts/10"); a.ProtoMajor != 1 || !strings.Contains(a.body, "OSLO") {
			t.Errorf("%s %s", a.Proto, a.body)
		}
	}
	if st := s.over.Stats(); st.HandedOver != 0 || st.Accepted != 1 {
		t.Errorf("a PATCH among hits of one connection: %+v", st)
	}
}

func TestTLS_HTTP2StaysOnTheLoop(t *testing.T) {
	s := newTLSSite(t, "h2", func(o *Options) { o.HSTS = true })
	for range 5 {
		a := s.hot("/depts/10")
		if a.ProtoMajor != 2 || !strings.Contains(a.body, "ACCOUNTING") ||
			a.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s %v %s", a.Proto, a.Header, a.body)
		}
	}
	eventually(t, "a PATCH stays, unless its body takes long", func() bool {
		before := s.over.Stats().HandedOver
		s.want(s.do("PATCH", "/depts/10", `{"loc":"OSLO"}`), 200, "")
		return s.over.Stats().HandedOver == before
	})
	s.want(s.do("GET", "/depts/99", ""), 404, "not-found")
	s.want(s.do("GET", "/depts/10", "", "Host: evil.example"), 421, "misdirected")
	if st := s.over.Stats(); st.Accepted != 1 || st.Open != 1 {
		t.Errorf("%+v, want one connection", st)
	}
}

// TestTLS_CertificateIsReplaced: connections that are open stay, new ones see
// the new certificate, and a client that trusts the old one only leaves.
func TestTLS_CertificateIsReplaced(t *testing.T) {
	for _, road := range []string{"tls", "h2"} {
		s := newTLSSite(t, road)
		s.hot("/depts/10")
		second := tlstest.New(t, "second")
		s.cert.Set(second.Pair(t), tls.VersionTLS12)
		s.hot("/depts/10")
		if n := s.over.Stats().Accepted; n != 1 {
			t.Errorf("%s: %d connections, want the one that was open", road, n)
		}
		if c, err := tls.Dial("tcp", s.addr, s.trust); err == nil {
			_ = c.Close()
			t.Errorf("%s: the old certificate is shown", road)
		}
		c, err := tls.Dial("tcp", s.addr, &tls.Config{RootCAs: second.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ConnectionState().PeerCertificates[0].Subject.CommonName; got != "second" {
			t.Errorf("%s: the certificate is %q", road, got)
		}
		_ = c.Close()
	}
}

func TestTLS_OldVersionsAreRefused(t *testing.T) {
	s := newTLSSite(t, "tls")
	try := func(version uint16) error {
		c := s.trust.Clone()
		c.MinVersion, c.MaxVersion = tls.VersionTLS10, version
		conn, err := tls.Dial("tcp", s.addr, c)
		if err == nil {
			_ = conn.Close()
		}
		return err
	}
	if err := try(tls.VersionTLS12); err != nil {
		t.Errorf("TLS 1.2: %v", err)
	}
	if err := try(tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
	s.cert.Set(s.pair, tls.VersionTLS13)
	if err := try(tls.VersionTLS12); err == nil {
		t.Error("TLS 1.2 is spoken although 1.3 was asked for")
	}
	if err := try(tls.VersionTLS13); err != nil {
		t.Errorf("TLS 1.3: %v", err)
	}
}

// TestTLS_PlainRequestsAreTold: a client that leaves the s out of https learns
// so, as from net/http; what is no HTTP gets no answer.
func TestTLS_PlainRequestsAreTold(t *testing.T) {
	s := newTLSSite(t, "tls")
	for _, text := range []string{plainGet, "HEAD / HTTP/1.1\r\n\r\n", "DELETE /depts/10 HTTP/1.1\r\n" +
		"Host: localhost\r\nCookie: " + strings.Repeat("x", 8000) + "\r\n\r\n"} {
		conn := dialPlain(t, s.addr)
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%.10q: %v", text, err)
		}
		body, err := io.ReadAll(a.Body)
		if a.StatusCode != 400 || err != nil || !strings.Contains(string(body), "HTTPS server") {
			t.Errorf("%.10q: %d %s, %v", text, a.StatusCode, body, err)
		}
	}
	for _, text := range []string{"get depts:10\r\n", "\x00\x00\x00\x00\x00\x00\x00\x00"} {
		conn := dialPlain(t, s.addr)
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(conn) // an alert at most
		if len(b) > 20 || os.IsTimeout(err) {
			t.Errorf("%q: %q, %v", text, b, err)
		}
	}
}

// dialPlain connects without TLS.
func dialPlain(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestTLS_HSTSOnBothRoads: hits, misses, absences and what net/http answers.
func TestTLS_HSTSOnBothRoads(t *testing.T) {
	const name = "Strict-Transport-Security"
	for _, on := range []bool{true, false} {
		s := newTLSSite(t, "tls", func(o *Options) { o.HSTS = on })
		for _, a := range []reply{s.do("GET", "/depts/10", ""), s.hot("/depts/10"),
			s.do("GET", "/depts/99", ""), s.do("GET", "/depts/99", ""),
			s.do("GET", "/", ""), s.do("PATCH", "/depts/10", `{"loc":"OSLO"}`)} {
			if got := a.Header.Get(name); (got == strictTransport) != on {
				t.Errorf("on %v: %s %s has %s %q", on, a.method(), a.path(), name, got)
			}
		}
	}
}
