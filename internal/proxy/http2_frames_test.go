package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hotrow/hotrow/internal/tlstest"
)

// A framed is a connection of an upstream that says what its answers are made of.
type framed struct {
	*http2.Framer
	block bytes.Buffer
	enc   *hpack.Encoder
}

// head sends a head; fields are names and values in turn.
func (f *framed) head(id uint32, end bool, fields ...string) {
	f.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: f.block.Bytes(), EndHeaders: true, EndStream: end,
	})
}

// serveFrames answers the requests of a connection: answer is told the path of each.
func serveFrames(nc net.Conn, answer func(f *framed, id uint32, path string)) {
	if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := &framed{Framer: http2.NewFramer(nc, nc)}
	f.enc = hpack.NewEncoder(&f.block)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	_ = f.WriteSettings()
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch fr := frame.(type) {
		case *http2.SettingsFrame:
			if !fr.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !fr.IsAck() {
				_ = f.WritePing(true, fr.Data)
			}
		case *http2.MetaHeadersFrame:
			answer(f, fr.StreamID, fr.PseudoValue("path"))
		}
	}
}

// upstreamFrames is an upstream with TLS that speaks both versions, HTTP/1 as plain says,
// and a proxy with HTTP2 in front of it.
func upstreamFrames(
	t *testing.T, answer func(f *framed, id uint32, path string), plain func(net.Conn),
) (addr string) {
	t.Helper()
	cert := tlstest.New(t, "localhost")
	config := &tls.Config{
		Certificates: []tls.Certificate{*cert.Pair(t)}, MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
	}
	up := upstreamScript(t, func(nc net.Conn, _ *bufio.Reader) {
		c := tls.Server(nc, config)
		if c.Handshake() != nil {
			return
		}
		if c.ConnectionState().NegotiatedProtocol == "h2" {
			serveFrames(c, answer)
			return
		}
		plain(c)
	})
	_, port, _ := net.SplitHostPort(up.addr)
	_, addr = start(t, Options{
		Upstreams: []string{"https://localhost:" + port}, HTTP2: true,
		TLS: &tls.Config{RootCAs: cert.Pool(), MinVersion: tls.VersionTLS12},
	})
	return addr
}

// noPlain is an upstream that nobody asks over HTTP/1.
func noPlain(t *testing.T) func(net.Conn) {
	return func(nc net.Conn) {
		if _, err := nc.Read(make([]byte, 1)); err == nil {
			t.Error("the upstream was asked over HTTP/1")
		}
	}
}

