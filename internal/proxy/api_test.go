package proxy

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/accesslog"
)

func TestLoop_IsDetected(t *testing.T) {
	up := witnessNobody(t)
	s, addr := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	for _, field := range []string{
		"X-Chocon-Ver: 0.12.6", "x-chocon-ver: hotrow/1", "Via: 1.1 " + string(s.pseudonym),
		"Via: 1.1 hotrow-a, 1.1 hotrow-b, 1.1 hotrow-c\r\nVia: 1.1 hotrow-d, 1.1 hotrow-e, 1.1 hotrow-f",
	} {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: up\r\n" + field + "\r\n\r\n")
		if resp, _ := c.answer("GET"); resp.StatusCode != 508 || resp.Close {
			t.Errorf("%s: %d", field, resp.StatusCode)
		}
	}
}

func TestLoop_ThroughItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{Upstreams: []string{"http://" + l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	c := call(t, l.Addr().String())
	c.send("GET / HTTP/1.1\r\nHost: up\r\n\r\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 508 {
		t.Errorf("%d", resp.StatusCode)
	}
	s.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := s.Stats().Requests; n != 2 {
		t.Errorf("%d requests, want the one and its echo", n)
	}
}

func TestRoute_OtherWaysToNameTheUpstream(t *testing.T) {
	up := echo(t)
	_, addr := start(t, loopbackAllowed())
	tests := map[string]struct {
		send   string
		status int
		want   string
	}{
		"header": {"GET /h HTTP/1.1\r\nHost: localhost\r\nX-Hotrow-Upstream: http://" + up.addr + "\r\n\r\n",
			200, "GET /h "},
		"path":        {"GET /_/http/" + up.addr + "/p?q HTTP/1.1\r\nHost: localhost\r\n\r\n", 200, "GET /p?q "},
		"path bare":   {"GET /_/http/" + up.addr + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, ""},
		"path scheme": {"GET /_/ftp/" + up.addr + "/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, ""},
		"foreign page": {"GET /_/http/" + up.addr +
			"/p HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403, ""},
		"unknown host": {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, ""},
		"rebound host": {"GET /_/http/" + up.addr + "/p HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400, ""},
		"header nonsense": {"GET / HTTP/1.1\r\nHost: localhost\r\nX-Hotrow-Upstream: gopher://x\r\n\r\n",
			400, ""},
		"a unix socket": {"GET / HTTP/1.1\r\nHost: localhost\r\nX-Hotrow-Upstream: unix:/etc/x\r\n\r\n", 400, ""},
		"connect":       {"CONNECT " + up.addr + " HTTP/1.1\r\nHost: " + up.addr + "\r\n\r\n", 405, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := call(t, addr)
			c.send(tt.send)
			resp, body := c.answer("GET")
			if resp.StatusCode != tt.status || tt.want != "" && body != tt.want {
				t.Errorf("%d %q", resp.StatusCode, body)
			}
		})
	}
}

func TestConnect_TunnelsWhereItIsSwitchedOn(t *testing.T) {
	up := echo(t)
	o := loopbackAllowed()
	o.Connect = true
	_, addr := start(t, o)
	c := call(t, addr)
	c.send("CONNECT " + up.addr + " HTTP/1.1\r\nHost: " + up.addr + "\r\n\r\n")
	if line := c.line(); !strings.HasPrefix(line, "HTTP/1.1 200 ") || c.line() != "\r\n" {
		t.Fatalf("%q", line)
	}
	c.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, body := c.answer("GET"); body != "GET /x " {
		t.Errorf("%q", body)
	}
	_, closed := start(t, Options{Connect: true})
	c = call(t, closed)
	c.send("CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254:80\r\n\r\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 403 {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestAPI_OwnPages(t *testing.T) {
	up := echo(t)
	_, addr := start(t, loopbackAllowed())
	c := call(t, addr)
	c.send(simple(up.addr, "/"))
	c.answer("GET")
	get := func(path, host string) (*http.Response, string) {
		c.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n")
		return c.answer("GET")
	}
	var runtime map[string]any
	_, body := get("/.api/stats", addr)
	if err := json.Unmarshal([]byte(body), &runtime); err != nil || runtime["goroutine_num"] == nil ||
		runtime["gc_pause"] == nil || runtime["go_version"] == nil {
		t.Errorf("%v %s", err, body)
	}
	var requests struct {
		Request struct {
			Count       int            `json:"count"`
			StatusCount map[string]int `json:"status_count"`
		} `json:"request"`
		Response struct {
			Percentiled map[string]float64 `json:"percentiled_time"`
		} `json:"response"`
	}
	_, body = get("/.api/http-stats", "localhost")
	if err := json.Unmarshal([]byte(body), &requests); err != nil || requests.Request.Count != 3 ||
		requests.Request.StatusCount["200"] != 2 || len(requests.Response.Percentiled) != 3 {
		t.Errorf("%v %s", err, body)
	}
	resp, body := get("/metrics", "127.0.0.1:1")
	if resp.StatusCode != 200 || !strings.Contains(body, `hotrow_proxy_requests_total{code="200"} 3`) ||
		!strings.Contains(body, fmt.Sprintf(`hotrow_proxy_opened_total{upstream="http://%s"} 1`, up.addr)) {
		t.Errorf("%s", body)
	}
	if resp, _ := get("/.api/stats", "evil.example"); resp.StatusCode != 400 {
		t.Errorf("for another host: %d", resp.StatusCode)
	}
	c.send("POST /.api/stats HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
	if resp, _ := c.answer("POST"); resp.StatusCode != 405 {
		t.Errorf("POST: %d", resp.StatusCode)
	}
}

func TestAccess_HasTheFieldsOfChocon(t *testing.T) {
	var lines lockedBuffer
	log, err := accesslog.Open(accesslog.Config{Columns: AccessColumns(), Stdout: &lines},
		accesslog.Settings{Mode: accesslog.All, Format: accesslog.JSON})
	if err != nil {
		t.Fatal(err)
	}
	up := echo(t)
	o := loopbackAllowed()
	o.Access = Access(log)
	_, addr := start(t, o)
	c := call(t, addr)
	c.send(strings.Replace(simple(up.addr, "/secret?token=x"), "\r\n\r\n", "\r\nUser-Agent: me\r\n\r\n", 1))
	c.answer("GET")
	eventually(t, "a line", func() bool { return strings.Contains(lines.String(), "\n") })
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var line struct {
		Time, Method, URI, UA, Host, Proto string
		Remote                             string `json:"remote_addr"`
		Status                             int
		Size                               int
		Ptime                              float64
		ID                                 string `json:"chocon_req"`
		Upstream                           string `json:"upstream_addr"`
	}
	if err := json.Unmarshal([]byte(lines.String()), &line); err != nil {
		t.Fatalf("%v: %s", err, lines.String())
	}
	if line.Method != "GET" || line.URI != "/secret" || line.UA != "me" || line.Status != 200 ||
		line.Size != len("GET /secret?token=x ") || line.Remote != "127.0.0.1" ||
		line.Upstream != up.addr || line.Ptime <= 0 || line.Proto != "HTTP/1.1" {
		t.Errorf("%s", lines.String())
	}
	if _, err := time.Parse(chocon, line.Time); err != nil {
		t.Error(err)
	}
	if !regexp.MustCompile(`^[0-9a-v]{20}$`).MatchString(line.ID) {
		t.Errorf("id %q", line.ID)
	}
}

// The line of a request that has failed has the fields that chocon's has.
func TestErrors_HaveTheFieldsOfChocon(t *testing.T) {
	var lines lockedBuffer
	o := loopbackAllowed()
	o.Log = slog.New(slog.NewJSONHandler(&lines, nil))
	_, addr := start(t, o)
	c := call(t, addr)
	c.send("GET /v1?token=x HTTP/1.1\r\nHost: 127.0.0.1.ccnproxy-https.local:1\r\nX-Chocon-Id: abc\r\n\r\n")
	if resp, _ := c.answer("GET"); resp.StatusCode != 502 {
		t.Errorf("a port where nobody listens: %d", resp.StatusCode)
	}
	eventually(t, "a line", func() bool { return strings.Contains(lines.String(), "\n") })
	var line map[string]any
	if err := json.Unmarshal([]byte(strings.SplitN(lines.String(), "\n", 2)[0]), &line); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"request_host": "127.0.0.1.ccnproxy-https.local:1", "request_path": "/v1", "proxy_scheme": "https",
		"proxy_host": "127.0.0.1:1", "proxy_id": "abc",
	} {
		if line[name] != want {
			t.Errorf("%s is %v, want %s: %s", name, line[name], want, lines.String())
		}
	}
}
