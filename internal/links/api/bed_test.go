package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/links"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// A bed is an API under test, over SQLite, at 127.0.0.1.
type bed struct {
	t       testing.TB
	db      *sqlite.Source
	url     string
	h       *Handler
	keys    *links.Keys
	changed chan string
	clock   atomic.Int64 // seconds that time is ahead
}

func newBed(t testing.TB, rules links.Options, adapt func(*Options)) *bed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "links.db"),
		sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if rules.BaseURL == "" {
		rules.BaseURL = "https://s.example"
	}
	r, err := links.NewRules(rules)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, db: db, changed: make(chan string, 10_000)}
	now := func() time.Time { return time.Now().Add(time.Duration(b.clock.Load()) * time.Second) }
	store := links.NewStore(links.Deps{DB: db, Rules: r, Now: now,
		Changed: func(_ context.Context, _ source.Position, codes []string) {
			for _, c := range codes {
				b.changed <- c
			}
		}})
	b.keys = links.NewKeys(db, now)
	o := Options{Links: store, Keys: b.keys, Stats: &links.Stats{DB: db, Now: now}, Now: now,
		Hosts: []string{"s.example"}, Private: func() bool { return true }}
	if adapt != nil {
		adapt(&o)
	}
	b.h = New(o)
	server := httptest.NewServer(b.h)
	b.url = server.URL
	t.Cleanup(func() {
		b.h.Close()
		server.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// An answer is what a request got.
type answer struct {
	status int
	header http.Header
	body   string
}

// member returns a member of a JSON object; "" when there is none.
func (a answer) member(name string) string {
	var object map[string]any
	if json.Unmarshal([]byte(a.body), &object) != nil || object[name] == nil {
		return ""
	}
	return fmt.Sprint(object[name])
}

// slug returns the end of a problem's type.
func (a answer) slug() string { return strings.TrimPrefix(a.member("type"), "/-/problems/") }

// do makes a request. headers are names and values in turn; a body gets
// application/json unless they say otherwise.
func (b *bed) do(method, path, body string, headers ...string) answer {
	b.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, in)
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	a := answer{res.StatusCode, res.Header, string(text)}
	b.conforms(req, body, &a)
	return a
}

// want makes a request and checks the status and, of a problem, its type.
func (b *bed) want(status int, slug, method, path, body string, headers ...string) answer {
	b.t.Helper()
	a := b.do(method, path, body, headers...)
	if a.status != status || a.slug() != slug {
		b.t.Errorf("%s %s %.200s: %d %s %.300s; want %d %s", method, path, body, a.status, a.slug(),
			a.body, status, slug)
	}
	return a
}
