package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/waittest"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:131.0) Gecko/20100101 Firefox/131.0"

// newDrained opens a bed with a click log that is drained into its database.
func newDrained(t *testing.T) (*bed, *clicklog.Log) {
	t.Helper()
	b := newBed(t, links.Options{}, nil)
	sums, rows, err := clicks.Cursors(t.Context(), b.db)
	if err != nil {
		t.Fatal(err)
	}
	log, err := clicklog.Open(clicklog.Options{Dir: t.TempDir(), Loops: 1, Segment: 1 << 20,
		Keep: 64 << 20, Cursors: sums, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	d, err := clicks.Start(t.Context(), clicks.Options{Store: b.db, Log: log,
		Every: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	b.h.o.Live, b.h.o.Stats.Tail, b.h.o.Links.Tail = d, d, d
	return b, log
}

// click records a click of a link.
func click(t *testing.T, log *clicklog.Log, link int64, path string) {
	t.Helper()
	r := &clicklog.Record{At: time.Now().UnixMilli(), Link: link, Agent: []byte(firefox),
		Referrer: []byte("https://news.example/item?id=1"), Path: []byte(path),
		IP: netip.MustParseAddr("192.0.2.77").As16()}
	for start := time.Now(); !waittest.Late(time.Since(start), 20*time.Second); time.Sleep(time.Millisecond) {
		if seq, _ := log.Shared().Append(r); seq != 0 {
			return
		}
	}
	t.Fatal("no room in the log")
}

// A stream is a live stream that a test follows.
type stream struct {
	t     testing.TB
	lines *bufio.Scanner
	stop  context.CancelFunc
}

func (b *bed) follow(path string, headers ...string) *stream {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), waittest.Limit(30*time.Second))
	b.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != typeEvents {
		b.t.Fatalf("%s: %d %v", path, res.StatusCode, res.Header)
	}
	return &stream{t: b.t, lines: bufio.NewScanner(res.Body), stop: cancel}
}

// line returns what follows a prefix in the next line that has it.
func (s *stream) line(prefix string) string {
	s.t.Helper()
	for s.lines.Scan() {
		if rest, ok := strings.CutPrefix(s.lines.Text(), prefix); ok {
			return rest
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return ""
}

// next returns the next click.
func (s *stream) next() clickDocument {
	s.t.Helper()
	var doc clickDocument
	if err := json.Unmarshal([]byte(s.line("data: ")), &doc); err != nil {
		s.t.Fatal(err)
	}
	if doc.Code == nil {
		doc.Code = new(string)
	}
	return doc
}

func TestAPI_LiveClicksGoOnWhereTheyBrokeOff(t *testing.T) {
	b, log := newDrained(t)
	a := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://a.com","code":"a"}`)
	other := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://b.com","code":"b"}`)
	ids := idsOf(t, b, a.member("code"), other.member("code"))
	all, one := b.follow("/api/v1/clicks/live"), b.follow("/api/v1/clicks/live?code=B")
	click(t, log, ids[0], "")
	got := all.next()
	if *got.Code != "a" || got.Kind != "human" || got.Browser != "Firefox" ||
		got.Referrer != "news.example" || got.IP != "192.0.2.0" {
		t.Errorf("%+v", got)
	}
	id := all.line("id: ")
	all.stop()
	click(t, log, ids[1], "")
	click(t, log, 0, "/nothing")
	if got := one.next(); *got.Code != "b" {
		t.Errorf("%+v", got)
	}
	again := b.follow("/api/v1/clicks/live", "Last-Event-ID", id)
	if got := again.next(); *got.Code != "b" {
		t.Errorf("after the break: %+v", got)
	}
	b.want(400, "bad-query", "GET", "/api/v1/clicks/live", "", "Last-Event-ID", "nonsense")
	b.want(404, "not-found", "GET", "/api/v1/clicks/live?code=zz", "")
}

// TestAPI_LiveClicksEndWithTheirKey: what a deleted key could read is told no further.
func TestAPI_LiveClicksEndWithTheirKey(t *testing.T) {
	b, log := newDrained(t)
	a := b.want(201, "", "POST", "/api/v1/links", `{"url":"https://a.com","code":"a"}`)
	ids := idsOf(t, b, a.member("code"))
	key, secret, err := b.h.o.Keys.Add(t.Context(), "ann", links.RoleRead)
	if err != nil {
		t.Fatal(err)
	}
	s := b.follow("/api/v1/clicks/live", "Authorization", "Bearer "+secret)
	click(t, log, ids[0], "")
	s.next()
	if err := b.h.o.Keys.Remove(t.Context(), key.ID); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for s.lines.Scan() {
		}
	}()
	for {
		select {
		case <-ended:
			if err := s.lines.Err(); err != nil {
				t.Error(err)
			}
			return
		case <-time.After(50 * time.Millisecond):
			click(t, log, ids[0], "")
		}
	}
}

// idsOf returns the numbers of links.
func idsOf(t *testing.T, b *bed, codes ...string) []int64 {
	t.Helper()
	var out []int64
	for _, code := range codes {
		l, err := b.h.o.Links.Get(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, l.ID)
	}
	return out
}

func TestAPI_ClicksAreSeenAtOnceAndCountedOnce(t *testing.T) {
	b, log := newDrained(t)
	b.want(201, "", "POST", "/api/v1/links", `{"url":"https://a.com","code":"a"}`)
	id := idsOf(t, b, "a")[0]
	const n = 50
	for range n {
		click(t, log, id, "")
	}
	click(t, log, 0, "/sprng")
	await(t, "the clicks", func() bool {
		a := b.do("GET", "/api/v1/links/a", "").member("clicks")
		if len(a) > 2 || a > "50" && len(a) == 2 {
			t.Fatalf("%s clicks of 50", a)
		}
		return a == "50"
	})
	await(t, "the rows", func() bool { return log.Stats().Undone == 0 })
	raw := b.do("GET", "/api/v1/clicks?code=a&limit=60", "", "Accept", typeNDJSON)
	if got := strings.Count(raw.body, "\n"); got != n {
		t.Errorf("%d rows of %d: %.300s", got, n, raw.body)
	}
	s := b.do("GET", "/api/v1/links/a/stats?by=browser,referrer", "")
	for _, want := range []string{`"total":{"bots":0,"clicks":50,"visitors":1}`,
		`"browser":[["Firefox",50]]`, `"referrer":[["news.example",50]]`} {
		if !strings.Contains(s.body, want) {
			t.Errorf("%s lacks %s", s.body, want)
		}
	}
	if o := b.do("GET", "/api/v1/orphans", ""); !strings.Contains(o.body,
		`"orphans":[{"path":"/sprng","clicks":1}]`) {
		t.Errorf("orphans %s", o.body)
	}
	if h := b.do("GET", "/api/v1/health", ""); h.member("clicks") != "50" {
		t.Errorf("health %s", h.body)
	}
}

// await polls until ok, for 20 seconds at most.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}
