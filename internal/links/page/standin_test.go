package page

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A standIn answers as the API does, with the figures of a shortener that has
// been busy for a year, which a real one cannot have within a test. The real one
// and the page meet in the tests of cmd/hotrow.
type standIn struct {
	now time.Time
	key string // that is asked for; "": none

	mu      sync.Mutex // guards what is below
	links   []map[string]any
	live    []chan string
	version int
	deleted map[string]map[string]any
}

var noon = time.Date(2026, 11, 21, 19, 11, 0, 0, time.UTC)

// The texts of links.md 6.4: each must come out as text, wherever it stands.
const (
	evilReferrer = `https://x/"><img src=x onerror=alert(1)>`
	evilAgent    = `<script>alert(1)</script>`
	evilTitle    = `</title><script>alert(1)</script>`
	evilTag      = `"><b>`
)

func newStandIn() *standIn {
	s := &standIn{now: noon, deleted: map[string]map[string]any{}}
	add := func(code, url, title string, clicks, bots int64, last time.Duration, tags ...string) map[string]any {
		l := map[string]any{
			"code": code, "short_url": "https://s.example/" + code, "url": url, "status": 302, "title": nil,
			"tags": append([]string{}, tags...), "enabled": true, "pass_query": true, "pass_path": false,
			"starts_at":  nil,
			"expires_at": nil, "expired_url": nil, "max_clicks": nil, "created_at": noon.AddDate(0, -3, 0),
			"updated_at": noon.AddDate(0, 0, -2), "clicks": clicks, "bots": bots, "last_click_at": nil,
		}
		if title != "" {
			l["title"] = title
		}
		if last > 0 {
			l["last_click_at"] = noon.Add(-last)
		}
		s.links = append(s.links, l)
		return l
	}
	spring := add("spring", "https://example.com/spring?x=1", "Spring sale", 12934, 811, 2*time.Second, "mail")
	spring["expires_at"] = noon.AddDate(0, 0, 40)
	add("x7kq2mz", "https://github.com/golang/go/wiki/CodeReviewComments", "", 9021, 1204, 4*time.Second, "docs")
	add("handbook", "https://docs.example.org/handbook/2026/second-edition/chapters/introduction.html", "",
		4410, 96, 3*time.Minute, "docs", "team")
	add("r4wtn8c", "https://en.wikipedia.org/wiki/Uniform_Resource_Locator#Syntax", "", 2077, 310, 11*time.Minute)
	add("idn", "https://xn--e1afmkfd.xn--p1ai/%D0%BF%D1%83%D1%82%D1%8C?q=%D0%B6", "", 812, 14, 2*time.Hour)
	add("fake", "https://xn--80ak6aa92e.com/login", "", 3, 40, 26*time.Hour)
	off := add("autumn", "https://example.com/autumn", "", 7310, 402, 50*24*time.Hour, "mail")
	off["enabled"], off["state"] = false, "off"
	once := add("x9dk2mp", "https://example.com/secret/for-one-person-only", "Once, for Ana and nobody else", 1, 12,
		time.Hour, "mail", "once")
	once["max_clicks"], once["state"] = 1, "used"
	past := add("easter", "https://example.com/easter", "Easter sale: a title that is far longer than its "+
		"column is wide, and has to end somewhere", 4102, 77, 200*24*time.Hour)
	past["expires_at"], past["state"] = noon.AddDate(0, -7, 0), "expired"
	soon := add("xmas", "https://example.com/christmas", "", 0, 0, 0)
	soon["starts_at"], soon["state"] = noon.AddDate(0, 0, 9), "scheduled"
	add("vote", "https://forms.example.net/d/e/1FAIpQLSf/viewform?usp=sf_link", "Where shall we meet?",
		58, 0, 9*time.Hour)
	add("evil", "https://example.com/?q=%3Cscript%3E", evilTitle, 1, 0, 5*time.Hour, evilTag)
	add("fresh", "https://example.com/new", "", 0, 0, 0)
	return s
}

