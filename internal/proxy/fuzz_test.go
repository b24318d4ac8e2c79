package proxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// FuzzRelayRequest: whatever a client sends, the upstream gets requests that
// are well formed, and the proxy goes on.
func FuzzRelayRequest(f *testing.F) {
	for _, s := range smuggled {
		f.Add([]byte(s + forged))
	}
	for _, s := range badChunks {
		f.Add([]byte("POST / HTTP/1.1\r\nHost: up\r\nTransfer-Encoding: chunked\r\n\r\n" + s + forged))
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: up\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nGET"))
	f.Add([]byte("PUT / HTTP/1.1\r\nHost: up\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"))
	up := upstreamScript(f, func(nc net.Conn, br *bufio.Reader) {
		for {
			req, err := http.ReadRequest(br)
			if err == nil {
				_, err = io.Copy(io.Discard, req.Body)
			}
			if err != nil {
				// A target may hold what net/http takes for a bad escape: the
				// client's business, and no matter of framing.
				if !isEnd(err) && !strings.Contains(err.Error(), "invalid URL") &&
					!strings.Contains(err.Error(), "parse ") && !strings.Contains(err.Error(), "Host") {
					f.Errorf("the upstream got what is not a request: %v", err)
				}
				return
			}
			if _, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
				return
			}
		}
	})
	_, addr := start(f, Options{Upstreams: []string{"http://" + up.addr}})
	f.Fuzz(func(t *testing.T, b []byte) {
		defer up.forget()
		c := call(t, addr)
		_ = c.nc.SetDeadline(waittest.Deadline(5 * time.Second))
		_, _ = c.nc.Write(b)
		_ = c.nc.(*net.TCPConn).CloseWrite()
		_, err := io.Copy(io.Discard, c.br)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the proxy neither answers nor closes", b)
		}
	})
}

// isEnd reports whether an error is that of a connection that has ended.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "reset") || errors.Is(err, os.ErrDeadlineExceeded)
}

// FuzzRelayResponse: whatever an upstream answers, the client gets one answer
// that is well formed, or the end of the connection.
func FuzzRelayResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.0 200 OK\r\n\r\nabc", "nonsense",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc",
	} {
		f.Add([]byte(s))
	}
	answers := make(chan []byte, 100)
	up := upstreamScript(f, func(nc net.Conn, br *bufio.Reader) {
		if _, _, err := readRequest(br); err == nil {
			_, _ = nc.Write(<-answers)
		}
	})
	_, addr := start(f, Options{Upstreams: []string{"http://" + up.addr}})
	f.Fuzz(func(t *testing.T, b []byte) {
		defer up.forget()
		c := call(t, addr)
		answers <- b
		c.send("POST / HTTP/1.1\r\nHost: up\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		for {
			resp, err := http.ReadResponse(c.br, nil)
			if err != nil {
				t.Fatalf("%q: the client gets no answer: %v", b, err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			if err != nil && !isEnd(err) {
				t.Fatalf("%q: the client gets a broken body: %v", b, err)
			}
			if resp.StatusCode >= 200 {
				break
			}
		}
		if rest, _ := io.ReadAll(c.br); len(rest) > 0 {
			t.Fatalf("%q: the client gets more: %q", b, rest)
		}
	})
}
