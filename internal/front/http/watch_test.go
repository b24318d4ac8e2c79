package httpfront

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

// An event is one that a client has got.
type event struct{ name, id, data string }

// A watching is a client's end of a watch.
type watching struct {
	t     *testing.T
	resp  *http.Response
	lines *bufio.Scanner
	stop  context.CancelFunc
}

// newWatchSite starts a site behind an event loop.
func newWatchSite(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	if os.Getenv("HOTROW_TEST_ROAD") == "" {
		t.Setenv("HOTROW_TEST_ROAD", "loop")
	}
	return newServer(t, change...)
}

// watch follows a path until the test ends.
func (s *site) watch(path string, header ...string) *watching {
	s.t.Helper()
	return s.events("GET", path, "", header...)
}

// postForEvents follows what a body names until the test ends.
func (s *site) postForEvents(path, body string) *watching {
	s.t.Helper()
	return s.events("POST", path, body, "Content-Type: application/json")
}

// events asks for events.
func (s *site) events(method, path, body string, header ...string) *watching {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	s.t.Cleanup(stop)
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == "GET" {
		r.Body, r.ContentLength = nil, 0
	}
	r.Header.Set("Accept", "text/event-stream")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := s.client.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	w := &watching{t: s.t, resp: resp, lines: bufio.NewScanner(resp.Body), stop: stop}
	w.lines.Buffer(nil, 1<<20)
	return w
}

// next returns the next event; ok is false at the end.
func (w *watching) next() (e event, ok bool) {
	w.t.Helper()
	defer time.AfterFunc(waittest.Limit(waittest.Patience), w.stop).Stop()
	data, some := []string{}, false
	for w.lines.Scan() {
		field, value, _ := strings.Cut(w.lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "id":
			e.id = value
		case "data":
			data, some = append(data, value), true
		case "":
			if w.lines.Text() == "" && some {
				e.data = strings.Join(data, "\n")
				return e, true
			}
		}
	}
	return e, false
}

// want waits for an event of that name whose data has that text; states in between may be
// there or not.
func (w *watching) want(name, text string) event {
	w.t.Helper()
	for {
		e, ok := w.next()
		if !ok {
			w.t.Fatalf("the stream ended before %q %q: %v", name, text, w.lines.Err())
		}
		if e.name == name && strings.Contains(e.data, text) {
			return e
		}
	}
}

// ended waits for the end.
func (w *watching) ended() {
	w.t.Helper()
	for ok := true; ok; {
		_, ok = w.next()
	}
	if err := w.lines.Err(); err != nil {
		w.t.Errorf("the stream was cut: %v", err)
	}
}

// followers returns how many watches a site has.
func (s *site) followers() int {
	s.h.watches.mu.Lock()
	defer s.h.watches.mu.Unlock()
	return s.h.watches.open
}

func (s *site) exec(sql ...string) {
	s.t.Helper()
	if err := s.src.Exec(s.t.Context(), sql...); err != nil {
		s.t.Fatal(err)
	}
}