// TestHTTP2_FramesAnswersByTheirStatus: what a client of HTTP/1.1 gets behind a head is
// said by status, method and fields, however the stream of the upstream ends.
func TestHTTP2_FramesAnswersByTheirStatus(t *testing.T) {
	const length = "content-length"
	tests := map[string]struct {
		method, status string
		fields         []string
		end            string // "head": the head is the end; "data": an empty part; else the body
		has, hasNot    []string
	}{
		"204, end apart":  {"GET", "204", nil, "data", nil, []string{"Transfer-Encoding", "Content-Length"}},
		"204":             {"GET", "204", nil, "head", nil, []string{"Transfer-Encoding", "Content-Length"}},
		"204, length":     {"GET", "204", []string{length, "0"}, "head", nil, []string{"Content-Length"}},
		"204, no end":     {"GET", "204", nil, "never", nil, []string{"Transfer-Encoding"}},
		"304, end apart":  {"GET", "304", nil, "data", nil, []string{"Transfer-Encoding", "Content-Length"}},
		"304, length":     {"GET", "304", []string{length, "55"}, "head", []string{"Content-Length: 55"}, nil},
		"304, both":       {"GET", "304", []string{length, "55"}, "data", []string{"Content-Length: 55"}, nil},
		"HEAD":            {"HEAD", "200", []string{length, "55"}, "head", []string{"Content-Length: 55"}, nil},
		"HEAD, end apart": {"HEAD", "200", nil, "data", nil, []string{"Transfer-Encoding"}},
		"200, no body":    {"GET", "200", nil, "head", []string{"Content-Length: 0"}, nil},
		"200, end apart":  {"GET", "200", nil, "data", []string{"Transfer-Encoding"}, []string{"Content-Length"}},
		"200, body":       {"GET", "200", nil, "abc", []string{"Transfer-Encoding"}, nil},
		"200, length":     {"GET", "200", []string{length, "3"}, "abc", []string{"Content-Length: 3"}, nil},
		"200, two lengths": {"GET", "200", []string{length, "3", length, "9"}, "abc", nil,
			[]string{"Content-Length"}},
		"200, no length": {"GET", "200", []string{length, "+3"}, "abc", nil, []string{"Content-Length"}},
		"of HTTP/1": {"GET", "200", []string{"connection", "close", "keep-alive", "timeout=1", "upgrade", "x",
			"proxy-connection", "x"}, "abc", nil, []string{"Connection", "Keep-Alive", "Upgrade"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			addr := upstreamFrames(t, func(f *framed, id uint32, path string) {
				if path == "/next" {
					f.head(id, true, ":status", "200", "content-length", "0", "x-next", "1")
					return
				}
				f.head(id, tt.end == "head", append([]string{":status", tt.status}, tt.fields...)...)
				switch tt.end {
				case "head", "never":
				case "data":
					_ = f.WriteData(id, true, nil)
				default:
					_ = f.WriteData(id, true, []byte(tt.end))
				}
			}, noPlain(t))
			c := call(t, addr)
			c.send(tt.method + " / HTTP/1.1\r\nHost: up\r\n\r\n")
			head := ""
			for !strings.HasSuffix(head, "\r\n\r\n") {
				head += c.line()
			}
			c.br = bufio.NewReader(io.MultiReader(strings.NewReader(head), c.br))
			want := ""
			if tt.end == "abc" {
				want = "abc"
			}
			if resp, body := c.answer(tt.method); fmt.Sprint(resp.StatusCode) != tt.status || body != want {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
			for _, s := range tt.has {
				if !strings.Contains(head, "\r\n"+s) {
					t.Errorf("no %q in %q", s, head)
				}
			}
			for _, s := range tt.hasNot {
				if strings.Contains(head, "\r\n"+s) {
					t.Errorf("%q in %q", s, head)
				}
			}
			c.send("GET /next HTTP/1.1\r\nHost: up\r\n\r\n")
			if resp, _ := c.answer("GET"); resp.Header.Get("X-Next") != "1" {
				t.Errorf("the next answer is %d %v", resp.StatusCode, resp.Header)
			}
		})
	}
}

// TestHTTP2_InterimAnswers: those that HTTP/1.1 would get are relayed, a 101 is refused.
func TestHTTP2_InterimAnswers(t *testing.T) {
	addr := upstreamFrames(t, func(f *framed, id uint32, path string) {
		for _, status := range strings.Split(strings.Trim(path, "/"), "/") {
			f.head(id, status == "200", ":status", status, "content-length", "0", "x-a", "b", "connection", "close")
		}
	}, noPlain(t))
	tests := map[string]string{
		"/103/200": "HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\nHTTP/1.1 200 OK\r\n",
		"/100/200": "HTTP/1.1 200 OK\r\n", // nobody has asked for it
		"/101/200": "HTTP/1.1 502 Bad Gateway\r\n",
		"/101":     "HTTP/1.1 502 Bad Gateway\r\n",
		"/" + strings.Repeat("103/", maxInterim+1) + "200": strings.Repeat(
			"HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n", maxInterim) + "HTTP/1.1 502 Bad Gateway\r\n",
	}
	for path, want := range tests {
		c := call(t, addr)
		c.send("GET " + path + " HTTP/1.1\r\nHost: up\r\nConnection: close\r\n\r\n")
		if got := c.rest(); !strings.HasPrefix(got, want) || strings.Contains(got, " 101 ") {
			t.Errorf("%.20s: %.200q", path, got)
		}
		c = call(t, addr)
		c.send("GET " + path + " HTTP/1.0\r\n\r\n")
		if got := c.rest(); !strings.HasPrefix(got, want[strings.LastIndex(want, "HTTP"):]) {
			t.Errorf("%.20s, HTTP/1.0: %.200q", path, got)
		}
	}
}

// TestHTTP2_UpgradeIsAskedOverHTTP1: where the upstream speaks both, requests go over
// HTTP/2, and those that switch to something else over HTTP/1, whichever comes first.
func TestHTTP2_UpgradeIsAskedOverHTTP1(t *testing.T) {
	plain := func(nc net.Conn) {
		br := bufio.NewReader(nc)
		for {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			if req.Header.Get("Upgrade") != "echo" {
				t.Errorf("over HTTP/1: %s %v", req.URL, req.Header)
			}
			if req.URL.Path == "/no" {
				_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
				continue
			}
			_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n"+
				"Connection: Upgrade\r\n\r\n")
			_, _ = io.Copy(nc, br)
			return
		}
	}
	addr := upstreamFrames(t, func(f *framed, id uint32, _ string) {
		f.head(id, false, ":status", "200")
		_ = f.WriteData(id, true, []byte("two"))
	}, plain)
	for range 2 {
		c := call(t, addr)
		c.send("GET /no HTTP/1.1\r\nHost: up\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		if resp, body := c.answer("GET"); body != "no" {
			t.Errorf("%d %q", resp.StatusCode, body)
		}
		c.send("GET / HTTP/1.1\r\nHost: up\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		resp, err := http.ReadResponse(c.br, nil)
		if err != nil || resp.StatusCode != 101 {
			t.Fatalf("%v %v", resp, err)
		}
		c.send("ping\n")
		if line := c.line(); line != "ping\n" {
			t.Errorf("%q", line)
		}
		for _, fields := range []string{"", "Connection: Upgrade\r\nUpgrade: h2c\r\n"} {
			c = call(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: up\r\n" + fields + "\r\n")
			if resp, body := c.answer("GET"); body != "two" {
				t.Errorf("%q: %d %q", fields, resp.StatusCode, body)
			}
		}
	}
}