// series returns a plausible curve: days and nights, weekdays and weekends.
func series(unit string, now time.Time, scale float64) [][]any {
	sp := spans[unit]
	var out [][]any
	for t := sp.cut(sp.back(sp.cut(now))); !t.After(now); t = sp.next(t) {
		wave := 1 + 0.6*math.Sin(float64(t.Unix())/86400*2*math.Pi-2)
		if unit != "hour" {
			wave = []float64{0.35, 1, 1.15, 1.1, 1.05, 0.9, 0.4}[t.Weekday()]
		}
		n := scale * wave * (0.85 + 0.3*float64(t.Unix()/3600%7)/7)
		name := t.Format("2006-01-02")
		if unit == "hour" {
			name = t.Format(time.RFC3339)
		}
		if unit == "month" {
			name = t.Format("2006-01")
		}
		out = append(out, []any{name, int64(n), int64(n * 0.07), int64(n * 0.8)})
	}
	return out
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	if s.key != "" && path != "health" && r.Header.Get("Authorization") != "Bearer "+s.key {
		refuse(w, 401, "Unauthorized", "a key is needed", "")
		return
	}
	code, rest, _ := strings.Cut(strings.TrimPrefix(path, "links/"), "/")
	switch {
	case path == "health":
		answer(w, 200, map[string]any{
			"status": "ok", "links": 1204, "clicks": 88213904 + s.version, "lag_seconds": 0.2,
		})
	case path == "links" && r.Method == http.MethodPost:
		s.create(w, r)
	case path == "links":
		s.list(w, r)
	case path == "orphans":
		answer(w, 200, map[string]any{"orphans": []any{
			map[string]any{"path": "/wp-login.php", "clicks": 412}, map[string]any{"path": "/sprng", "clicks": 9},
			map[string]any{"path": "/fresh", "clicks": 3, "code": "fresh"},
			map[string]any{"path": `/<script>alert(1)</script>`, "clicks": 2},
		}})
	case path == "clicks":
		answer(w, 200, map[string]any{"clicks": lastClicks()})
	case path == "clicks/live":
		s.stream(w, r)
	case rest == "stats":
		scale := map[string]float64{"hour": 80, "day": 1600, "month": 42000}[r.URL.Query().Get("unit")]
		answer(w, 200, map[string]any{
			"code": code, "unit": r.URL.Query().Get("unit"), "series": series(r.URL.Query().Get("unit"), s.now, scale),
			"by": map[string]any{
				"referrer": [][]any{{"(direct)", 7000}, {"news.ycombinator.com", 3100}, {"mail.example.com", 812},
					{evilReferrer, 31}, {"(other)", 12}},
				"country": [][]any{{"DE", 4120}, {"US", 2950}, {"FR", 1200}, {"JP", 410}, {"??", 301}},
				"browser": [][]any{{"Chrome", 6020}, {"Safari", 3211}, {"Firefox", 2980}, {evilAgent, 2}},
				"os":      [][]any{{"Android", 4100}, {"Windows", 3800}, {"iOS", 2900}, {"Linux", 1020}},
			},
		})
	case rest == "edits":
		answer(w, 200, map[string]any{"edits": []any{map[string]any{
			"at": noon.AddDate(0, 0, -2), "by": "ana", "before": map[string]any{"url": "https://example.com/old"},
			"after": map[string]any{"url": "https://example.com/spring?x=1", "title": evilTitle},
		}}})
	default:
		s.one(w, r, code)
	}
}

func lastClicks() []map[string]any {
	var out []map[string]any
	for i := range 12 {
		out = append(out, map[string]any{
			"at": noon.Add(-time.Duration(i*i*7) * time.Second), "code": "spring", "kind": []int{0, 0, 0, 1, 0, 3}[i%6],
			"country": []string{"DE", "FR", "US", "??"}[i%4], "browser": []string{"Firefox", "Safari", evilAgent}[i%3],
			"os":       []string{"Linux", "iOS", "Windows"}[i%3],
			"referrer": []string{"", "https://news.ycombinator.com/item?id=1", evilReferrer}[i%3],
		})
	}
	return out
}

func (s *standIn) find(code string) map[string]any {
	i := slices.IndexFunc(s.links, func(l map[string]any) bool { return l["code"] == code })
	if i < 0 {
		return nil
	}
	return s.links[i]
}

func (s *standIn) create(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Content-Type") == "application/x-ndjson" {
		dec := json.NewDecoder(r.Body)
		for {
			var l map[string]any
			if dec.Decode(&l) != nil {
				return
			}
			if s.find(fmt.Sprint(l["code"])) != nil {
				answer(w, 0, map[string]any{"status": 409, "title": "Code already in use", "detail": "it is taken"})
				continue
			}
			s.links = append(s.links, l)
			answer(w, 0, map[string]any{"status": 201, "code": l["code"]})
		}
	}
	var in map[string]any
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		refuse(w, 400, "Bad JSON", err.Error(), "")
		return
	}
	url := fmt.Sprint(in["url"])
	if !strings.HasPrefix(url, "http") {
		refuse(w, 422, "Invalid", "a target must begin with https:// or http://", "url")
		return
	}
	code, _ := in["code"].(string)
	if code == "" {
		code = fmt.Sprintf("n%dw", len(s.links))
	}
	if s.find(code) != nil {
		refuse(w, 409, "Code already in use", fmt.Sprintf("%q already points to another URL", code), "code")
		return
	}
	l := map[string]any{
		"code": code, "short_url": "https://s.example/" + code, "url": url, "status": 302, "enabled": true,
		"tags": in["tags"], "title": in["title"], "created_at": noon, "updated_at": noon, "clicks": 0, "bots": 0,
	}
	s.links = append([]map[string]any{l}, s.links...)
	answer(w, 201, l)
}

