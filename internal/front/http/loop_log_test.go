package httpfront

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/accesslog"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// openAccess starts an access log of everything that writes to w.
func openAccess(tb testing.TB, w io.Writer, buffer int) *accesslog.Log {
	tb.Helper()
	l, err := accesslog.Open(
		accesslog.Config{Columns: front.AccessColumns(), Stdout: w, Buffer: buffer},
		accesslog.Settings{Mode: accesslog.All, Format: accesslog.JSON})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// A logLine is a line of the access log as its readers see it.
type logLine struct {
	Time       time.Time
	Duration   float64
	RemoteAddr string `json:"remote_addr"`
	Method     string
	Path       string
	Protocol   string
	Status     int
	Bytes      int
	Cache      string
	Resource   string
	Principal  string
	RequestID  string `json:"request_id"`
	UserAgent  string `json:"user_agent"`
	Weight     int
}

// logged reads what was written.
func logged(t *testing.T, text string) []logLine {
	t.Helper()
	var lines []logLine
	for line := range strings.Lines(text) {
		var l logLine
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines = append(lines, l)
	}
	return lines
}

// Every request makes one line, the same one by whatever road it goes, with
// what it was and what became of it, and without what is secret.
func TestAccessLog_SaysTheSameOfEveryRoad(t *testing.T) {
	out := new(syncBuffer)
	access := openAccess(t, out, 0)
	s := newServer(t, func(o *Options) { o.Access = access })
	secret, sum := front.MakeSecret()
	token, err := front.NewToken("ann", sum, "reader")
	if err != nil {
		t.Fatal(err)
	}
	s.tokens.Set([]front.Token{token})
	doc := s.hot("/depts/10", "User-Agent: first")
	s.hot("/pay/1", "User-Agent: first", "Authorization: Bearer "+secret)
	const jsonType = "Content-Type: application/json"
	tests := []struct {
		method, path, body string
		headers            []string
		want               logLine
	}{
		{"GET", "/depts/10", "", nil, logLine{Path: "/depts/10", Status: 200, Cache: "hit",
			Resource: "depts", Bytes: len(doc.body)}},
		{"HEAD", "/depts/10", "", nil, logLine{Path: "/depts/10", Status: 200, Cache: "hit",
			Resource: "depts"}},
		{"GET", "/depts/10", "", []string{"If-None-Match: " + doc.Header.Get("Etag")},
			logLine{Path: "/depts/10", Status: 304, Cache: "hit", Resource: "depts"}},
		{"GET", "/depts/10", "", []string{"X-Request-Id: r-1"}, logLine{Path: "/depts/10", Status: 200,
			Cache: "hit", Resource: "depts", Bytes: len(doc.body), RequestID: "r-1"}},
		{"GET", "/pay/1", "", []string{"Authorization: Bearer " + secret},
			logLine{Path: "/pay/1", Status: 200, Cache: "hit", Resource: "pay", Principal: "ann", Bytes: -1}},
		{"GET", "/pay/1", "", []string{"Authorization: Bearer wrong"},
			logLine{Path: "/pay/1", Status: 401, Resource: "pay", Bytes: -1}},
		{"GET", "/depts/20", "", nil, logLine{Path: "/depts/20", Status: 200, Cache: "miss",
			Resource: "depts", Bytes: -1}},
		{"GET", "/depts/99", "", nil, logLine{Path: "/depts/99", Status: 404, Cache: "miss",
			Resource: "depts", Bytes: -1}},
		{"GET", "/depts?limit=2", "", nil, logLine{Path: "/depts", Status: 200, Cache: "miss",
			Resource: "depts", Bytes: -1}},
		{"GET", "/no%0Asuch%22/x", "", nil, logLine{Path: "/no%0Asuch%22/x", Status: 404, Bytes: -1}},
		{"GET", "/depts/10", "", []string{"Host: evil.example"},
			logLine{Path: "/depts/10", Status: 421, Bytes: -1}},
		{"PATCH", "/depts/30", `{"loc":"X"}`, []string{jsonType},
			logLine{Path: "/depts/30", Status: 200, Resource: "depts", Bytes: -1}},
	}
	for i, tt := range tests {
		agent := fmt.Sprintf("User-Agent: test\t%d", i)
		s.do(tt.method, tt.path, tt.body, append(tt.headers, agent)...)
	}
	s.stop()
	if err := access.Close(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, hidden := range []string{secret, "wrong", "limit"} {
		if strings.Contains(text, hidden) {
			t.Errorf("%q stands in the log:\n%s", hidden, text)
		}
	}
	byAgent := map[string]logLine{}
	for _, l := range logged(t, text) {
		if _, twice := byAgent[l.UserAgent]; twice && l.UserAgent != "first" {
			t.Errorf("%s has two lines:\n%s", l.UserAgent, text)
		}
		byAgent[l.UserAgent] = l
	}
	for i, tt := range tests {
		got := byAgent[fmt.Sprintf("test\t%d", i)]
		if time.Since(got.Time).Abs() > time.Minute || got.Duration < 0 || got.Duration > 60 ||
			!strings.HasPrefix(got.RemoteAddr, "127.0.0.1:") || tt.want.Bytes < 0 && got.Bytes == 0 {
			t.Errorf("%s %s: %+v", tt.method, tt.path, got)
		}
		if tt.want.Bytes < 0 {
			tt.want.Bytes = got.Bytes
		}
		tt.want.Method, tt.want.Protocol = tt.method, "HTTP/1.1"
		if strings.HasPrefix(os.Getenv("HOTROW_TEST_ROAD"), "h2") {
			tt.want.Protocol = "HTTP/2.0"
		}
		got.Time, got.Duration, got.RemoteAddr, got.UserAgent = time.Time{}, 0, "", ""
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.method, tt.path, d)
		}
	}
}