func TestWatch_StatesOfADocument(t *testing.T) {
	s := newWatchSite(t)
	w := s.watch("/depts/10")
	if w.resp.StatusCode != 200 || w.resp.Header.Get("Content-Type") != "text/event-stream" ||
		w.resp.Header.Get("Cache-Control") != "no-store, no-transform" ||
		w.resp.Header.Get("X-Accel-Buffering") != "no" ||
		w.resp.Header.Get("Hotrow-Position") == "" {
		t.Errorf("%d %v", w.resp.StatusCode, w.resp.Header)
	}
	first, _ := w.next()
	if !strings.Contains(first.data, `"ACCOUNTING"`) || first.name != "" || !strings.Contains(first.id, "~") {
		t.Errorf("first %+v", first)
	}
	plain := s.do("GET", "/depts/10", "")
	if first.data != plain.body || !strings.HasSuffix(first.id, strings.Trim(plain.Header.Get("Etag"), `"`)) {
		t.Errorf("GET gives %s %v, the event %+v", plain.body, plain.Header, first)
	}
	s.exec("UPDATE dept SET loc = 'OSLO' WHERE deptno = 10")
	second := w.want("", "OSLO")
	s.exec("DELETE FROM dept WHERE deptno = 10")
	if e := w.want("absent", ""); e.data != "null" {
		t.Errorf("%+v", e)
	}
	s.exec("INSERT INTO dept VALUES (10, 'ACCOUNTING', 'OSLO')")
	again := w.want("", "OSLO")

	// Who comes back with what is so now is told of the next change alone.
	if end := func(id string) string { return id[strings.LastIndex(id, "~"):] }; end(again.id) != end(second.id) {
		t.Errorf("the same state is %q and %q", second.id, again.id)
	}
	same, other := s.watch("/depts/10", "Last-Event-ID: "+again.id), s.watch("/depts/10", "Last-Event-ID: x~y")
	if e, _ := other.next(); e.data != again.data {
		t.Errorf("an unknown id: %+v", e)
	}
	s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 10")
	for _, w := range []*watching{w, other} {
		w.want("", "ROME")
	}
	if e, _ := same.next(); !strings.Contains(e.data, "ROME") {
		t.Errorf("who had the state got %+v", e)
	}
	w.stop()
	same.stop()
	other.stop()
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}

func TestWatch_StatesOfALists(t *testing.T) {
	s := newWatchSite(t)
	for _, path := range []string{"/depts?loc=eq.DALLAS", "/depts?deptNumber=in.(20,30)", "/depts",
		"/depts?select=loc,deptNumber&order=dname"} {
		w := s.watch(path)
		if w.resp.StatusCode != 200 {
			body, _ := io.ReadAll(w.resp.Body)
			t.Errorf("%s: %d %s", path, w.resp.StatusCode, body)
			continue
		}
		if e, _ := w.next(); !strings.HasPrefix(e.data, "[") || !strings.Contains(e.data, "DALLAS") {
			t.Errorf("%s: %+v", path, e)
		}
		s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 20")
		if strings.Contains(path, "eq.DALLAS") {
			w.want("", "[]")
		} else {
			w.want("", "ROME")
		}
		s.exec("UPDATE dept SET loc = 'DALLAS' WHERE deptno = 20")
		w.want("", "DALLAS")
		w.stop()
	}
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}

func TestWatch_WhatIsRefused(t *testing.T) {
	s := newWatchSite(t)
	for path, want := range map[string]int{"/pay/1": 401, "/none/1": 404, "/depts/x": 400,
		"/depts?nothing=eq.1": 400, "/depts/10?format=cbor": 406,
		"/depts?deptNumber=20&deptNumber=30": 400, "/-/x": 404} {
		w := s.watch(path)
		if w.resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, w.resp.StatusCode, want)
		}
	}
	if a := s.do("HEAD", "/depts/10", "", "Accept: text/event-stream"); a.StatusCode != 406 {
		t.Errorf("HEAD: %d", a.StatusCode)
	}
	secret, token := newToken(t, "reader", "reader")
	s.tokens.Set([]front.Token{token})
	w, open := s.watch("/pay/1", "Authorization: Bearer "+secret), s.watch("/depts/10")
	w.want("", "100")
	s.exec("UPDATE pay SET sal = 200")
	w.want("", "200")
	if n := s.followers(); n != 2 {
		t.Errorf("%d follow, want 2", n)
	}
	s.tokens.Set(nil) // taken away
	w.ended()
	s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 10")
	open.want("", "ROME")
}