func (s *standIn) list(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, tag := r.URL.Query().Get("q"), r.URL.Query().Get("tag")
	found := []map[string]any{}
	for _, l := range s.links {
		tags, _ := l["tags"].([]string)
		if strings.Contains(fmt.Sprint(l["code"], l["url"]), q) && (tag == "" || slices.Contains(tags, tag)) {
			found = append(found, l)
		}
	}
	days := map[string][]int64{}
	for _, l := range found {
		if clicks, _ := l["clicks"].(int64); clicks > 0 {
			days[fmt.Sprint(l["code"])] = []int64{350, 1000, 1150, 1100, 1050, 900, 400}
		}
	}
	answer(w, 200, map[string]any{"links": found, "next": nil, "days": map[string]any{
		"from": noon.AddDate(0, 0, -6).Format(time.DateOnly), "clicks": days}})
}

func (s *standIn) one(w http.ResponseWriter, r *http.Request, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.deleted[code]; old != nil && strings.HasSuffix(r.URL.Path, "/restore") {
		delete(s.deleted, code)
		s.links = append(s.links, old)
		answer(w, 201, old)
		return
	}
	l := s.find(code)
	if l == nil {
		refuse(w, 404, "Not found", "no such link", "")
		return
	}
	tag := fmt.Sprintf(`"%d"`, s.version)
	if r.Method != http.MethodGet && r.Header.Get("If-Match") != tag {
		refuse(w, 412, "Changed", "it has changed", "")
		return
	}
	switch r.Method {
	case http.MethodDelete:
		s.deleted[code] = l
		s.links = slices.DeleteFunc(s.links, func(l map[string]any) bool { return l["code"] == code })
		w.WriteHeader(204)
		return
	case http.MethodPatch:
		var in map[string]any
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			refuse(w, 400, "Bad JSON", err.Error(), "")
			return
		}
		for name, v := range in {
			l[name] = v
		}
		if on, ok := in["enabled"].(bool); ok {
			l["state"] = map[bool]string{true: "on", false: "off"}[on]
		}
		if tags, ok := in["tags"].([]any); ok {
			l["tags"] = []string{}
			for _, tag := range tags {
				l["tags"] = append(l["tags"].([]string), fmt.Sprint(tag))
			}
		}
		s.version++
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%d"`, s.version))
	answer(w, 200, l)
}

// stream answers with live clicks as events.
func (s *standIn) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	ch := make(chan string, 100)
	s.mu.Lock()
	s.live = append(s.live, ch)
	s.mu.Unlock()
	fmt.Fprint(w, ": hello\n\n")
	w.(http.Flusher).Flush()
	for n := 1; ; n++ {
		select {
		case <-r.Context().Done():
			return
		case text := <-ch:
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", n, text)
			w.(http.Flusher).Flush()
		}
	}
}

// click sends a click to everybody who follows the tail.
func (s *standIn) click(c map[string]any) {
	text, _ := json.Marshal(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ch := range s.live {
		select {
		case ch <- string(text):
		default: // its page has been left
		}
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	text, _ := json.Marshal(v)
	if status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
	}
	_, _ = w.Write(append(text, '\n'))
}

func refuse(w http.ResponseWriter, status int, title, detail, field string) {
	answer(w, status, map[string]any{
		"type": "/-/problems/x", "title": title, "status": status, "detail": detail, "field": field,
	})
}

// newPage returns a page over a stand-in, and its server.
func newPage(t *testing.T) (*standIn, *httptest.Server) {
	t.Helper()
	api := newStandIn()
	return api, serveStandIn(t, api)
}

// serveStandIn returns the server of a page over a stand-in.
func serveStandIn(t *testing.T, api *standIn) *httptest.Server {
	t.Helper()
	p, err := New(Options{
		API: api, BaseURL: "https://s.example", Fold: true, Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv
}
