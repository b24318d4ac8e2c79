package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// nginxBefore starts nginx with what the page about proxies says, in front of a
// server, and returns its address.
func nginxBefore(t *testing.T, upstream, block string) string {
	t.Helper()
	return dbtest.Nginx(t, func(addr string) string {
		return strings.NewReplacer("server 127.0.0.1:8080;", "server "+upstream+";",
			"listen 80;", "listen "+addr+";").Replace(block)
	})
}

// The page about proxies is what an operator copies: nginx as it says, with the name
// in http.hosts, gets hits, lists and writes through, and without either half
// of it 421.
func TestServe_BehindNginxAsThePageSays(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/reverse-proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`HOTROW_HTTP_HOSTS=\S*?[a-z.]+`).Find(page)
	if name == nil {
		t.Fatal("the page has no name")
	}
	block, host := onThePage(t, "nginx"), strings.TrimPrefix(string(name), "HOTROW_HTTP_HOSTS=")
	named := start(t, []string{string(name)}, database(t, deptSQL), "--writable")
	unnamed := start(t, nil, database(t, deptSQL))
	for _, r := range []*running{named, unnamed} {
		until(t, r.log, r.complete)
	}
	line := regexp.MustCompile(`(?m)^.*proxy_set_header Host.*\n`)
	for what, tt := range map[string]struct {
		r     *running
		block string
		code  int
	}{
		"as the page says":           {named, block, http.StatusOK},
		"without the name in hosts":  {unnamed, block, http.StatusMisdirectedRequest},
		"without the line with Host": {named, line.ReplaceAllString(block, ""), http.StatusMisdirectedRequest},
	} {
		addr := nginxBefore(t, strings.TrimPrefix(tt.r.http, "http://"), tt.block)
		asks(t, what, addr, host, tt.code)
	}
}

// asks reads a document, a list and writes through a proxy at addr, as clients that use a
// name; if code is not 200, the document alone.
func asks(t *testing.T, what, addr, host string, code int) {
	t.Helper()
	front := &running{t: t, http: "http://" + addr}
	for range 3 {
		if a := front.get("/dept/10", "Host: "+host); a.code != code {
			t.Errorf("%s: %d %s, want %d", what, a.code, a.body, code)
		}
	}
	if code != http.StatusOK {
		return
	}
	if a := front.get("/dept?limit=1", "Host: "+host); a.code != http.StatusOK {
		t.Errorf("%s: a list is %d %s", what, a.code, a.body)
	}
	a := front.do("PATCH", "/dept/10", `{"dname":"X"}`, "Host: "+host,
		"Content-Type: application/json", "Origin: http://"+host)
	if a.code != http.StatusOK || !strings.Contains(front.get("/dept/10", "Host: "+host).body, `"X"`) {
		t.Errorf("%s: a write is %d %s", what, a.code, a.body)
	}
	events := eventsOf(t, "http://"+addr+"/dept/10", host)
	if first := <-events; !strings.Contains(first, `"X"`) {
		t.Errorf("%s: who follows a document hears %q", what, first)
	}
	a = front.do("PATCH", "/dept/10", `{"dname":"Y"}`, "Host: "+host, "Content-Type: application/json")
	if next := <-events; a.code != http.StatusOK || !strings.Contains(next, `"Y"`) {
		t.Errorf("%s: after a write (%d) who follows hears %q", what, a.code, next)
	}
}

// eventsOf returns the data of what is told of a document, until the test ends; it is closed when
// nothing comes any more.
func eventsOf(t *testing.T, url, host string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(waittest.Patience))
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Accept", "text/event-stream")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(events)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				select {
				case events <- data:
				case <-ctx.Done():
				}
			}
		}
	}()
	t.Cleanup(func() { cancel(); _ = answer.Body.Close(); <-done })
	return events
}
