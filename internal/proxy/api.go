package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// An ownPage is what the proxy itself answers a path with.
type ownPage struct {
	contentType string
	write       func(s *Server) []byte
}

var (
	pageStats   = &ownPage{"application/json; charset=utf-8", (*Server).statsJSON}
	pageHTTP    = &ownPage{"application/json; charset=utf-8", (*Server).httpStatsJSON}
	pageMetrics = &ownPage{"text/plain; version=0.0.4; charset=utf-8", (*Server).metrics}
)

// ownAnswer returns the page that a request to the proxy itself asks for, or
// nil. chocon's are found by their beginning, as there.
func (s *Server) ownAnswer(x *roundTrip) *ownPage {
	if len(x.uri) < 2 || x.uri[1] != '.' && x.uri[1] != 'm' || x.looped || x.req.Connect {
		return nil
	}
	var page *ownPage
	switch path := string(x.uri); {
	case bytes.HasPrefix(x.uri, []byte("/.api/stats")):
		page = pageStats
	case bytes.HasPrefix(x.uri, []byte("/.api/http-stats")):
		page = pageHTTP
	case path == "/.api/metrics", path == "/metrics" && x.up.c.ops,
		path == "/metrics" && s.fixed == nil:
		page = pageMetrics
	}
	if page == nil || !s.isOwnHost(x.req.Host) {
		return nil
	}
	return page
}

// answerOwn sends a page of our own.
func (c *client) answerOwn(x *roundTrip, n int, page *ownPage) bool {
	x.in.consume(n)
	x.whole = x.req.Length <= 0 && !x.req.Chunked
	if m := string(x.method); m != http.MethodGet && m != http.MethodHead {
		return c.fail(x, &statusError{http.StatusMethodNotAllowed, "GET alone"})
	}
	closing := c.mustClose(x) || !x.whole
	body := page.write(c.srv)
	out := append(x.reply[:0], "HTTP/1.1 200 OK\r\n"...)
	out = http1.AppendHeader(out, "Content-Type", page.contentType)
	out = http1.AppendHeader(out, "Cache-Control", "no-store")
	out = http1.AppendLength(http1.AppendDate(out, time.Now()), len(body))
	out = append(c.appendConnection(out, x, closing), "\r\n"...)
	if !x.req.IsHead {
		out = append(out, body...)
		x.down.total = int64(len(body))
	}
	x.reply = out
	c.beforeWrite(false)
	_, err := c.sock.write(out)
	c.due.Store(0)
	c.finish(x, http.StatusOK, nil)
	if !x.whole {
		c.linger()
	}
	return err == nil && !closing
}

// statsJSON is /.api/stats: the Go runtime, in the words of
// github.com/fukata/golang-stats-api-handler.
func (s *Server) statsJSON() []byte {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	pauses := make([]float64, 0, len(m.PauseNs))
	for i := range min(m.NumGC, uint32(len(m.PauseNs))) {
		pauses = append(pauses, float64(m.PauseNs[i])/1e6)
	}
	up := time.Since(s.start).Seconds()
	text, _ := json.Marshal(map[string]any{ // it holds nothing that cannot be encoded
		"time": time.Now().UnixNano(), "go_version": runtime.Version(), "go_os": runtime.GOOS,
		"go_arch": runtime.GOARCH, "cpu_num": runtime.NumCPU(),
		"goroutine_num": runtime.NumGoroutine(), "gomaxprocs": runtime.GOMAXPROCS(0),
		"cgo_call_num": runtime.NumCgoCall(), "memory_alloc": m.Alloc,
		"memory_total_alloc": m.TotalAlloc, "memory_sys": m.Sys, "memory_lookups": m.Lookups,
		"memory_mallocs": m.Mallocs, "memory_frees": m.Frees, "memory_stack": m.StackInuse,
		"heap_alloc": m.HeapAlloc, "heap_sys": m.HeapSys, "heap_idle": m.HeapIdle,
		"heap_inuse": m.HeapInuse, "heap_released": m.HeapReleased,
		"heap_objects": m.HeapObjects, "gc_next": m.NextGC, "gc_last": m.LastGC,
		"gc_num": m.NumGC, "gc_per_second": float64(m.NumGC) / up,
		"gc_pause_per_second": float64(m.PauseTotalNs) / 1e6 / up, "gc_pause": pauses,
	})
	return append(text, '\n')
}

// httpStatsJSON is /.api/http-stats, in the words of go-httpstats.
func (s *Server) httpStatsJSON() []byte {
	statuses := map[string]int64{}
	for _, code := range []int{200, 400, 401, 403, 404, 500, 501, 502, 503, 504} {
		statuses[strconv.Itoa(code)] = s.count.statuses[code].Load()
	}
	sample := s.times.sorted()
	at := func(percent int) float64 {
		if len(sample) == 0 {
			return 0
		}
		return sample[min(len(sample)*percent/100, len(sample)-1)].Seconds()
	}
	sum := 0.0
	for _, d := range sample {
		sum += d.Seconds()
	}
	text, _ := json.Marshal(map[string]any{ // it holds nothing that cannot be encoded
		"request": map[string]any{"count": s.count.requests.Load(), "status_count": statuses},
		"response": map[string]any{
			"max_time": at(100), "min_time": at(0),
			"average_time": sum / float64(max(len(sample), 1)),
			"percentiled_time": map[string]float64{
				"90": at(90), "95": at(95), "99": at(99),
			},
		},
	})
	return append(text, '\n')
}

// metrics is /metrics, in the text format of Prometheus.
func (s *Server) metrics() []byte {
	st := s.Stats()
	var b bytes.Buffer
	one := func(name, kind, help string, v int64) {
		fmt.Fprintf(&b, "# HELP %[1]s %[2]s\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n",
			name, help, kind, v)
	}
	one("hotrow_proxy_accepted_total", "counter", "Client connections accepted.", st.Accepted)
	one("hotrow_proxy_clients", "gauge", "Client connections open.", st.Clients)
	one("hotrow_proxy_connections_refused_total", "counter",
		"Client connections refused because there were too many.", st.TooMany)
	one("hotrow_proxy_upstream_connections", "gauge", "Upstream connections open.",
		st.UpstreamConns)
	one("hotrow_proxy_refused_total", "counter", "Requests refused as malformed.", st.Refused)
	one("hotrow_proxy_retries_total", "counter", "Requests sent again.", st.Retries)
	one("hotrow_proxy_ejections_total", "counter", "Addresses left alone.", st.Ejections)
	one("hotrow_proxy_tunnels_total", "counter", "Upgraded connections.", st.Tunnels)
	one("hotrow_proxy_received_bytes_total", "counter", "Bytes of request bodies.", st.BytesIn)
	one("hotrow_proxy_sent_bytes_total", "counter", "Bytes of response bodies.", st.BytesOut)
	b.WriteString("# HELP hotrow_proxy_requests_total Requests by status.\n" +
		"# TYPE hotrow_proxy_requests_total counter\n")
	for code := range s.count.statuses {
		if n := st.Statuses[code]; n > 0 {
			fmt.Fprintf(&b, "hotrow_proxy_requests_total{code=\"%d\"} %d\n", code, n)
		}
	}
	b.WriteString("# HELP hotrow_proxy_opened_total Connections opened to an upstream.\n" +
		"# TYPE hotrow_proxy_opened_total counter\n")
	for _, t := range st.Targets {
		fmt.Fprintf(&b, "hotrow_proxy_opened_total{upstream=%q} %d\n", t.Name, t.Opened)
	}
	return b.Bytes()
}