// A page of another origin follows only what it may read, and is told so before anything is open.
func TestWatch_PagesOfOtherOrigins(t *testing.T) {
	const page = "https://app.example"
	cross := []string{"Origin: " + page, "Sec-Fetch-Site: cross-site"}
	for _, c := range []struct {
		name    string
		origins []string
		headers []string
		allowed string // "": 403; "-": 200 without a word of origins
	}{
		{"none named", nil, cross, ""}, {"another named", []string{"https://other.example"}, cross, ""},
		{"named", []string{page}, cross, page}, {"any", []string{"*"}, cross, "*"},
		{"no page", nil, nil, "-"}, {"its own page", nil, []string{"Sec-Fetch-Site: same-origin"}, "-"},
		{"no Origin", []string{page}, []string{"Sec-Fetch-Site: cross-site"}, ""},
	} {
		s := newWatchSite(t, func(o *Options) { o.Origins = c.origins })
		w := s.watch("/depts/10", c.headers...)
		got := w.resp.Header.Get("Access-Control-Allow-Origin")
		switch {
		case c.allowed == "" && w.resp.StatusCode != 403, c.allowed != "" && w.resp.StatusCode != 200:
			t.Errorf("%s: %d", c.name, w.resp.StatusCode)
		case c.allowed == "-" && got != "", c.allowed != "" && c.allowed != "-" && got != c.allowed:
			t.Errorf("%s: Access-Control-Allow-Origin: %q", c.name, got)
		case c.allowed != "":
			w.want("", "ACCOUNTING")
		}
		if n := s.followers(); c.allowed == "" && n != 0 {
			t.Errorf("%s: %d follow", c.name, n)
		}
	}
	s := newWatchSite(t)
	own := s.watch("/depts/10", "Origin: http://"+s.addr, "Sec-Fetch-Site: same-origin")
	own.want("", "ACCOUNTING")
}

// Each client hears once in fifteen seconds that its connection lives.
func TestWatch_Heartbeats(t *testing.T) {
	s := newWatchSite(t)
	for range 5 {
		s.watch("/depts/10").want("", "ACCOUNTING")
	}
	heard := map[*stream]int{}
	for n := range heartbeatTicks {
		beats, _, _ := s.h.watches.look(n)
		for _, b := range beats {
			heard[b]++
		}
	}
	for w, n := range heard {
		if n != 1 {
			t.Errorf("client %d hears %d times", w.number, n)
		}
	}
	if len(heard) != 5 {
		t.Errorf("%d clients hear of it, want 5", len(heard))
	}
}

// Who asks for one watch too many is told to come back, and not refused: EventSource would
// give up for good.
func TestWatch_TooMany(t *testing.T) {
	s := newWatchSite(t)
	s.watch("/depts/10").want("", "ACCOUNTING")
	ws := &s.h.watches
	ws.mu.Lock()
	ws.open += front.HTTPWatches // as many others
	ws.mu.Unlock()
	w := s.watch("/depts/10")
	text, err := io.ReadAll(w.resp.Body)
	ms := 0
	if _, scan := fmt.Sscanf(string(text), "retry: %d", &ms); w.resp.StatusCode != 200 || err != nil ||
		scan != nil || ms < 15_000 || strings.Contains(string(text), "data:") {
		t.Errorf("%d %q %v", w.resp.StatusCode, text, err)
	}
	ws.mu.Lock()
	ws.open -= front.HTTPWatches
	ws.mu.Unlock()
	if n := ws.refused.Load(); n != 1 {
		t.Errorf("%d refused", n)
	}
}

// Whatever version of HTTP/1 a proxy speaks, a stream ends with its connection.
func TestWatch_OverHTTP10(t *testing.T) {
	s := newWatchSite(t)
	if s.trust != nil {
		return
	}
	conn := s.dial()
	if _, err := io.WriteString(conn, "GET /depts/10 HTTP/1.0\r\nHost: localhost\r\n"+
		"Accept: text/event-stream\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 || !resp.Close || len(resp.TransferEncoding) > 0 ||
		resp.ContentLength >= 0 {
		t.Fatalf("%+v, %v", resp, err)
	}
	w := &watching{t: t, resp: resp, lines: bufio.NewScanner(resp.Body), stop: func() { _ = conn.Close() }}
	w.want("", "ACCOUNTING")
	s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 10")
	w.want("", "ROME")
	_ = conn.Close()
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}

// Whoever is not what he was, or is to be told by another process, comes back.
func TestWatch_EndsWithTheSettings(t *testing.T) {
	s := newWatchSite(t)
	w, list := s.watch("/depts/10"), s.watch("/depts?loc=eq.DALLAS")
	w.want("", "ACCOUNTING")
	list.want("", "DALLAS")
	s.h.Configure(s.h.live.Load().Options)
	w.ended()
	list.ended()
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}

func TestWatch_EndsWithTheServer(t *testing.T) {
	s := newWatchSite(t)
	w := s.watch("/depts/10")
	w.want("", "ACCOUNTING")
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(time.Minute))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.over.Shutdown(ctx) }()
	for ok := true; ok; {
		_, ok = w.next()
	}
	if err := <-done; err != nil {
		t.Errorf("the server waited: %v", err)
	}
}

