package load

import (
	"strconv"
	"strings"
)

// severalKeys is where the keys of one read of HTTP go, with commas between them.
const severalKeys = "{keys}"

// A template is text with places for numbers, cut at its marks once so that
// filling it in is a few copies.
type template []piece

// A piece is literal text and the mark behind it: 'n', 'i', or 0 for none.
type piece struct {
	text string
	mark byte
}

// newTemplate cuts s at {n} and {i}.
func newTemplate(s string) template {
	var t template
	for {
		at := nextMark(s)
		if at < 0 {
			return append(t, piece{text: s})
		}
		t = append(t, piece{text: s[:at], mark: s[at+1]})
		s = s[at+3:]
	}
}

// nextMark returns where the first mark of s begins, or -1.
func nextMark(s string) int {
	n, i := strings.Index(s, "{n}"), strings.Index(s, "{i}")
	if n < 0 || i >= 0 && i < n {
		return i
	}
	return n
}

// append appends the text with key for {n} and seq for {i}.
func (t template) append(dst []byte, key, seq int64) []byte {
	for _, p := range t {
		dst = append(dst, p.text...)
		switch p.mark {
		case 'n':
			dst = strconv.AppendInt(dst, key, 10)
		case 'i':
			dst = strconv.AppendInt(dst, seq, 10)
		}
	}
	return dst
}

// requests write the requests of a run: everything that is the same in all of
// them is made once.
type requests interface {
	// appendRead appends one read of key, and of further keys of w's if it has several.
	appendRead(dst []byte, w *worker, key, seq int64) []byte
	// appendWrite appends one write. It fills w.body, which is its own meanwhile.
	appendWrite(dst []byte, w *worker, key, seq int64) []byte
	// greeting is sent once on each connection, in front of its first request, and has
	// one answer; nil for none.
	greeting() []byte
}

// newRequests prepares the requests that c asks for.
func newRequests(c *Config, to target) requests {
	switch to.protocol {
	case redis:
		return newRedisRequests(c, to)
	case memcached:
		return newMemcachedRequests(c, to)
	}
	return newHTTPRequests(c, to)
}

// httpRequests are those of HTTP/1.1.
type httpRequests struct {
	read      template // a whole request, or, of several keys, what stands before them
	behind    template // what stands behind them
	batch     int
	writeHead template // up to the value of Content-Length
	body      template
}

// newHTTPRequests prepares the requests that c asks for.
func newHTTPRequests(c *Config, to target) *httpRequests {
	var lines strings.Builder
	lines.WriteString(" HTTP/1.1\r\nHost: " + to.host + "\r\n")
	for _, h := range c.Header {
		lines.WriteString(h + "\r\n")
	}
	head := lines.String()
	before, behind, _ := strings.Cut(c.Method+" "+to.path+head+"\r\n", severalKeys)
	return &httpRequests{
		read: newTemplate(before), behind: newTemplate(behind), batch: c.Batch,
		writeHead: newTemplate(c.Write.Method + " " + c.Write.Path + head +
			"Content-Type: " + c.Write.Type + "\r\nContent-Length: "),
		body: newTemplate(c.Write.Body),
	}
}

func (r *httpRequests) appendRead(dst []byte, w *worker, key, seq int64) []byte {
	dst = r.read.append(dst, key, seq)
	if r.batch == 1 {
		return dst
	}
	dst = strconv.AppendInt(dst, key, 10)
	for range r.batch - 1 {
		dst = strconv.AppendInt(append(dst, ','), w.keys.next(), 10)
	}
	return r.behind.append(dst, key, seq)
}

func (r *httpRequests) appendWrite(dst []byte, w *worker, key, seq int64) []byte {
	w.body = r.body.append(w.body[:0], key, seq) // its length stands before it
	dst = r.writeHead.append(dst, key, seq)
	dst = strconv.AppendInt(dst, int64(len(w.body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, w.body...)
}

func (r *httpRequests) greeting() []byte { return nil }
