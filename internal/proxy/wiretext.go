package proxy

import (
	"bytes"
	"net/http"
	"strconv"

	wirehttp "github.com/hotrow/hotrow/internal/wire/exchange"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// An answerText writes an answer as HTTP/1.1.
type answerText struct {
	begun    bool // the final head was written
	finished bool // all of it was
	chunked  bool
	tunnel   bool
	left     int64 // of a body whose length is known
}

// appendHead appends the head of an answer, interim or final.
func (t *answerText) appendHead(
	dst []byte, status int, fields []wirehttp.Field, toHead bool,
) []byte {
	dst = strconv.AppendInt(append(dst, "HTTP/1.1 "...), int64(status), 10)
	dst = append(append(append(dst, ' '), http.StatusText(status)...), "\r\n"...)
	t.left = -1
	for i := range fields {
		f := &fields[i]
		if isName(f.Name, "content-length") {
			t.left, _ = strconv.ParseInt(string(f.Value), 10, 64) // else the relay refuses it
		}
		dst = appendLine(dst, f)
	}
	bare := status < 200 || status == 204 || status == 304 || toHead
	t.tunnel = status == http.StatusSwitchingProtocols
	t.begun = status >= 200 || t.tunnel
	t.finished = t.begun && !t.tunnel && (bare || t.left == 0)
	t.chunked = t.left < 0 && !bare
	switch {
	case t.tunnel:
		dst = append(dst, "Connection: Upgrade\r\n"...)
	case t.chunked:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// appendLine appends the line of a field.
func appendLine(dst []byte, f *wirehttp.Field) []byte {
	dst = append(append(dst, f.Name...), ": "...)
	return append(append(dst, f.Value...), "\r\n"...)
}

// appendData appends bytes of the body.
func (t *answerText) appendData(dst, data []byte) []byte {
	switch {
	case len(data) == 0 || t.finished:
		return dst
	case t.chunked:
		return appendChunk(dst, data)
	case !t.tunnel:
		data = data[:min(int64(len(data)), t.left)]
		t.left -= int64(len(data))
		t.finished = t.left == 0
	}
	return append(dst, data...)
}

// appendChunk appends bytes of a body that is chunked.
func appendChunk(dst, data []byte) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(data)), 16), "\r\n"...)
	return append(append(dst, data...), "\r\n"...)
}

// appendEnd appends the end of the body. What is missing of a length is found by
// who reads it.
func (t *answerText) appendEnd(dst []byte, trailers []wirehttp.Field) []byte {
	if !t.chunked {
		return dst
	}
	t.chunked, t.finished = false, true
	return appendLastChunk(dst, trailers)
}

// appendLastChunk appends the end of a body that is chunked.
func appendLastChunk(dst []byte, trailers []wirehttp.Field) []byte {
	dst = append(dst, "0\r\n"...)
	for i := range trailers {
		dst = appendLine(dst, &trailers[i])
	}
	return append(dst, "\r\n"...)
}

// trailerFields takes the lines of a trailer section apart.
func trailerFields(dst []wirehttp.Field, lines []byte) []wirehttp.Field {
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\r\n"))
		if name, value, ok := bytes.Cut(line, []byte(":")); ok {
			dst = append(dst, wirehttp.Field{Name: name, Value: bytes.Trim(value, " \t")})
		}
	}
	return dst
}

// A body follows the framing of a body that is written in parts.
type body struct {
	kind   bodyKind
	left   int64
	chunks http1.Chunked
	tail   []byte // of what was written, which means nothing yet
}

// with returns p behind what was kept of earlier calls.
func (b *body) with(p []byte) []byte {
	if len(b.tail) == 0 {
		return p
	}
	p = append(b.tail, p...)
	b.tail = nil
	return p
}

// next returns the data at the beginning of p, and how much of p it has used.
func (b *body) next(p []byte) (data []byte, n int, err error) {
	switch b.kind {
	case bodyLength:
		n = int(min(int64(len(p)), b.left))
		b.left -= int64(n)
		return p[:n], n, nil
	case bodyChunked:
		n, data, err = b.chunks.Next(p)
		return data, n, err
	case bodyToEOF:
		return p, len(p), nil
	}
	return nil, 0, nil
}

// done reports whether the end was reached.
func (b *body) done() bool {
	switch b.kind {
	case bodyLength:
		return b.left == 0
	case bodyChunked:
		return b.chunks.Done()
	}
	return b.kind == bodyNone
}
