//go:build unix

package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// rawStatus returns the status of a request that is sent as it stands.
func rawStatus(t *testing.T, url, request string) int {
	t.Helper()
	network, address := "tcp", strings.TrimPrefix(url, "http://")
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	nc, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = nc.Close() }()
	_ = nc.SetDeadline(waittest.Deadline(time.Minute))
	if _, err := nc.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// walkProxy asks the proxy's own pages and for upstreams in every way in which one
// is named: as a program, by a foreign Host, and as the page of a foreign site does.
func walkProxy(t *testing.T, page accessPage) {
	up := strings.TrimPrefix(hello(t), "http://")
	host, port, _ := net.SplitHostPort(up)
	rule := host + ".ccnproxy"
	open, _, _ := startProxy(t, "--allow-address", "127.0.0.1/32", "--suffix", "corp.com")
	closed, _, _ := startProxy(t)
	list, _, _ := startProxy(t, "--allow-address", "127.0.0.1/32", "--allow", "good.example")
	tunnel, _, _ := startProxy(t, "--allow-address", "127.0.0.1/32", "--connect")
	tunnelClosed, _, _ := startProxy(t, "--connect")
	fixed, _, _ := startProxy(t, "--upstream", "http://"+up)
	socket, _, _ := startProxy(t, "--listen", "unix:"+shortDir(t)+"/s", "--allow-address", "127.0.0.1/32")
	const origin, site = "Origin: https://evil.example\r\n", "Sec-Fetch-Site: cross-site\r\n"
	get := func(path, host, fields string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n"
	}
	named, byPath := "X-Hotrow-Upstream: http://"+up+"\r\n", "/_/http/"+up+"/"
	for _, tt := range []struct {
		how, url, request string
		want              int
	}{
		{"Host rule", open, get("/", rule+":"+port, ""), 200},
		{"Host rule, reserved domain", open, get("/", rule+".local:"+port, ""), 200},
		{"Host rule, --suffix", open, get("/", rule+".corp.com:"+port, ""), 200},
		{"Host rule, other suffix", open, get("/", rule+".evil.com:"+port, ""), 400},
		{"Host rule, foreign page", open, get("/", rule+":"+port, site), 403},
		{"Host rule, a program passes on an Origin", open, get("/", rule+":"+port, origin), 200},
		{"header", open, get("/", "localhost", named), 200},
		{"header, foreign Origin", open, get("/", "localhost", named+origin), 403},
		{"header, foreign page", open, get("/", "localhost", named+site), 403},
		{"header twice", open, get("/", "localhost", named+named), 400},
		{"path", open, get(byPath, "localhost", ""), 200},
		{"path, foreign Origin", open, get(byPath, "localhost", origin), 403},
		{"path, foreign page", open, get(byPath, "localhost", site), 403},
		{"path, foreign Host", open, get(byPath, "evil.example", ""), 400},
		{"unix socket", socket, get("/", rule+":"+port, ""), 200},
		{"unix socket, foreign page", socket, get("/", rule+":"+port, site), 403},
		{"unix socket, no upstream", socket, get("/", "localhost", ""), 400},
		{"unix socket, CONNECT", socket, "CONNECT " + up + " HTTP/1.1\r\nHost: " + up + "\r\n\r\n", 405},
		{"no upstream", open, get("/", "localhost", ""), 400},
		{"CONNECT off", open, "CONNECT " + up + " HTTP/1.1\r\nHost: " + up + "\r\n\r\n", 405},
		{"CONNECT on", tunnel, "CONNECT " + up + " HTTP/1.1\r\nHost: " + up + "\r\n\r\n", 200},
		{"CONNECT to this machine", tunnelClosed, "CONNECT " + up + " HTTP/1.1\r\nHost: " + up + "\r\n\r\n", 403},
		{"this machine by Host", closed, get("/", rule+":"+port, ""), 403},
		{"this machine by header", closed, get("/", "localhost", named), 403},
		{"this machine by path", closed, get(byPath, "localhost", ""), 403},
		{"not in --allow, Host rule", list, get("/", rule+":"+port, ""), 403},
		{"not in --allow, header", list, get("/", "localhost", named), 403},
		{"not in --allow, path", list, get(byPath, "localhost", ""), 403},
		{"--upstream", fixed, get("/", "any.example", ""), 200},
		{"--upstream, CONNECT", fixed, "CONNECT " + up + " HTTP/1.1\r\nHost: " + up + "\r\n\r\n", 405},
	} {
		if got := rawStatus(t, tt.url, tt.request); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.how, got, tt.want)
		}
	}
	for _, path := range proxyPages(t) {
		page.ask(t, "## Proxy", "`"+path+"`", formTCP)
		for host, want := range map[string]int{"localhost": 200, "127.0.0.1": 200, "evil.example": 400,
			"x.ccnproxy.evil.com": 400} {
			for _, url := range []string{open, socket} {
				if got := rawStatus(t, url, get(path, host, "")); got != want {
					t.Errorf("%s for %s = %d, want %d", path, host, got, want)
				}
			}
		}
	}
	for _, line := range []string{"`CONNECT`", "all else"} {
		page.ask(t, "## Proxy", line, formTCP)
	}
	page.ask(t, accessTop, "`hotrow proxy`", formTCP)
	page.ask(t, accessTop, "`hotrow proxy`", formUnix)
}

// proxyPages returns the pages of the proxy itself by the table, and holds it and
// the code together.
func proxyPages(t *testing.T) (list []string) {
	t.Helper()
	table, err := os.ReadFile("../../docs/explanation/access.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../internal/proxy/api.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`(/[^`_]+)`").FindAllStringSubmatch(section(string(table), "## Proxy"), -1) {
		list = append(list, m[1])
	}
	var answered []string
	for _, m := range regexp.MustCompile(`"(/[\w./-]+)"`).FindAllStringSubmatch(string(code), -1) {
		if !slices.Contains(answered, m[1]) {
			answered = append(answered, m[1])
		}
	}
	slices.Sort(list)
	slices.Sort(answered)
	if !slices.Equal(list, answered) {
		t.Errorf("the pages of the proxy in docs/explanation/access.md are %v, in the code %v", list, answered)
	}
	return list
}
