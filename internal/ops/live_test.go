package ops_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/ops"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A stream is what a client of /-/live has of it.
type stream struct {
	t      *testing.T
	resp   *http.Response
	in     *bufio.Reader
	events []ops.Event // of before
	bytes  int         // of the last event
}

// follow opens a stream, and returns the history that it begins with.
func follow(t *testing.T, url string) (*stream, ops.History) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(20*time.Second))
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", url+"/-/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("/-/live = %s, %v", resp.Status, resp.Header)
	}
	s := &stream{t: t, resp: resp, in: bufio.NewReader(resp.Body)}
	var history ops.History
	s.next("history", &history)
	s.next("events", &s.events)
	return s, history
}

// next reads an event of a kind.
func (s *stream) next(kind string, v any) {
	s.t.Helper()
	event := ""
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if event != kind {
				s.t.Fatalf("the event is %q, want %q", event, kind)
			}
			s.bytes = len(data)
			if err := json.Unmarshal([]byte(data), v); err != nil {
				s.t.Fatal(err)
			}
			return
		}
	}
}

func (s *stream) frame() (f ops.Frame) {
	s.t.Helper()
	s.next("frame", &f)
	return f
}

// counting returns options whose hits grow by 100 with each snapshot, and how many
// snapshots were taken.
func counting() (o ops.Options, taken *atomic.Int64) {
	o, taken = options(), new(atomic.Int64)
	o.Events = new(ops.Events)
	o.Stats = func() ops.Snapshot {
		s := sample()
		n := uint64(taken.Add(1))
		s.Resources[0].Lookups[0].Hit += 100 * n
		s.Feeds[0].Events += 10 * n
		return s
	}
	return o, taken
}

func TestLive_TellsRatesAndEvents(t *testing.T) {
	o, _ := counting()
	log := slog.New(o.Events.Handler(slog.NewTextHandler(io.Discard, nil)))
	log.Info("before anybody looked")
	port := ops.New(o)
	srv := httptest.NewServer(port)
	defer srv.Close()
	defer port.Stop()

	s, _ := follow(t, srv.URL)
	first := s.frame()
	if first.Interval != 0 || first.Answers != (ops.Answers{}) {
		t.Errorf("the first frame has rates: %+v", first)
	}
	if len(s.events) != 1 || s.events[0].Message != "before anybody looked" || len(first.Events) != 0 {
		t.Errorf("events of before: %v, in the first frame: %v", s.events, first.Events)
	}
	log.Warn("while somebody looks")
	second := s.frame()
	for len(second.Events) == 0 { // it was made before
		second = s.frame()
	}
	if len(second.Events) != 1 || second.Events[0].Level != "WARN" {
		t.Errorf("events of a frame: %v", second.Events)
	}
	// The first has a snapshot too.
	if got := second.Answers.Memory * time.Duration(second.Interval).Seconds(); got < 99 || got > 201 {
		t.Errorf("100 or 200 hits in %v s were %v a second", second.Interval, second.Answers.Memory)
	}
	if got := second.Sources[0].Changes * time.Duration(second.Interval).Seconds(); got < 9 || got > 21 {
		t.Errorf("10 or 20 changes were %v", got)
	}
	if v := second.Sources[0].Verdict; !strings.HasPrefix(v, "Behind the database") {
		t.Errorf("verdict %q", v)
	}

	// Another who looks gets the same frames, and what was before.
	other, history := follow(t, srv.URL)
	if len(history.Minutes) == 0 || len(history.Names) != len(history.Minutes[0]) ||
		history.Names[1] != "memory" || !slices.Contains(history.Minutes, *second.Point) {
		t.Errorf("history: %+v", history)
	}
	for a, b := s.frame(), other.frame(); !a.Time.Equal(b.Time); {
		if a.Time.Before(b.Time) { // other came between two frames
			a = s.frame()
		} else {
			b = other.frame()
		}
	}
}

// TestLive_KeepsFiguresWhileNobodyLooks: who begins to look is told of before, at once, and
// again after the connection was lost. Keys are sampled while somebody looks alone.
func TestLive_KeepsFiguresWhileNobodyLooks(t *testing.T) {
	o, taken := counting()
	var looks, rests atomic.Int64
	o.Hottest = func() ops.Hottest { looks.Add(1); return ops.Hottest{} }
	o.Rest = func() { rests.Add(1) }
	port := ops.New(o)
	srv := httptest.NewServer(port)
	defer srv.Close()
	defer port.Stop()
	port.Start()
	port.Start() // a second time it has started
	waitFor := func(n *atomic.Int64, least int64) {
		t.Helper()
		for deadline := waittest.Deadline(time.Minute); n.Load() < least; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d, want %d", n.Load(), least)
			}
		}
	}
	waitFor(taken, 4)
	if looks.Load() != 0 {
		t.Error("keys are sampled though nobody looks")
	}
	s, history := follow(t, srv.URL)
	if len(history.Minutes) < 2 || history.Minutes[0][1] == 0 {
		t.Errorf("before anybody looked: %v", history.Minutes)
	}
	s.frame()
	_ = s.resp.Body.Close()
	waitFor(&rests, 1)
	was, n := looks.Load(), taken.Load()
	waitFor(taken, n+2)
	if looks.Load() != was {
		t.Error("keys are sampled though nobody looks any more")
	}
	_, again := follow(t, srv.URL)
	if len(again.Minutes) < len(history.Minutes)+2 || again.Minutes[0] != history.Minutes[0] {
		t.Errorf("after the connection was lost: %v, before %v", again.Minutes, history.Minutes)
	}
}