// A client that does not read costs no more than one state, and gets the newest one when it
// reads again.
func TestWatch_SlowReaders(t *testing.T) {
	s := newWatchSite(t)
	w := s.watch("/depts/10")
	w.want("", "ACCOUNTING")
	text := strings.Repeat("x", 30_000)
	for i := range 400 { // more than the sockets' buffers hold
		s.exec(fmt.Sprintf("UPDATE dept SET loc = '%d-%s' WHERE deptno = 10", i, text))
	}
	s.exec("UPDATE dept SET loc = 'the last' WHERE deptno = 10")
	w.want("", "the last")
}

func TestWatch_LargeListsAreNamed(t *testing.T) {
	s := newWatchSite(t)
	s.exec(fmt.Sprintf("UPDATE dept SET loc = '%s' WHERE deptno = 10", strings.Repeat("x", 70_000)))
	eventually(t, "the state", func() bool { return len(s.do("GET", "/depts/10", "").body) > 70_000 })
	w := s.watch("/depts/10")
	e := w.want("changed", "etag")
	if tag := s.do("GET", "/depts/10", "").Header.Get("Etag"); !strings.Contains(e.data, strings.Trim(tag, `"`)) {
		t.Errorf("%+v, the tag is %s", e, tag)
	}
}

// While the feed lags nobody can know what is so: clients are told, and get the state again.
func TestWatch_SaysThatTheFeedLags(t *testing.T) {
	var faults *fronttest.Faults
	if os.Getenv("HOTROW_TEST_ROAD") == "" {
		t.Setenv("HOTROW_TEST_ROAD", "loop")
	}
	set, src := openSet(t, func(src source.Source) source.Source {
		faults = &fronttest.Faults{Source: src}
		return faults
	})
	s := newServerOf(t, set, src)
	doc, list := s.watch("/depts/10"), s.watch("/depts?loc=eq.DALLAS")
	doc.want("", "ACCOUNTING")
	list.want("", "DALLAS")
	faults.Lag(true)
	s.exec("UPDATE dept SET loc = 'ROME'")
	for _, w := range []*watching{doc, list} {
		w.want("stale", "null")
	}
	late := s.watch("/depts/10") // gets a copy that may be old, or what the database has
	if e, _ := late.next(); e.name == "" && strings.Contains(e.data, "ROME") {
		e, _ = late.next()
		if e.name != "stale" {
			t.Errorf("a state that may be old by now is followed by %+v", e)
		}
	} else if e.name != "stale" {
		t.Errorf("while the feed lags: %+v", e)
	}
	faults.Lag(false)
	late.want("", "ROME")
	doc.want("", "ROME")
	list.want("", "[]")
}

// One change is read once and encoded once, however many follow.
func TestWatch_OneLoadForAll(t *testing.T) {
	s := newWatchSite(t)
	const many = 300
	var all []*watching
	for range many {
		w := s.watch("/depts/10")
		w.want("", "ACCOUNTING")
		all = append(all, w)
	}
	loads := func() (n uint64) {
		for _, r := range s.h.live.Load().Resources.Stats().Resources {
			n += r.Misses
		}
		return n
	}
	before := loads()
	s.exec("UPDATE dept SET loc = 'ROME' WHERE deptno = 10")
	for _, w := range all {
		w.want("", "ROME")
	}
	if n := loads() - before; n != 1 {
		t.Errorf("%d loads, want 1", n)
	}
	for _, w := range all {
		w.stop()
	}
	eventually(t, "nobody follows", func() bool { return s.followers() == 0 })
}