// stop ends the site, so that all that it has to say was said.
func (s *site) stop() {
	s.client.CloseIdleConnections()
	if s.over != nil {
		s.over.Close()
	}
}

// What is too broken to be a request is logged, too, where the loop refuses it.
func TestAccessLog_HasRefusals(t *testing.T) {
	if os.Getenv("HOTROW_TEST_ROAD") == "" {
		t.Setenv("HOTROW_TEST_ROAD", "loop") // net/http refuses by itself, and tells nobody
	}
	out := new(syncBuffer)
	access := openAccess(t, out, 0)
	s := newServer(t, func(o *Options) { o.Access = access })
	s.raw("GET", "GET /a\x01b HTTP/1.1\r\nHost: localhost\r\n\r\n")
	s.stop()
	if err := access.Close(); err != nil {
		t.Fatal(err)
	}
	lines := logged(t, out.String())
	if len(lines) != 1 || lines[0].Status != 400 || lines[0].Path != "" {
		t.Errorf("logged %+v", lines)
	}
}

// A sample always has what failed because of us.
func TestAccessLog_SampleHasEveryFailure(t *testing.T) {
	out := new(syncBuffer)
	access := openAccess(t, out, 0)
	settings := accesslog.Settings{Mode: accesslog.Sampled, Every: 1 << 40}
	if err := access.Configure(settings); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, func(o *Options) { o.Access = access })
	get := func(agent string) {
		s.do("GET", "/depts/10", "", "Cache-Control: only-if-cached, no-cache", "User-Agent: "+agent)
	}
	for range 5 {
		s.do("GET", "/depts/99", "", "User-Agent: left out")
		get("failed")
	}
	s.stop()
	if err := access.Close(); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, l := range logged(t, out.String()) {
		if l.UserAgent == "failed" && l.Status == 504 && l.Weight == 0 {
			failed++
		}
	}
	if failed != 5 || strings.Contains(out.String(), "left out") {
		t.Errorf("%d failures of 5 are in the sample:\n%s", failed, out.String())
	}
}

// A hit allocates nothing for its line, nor takes longer than it must when the
// file takes nothing: what has no room is dropped, and counted.
func TestLoop_AccessLogHoldsNoHitUp(t *testing.T) {
	w := &stuck{free: make(chan struct{})}
	defer w.open()
	access := openAccess(t, w, 16<<10)
	site := newServer(t)
	for range 2 {
		site.do("GET", "/depts/10", "")
	}
	s := newStepper(t, New(Options{Resources: site.h.live.Load().Resources, Access: access}))
	in := []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n")
	out := make([]byte, 0, 64<<10)
	const hits = 10_000
	n := testing.AllocsPerRun(hits, func() {
		used, got, next := s.l.Step(s.conn, in, out)
		if used != len(in) || next != eventloop.More || len(got) < 100 {
			t.Fatalf("Step = %d, %q, %d", used, got, next)
		}
		s.scope.(eventloop.TurnEnder).EndTurn()
	})
	if n != 0 {
		t.Errorf("a hit that is logged allocates %v times", n)
	}
	dropped := access.Stats().Dropped
	w.open()
	if err := access.Close(); err != nil {
		t.Fatal(err)
	}
	st := access.Stats()
	if lines := uint64(len(logged(t, w.String()))); dropped == 0 || st.Lines != lines ||
		st.Lines+st.Dropped != hits+1 { // AllocsPerRun calls once more
		t.Errorf("%+v and %d lines of %d hits, %d dropped early", st, lines, hits+1, dropped)
	}
}

// stuck is a sink that takes nothing before it is opened.
type stuck struct {
	free chan struct{}
	once sync.Once
	syncBuffer
}

func (w *stuck) open() { w.once.Do(func() { close(w.free) }) }

func (w *stuck) Write(p []byte) (int, error) {
	<-w.free
	return w.syncBuffer.Write(p)
}

// BenchmarkLoop_AccessLog is a hit with the access log in each mode, sixteen of
// them in a wake-up.
func BenchmarkLoop_AccessLog(b *testing.B) {
	set, _ := openSet(b)
	r, _ := set.Lookup("depts")
	for {
		a, err := r.Get(b.Context(), "10", resource.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if a.Origin == resource.HitMemory {
			break
		}
	}
	in := []byte("GET /depts/10 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\n\r\n")
	out := make([]byte, 0, 64<<10)
	for _, mode := range []accesslog.Mode{accesslog.Off, accesslog.Sampled, accesslog.All} {
		b.Run(string(mode), func(b *testing.B) {
			access := openAccess(b, io.Discard, 0)
			settings := accesslog.Settings{Mode: mode, Every: 100}
			if err := access.Configure(settings); err != nil {
				b.Fatal(err)
			}
			s := newStepper(b, New(Options{Resources: set, Access: access}))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if i++; i%16 == 0 {
					s.scope.BeginTurn(time.Now())
				}
				if _, _, next := s.l.Step(s.conn, in, out); next != eventloop.More {
					s.scope.BeginTurn(time.Now()) // the feed was not looked at for long
				}
			}
			b.ReportMetric(float64(access.Stats().Dropped)/float64(i), "dropped/op")
		})
	}
}
