package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// behindHost is the name that clients of the proxies use.
const behindHost = "api.example.org"

// onThePage returns the block of a kind of the page about proxies.
func onThePage(t *testing.T, kind string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/howto/reverse-proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + kind + "\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatalf("the page has no %s", kind)
	}
	return string(m[1])
}

// caddyBefore and haproxyBefore start what the page says, but for certificates, in front of
// nodes, HOST:PORT each, whose operator's port is ops. change makes another configuration
// of it.
func caddyBefore(t *testing.T, ops string, change func(string) string, nodes ...string) string {
	t.Helper()
	block := change(onThePage(t, "caddyfile"))
	return dbtest.Caddy(t, func(addr string) string {
		_, port, _ := strings.Cut(addr, ":")
		return strings.NewReplacer(
			behindHost+" {",
			"{\n admin off\n}\nhttp://"+behindHost+":"+port+" {\n bind 127.0.0.1",
			"127.0.0.1:8080", strings.Join(nodes, " "),
			"health_port 8081", "health_port "+ops,
			"health_interval 2s", "health_interval 100ms").Replace(block)
	})
}

func haproxyBefore(t *testing.T, ops string, change func(string) string, nodes ...string) string {
	t.Helper()
	block := change(onThePage(t, "haproxy"))
	var servers strings.Builder
	for i, node := range nodes {
		fmt.Fprintf(&servers, "    server hotrow%d %s check inter 100ms port %s\n", i, node, ops)
	}
	return dbtest.HAProxy(t, func(addr string) string {
		return strings.NewReplacer(
			"bind :443 ssl crt /etc/haproxy/api.example.org.pem", "bind "+addr,
			"    server hotrow 127.0.0.1:8080 check port 8081\n", servers.String()).Replace(block)
	})
}

func asItIs(block string) string { return block }

// hostPort returns the parts of a base URL's address.
func hostPort(t *testing.T, base string) (addr, port string) {
	t.Helper()
	addr = strings.TrimPrefix(base, "http://")
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return addr, port
}

// Caddy and HAProxy get hits, lists and writes through as the page says, and 421 where
// http.hosts lacks the name.
func TestServe_BehindCaddyAndHAProxyAsThePageSays(t *testing.T) {
	t.Parallel()
	for what, before := range map[string]func(
		*testing.T, string, func(string) string, ...string) string{
		"caddy": caddyBefore, "haproxy": haproxyBefore,
	} {
		named := start(t, []string{"HOTROW_HTTP_HOSTS=" + behindHost}, database(t, deptSQL),
			"--writable")
		unnamed := start(t, nil, database(t, deptSQL))
		for r, code := range map[*running]int{
			named: http.StatusOK, unnamed: http.StatusMisdirectedRequest,
		} {
			until(t, r.log, r.complete)
			addr, _ := hostPort(t, r.http)
			_, ops := hostPort(t, r.ops)
			asks(t, what, before(t, ops, asItIs, addr), behindHost, code)
		}
	}
}

// The health checks of the page are those that the proxies go by: with a Host that hotrow
// does not know they find it away.
func TestServe_ProxiesAskItsHealthAsThePageSays(t *testing.T) {
	t.Parallel()
	r := start(t, []string{"HOTROW_HTTP_HOSTS=" + behindHost}, database(t, deptSQL))
	until(t, r.log, r.complete)
	addr, _ := hostPort(t, r.http)
	_, ops := hostPort(t, r.ops)
	wrong := strings.NewReplacer("hdr Host localhost", "hdr Host foreign.example",
		"Host localhost", "Host foreign.example")
	for what, before := range map[string]func(
		*testing.T, string, func(string) string, ...string) string{
		"caddy": caddyBefore, "haproxy": haproxyBefore,
	} {
		well := &running{t: t, http: "http://" + before(t, ops, asItIs, addr)}
		ill := &running{t: t, http: "http://" + before(t, ops, wrong.Replace, addr)}
		until(t, r.log, func() bool {
			return ill.get("/dept/10", "Host: "+behindHost).code == http.StatusServiceUnavailable
		})
		if a := well.get("/dept/10", "Host: "+behindHost); a.code != http.StatusOK {
			t.Errorf("%s: %d %s while hotrow is well", what, a.code, a.body)
		}
	}
}

