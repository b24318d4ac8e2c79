package httpfront

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// passedOver are headers that balancers, meshes, tracers, SDKs, browsers and caches add
// to the requests of others, and some that have a meaning for other servers.
var passedOver = strings.Fields(`
	X-Amzn-Trace-Id X-Amzn-Requestid X-Amz-Cf-Id X-Amz-Date X-Amz-Security-Token X-B3-TraceId
	X-B3-SpanId X-B3-ParentSpanId X-B3-Sampled X-B3-Flags b3 X-Envoy-Attempt-Count
	X-Envoy-Expected-Rq-Timeout-Ms X-Envoy-External-Address X-Envoy-Internal
	X-Envoy-Original-Path X-Envoy-Peer-Metadata X-Envoy-Peer-Metadata-Id
	X-Envoy-Decorator-Operation Via CF-Ray CF-Connecting-IP CF-IPCountry CF-Visitor CDN-Loop
	True-Client-IP Forwarded Baggage Sentry-Trace traceparent tracestate x-datadog-trace-id
	x-datadog-parent-id x-datadog-origin x-datadog-sampling-priority x-datadog-tags
	X-Cloud-Trace-Context uber-trace-id uberctx-a X-Requested-With Origin apikey X-Client-Info
	X-Supabase-Api-Version Range-Unit Max-Forwards From grpc-timeout
	grpc-encoding Alt-Used If-Modified-Since If-Unmodified-Since If-Range Range Prefer
	Content-Type Content-Language Content-Encoding Pragma Accept-Language Accept-Charset
	Cookie DNT Sec-GPC Sec-Fetch-Site Sec-Fetch-Mode Sec-Fetch-Dest Sec-Fetch-User Sec-CH-UA
	Sec-CH-UA-Mobile Sec-CH-UA-Platform Sec-Purpose Purpose Priority Save-Data Downlink ECT RTT
	Device-Memory Viewport-Width Upgrade-Insecure-Requests User-Agent Referer Last-Event-ID
	X-Forwarded-For X-Forwarded-Host X-Forwarded-Port X-Forwarded-Prefix X-Forwarded-Proto
	X-Forwarded-Server X-Forwarded-Scheme X-Original-Forwarded-For X-Original-Host
	X-Original-Url X-Rewrite-Url X-Scheme X-Real-IP X-Client-IP X-Cluster-Client-IP
	X-Correlation-Id X-Trace-Id X-Span-Id X-Request-Start X-Queue-Start X-Varnish
	X-Azure-Ref X-Azure-FDID X-ARR-LOG-ID X-ARR-SSL X-MS-Client-Request-Id Request-Id
	X-Goog-Api-Client X-Goog-User-Project X-Linkerd-Proxy l5d-dst-override l5d-ctx-trace
	Content-MD5 Digest Content-Digest X-Csrf-Token X-Api-Version X-Device-Id X-Newrelic-Id newrelic
	elastic-apm-traceparent X-Instana-T X-Instana-S X-Dynatrace x-ot-span-context Proxy-Authorization
	Idempotency-Key X-Idempotency-Key Authentication-Info Warning X-Vercel-Id X-Fastly-Request-Id
	Fastly-Client-IP Surrogate-Capability X-Wap-Profile A Zz X- Hotrow Hotrow-Min-Positiom Hosts`)

// without returns what a client sees of an answer but what differs each time.
func (a reply) without(names ...string) string {
	h := a.Header.Clone()
	for _, name := range append(names, "Date", "Hotrow-Position", "Server-Timing") {
		h.Del(name)
	}
	return fmt.Sprint(a.Status, h, a.body)
}

// hasLoop reports whether the clients of do are served by an event loop.
func (s *site) hasLoop() bool { return s.over != nil }

// handedOver returns how many requests have left the loop; where there is none, 0.
func (s *site) handedOver() uint64 {
	if !s.hasLoop() {
		return 0
	}
	return uint64(s.over.Stats().HandedOver)
}

// No header that no code of ours reads changes an answer, or takes a hit off the loop.
func TestHeaders_OfOthersChangeNothing(t *testing.T) {
	s := newServer(t)
	plain := s.hot("/depts/10").without()
	if len(passedOver) < 100 {
		t.Fatalf("%d headers", len(passedOver))
	}
	before := s.handedOver()
	for _, name := range passedOver {
		for _, value := range []string{"x", "0", "bytes=0-1", "Thu, 01 Jan 1970 00:00:00 GMT"} {
			a := s.hot("/depts/10", name+": "+value)
			if got := a.without(); got != plain {
				t.Errorf("%s: %s:\n%s\nwithout it:\n%s", name, value, got, plain)
			}
			if now := s.handedOver(); now != before {
				t.Errorf("%s: %s takes a hit off the loop", name, value)
				before = now
			}
		}
	}
}

