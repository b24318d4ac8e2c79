package http2

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	xhttp2 "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// FuzzHead: a head that Check finds nothing wrong with is one request for net/http, which
// says the same: no field may smuggle another, or a second request.
func FuzzHead(f *testing.F) {
	f.Add("GET", "/a?b", "a.example", "x-y", "z", "cookie", "a=1", true)
	f.Add("POST", "/", "a.example:80", "content-length", "5", "te", "trailers", false)
	f.Add("GET", "/ HTTP/1.1\r\n\r\nGET /", "a\r\nb", "x: y\r\nz", "1\r\n\r\n", "host", "b", true)
	f.Add("OPTIONS", "*", "a", "transfer-encoding", "chunked", "connection", "close", true)
	f.Add("CONNECT", "/", "a:1", ":path", "/b", "Upper", "", true)
	f.Fuzz(func(t *testing.T, method, path, authority, n1, v1, n2, v2 string, end bool) {
		var h Head
		h.Reset(false)
		fields := [][2]string{{":method", method}, {":scheme", "https"}, {":authority", authority},
			{":path", path}, {n1, v1}, {n2, v2}}
		for _, p := range fields {
			h.Field(hpack.HeaderField{Name: p[0], Value: p[1]})
		}
		if h.Large || h.Check(end) != "" || method == "CONNECT" {
			return
		}
		text := h.Append(nil, end)
		if !end {
			text = AppendLength(text, h.Length())
		}
		var head http1.Request
		if n, v := head.Parse(text); v == http1.Complete && n != len(text) {
			t.Fatalf("%q: the loop sees %d bytes of %d", text, n, len(text))
		}
		r := bufio.NewReader(bytes.NewReader(text))
		req, err := http.ReadRequest(r)
		if err != nil {
			return // refused there
		}
		if left := r.Buffered(); left > 0 && end {
			t.Fatalf("%q: %d bytes are another request", text, left)
		}
		if req.Method != method || req.RequestURI != path || !strings.EqualFold(req.Host, authority) {
			t.Errorf("%q: %s %s %s", text, req.Method, req.RequestURI, req.Host)
		}
		if len(req.Header) > 3 { // the two, and a Content-Length of ours
			t.Errorf("%q: fields %v", text, req.Header)
		}
	})
}

// TestHead_AppendsWhatPeersRead: a response of HTTP/1.1, read by another implementation.
func TestHead_AppendsWhatPeersRead(t *testing.T) {
	for _, size := range []int{0, 10, 127, 300, 5000, 40_000} {
		value := strings.Repeat("v", size)
		text := "HTTP/1.1 206 Partial\r\nContent-Type: text/plain\r\nX-Own: " + value + "\r\nConnection: x-hop\r\n" +
			"X-Hop: 1\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"
		var h http1.ResponseHead
		if n, err := h.Parse([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		fr := xhttp2.NewFramer(nil, bytes.NewReader(AppendHead(nil, 7, &h, true)))
		fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		f, err := fr.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		m := f.(*xhttp2.MetaHeadersFrame)
		got := m.PseudoValue("status")
		for _, f := range m.RegularFields() {
			got += "|" + f.Name + "=" + f.Value
		}
		want := "206|content-type=text/plain|x-own=" + value + "|set-cookie=a|set-cookie=b"
		if got != want || m.StreamID != 7 || !m.StreamEnded() {
			t.Errorf("%d bytes: %.100s of stream %d, want %.100s", size, got, m.StreamID, want)
		}
	}
}