func TestLive_StopEndsStreams(t *testing.T) {
	o, _ := counting()
	port := ops.New(o)
	srv := httptest.NewServer(port)
	defer srv.Close()
	s, _ := follow(t, srv.URL)
	s.frame()
	port.Stop()
	port.Stop() // a second time there is nothing to end
	if _, err := io.Copy(io.Discard, s.in); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
	resp, err := http.Get(srv.URL + "/-/live")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a stream after Stop = %s", resp.Status)
	}
}

// TestLive_EndsWithItsToken: who is the operator no more sees nothing further.
func TestLive_EndsWithItsToken(t *testing.T) {
	o, _ := counting()
	var gone atomic.Bool
	o.Authorize = func(*http.Request) error {
		if gone.Load() {
			return ops.ErrUnauthorized
		}
		return nil
	}
	port := ops.New(o)
	defer port.Stop()
	srv := httptest.NewServer(port)
	defer srv.Close()
	s, _ := follow(t, srv.URL)
	s.frame()
	gone.Store(true)
	if _, err := io.Copy(io.Discard, s.in); err != nil {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestLive_BoundsHowManyLook(t *testing.T) {
	o, _ := counting()
	port := ops.New(o)
	srv := httptest.NewServer(port)
	defer srv.Close()
	defer port.Stop()
	for range 64 {
		follow(t, srv.URL)
	}
	resp, err := http.Get(srv.URL + "/-/live")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more = %s", resp.Status)
	}
}

func TestInspect_TellsWhatIsWrong(t *testing.T) {
	o := options()
	o.Inspect = func(_ context.Context, tg ops.Target, compare bool) (ops.Inspection, error) {
		switch tg.Path {
		case "/nope/1":
			return ops.Inspection{}, ops.ErrNoResource
		case "/depts/x":
			return ops.Inspection{}, ops.ErrKey
		}
		in := ops.Inspection{Path: tg.Path, Kept: true}
		if compare {
			in.Database = &ops.Compare{Row: true, Same: true}
		}
		return in, nil
	}
	h := ops.New(o)
	for query, want := range map[string]int{
		"?path=/depts/10": 200, "?path=/depts/10&compare": 200, "?resource=depts&key=10": 200,
		"?path=/nope/1": 404, "?path=/depts/x": 400, "": 400, "?path=/a/1&x=2": 400, "?%zz": 400,
	} {
		resp, body := ask(h, "GET", "/-/inspect"+query)
		if resp.StatusCode != want {
			t.Errorf("%s = %s %s", query, resp.Status, body)
		}
		if got := strings.Contains(body, `"same": true`); got != strings.HasSuffix(query, "compare") {
			t.Errorf("%s compares: %t", query, got)
		}
	}
}

func TestConsole_ItsFilesAreAnybodys(t *testing.T) {
	o := options()
	o.Authorize = func(*http.Request) error { return ops.ErrUnauthorized }
	h := ops.New(o)
	resp, body := ask(h, "GET", "/", "Accept: text/html,*/*;q=0.8")
	if resp.StatusCode != 200 || !strings.HasPrefix(body, "<!doctype html>") ||
		!strings.HasSuffix(body, "</html>\n") || resp.Header.Get("Content-Security-Policy") == "" {
		t.Fatalf("/ = %s %v %.80s", resp.Status, resp.Header, body)
	}
	for _, attr := range []string{`src="-/`, `href="-/`} {
		for _, part := range strings.Split(body, attr)[1:] {
			path, _, _ := strings.Cut(part, `"`)
			path = "/-/" + path
			resp, file := ask(h, "GET", path)
			if resp.StatusCode != 200 || file == "" {
				t.Errorf("the page asks for %s: %s", path, resp.Status)
			}
			if again, _ := ask(h, "GET", path, "If-None-Match: "+resp.Header.Get("ETag")); again.StatusCode != 304 {
				t.Errorf("%s again = %s", path, again.Status)
			}
		}
	}
	if _, body := ask(h, "GET", "/", "Accept: */*"); !strings.Contains(body, "GET  /-/live") {
		t.Errorf("/ for curl: %s", body)
	}
	if resp, _ := ask(h, "GET", "/-/live"); resp.StatusCode != 401 {
		t.Errorf("/-/live without a token = %s", resp.Status)
	}
}

// TestLive_TellsAtOnceThatASourceIsBehind, and not with the next second.
func TestLive_TellsAtOnceThatASourceIsBehind(t *testing.T) {
	o, _ := counting()
	var behind atomic.Int64
	o.Behind = func() int { return int(behind.Load()) }
	port := ops.New(o)
	srv := httptest.NewServer(port)
	defer srv.Close()
	defer port.Stop()
	s, _ := follow(t, srv.URL)
	s.frame()
	s.frame() // the next is due in a second
	for n := range int64(2) {
		const most = 700 * time.Millisecond
		for try := 1; ; try++ { // on a busy machine one may be late, as the frame of a second is
			behind.Store(n)
			s.frame()
			s.frame() // that of the second, or of the next
			began := time.Now()
			behind.Store(1 - n)
			f := s.frame()
			took := time.Since(began)
			if took <= most && time.Duration(f.Interval) <= most {
				break
			}
			if try == 10 {
				t.Fatalf("told after %v, in a frame of %v", took, time.Duration(f.Interval))
			}
		}
	}
}