// What a request asks of the answer is decided by the loop, or by the goroutine that waits
// for it: no demand takes a request for a document to net/http.
func TestHeaders_ThatAskForMore(t *testing.T) {
	s := newServer(t)
	a := s.hot("/depts/10")
	plain, tag := a.without(), a.Header.Get("ETag")
	position := a.Header.Get("Hotrow-Position")
	ahead := position[:strings.LastIndexByte(position[:strings.IndexByte(position, ';')], '.')] + ".7fffffff"
	for _, tt := range []struct {
		header string
		code   int    // 0: as without it
		status string // of Cache-Status, if it differs
	}{
		{"Cache-Control: no-store", 0, ""},
		{"Cache-Control: max-age=3600", 0, ""},
		{"Cache-Control: Max-Age=3600, x=y", 0, ""},
		{"Cache-Control: only-if-cached", 0, ""},
		{"Cache-Control: max-stale=10", 0, ""},
		{"Cache-Control: no-cache", 200, "hotrow; fwd=request"},
		{"Cache-Control: max-age=0", 200, "hotrow; fwd=request"},
		{"Cache-Control: no-cache, only-if-cached", 504, "-"},
		{"Hotrow-Min-Position: " + position, 0, ""},
		{"Hotrow-Min-Position: hr1.other.x.1", 0, ""},
		{"Hotrow-Min-Position: nonsense", 400, "-"},
		{"Hotrow-Min-Position: " + ahead, 200, "-"},
		{"Prefer: wait=1", 0, ""},
		{"If-Match: " + tag, 0, ""},
		{`If-Match: "x"`, 412, ""},
		{"If-Match: *", 0, ""},
		{"Accept: application/json, text/plain, */*", 0, ""},
		{"Accept: text/html,application/xml;q=0.9,*/*;q=0.8", 0, ""},
		{"Accept: text/html", 406, "-"},
	} {
		before := s.handedOver()
		switch a := s.do(http.MethodGet, "/depts/10", "", tt.header); {
		case tt.code == 0:
			a = s.hot("/depts/10", tt.header)
			if got := a.without(); got != plain {
				t.Errorf("%s:\n%s\nwithout it:\n%s", tt.header, got, plain)
			}
		case a.StatusCode != tt.code, tt.status != "-" && tt.status != "" &&
			a.Header.Get("Cache-Status") != tt.status:
			t.Errorf("%s: %d %q, want %d %q", tt.header, a.StatusCode,
				a.Header.Get("Cache-Status"), tt.code, tt.status)
		}
		if s.handedOver() != before {
			t.Errorf("%s leaves the loop", tt.header)
		}
		s.hot("/depts/10")
	}
}

// readHeaders are those that the decision reads, with values that matter to it.
var readHeaders = []string{
	"Accept: application/json", "Accept: application/vnd.msgpack", "Accept: application/x-msgpack",
	"Accept: application/cbor;q=0.5, */*;q=0.1", "Accept: text/html", "Accept: ,;q=",
	"Accept-Encoding: gzip", "Accept-Encoding: zstd, gzip;q=0.5", "Accept-Encoding: identity;q=0",
	"Accept-Encoding: gzip, identity;q=0", "Accept-Encoding: br", "If-Match: *", `If-Match: "x"`,
	`If-Match: W/"x", "y"`, "If-Match: x", "If-Match: TAG", `If-Match: "x", TAG`, "If-Match: W/TAG",
	"If-None-Match: *", "If-None-Match: TAG", "If-None-Match: W/TAG", `If-None-Match: "x", TAG`,
	`If-None-Match: "x"`, "If-None-Match: x", "Cache-Control: no-store", "Cache-Control: max-age=3600",
	"Cache-Control: max-age=0", "Cache-Control: no-cache", "Cache-Control: only-if-cached",
	"Cache-Control: no-cache, only-if-cached", "Cache-Control: no-transform", "Prefer: wait=1",
	"Prefer: return=minimal", "Hotrow-Min-Position: POSITION", "Hotrow-Min-Position: x",
	"Hotrow-Min-Position: hr1.other.x.1", "Authorization: Bearer x", "Authorization: Basic x",
	"X-Request-Id: r-1", "X-Request-Id: a b", "Accept-Profile: public", "Accept-Profile: x",
	"Content-Profile: x", "Prefer: tx=rollback", "Prefer: handling=strict, x",
	"X-HTTP-Method: PUT", "Host: evil.example", "Connection: keep-alive",
}

