package httpserve

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// A lender hands every request over.
type lender struct{}

func (lender) Open(_ *eventloop.Conn, out []byte) []byte { return out }

func (lender) Step(_ *eventloop.Conn, _, out []byte) (int, []byte, eventloop.Next) {
	return 0, out, eventloop.HandOver
}

func (lender) Tick(_ *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	return out, eventloop.More
}

// TestServe_AmendsWhatOthersAnswer: answers that neither protocol nor handler makes get what
// all answers of a listener have, and no other answer does.
func TestServe_AmendsWhatOthersAnswer(t *testing.T) {
	const tooMany = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
	for _, goroutines := range []bool{false, true} {
		for _, secure := range []bool{false, true} {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			f := Options{Goroutines: goroutines, Amend: func(answer []byte) []byte {
				return http1.InsertLines(answer, "X-All: yes\r\n")
			}}
			made := tlstest.New(t, "amend")
			if secure {
				f.TLS = &tls.Config{Certificates: []tls.Certificate{*made.Pair(t)}, NextProtos: ALPN}
			}
			s, err := Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusTeapot)
			}), f, eventloop.Config{
				Proto: lender{}, Refusal: func() []byte { return []byte(tooMany) },
				Admit: admit.Bounds{Connections: func() (int, int) { return 2, 2 }},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			dial := func(plain bool) net.Conn {
				t.Helper()
				conn, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				_ = conn.SetDeadline(waittest.Deadline(time.Minute))
				if secure && !plain {
					conn = tls.Client(conn, &tls.Config{RootCAs: made.Pool(), ServerName: "localhost"})
				}
				t.Cleanup(func() { _ = conn.Close() })
				return conn
			}
			ask := func(conn net.Conn, raw string, code int, amended bool) {
				t.Helper()
				if _, err := io.WriteString(conn, raw); err != nil {
					t.Fatal(err)
				}
				a, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("%q: %v", raw, err)
				}
				defer a.Body.Close()
				if _, err := io.Copy(io.Discard, a.Body); err != nil {
					t.Errorf("%q: %v", raw, err)
				}
				if got := a.Header.Get("X-All") == "yes"; a.StatusCode != code || got != amended {
					t.Errorf("%q, TLS %v: %d, amended %v, want %d, %v", raw, secure, a.StatusCode, got, code, amended)
				}
			}
			const host = " HTTP/1.1\r\nHost: a\r\n\r\n"
			conn := dial(false)
			ask(conn, "GET /"+host, 418, false)
			ask(conn, "OPTIONS *"+host, 200, true)
			ask(conn, "GET /"+host, 418, false)
			ask(conn, "GET /%zz"+host, 400, true)
			_ = conn.Close()
			waittest.Until(t, "it has left", func() bool { return s.Stats().Open == 0 })
			if secure {
				ask(dial(true), "GET /"+host, 400, true)
				waittest.Until(t, "it has left", func() bool { return s.Stats().Open == 0 })
				continue
			}
			for range 2 {
				ask(dial(false), "GET /"+host, 418, false)
			}
			ask(dial(false), "", 503, true)
		}
	}
}

func TestNotTLS_SaysNothingToOthers(t *testing.T) {
	if got := notTLS([5]byte{1, 2, 3, 4, 5}); got != nil {
		t.Errorf("%q", got)
	}
	if got := string(http1.InsertLines(nil, "A: b\r\n")); got != "" {
		t.Errorf("nothing is amended to %q", got)
	}
	if got := string(notTLS([5]byte([]byte("GET /")))); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("%q", got)
	}
}
