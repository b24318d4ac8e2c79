package http1

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// AppendStatus appends the status line of an answer, with the phrase of net/http.
func AppendStatus(dst []byte, code int) []byte {
	dst = append(dst, "HTTP/1.1 "...)

	// Fast path: what memory answers.
	switch code {
	case 200:
		return append(dst, "200 OK\r\n"...)
	case 302:
		return append(dst, "302 Found\r\n"...)
	case 304:
		return append(dst, "304 Not Modified\r\n"...)
	case 404:
		return append(dst, "404 Not Found\r\n"...)
	}

	// Slow path.
	dst = append(strconv.AppendInt(dst, int64(code), 10), ' ')
	return append(append(dst, http.StatusText(code)...), "\r\n"...)
}

// AppendHeader appends one header line. Neither name nor value may hold bytes
// from outside that could end a line.
func AppendHeader(dst []byte, name, value string) []byte {
	dst = append(append(dst, name...), ": "...)
	return append(append(dst, value...), "\r\n"...)
}

// AppendLength appends the Content-Length line.
func AppendLength(dst []byte, n int) []byte {
	dst = strconv.AppendInt(append(dst, "Content-Length: "...), int64(n), 10)
	return append(dst, "\r\n"...)
}

// AppendDate appends the Date line for t, in whole seconds (RFC 9110 5.6.7).
func AppendDate(dst []byte, t time.Time) []byte {
	dst = append(dst, "Date: "...)
	return t.UTC().AppendFormat(dst, "Mon, 02 Jan 2006 15:04:05 GMT\r\n")
}

// AppendConnection appends the Connection line that the answer to r needs, if
// any. closing says that the connection is closed after the answer, which r
// may have asked for or not.
func (r *Request) AppendConnection(dst []byte, closing bool) []byte {
	switch {
	case closing:
		return append(dst, "Connection: close\r\n"...)
	case r.HTTP10:
		return append(dst, "Connection: keep-alive\r\n"...)
	}
	return dst
}

// AppendEnd appends the empty line that ends a head.
func AppendEnd(dst []byte) []byte { return append(dst, "\r\n"...) }

// AppendRefusal appends the whole answer to a request that is Bad, TooLarge, a
// LongLine or of an OtherVersion. more are further header lines, with their ends.
// Whatever follows on the connection must be thrown away, and it be closed.
func AppendRefusal(dst []byte, v Verdict, now time.Time, more string) []byte {
	code, text := 400, "the request is not well-formed HTTP/1.1\n"
	switch v {
	case TooLarge:
		code, text = 431, "the request's header is too large\n"
	case LongLine:
		code, text = 414, "the request line is longer than 8192 bytes\n"
	case OtherVersion:
		code, text = 505, "the request is not of HTTP/1.1 or HTTP/1.0\n"
	}
	dst = AppendDate(AppendStatus(dst, code), now)
	dst = append(dst, "Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"...)
	dst = append(dst, more...)
	return append(AppendEnd(AppendLength(dst, len(text))), text...)
}

// InsertLines returns an answer with further header lines, which have their ends, behind its
// status line: the answer itself if there are none, or nothing to stand behind.
func InsertLines(answer []byte, lines string) []byte {
	at := bytes.Index(answer, []byte("\r\n"))
	if lines == "" || at < 0 {
		return answer
	}
	at += len("\r\n")
	dst := make([]byte, 0, len(answer)+len(lines))
	return append(append(append(dst, answer[:at]...), lines...), answer[at:]...)
}

// AnswerSize returns the status of an answer of ours, "HTTP/1.1 200 OK...", and
// how many bytes its body has.
func AnswerSize(answer []byte) (status, body int) {
	if len(answer) < 12 {
		return 0, 0
	}
	for _, digit := range answer[9:12] {
		status = status*10 + int(digit-'0')
	}
	if end := bytes.Index(answer, []byte("\r\n\r\n")); end >= 0 {
		body = len(answer) - end - 4
	}
	return status, body
}