// Every header that the decision reads, and a hundred that it does not, get the same
// answer on the loop, over TLS, by HTTP/2 and from net/http: status, fields and body.
func TestHeaders_GetTheSameAnswerOverEveryForm(t *testing.T) {
	if os.Getenv("HOTROW_TEST_ROAD") != "" {
		return // it has all of them
	}
	first := newServer(t, compressed)
	forms := []*site{first}
	for _, road := range []string{"loop", "tls", "h2"} {
		t.Setenv("HOTROW_TEST_ROAD", road)
		s := &site{t: t, src: first.src, h: first.h, log: first.log, tokens: first.tokens}
		s.listen(slog.New(slog.DiscardHandler))
		forms = append(forms, s)
	}
	first.fatten("x")
	first.coded("/depts/10", "gzip")
	a := first.coded("/depts/10", "zstd")
	tag := strings.Replace(a.Header.Get("ETag"), "+zstd", "", 1)
	position, _, _ := strings.Cut(a.Header.Get("Hotrow-Position"), ";")
	headers := slices.Clone(readHeaders)
	for _, name := range passedOver {
		headers = append(headers, name+": x")
	}
	for _, path := range []string{"/depts/10", "/depts/99", "/depts?deptno=in.(10,99)"} {
		for _, header := range headers {
			header = strings.NewReplacer("TAG", tag, "POSITION", position).Replace(header)
			with := []string{header}
			if !strings.HasPrefix(header, "Accept-Encoding") {
				with = append(with, "Accept-Encoding: identity") // or Go's client adds gzip
			}
			var got [4]string
			eventually(t, path+" with "+header, func() bool { // the feed may lag for a moment
				alike := true
				var status string
				for i, s := range forms {
					a := s.do(http.MethodGet, path, "", with...)
					got[i] = a.without("Connection")
					now := a.Header.Get("Cache-Status")
					alike = alike && (i == 0 || now == status)
					status = now
				}
				return alike
			})
			for i, s := range forms {
				if got[i] != got[0] {
					t.Errorf("%s with %s, at %s:\n%.300s\nfrom net/http:\n%.300s", path, header, s.url,
						got[i], got[0])
				}
			}
		}
	}
}

// The id of a request is echoed on every road, whatever the answer.
func TestHeaders_RequestIDIsEchoed(t *testing.T) {
	s := newServer(t)
	s.hot("/depts/10")
	before := s.handedOver()
	for _, path := range []string{"/depts/10", "/depts/10?format=msgpack", "/depts/20", "/depts/99", "/depts/99"} {
		for id, want := range map[string]string{"r-1": "r-1", "a b": "", "<x>": ""} {
			a := s.do(http.MethodGet, path, "", "X-Request-Id: "+id)
			if got := a.Header.Values("X-Request-Id"); want == "" && got != nil ||
				want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("%s with id %q: %q", path, id, got)
			}
		}
	}
	if s.handedOver() != before {
		t.Errorf("%d requests have left the loop", s.handedOver()-before)
	}
}

// The value of ?format= counts on the loop, and in what a miss is answered with.
func TestFormat_InTheQueryIsAnsweredOnTheLoop(t *testing.T) {
	s := newServer(t)
	for path, want := range map[string]string{
		"/depts/10?": "application/json", "/depts/10?format=json": "application/json",
		"/depts/20?format=msgpack": "application/vnd.msgpack", "/depts/10?format=cbor": "application/cbor",
	} {
		before := s.handedOver()
		for range 2 {
			a := s.do(http.MethodGet, path, "", "Accept: application/json")
			if got := a.Header.Get("Content-Type"); a.StatusCode != 200 || got != want {
				t.Errorf("%s: %d %s, want %s", path, a.StatusCode, got, want)
			}
		}
		if s.handedOver() != before {
			t.Errorf("%s leaves the loop", path)
		}
	}
	s.want(s.do(http.MethodGet, "/depts/10?format=xml", ""), 400, "bad-query")
	s.want(s.do(http.MethodGet, "/depts/10?x=1", ""), 400, "bad-query")
}

// The demands of a request cost a hit no allocation.
func TestLoop_DemandingHitAllocatesNothing(t *testing.T) {
	site := newServer(t)
	a := site.hot("/depts/10")
	for _, header := range []string{
		"Cache-Control: max-age=3600, no-store", "X-Request-Id: 5f2b", "If-Match: " + a.Header.Get("ETag"),
		"Hotrow-Min-Position: " + a.Header.Get("Hotrow-Position"), "Origin: https://x.example",
		"Prefer: return=minimal, wait=1", "Accept-Profile: public",
		"Accept: application/json, text/plain, */*",
	} {
		s := newStepper(t, site.h)
		in := []byte("GET /depts/10?format=json HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n\r\n")
		if strings.HasPrefix(header, "Accept") {
			in = []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n\r\n")
		}
		n := s.allocs(t, in, func(got []byte) bool { return len(got) >= 100 })
		if n != 0 {
			t.Errorf("a hit with %s allocates %v times", header, n)
		}
	}
}
