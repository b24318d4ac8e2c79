package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// usual are the ports of the demo.
var usual = map[string]string{"http": "127.0.0.1:8080", "wire": "127.0.0.1:9900",
	"resp": "127.0.0.1:6380", "memcache": "127.0.0.1:11212", "links": "127.0.0.1:9999",
	"ops": "127.0.0.1:8081"}

// takePort listens at an address unless another program does.
func takePort(t *testing.T, address string) {
	t.Helper()
	if ln, err := net.Listen("tcp", address); err == nil {
		t.Cleanup(func() { _ = ln.Close() })
	}
}

// unasked starts serve at its usual ports.
func unasked(t *testing.T, args ...string) *running {
	t.Helper()
	var env []string
	for name := range usual {
		env = append(env, listenVariable(name)+"=")
	}
	r := start(t, env, args...)
	until(t, r.log, func() bool {
		select {
		case <-r.ended:
			t.Fatalf("hotrow has ended:\n%s", r.log)
		default:
		}
		return strings.Contains(r.out.String(), "Stop with Ctrl-C.")
	})
	return r
}

var movedLine = regexp.MustCompile(`(127\.0\.0\.1:\d+) is taken[^:"]*: (\w+) listens at (127\.0\.0\.1:\d+) instead`)

var leftOutLine = regexp.MustCompile(`(127\.0\.0\.1:\d+) is taken[^:"]*: (\w+) is left out`)

// takenPorts returns what the log says of ports that are taken: where a listener is instead, and
// "" for one that is left out.
func takenPorts(r *running) map[string]string {
	to := map[string]string{}
	for _, m := range movedLine.FindAllStringSubmatch(r.log.String(), -1) {
		if usual[m[2]] == m[1] {
			to[m[2]] = m[3]
		}
	}
	for _, m := range leftOutLine.FindAllStringSubmatch(r.log.String(), -1) {
		if usual[m[2]] == m[1] {
			to[m[2]] = ""
		}
	}
	return to
}

// isPage reports whether a listener has pages for people, so that it takes another port.
func isPage(name string) bool { return name == "http" || name == "links" }

// TestServe_PortsAreTaken starts the demo with one port after another taken, and with all.
func TestServe_PortsAreTaken(t *testing.T) {
	t.Parallel()
	for name, address := range usual {
		t.Run(name, func(t *testing.T) {
			takePort(t, address)
			r := unasked(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
			if to, said := takenPorts(r)[name]; !said || (to != "") != isPage(name) || to == address {
				t.Errorf("%s is taken, and %s is at %q, said is %t:\n%s", address, name, to, said, r.log)
			}
			if a := r.hit("/depts/10"); a.code != 200 {
				t.Errorf("GET /depts/10: %d", a.code)
			}
		})
	}
	for _, address := range usual {
		takePort(t, address)
	}
	r := unasked(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	to := takenPorts(r)
	if len(to) != len(usual) {
		t.Errorf("the log tells of %v:\n%s", to, r.log)
	}
	greeting := r.out.String()
	console := "http://" + to["http"] + "/-/explore/inside/"
	for _, part := range []string{"http://" + to["http"] + "/products/1", "http://" + to["links"] + "/+",
		"The console is at " + console} {
		if !strings.Contains(greeting, part) {
			t.Errorf("the greeting has no %s:\n%s", part, greeting)
		}
	}
	for _, part := range []string{"redis-cli", "get products:1"} {
		if strings.Contains(greeting, part) {
			t.Errorf("the greeting has %s, which is left out:\n%s", part, greeting)
		}
	}
	for _, url := range []string{console, "http://" + to["links"] + "/+"} {
		if status(url) != 200 {
			t.Errorf("%s is not where the greeting says", url)
		}
	}
	// A file of one's own is served beside it, too.
	other := unasked(t, database(t, deptSQL))
	if other.http == r.http || other.hit("/dept/10").code != 200 {
		t.Errorf("a file is served at %s:\n%s", other.http, other.log)
	}
}

// TestServe_PortsThatAreAskedForFail has a port that is taken asked for in each way.
func TestServe_PortsThatAreAskedForFail(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	address := ln.Addr().String()
	for name := range usual {
		file := configFile(t, "version: 1\nsources: {main: {url: 'sqlite:"+database(t, deptSQL)+"'}}\n"+
			"resources: {dept: {table: dept}}\nlinks: {database: main}\n")
		for _, args := range [][]string{{"serve", "-c", file}, {"serve", database(t, deptSQL)},
			{"demo", "--file", filepath.Join(t.TempDir(), "demo.db")}} {
			if name == "links" && len(args) == 2 {
				continue // a database alone has none
			}
			env := os.Environ()
			for other := range usual {
				env = append(env, listenVariable(other)+"=127.0.0.1:0")
			}
			env = append(env, listenVariable(name)+"="+address)
			var out, errs output
			ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(20*time.Second))
			code := run(ctx, args, &out, &errs, env)
			cancel()
			if says := errs.String(); code != 1 || !strings.Contains(says, name+".listen") ||
				!strings.Contains(says, "address already in use") {
				t.Errorf("%s %v: exit %d: %s", name, args, code, says)
			}
		}
	}
	_, port, _ := net.SplitHostPort(address)
	code, _, says := command(t, "proxy", "--port", port)
	if code != 1 || !strings.Contains(says, "--port") {
		t.Errorf("the proxy: exit %d: %s", code, says)
	}
}

// TestTaken_TheProxyGoesOnBesideAnother starts a proxy at its usual port.
func TestTaken_TheProxyGoesOnBesideAnother(t *testing.T) {
	takePort(t, "127.0.0.1:3000")
	ctx, cancel := context.WithCancel(t.Context())
	log, done := new(output), make(chan int, 1)
	go func() { done <- run(ctx, []string{"proxy"}, log, log, nil) }()
	until(t, log, func() bool { return strings.Contains(log.String(), `"proto":"proxy"`) })
	cancel()
	if code := <-done; code != 0 || !strings.Contains(log.String(), "the proxy listens at 127.0.0.1:") {
		t.Errorf("exit %d:\n%s", code, log)
	}
}

// TestTaken_SaysWho listens, and is found.
func TestTaken_SaysWho(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	pid, _ := listenerAt(uint16(ln.Addr().(*net.TCPAddr).Port))
	if want := []int{0, os.Getpid()}; !slices.Contains(want, pid) || pid == 0 && runtime.GOOS == "linux" {
		t.Errorf("who listens is process %d, want %d", pid, os.Getpid())
	}
}