// A node that is stopped behind a proxy of the page fails no read, as long as another is
// there; and the proxy line of send-proxy, of which the page warns, is refused.
func TestServe_StopsBehindProxiesAsThePageSays(t *testing.T) {
	t.Parallel()
	named := "HOTROW_HTTP_HOSTS=" + behindHost
	stays := start(t, []string{named}, database(t, deptSQL))
	addr, port := hostPort(t, stays.http)
	_, ops := hostPort(t, stays.ops)
	// The checks ask one port at the address of each node.
	goes := start(t, []string{named, "HOTROW_HTTP_LISTEN=127.0.0.2:" + port,
		"HOTROW_OPS_LISTEN=127.0.0.2:" + ops}, database(t, deptSQL))
	other := "127.0.0.2:" + port
	for _, r := range []*running{stays, goes} {
		until(t, r.log, r.complete)
	}
	nginx := strings.Replace(onThePage(t, "nginx"), "server 127.0.0.1:8080;",
		"server 127.0.0.1:8080; server "+other+";", 1)
	readers := map[string]*proxyReader{
		"nginx":   readThrough(t, nginxBefore(t, addr, nginx)),
		"caddy":   readThrough(t, caddyBefore(t, ops, asItIs, addr, other)),
		"haproxy": readThrough(t, haproxyBefore(t, ops, asItIs, addr, other)),
	}
	for _, p := range readers {
		p.answers(t, 50)
	}
	if code := goes.stop(); code != 0 {
		t.Errorf("the node ended with %d\n%s", code, goes.log)
	}
	for what, p := range readers {
		p.answers(t, 50)
		for _, failure := range p.end() {
			t.Errorf("%s: %s", what, failure)
		}
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(waittest.Deadline(time.Minute))
	_, _ = io.WriteString(c, "PROXY TCP4 192.0.2.1 127.0.0.1 40000 8080\r\nGET /dept/10 HTTP/1.1\r\n"+
		"Host: "+behindHost+"\r\n\r\n")
	if text, _ := io.ReadAll(c); !strings.HasPrefix(string(text), "HTTP/1.1 400") {
		t.Errorf("a line of the PROXY protocol gets %q", text)
	}
}

// A proxyReader reads a document again and again through a proxy.
type proxyReader struct {
	ends chan struct{}
	done sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	n        int
	failures []string
}

func readThrough(t *testing.T, addr string) *proxyReader {
	t.Helper()
	p := &proxyReader{ends: make(chan struct{})}
	transport := &http.Transport{}
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	for range 4 {
		p.done.Go(func() {
			for {
				select {
				case <-p.ends:
					return
				default:
					p.read(client, addr)
				}
			}
		})
	}
	t.Cleanup(func() { p.end(); transport.CloseIdleConnections() })
	return p
}

func (p *proxyReader) read(client *http.Client, addr string) {
	req, _ := http.NewRequest("GET", "http://"+addr+"/dept/10", nil)
	req.Host = behindHost
	resp, err := client.Do(req)
	failure := ""
	if err != nil {
		failure = err.Error()
	} else {
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			failure = fmt.Sprintf("%d %.200q %v", resp.StatusCode, text, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	if failure != "" && len(p.failures) < 5 {
		p.failures = append(p.failures, failure)
	}
}

// answers waits for n more answers.
func (p *proxyReader) answers(t *testing.T, n int) {
	t.Helper()
	p.mu.Lock()
	n += p.n
	p.mu.Unlock()
	until(t, new(output), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.n >= n
	})
}

// end stops reading and returns what went wrong.
func (p *proxyReader) end() []string {
	p.mu.Lock()
	select {
	case <-p.ends:
	default:
		close(p.ends)
	}
	p.mu.Unlock()
	p.done.Wait()
	return p.failures
}
