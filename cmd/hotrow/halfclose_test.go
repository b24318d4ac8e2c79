package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// halfClosed sends a request, ends its side of the connection as nc -N does, and
// returns the status and the body of the answer.
func halfClosed(addr, request string) (int, string, error) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(waittest.Deadline(time.Minute))
	if _, err := io.WriteString(nc, request); err != nil {
		return 0, "", err
	}
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		return 0, "", err
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(nc), &http.Request{Method: method})
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// TestServe_HalfClosedClientsGetTheirAnswers: a client that says behind its request
// that it sends nothing more reads on. It gets what any other gets, on every road:
// by the event loop, by a load, and by net/http on each listener.
func TestServe_HalfClosedClientsGetTheirAnswers(t *testing.T) {
	t.Parallel()
	r := serve(t, "demo", "--still", "--file", filepath.Join(t.TempDir(), "demo.db"))
	links := strings.TrimPrefix(r.linksAddr(), "http://")
	addr, ops := strings.TrimPrefix(r.http, "http://"), strings.TrimPrefix(r.ops, "http://")
	body := `{"deptLocation":"BOSTON"}`
	for _, tt := range []struct {
		name, addr, line, more, body string
		status                       int
		part                         string
	}{
		{"hit or load", addr, "GET /depts/10", "", "", 200, "ACCOUNTING"},
		{"no-cache", addr, "GET /depts/10", "Cache-Control: no-cache\r\n", "", 200, "ACCOUNTING"},
		{"list", addr, "GET /depts?limit=2", "", "", 200, "ACCOUNTING"},
		{"two keys", addr, "GET /depts?deptno=in.(10,20)", "", "", 200, ""},
		{"absent", addr, "GET /depts/77", "Cache-Control: no-cache\r\n", "", 404, "not there"},
		{"no resource", addr, "GET /nowhere", "", "", 404, "no resource"},
		{"index", addr, "GET /", "", "", 200, "depts"},
		{"patch", addr, "PATCH /depts/10", "", body, 200, "BOSTON"},
		{"links API", links, "GET /api/v1/links", "", "", 200, "short_url"},
		{"links statistics", links, "GET /api/v1/stats", "", "", 200, ""},
		{"links page", links, "GET /+", "", "", 200, "<html"},
		{"links unknown", links, "GET /api/v1/links/none-such", "", "", 404, "not-found"},
		{"ready", ops, "GET /readyz", "", "", 200, ""},
		{"invalidate", ops, "POST /-/invalidate?resource=depts&key=10", "", "", 204, ""},
		{"metrics", ops, "GET /metrics", "", "", 200, "hotrow_build_info"},
	} {
		request := fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\n%s", tt.line, tt.more)
		if tt.body != "" {
			request += fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n",
				len(tt.body))
		}
		request += "\r\n" + tt.body
		wrong, last := 0, ""
		const rounds = 40
		for range rounds {
			status, got, err := halfClosed(tt.addr, request)
			if err != nil || status != tt.status || !strings.Contains(got, tt.part) {
				wrong, last = wrong+1, fmt.Sprintf("%d %.80q %v", status, got, err)
			}
		}
		if wrong > 0 {
			t.Errorf("%s: %d of %d answers are wrong, such as %s", tt.name, wrong, rounds, last)
		}
	}
}

// TestServe_HalfClosedKeyValueClients: clients of Redis and memcached that end their side behind
// their commands get all replies, of hits and of what is read from the database.
func TestServe_HalfClosedKeyValueClients(t *testing.T) {
	t.Parallel()
	r := serve(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	m := regexp.MustCompile(`proto=memcache addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		t.Fatalf("clients of memcached are not served:\n%s", r.log)
	}
	for _, tt := range []struct{ addr, commands, end string }{
		{net.JoinHostPort("127.0.0.1", r.respPort()),
			"GET depts:10\r\nGET depts:20\r\nMGET emps:7839 emps:7788\r\nPING\r\n", "+PONG\r\n"},
		{m[1], "get depts:10\r\nmg depts:30 v\r\nget emps:7782 emps:7369\r\nmn\r\n", "MN\r\n"},
	} {
		for range 20 {
			nc, err := net.Dial("tcp", tt.addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = nc.SetDeadline(waittest.Deadline(time.Minute))
			if _, err := io.WriteString(nc, tt.commands); err != nil {
				t.Fatal(err)
			}
			if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(nc)
			if err != nil || !strings.HasSuffix(string(got), tt.end) {
				t.Fatalf("%q = %q, %v", tt.commands, got, err)
			}
			_ = nc.Close()
			if code, _ := post(t, r.ops+"/-/invalidate?resource=depts"); code != 204 {
				t.Fatalf("invalidate: %d", code)
			}
		}
	}
}

// post sends an empty request.
func post(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
