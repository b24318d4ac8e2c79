// Command chocon-rebuilt is chocon's design, rebuilt: a reverse proxy on net/http
// as github.com/kazeburo/chocon is one, for where its own module cannot be had.
// No line of it is chocon's, and its figures are those of the design and not of
// that program: a server and a Transport of net/http, the request and its header
// copied, the body copied by io.Copy, and a line of JSON for each request, here
// to nowhere.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// hop are the fields that are not copied.
var hop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailers", "Transfer-Encoding", "Upgrade"}

// A relay sends every request to one upstream.
type relay struct {
	upstream  *url.URL
	transport *http.Transport
	mu        sync.Mutex // guards lines
	lines     *json.Encoder
}

// A line is what is logged of a request.
type line struct {
	Time    string  `json:"time"`
	Remote  string  `json:"remote_addr"`
	Method  string  `json:"method"`
	URI     string  `json:"uri"`
	Status  int     `json:"status"`
	Size    int64   `json:"size"`
	Agent   string  `json:"ua"`
	Took    float64 `json:"ptime"`
	Host    string  `json:"host"`
	Request string  `json:"chocon_req"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	upstream := flag.String("upstream", "", "URL")
	kept := flag.Int("c", 2, "idle connections that are kept for a host")
	flag.Parse()
	target, err := url.Parse(*upstream)
	if err != nil {
		log.Fatal(err)
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	r := &relay{upstream: target, lines: json.NewEncoder(io.Discard)}
	r.transport = &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: *kept,
		IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		ExpectContinueTimeout: time.Second, ResponseHeaderTimeout: time.Minute,
	}
	server := &http.Server{
		Addr: *listen, Handler: r, ReadTimeout: 30 * time.Second, WriteTimeout: 90 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}

// ServeHTTP implements http.Handler.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	began := time.Now()
	id := req.Header.Get("X-Chocon-Id")
	if id == "" {
		var b [10]byte
		_, _ = rand.Read(b[:]) // it never fails
		id = hex.EncodeToString(b[:])
	}
	status, size := r.relay(w, req, id)
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.lines.Encode(line{ // to nowhere
		Time: began.Format("2006/01/02 15:04:05 MST"), Remote: req.RemoteAddr, Method: req.Method,
		URI: req.URL.Path, Status: status, Size: size, Agent: req.UserAgent(),
		Took: time.Since(began).Seconds(), Host: req.Host, Request: id,
	})
}

// relay asks the upstream and passes its answer on.
func (r *relay) relay(w http.ResponseWriter, req *http.Request, id string) (int, int64) {
	out := new(http.Request)
	*out = *req
	out.Header = copied(req.Header)
	for _, name := range hop {
		out.Header.Del(name)
	}
	out.Header.Set("X-Chocon-Id", id)
	target := *req.URL
	target.Scheme, target.Host = r.upstream.Scheme, r.upstream.Host
	out.URL, out.Proto, out.ProtoMajor, out.ProtoMinor = &target, "HTTP/1.1", 1, 1
	out.Close, out.RequestURI = false, ""
	resp, err := r.transport.RoundTrip(out.WithContext(context.WithoutCancel(req.Context())))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return http.StatusBadGateway, 0
	}
	defer func() { _ = resp.Body.Close() }()
	for _, name := range hop {
		resp.Header.Del(name)
	}
	for name, values := range resp.Header {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
	w.Header().Set("X-Chocon-Id", id)
	w.WriteHeader(resp.StatusCode)
	n, _ := io.Copy(w, resp.Body) // the client has gone, or the upstream
	return resp.StatusCode, n
}

// copied returns a copy of a header.
func copied(from http.Header) http.Header {
	to := make(http.Header, len(from))
	for name, values := range from {
		for _, v := range values {
			to.Add(name, v)
		}
	}
	return to
}
