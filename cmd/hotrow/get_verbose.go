package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// toldHeaders are the headers of an answer that say what it is and where it came from.
var toldHeaders = []string{"Content-Type", "Etag", "Cache-Control", "Cache-Status",
	"Hotrow-Position", "Link", "Allow", "Www-Authenticate", "Retry-After", "X-Request-Id"}

// origins has what a Cache-Status of hotrow says in words; the first that it has counts.
var origins = []struct{ status, words string }{
	{"hit; detail=mem", "from memory: the database was not asked"},
	{"hit; detail=disk", "from the disk: the database was not asked"},
	{"fwd=uri-miss; stored", "from the database, and memory keeps it: ask again"},
	{"fwd=uri-miss; collapsed", "from the database, by a read that another request had begun"},
	{"fwd=uri-miss", "from the database, and memory does not keep it"},
	{"fwd=request", "from the database, as the request asked for"},
	{"fwd=stale", "a copy that may be out of date: the feed lags, or the database is away"},
	{"fwd=bypass", "from the database: no feed keeps a copy fresh now"},
	{"fwd=partial", "some rows from memory, the others from the database"},
}

// tell prints to standard error the request, the headers of its answer that matter, and in
// words where the answer came from. A token is not printed.
func tell(p *program, resp *http.Response, size int, took time.Duration) {
	req := resp.Request
	fmt.Fprintf(p.stderr, "> %s %s\n", req.Method, req.URL.Redacted())
	for _, name := range []string{"Accept", "Cache-Control"} {
		if v := req.Header.Get(name); v != "" {
			fmt.Fprintf(p.stderr, "> %s: %s\n", name, v)
		}
	}
	if req.Header.Get("Authorization") != "" {
		fmt.Fprintln(p.stderr, "> Authorization: Bearer (not shown)")
	}
	fmt.Fprintf(p.stderr, "< %s %s\n", resp.Proto, resp.Status)
	for _, name := range toldHeaders {
		for _, v := range resp.Header[name] {
			fmt.Fprintf(p.stderr, "< %s: %s\n", name, v)
		}
	}
	fmt.Fprintf(p.stderr, "* %s\n* %d bytes in %v, a connection included\n",
		originOf(resp.Header), size, took.Round(time.Microsecond))
}

// originOf says in words where an answer came from, and how much of the database's past it
// includes.
func originOf(h http.Header) string {
	status, ours := strings.CutPrefix(h.Get("Cache-Status"), "hotrow; ")
	if !ours {
		return "the answer does not say where it came from"
	}
	words := status
	for _, o := range origins {
		if strings.HasPrefix(status, o.status) {
			words = o.words
			break
		}
	}
	_, lag, _ := strings.Cut(h.Get("Hotrow-Position"), "lag=")
	if seconds, err := strconv.ParseFloat(lag, 64); err == nil {
		words += fmt.Sprintf("; it has every change up to %v ago",
			time.Duration(seconds*float64(time.Second)).Round(time.Millisecond))
	}
	return words
}
