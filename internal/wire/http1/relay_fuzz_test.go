package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"regexp"
	"testing"
)

// FuzzRequestHead: where net/http reads a request too, it is the same one, with
// the same body.
func FuzzRequestHead(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h RequestHead
		n, err := h.Parse(b)
		if n == 0 || err != nil {
			return
		}
		rd := bytes.NewReader(b)
		br := bufio.NewReaderSize(rd, 16)
		req, err := http.ReadRequest(br)
		if err != nil {
			return // a bad escape, or a rule about what a host may be
		}
		if got := len(b) - rd.Len() - br.Buffered(); got != n {
			t.Fatalf("Parse(%q) = %d, net/http reads %d bytes", b, n, got)
		}
		chunked := len(req.TransferEncoding) > 0
		length := max(h.Length, 0)
		if h.Chunked {
			length = -1
		}
		if string(h.Method) != req.Method || string(h.Host) != req.Host && !h.Connect ||
			h.Chunked != chunked || length != req.ContentLength || h.HTTP10 == req.ProtoAtLeast(1, 1) {
			t.Fatalf("%q: %+v, net/http has %+v", b[:n], h, req)
		}
		if req.Close && h.Persists() {
			t.Fatalf("%q: net/http closes the connection", b[:n])
		}
	})
}

// FuzzResponseHead is the same for answers.
func FuzzResponseHead(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.0 404\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h ResponseHead
		n, err := h.Parse(b)
		if n == 0 || err != nil {
			return
		}
		rd := bytes.NewReader(b)
		br := bufio.NewReaderSize(rd, 16)
		resp, err := http.ReadResponse(br, &http.Request{Method: "GET"})
		if err != nil {
			t.Fatalf("Parse accepts %q, net/http does not: %v", b[:n], err)
		}
		if got := len(b) - rd.Len() - br.Buffered(); got != n {
			t.Fatalf("Parse(%q) = %d, net/http reads %d bytes", b, n, got)
		}
		if resp.StatusCode != h.Status {
			t.Fatalf("%q: status %d, net/http has %d", b[:n], h.Status, resp.StatusCode)
		}
		if h.Bodiless(false) {
			return
		}
		if h.Chunked != (len(resp.TransferEncoding) > 0) || h.Length >= 0 && h.Length != resp.ContentLength {
			t.Fatalf("%q: %+v, net/http has %+v", b[:n], h, resp)
		}
	})
}

// blanks stand between the size of a chunk and its extensions.
var blanks = regexp.MustCompile(`(?i)[0-9a-f][ \t]+;`)

// FuzzChunked: what is decoded, net/http decodes to the same.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{
		"3\r\nabc\r\n0\r\n\r\n", "A;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\nGET", "5\nabcde\r\n", "0\r\n\r\n",
		"00003\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n3;\r\nabc\r\n0\r\n\r\n", "3 ;a\r\nabc\r\n0 \r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c Chunked
		var got []byte
		rest := b
		for !c.Done() {
			n, data, err := c.Next(rest)
			if err != nil || n == 0 && !c.Done() {
				return
			}
			got = append(got, data...)
			rest = rest[n:]
		}
		want, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(b)))
		if err != nil && blanks.Match(b) {
			return // net/http takes them at the end of the line alone
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q is %q, net/http has %q, %v", b, got, want, err)
		}
	})
}
