package httpfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// Every test of this package holds whichever road a request takes: the whole
// suite runs again behind the event loop, in its forms, and over HTTP/2.
func TestSite_OverEveryRoad(t *testing.T) {
	if os.Getenv("HOTROW_TEST_ROAD") != "" {
		return // this is one of the runs below
	}
	for _, road := range []string{"loop", "goroutine", "tls", "h2", "h2c"} {
		t.Run(road, func(t *testing.T) {
			t.Parallel() // it is a process of its own, and waits for half of its time
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.count=1")
			cmd.Env = append(os.Environ(), "HOTROW_TEST_ROAD="+road)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// loopSite is a site behind the event loop, in the form that the road is, with one connection to it.
type loopSite struct {
	*site
	conn net.Conn
	in   *bufio.Reader
}

func newLoopSite(t *testing.T) *loopSite {
	t.Helper()
	if os.Getenv("HOTROW_TEST_ROAD") == "" {
		t.Setenv("HOTROW_TEST_ROAD", "loop")
	}
	s := &loopSite{site: newServer(t)}
	s.conn = s.dial()
	s.in = bufio.NewReader(s.conn)
	return s
}

// answers sends raw bytes and reads the answers to methods.
func (s *loopSite) answers(raw string, methods ...string) []reply {
	s.t.Helper()
	if _, err := io.WriteString(s.conn, raw); err != nil {
		s.t.Fatal(err)
	}
	var list []reply
	for _, m := range methods {
		resp, err := http.ReadResponse(s.in, &http.Request{Method: m})
		if err != nil {
			s.t.Fatalf("after %d answers: %v", len(list), err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = resp.Body.Close()
		list = append(list, reply{resp, string(body)})
	}
	return list
}

// both returns what the loop and what net/http answer to a request, at a time when both
// have it from the same place: on a busy machine the feed may lag for a moment. It
// reports how often the request has left the loop by itself.
func (s *loopSite) both(raw, method string) (onLoop, behind reply, left uint64) {
	s.t.Helper()
	const status = "Cache-Status"
	eventually(s.t, raw, func() bool {
		before := s.handedOver()
		onLoop = s.answers(raw+"\r\n", method)[0]
		left = s.handedOver() - before
		behind = s.answers(raw+"Connection: keep-alive, x\r\n\r\n", method)[0]
		return onLoop.Header.Get(status) == behind.Header.Get(status)
	})
	return onLoop, behind, left
}

const plainGet = "GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n\r\n"

// A pipeline of everything comes back in order over one connection.
func TestLoop_PipelineOfHitsMissesAndWrites(t *testing.T) {
	s := newLoopSite(t)
	const patch = "PATCH /depts/20 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		"Content-Length: 11\r\n\r\n{\"loc\":\"X\"}"
	get := func(path string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	}
	raw := get("/depts/10") + get("/depts/10") + patch + get("/depts/20") + get("/depts/99") +
		get("/depts/20") + "HEAD /depts/10 HTTP/1.1\r\nHost: localhost\r\n\r\n" + get("/depts/010") +
		get("/depts?limit=1") + get("/depts/10")
	got := s.answers(raw, "GET", "GET", "PATCH", "GET", "GET", "GET", "HEAD", "GET", "GET", "GET")
	want := []struct {
		code int
		part string
	}{{200, "ACCOUNTING"}, {200, "ACCOUNTING"}, {200, `"X"`}, {200, `"X"`}, {404, "not there"},
		{200, `"X"`}, {200, ""}, {200, "ACCOUNTING"}, {200, "["}, {200, "ACCOUNTING"}}
	for i, w := range want {
		if got[i].StatusCode != w.code || !strings.Contains(got[i].body, w.part) {
			t.Errorf("answer %d = %d %s, want %d with %q", i, got[i].StatusCode, got[i].body, w.code, w.part)
		}
	}
}

// A hit on the loop carries what net/http sends for the same document.
func TestLoop_AnswersAsNetHTTPDoes(t *testing.T) {
	s := newLoopSite(t)
	for _, headers := range []string{"", "Accept: application/vnd.msgpack\r\n", "Accept: */*\r\n",
		"If-None-Match: \"no\"\r\n", "User-Agent: x\r\n"} {
		raw := "GET /depts/10 HTTP/1.1\r\nHost: localhost\r\n" + headers
		eventually(t, "a hit", func() bool {
			return s.answers(raw+"\r\n", "GET")[0].Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
		})
		fast, full, _ := s.both(raw, "GET")
		for _, a := range []reply{fast, full} {
			a.Header.Del("Date")
			a.Header.Del("Hotrow-Position")
			a.Header.Del("Server-Timing")
		}
		if f, w := fmt.Sprint(fast.Header, fast.StatusCode, fast.body),
			fmt.Sprint(full.Header, full.StatusCode, full.body); f != w {
			t.Errorf("%q:\nloop %s\nfull %s", headers, f, w)
		}
	}
}

// What memory does not have is answered by the loop as behind net/http: a document
// and all else.
func TestLoop_AnswersMissesAsNetHTTPDoes(t *testing.T) {
	loop, full := newLoopSite(t), newLoopSite(t)
	for _, site := range []*loopSite{loop, full} {
		site.configure(func(o *Options) {
			o.HSTS, o.CacheControl = true, "max-age=7"
			o.Compression = []row.Coding{row.Zstd, row.Gzip}
		})
	}
	tag := loop.answers(plainGet, "GET")[0].Header.Get("ETag")
	for _, tt := range []struct {
		method, path, headers, status string
		code                          int
	}{
		{"GET", "/depts/10", "", "stored", 200},
		{"HEAD", "/depts/10", "", "stored", 200},
		{"GET", "/depts/10", "Accept: application/vnd.msgpack\r\n", "stored", 200},
		{"GET", "/depts/10", "Accept: application/cbor\r\n", "stored", 200},
		{"GET", "/depts/10", "Accept-Encoding: gzip\r\n", "stored", 200},
		{"GET", "/depts/10", "Accept-Encoding: identity;q=0, gzip\r\n", "stored", 200},
		{"GET", "/depts/10", "If-None-Match: " + tag + "\r\n", "stored", 304},
		{"GET", "/depts/010", "", "stored", 200},
		{"GET", "/depts/10", "Connection: close\r\n", "stored", 200},
		{"GET", "/depts/99", "", "stored", 404},
		{"GET", "/depts/x", "", "", 400},
	} {
		name := fmt.Sprintf("%s %s %q", tt.method, tt.path, tt.headers)
		raw := tt.method + " " + tt.path + " HTTP/1.1\r\nHost: localhost\r\n" + tt.headers
		var got [2]string
		for i, site := range []*loopSite{loop, full} {
			if r, _ := site.h.live.Load().Resources.Lookup("depts"); r.Invalidate(nil) != nil {
				t.Fatal("depts cannot be forgotten")
			}
			site.conn = site.dial()
			site.in = bufio.NewReader(site.conn)
			end := "\r\n"
			if site == full {
				end = "Connection: keep-alive, x\r\n\r\n"
			}
			a := site.answers(raw+end, tt.method)[0]
			if a.StatusCode != tt.code || !strings.Contains(a.Header.Get("Cache-Status"), tt.status) {
				t.Errorf("%s: %d, Cache-Status %q", name, a.StatusCode, a.Header.Get("Cache-Status"))
			}
			if (a.Header.Get("Hotrow-Position") == "") != (tt.status == "") {
				t.Errorf("%s: Hotrow-Position %q", name, a.Header.Get("Hotrow-Position"))
			}
			a.Header.Del("Date")
			a.Header.Del("Hotrow-Position")
			a.Header.Del("Server-Timing")
			got[i] = fmt.Sprint(a.Header, a.Close, a.StatusCode, a.body)
		}
		if got[0] != got[1] {
			t.Errorf("%s:\nloop %s\nfull %s", name, got[0], got[1])
		}
	}
}

// A document that had to be loaded is written by the loop, as a hit is, and not by
// the Handler, whose header lines are sorted.
func TestLoop_WritesAMissAsAHit(t *testing.T) {
	s := newLoopSite(t)
	var names [2][]string
	for i := range names {
		head := strings.Replace(plainGet, "GET", "HEAD", 1) // no body to read over
		if _, err := io.WriteString(s.conn, head); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := s.in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == "\r\n" {
				break
			}
			if name, _, _ := strings.Cut(line, ":"); i == 1 || name != "Server-Timing" {
				names[i] = append(names[i], name)
			}
		}
	}
	if miss, hit := fmt.Sprint(names[0]), fmt.Sprint(names[1]); miss != hit {
		t.Errorf("a miss has %s, a hit %s", miss, hit)
	}
}

// A connection that is asked to be closed is, also after an answer that had to
// be loaded.
func TestLoop_ClosesAfterAMiss(t *testing.T) {
	for _, path := range []string{"/depts/10", "/depts/99"} {
		s := newLoopSite(t)
		raw := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
		a := s.answers(raw+plainGet, "GET")[0]
		if status := a.Header.Get("Cache-Status"); !a.Close || strings.Contains(status, "hit") {
			t.Errorf("%s: closes %v, Cache-Status %q; want a miss that closes", path, a.Close, status)
		}
		if rest, err := io.ReadAll(s.in); err != nil || len(rest) > 0 {
			t.Errorf("%s: %q and %v after the last answer", path, rest, err)
		}
	}
}

// A request that waits while the server begins to shut down is answered, and told that its
// connection ends with that.
func TestLoop_ShutdownSaysSoInTheAnswerThatWaits(t *testing.T) {
	s := newLoopSite(t)
	locked, release := make(chan struct{}), make(chan struct{})
	var held sync.WaitGroup
	held.Go(func() {
		_, err := s.src.Tx(t.Context(), func(source.StoreTx) error {
			close(locked)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-locked
	s.hot("/depts/10")
	body := `{"loc":"TULSA"}`
	write := fmt.Sprintf("PATCH /depts/10 HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/merge-patch+json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := io.WriteString(s.conn, write); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the write has let the copy go, and waits", func() bool {
		a := s.do(http.MethodGet, "/depts/10", "", "Cache-Control: only-if-cached")
		return a.StatusCode == http.StatusGatewayTimeout
	})
	held.Go(func() {
		if err := s.over.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the server shuts down", func() bool {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	close(release)
	a := s.answers("", http.MethodPatch)[0]
	if a.StatusCode != http.StatusOK || !a.Close {
		t.Errorf("status %d, closes %v; want 200 that closes", a.StatusCode, a.Close)
	}
	if rest, err := io.ReadAll(s.in); err != nil || len(rest) > 0 {
		t.Errorf("%q and %v after the answer", rest, err)
	}
	_ = s.conn.Close() // for which the server waits
	held.Wait()
}

func TestLoop_NotModified(t *testing.T) {
	s := newLoopSite(t)
	tag := s.answers(plainGet, "GET")[0].Header.Get("Etag")
	raw := "GET /depts/10 HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: " + tag + "\r\n\r\n"
	a := s.answers(raw, "GET")[0]
	if a.StatusCode != 304 || a.body != "" || a.Header.Get("Etag") != tag {
		t.Errorf("If-None-Match = %d %q %v", a.StatusCode, a.body, a.Header)
	}
}

// What memory holds of a protected resource is for those who may read it, and
// a token that is taken away is worth nothing at once.
func TestLoop_ProtectedHit(t *testing.T) {
	s := newLoopSite(t)
	secret, sum := front.MakeSecret()
	token, err := front.NewToken("ann", sum, "reader")
	if err != nil {
		t.Fatal(err)
	}
	s.tokens.Set([]front.Token{token})
	get := func(auth string) reply {
		return s.answers("GET /pay/1 HTTP/1.1\r\nHost: localhost\r\n"+auth+"\r\n", "GET")[0]
	}
	good := "Authorization: Bearer " + secret + "\r\n"
	for range 3 {
		if a := get(good); a.StatusCode != 200 ||
			!strings.Contains(a.Header.Get("Cache-Control"), "private") {
			t.Fatalf("with the token: %d %v", a.StatusCode, a.Header)
		}
		if a := get(""); a.StatusCode != 401 {
			t.Fatalf("without a token: %d", a.StatusCode)
		}
		if a := get("Authorization: Bearer wrong\r\n"); a.StatusCode != 401 {
			t.Fatalf("with a wrong token: %d", a.StatusCode)
		}
	}
	s.tokens.Set(nil)
	if a := get(good); a.StatusCode != 401 {
		t.Errorf("with a token that was taken away: %d", a.StatusCode)
	}
}

func TestLoop_ForeignHost(t *testing.T) {
	s := newLoopSite(t)
	s.answers(plainGet, "GET")
	a := s.answers("GET /depts/10 HTTP/1.1\r\nHost: evil.example\r\n\r\n", "GET")[0]
	if a.StatusCode != 421 {
		t.Errorf("foreign Host = %d", a.StatusCode)
	}
}

// A Host that a reload has taken away is not answered on open connections.
func TestLoop_HostTakenAway(t *testing.T) {
	s := newLoopSite(t)
	o := s.h.live.Load().Options
	o.Hosts = []string{"shop.example"}
	s.h.Configure(o)
	raw := strings.Replace(plainGet, "localhost", "shop.example", 1)
	// A wake-up that has begun before answers by the options of before.
	answered := func(what string, code int) {
		eventually(t, what, func() bool { return s.answers(raw, "GET")[0].StatusCode == code })
	}
	for range 2 {
		answered("a configured Host", 200)
	}
	o.Hosts = nil
	s.h.Configure(o)
	answered("a Host that was taken away", 421)
}

func TestLoop_CountsWhatItAnswers(t *testing.T) {
	s := newLoopSite(t)
	for range 10 {
		s.answers(plainGet, "GET")
	}
	eventually(t, "ten answers are counted", func() bool {
		_, st := durations(s.h)
		return st.Codes[200] == 10
	})
}

// stepper drives the protocol without sockets.
type stepper struct {
	l     *protocol
	scope eventloop.Scope
	conn  *eventloop.Conn
}

func newStepper(tb testing.TB, h *Handler) *stepper {
	tb.Helper()
	l := newProtocol(h)
	s := &stepper{l: l, scope: l.newScope()}
	s.conn = eventloop.NewTestConn(s.scope)
	l.Open(s.conn, nil)
	s.scope.BeginTurn(time.Now())
	return s
}

// allocs returns how often a request allocates whose answer is good.
func (s *stepper) allocs(t *testing.T, in []byte, good func(answer []byte) bool) float64 {
	t.Helper()
	out := make([]byte, 0, 64<<10)
	return testing.AllocsPerRun(1000, func() {
		used, got, next := s.l.Step(s.conn, in, out)
		if used != len(in) || next != eventloop.More || !good(got) {
			t.Fatalf("%s: Step = %d, %.400q, %d", in, used, got, next)
		}
	})
}

// bench makes a request again and again, so many in each wake-up.
func (s *stepper) bench(b *testing.B, in []byte, batch int) {
	out := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%batch == 0 {
			s.scope.BeginTurn(time.Now())
		}
		if _, _, next := s.l.Step(s.conn, in, out); next != eventloop.More {
			s.scope.BeginTurn(time.Now()) // the feed was not looked at for long
		}
	}
}

func TestLoop_HitAllocatesNothing(t *testing.T) {
	site := newServer(t)
	for _, path := range []string{"/depts/10", "/cities/Tulsa,OK"} {
		for range 2 {
			site.do("GET", path, "")
		}
		s := newStepper(t, site.h)
		in := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n")
		n := s.allocs(t, in, func(got []byte) bool { return len(got) >= 100 })
		if n != 0 {
			t.Errorf("a hit of %s allocates %v times", path, n)
		}
	}
}

// What a path names is read without an allocation where nothing in it is escaped.
func TestRoute_AllocatesNothing(t *testing.T) {
	o := &settings{Options: Options{BasePath: "/api"}, hosts: httprule.NewHosts(nil)}
	p, m := &peer{conn: ends{}}, new(memo)
	r := request{Request: http1.Request{Host: []byte("localhost"), Path: []byte("/api/depts/a,b")}}
	n := testing.AllocsPerRun(100, func() {
		var got target
		if err := o.route(m, p, &r, &got); err != nil || got.name != "depts" || got.key != "a,b" {
			t.Fatalf("%+v, %v", got, err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkLoop_Step is a hit without sockets: parse, route, look up, append.
// batch is how many requests one wake-up of the loop answers.
func BenchmarkLoop_Step(b *testing.B) {
	set, _ := openSet(b)
	h := New(Options{Resources: set})
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
	in := []byte(plainGet)
	for _, batch := range []int{1, 16} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := newStepper(b, h)
			s.bench(b, in, batch)
		})
	}
}
