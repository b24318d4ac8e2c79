package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(childConfig); file != "" {
		os.Exit(serveChild(file))
	}
	if os.Getenv(commandProgram) != "" {
		os.Exit(runCommand())
	}
	if len(os.Args) == 4 && os.Args[1] == "serve" {
		os.Exit(serveChild(os.Args[3]))
	}
	if len(os.Args) > 1 && (os.Args[1] == "proxy" || os.Args[1] == "top") {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
	}
	waittest.SideBySide(4)
	dbtest.Main(m)
}

// output collects what a program prints.
type output struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// command runs one command line to its end.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs output
	code = run(t.Context(), args, &out, &errs, os.Environ())
	return code, out.String(), errs.String()
}

// failing is command that finds a mistake of the configuration, which it does before it looks
// whether it is to end: hotrow serve that finds none ends, too.
func failing(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs output
	code = run(ctx, args, &out, &errs, os.Environ())
	return code, out.String(), errs.String()
}

// mustCommand is command that must succeed.
func mustCommand(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := command(t, args...)
	if code != 0 {
		t.Fatalf("hotrow %s: exit %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// A running is a serve command under test.
type running struct {
	t         *testing.T
	http, ops string // base URLs
	out, log  *output
	stop      func() int // ends it and returns the exit status
	ended     chan struct{}
}

// serve starts hotrow serve on free ports and waits until it is ready.
func serve(t *testing.T, args ...string) *running {
	t.Helper()
	r := start(t, nil, args...)
	until(t, r.log, r.complete)
	return r
}

// complete reports whether hotrow is ready and all feeds are complete.
func (r *running) complete() bool {
	code, body := get(r.t, r.ops+"/readyz")
	return code == 200 && !strings.Contains(body, "the feed has not")
}

// start starts hotrow serve with more environment, and waits until it listens.
func start(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	r := begin(t, env, args...)
	r.listens()
	return r
}

// begin starts hotrow serve, or hotrow demo if args begin so, and does not wait for it.
func begin(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, out: new(output), log: new(output), ended: make(chan struct{})}
	env = append(append(os.Environ(), "HOTROW_HTTP_LISTEN=127.0.0.1:0",
		"HOTROW_OPS_LISTEN=127.0.0.1:0", "HOTROW_WIRE_LISTEN=127.0.0.1:0",
		"HOTROW_LINKS_LISTEN=127.0.0.1:0", "HOTROW_RESP_LISTEN=127.0.0.1:0",
		"HOTROW_MEMCACHE_LISTEN=127.0.0.1:0"), env...)
	done := make(chan int, 1)
	if len(args) == 0 || args[0] != "demo" {
		args = append([]string{"serve"}, args...)
	}
	go func() {
		defer close(r.ended)
		done <- run(ctx, args, r.out, r.log, env)
	}()
	var once sync.Once
	code := -1
	r.stop = func() int {
		once.Do(func() {
			cancel()
			select {
			case code = <-done:
			case <-time.After(waittest.Limit(20 * time.Second)):
				t.Errorf("hotrow did not stop:\n%s", r.log)
			}
		})
		return code
	}
	t.Cleanup(func() { r.stop() })
	return r
}

// listens waits until the server listens. The operator's port may be left out.
func (r *running) listens() {
	r.t.Helper()
	listening := func(proto string) string {
		m := regexp.MustCompile(`proto=(` + proto + `s?) addr=(\S+)`).FindStringSubmatch(r.log.String())
		switch {
		case m == nil:
			return ""
		case m[1] == "https":
			return "https://" + m[2]
		}
		return "http://" + m[2]
	}
	until(r.t, r.log, func() bool {
		select {
		case <-r.ended:
			r.t.Fatalf("hotrow has ended:\n%s", r.log)
		default:
		}
		return listening("http") != "" &&
			(listening("ops") != "" || strings.Contains(r.log.String(), ": ops is left out"))
	})
	r.http, r.ops = listening("http"), listening("ops")
}

// respPort returns the port at which clients of Redis are served.
func (r *running) respPort() string {
	r.t.Helper()
	m := regexp.MustCompile(`proto=resp addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("clients of Redis are not served:\n%s", r.log)
	}
	_, port, err := net.SplitHostPort(m[1])
	if err != nil {
		r.t.Fatal(err)
	}
	return port
}

// until waits for ok.
func until(t *testing.T, log *output, ok func() bool) {
	t.Helper()
	waittest.UntilEvery(t, time.Millisecond, "waited in vain; the log", ok, log.String)
}

func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// An answer is what a request got.
type answer struct {
	code   int
	header http.Header
	body   string
}

// do sends one request; headers are "Name: value".
func (r *running) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.http+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (r *running) get(path string, headers ...string) answer {
	r.t.Helper()
	return r.do("GET", path, "", headers...)
}

// hit reads path until the answer comes from memory.
func (r *running) hit(path string) answer {
	r.t.Helper()
	a := r.get(path)
	for end := waittest.Deadline(20 * time.Second); !strings.Contains(a.header.Get("Cache-Status"),
		"hit"); a = r.get(path) {
		if time.Now().After(end) {
			r.t.Fatalf("%s is never a hit: %d %v %s", path, a.code, a.header, a.body)
		}
		time.Sleep(2 * time.Millisecond) // between polls
	}
	return a
}

// ask reads path so often that memory has the answer, if it may have it.
func (r *running) ask(path string) {
	r.t.Helper()
	for range 50 {
		if strings.Contains(r.get(path).header.Get("Cache-Status"), "hit") {
			break
		}
	}
}

// showBound is how long a foreign change may take to show. On a quiet machine
// it is a few milliseconds, and within 50; a test must not fail because others
// have the processors. What is never exceeded is stale_after.
const showBound = 250 * time.Millisecond

// shows waits until path has part in its answer ("" for a 404). An older answer to a
// question that is asked after bound must say that it may be out of date, and none may be
// asked after so long that the database itself is read because the feed lags (max_stale).
func (r *running) shows(path, part string, bound time.Duration) {
	r.t.Helper()
	begin := time.Now()
	for {
		asked := time.Since(begin)
		a := r.get(path)
		if part == "" && a.code == 404 || part != "" && a.code == 200 &&
			strings.Contains(a.body, part) {
			return
		}
		late := asked > bound && !strings.Contains(a.header.Get("Cache-Status"), "fwd=stale")
		if late || waittest.Late(asked, 5*time.Second) {
			r.t.Fatalf("GET %s is %d %s %v after %v, want %q", path, a.code, a.body,
				a.header, asked, part)
		}
	}
}

func TestCommand_ExitStatus(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("version: 1\nhtpp: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notDB := filepath.Join(dir, "text.db")
	if err := os.WriteFile(notDB, bytes.Repeat([]byte("text "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", []string{"--help"}, 0, "Usage: hotrow"},
		{"help by name", []string{"help"}, 0, "Usage: hotrow"},
		{"help of a command", []string{"help", "bench", "http"}, 0, "Usage: hotrow bench http"},
		{"version", []string{"version"}, 0, "hotrow "},
		{"no command", nil, 2, "expected one of"},
		{"no command of a group", []string{"links"}, 2, "expected one of"},
		{"unknown command", []string{"serv"}, 2, `did you mean "serve"`},
		{"unknown command of a group", []string{"links", "expotr"}, 2, `did you mean "export"`},
		{"help of an unknown command", []string{"help", "serv"}, 2, `did you mean "serve"`},
		{"unknown flag", []string{"serve", "--nope"}, 2, "--nope"},
		{"nearly a flag", []string{"serve", "--wriable"}, 2, `did you mean "--writable"`},
		{"nothing to serve", []string{"serve"}, 2, "hotrow demo has data"},
		{"the demo of a target", []string{"demo", notDB}, 2, "unexpected argument"},
		{"a flag before its command", []string{"--open", "serve"}, 2, "--open"},
		{"no value", []string{"serve", "-c"}, 2, "-c"},
		{"a flag for a value", []string{"serve", "-c", "--open"}, 2, "--config needs a value"},
		{"a wrong word", []string{"serve", "--feed", "logcal"}, 2, `did you mean "logical"`},
		{"a wrong number", []string{"proxy", "-px"}, 2, `--port "x": not a valid int`},
		{"no argument", []string{"links", "resolve", "file"}, 2, `expected "<code>"`},
		{"an argument too many", []string{"get", "a/1", "b"}, 2, "unexpected argument b"},
		{"version as a flag", []string{"--version"}, 0, "hotrow "},
		{"a configuration that is not there", []string{"get", "a/1", "--direct", filepath.Join(dir, "no.yaml")}, 1,
			"no such file"},
		{"an empty target", []string{"serve", ""}, 2, "[<target>] is empty"},
		{"an empty one of several", []string{"links", "rm", "a", ""}, 2, "<code> ... is empty"},
		{"an empty configuration", []string{"serve", "-c", ""}, 2, "--config is empty"},
		{"an empty file of the demo", []string{"demo", "--file="}, 2, "--file is empty"},
		{"an empty database", []string{"get", "a/1", "--direct", ""}, 2, "--direct is empty"},
		{"an empty file", []string{"links", "export", "-o", ""}, 2, "--output is empty"},
		{"a token that is refused", []string{"token", "ana.smith"}, 2, `letters, digits, - and _, found "ana.smith"`},
		{"a role that is refused", []string{"token", "ana", "--role", "public"}, 2, "cannot be a role"},
		{"a configuration, written", []string{"serve", "-c", bad, "--writable"}, 2, "--writable is of a TARGET"},
		{"a configuration, fed", []string{"serve", "-c", bad, "--feed", "none"}, 2, "--feed is of a TARGET"},
		{"applied and printed", []string{"doctor", notDB, "--sql", "--apply"}, 2, "--apply and --sql"},
		{"check of nothing", []string{"check"}, 2, "--config FILE"},
		{"both", []string{"serve", "x.db", "-c", "y.yaml"}, 2, "not both"},
		{"bad config", []string{"serve", "-c", bad}, 2, `did you mean "http"`},
		{"bad config, checked", []string{"check", "-c", bad}, 2, bad + ":2"},
		{"no config", []string{"serve", "-c", filepath.Join(dir, "no.yaml")}, 1, "no such file"},
		{"no database", []string{"serve", filepath.Join(dir, "no.db")}, 1, "no such file"},
		{"not a database", []string{"serve", notDB}, 1, "not an SQLite database"},
		{"a feed of another database", []string{"serve", notDB, "--feed", "logical"}, 2, "--feed logical"},
		{"nowhere for the demo", []string{"demo", "--file", filepath.Join(notDB, "x", "d.db")}, 1, "--file"},
		{"a token without a role", []string{"token", "app", "--role", ""}, 2, "--role"},
		{"a token of nobody", []string{"token", ""}, 2, "name"},
		{"doctor of nothing", []string{"doctor"}, 2, "give a URL"},
		{"nobody serves", []string{"get", "a/1", "--server", "http://127.0.0.1:1"}, 1, "serving"},
		{"nobody to tell", []string{"invalidate", "a", "--ops", "http://127.0.0.1:1"}, 1, "serving"},
	}
	t.Setenv("HOTROW_HTTP_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_OPS_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_LINKS_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_WIRE_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_RESP_LISTEN", "127.0.0.1:0")
	t.Setenv("HOTROW_MEMCACHE_LISTEN", "127.0.0.1:0")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := command(t, tt.args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.says) {
				t.Errorf("exit %d, want %d, and %q in:\n%s%s", code, tt.code, tt.says, stdout, stderr)
			}
		})
	}
}

func TestServe_Demo(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.db")
	r := serve(t, "demo", "--file", file, "--scale", "20")
	a := r.hit("/depts/10")
	var dept struct {
		DeptNumber int
		Emps       []struct{ EmpNo int }
	}
	if err := json.Unmarshal([]byte(a.body), &dept); err != nil || len(dept.Emps) != 3 {
		t.Fatalf("GET /depts/10 = %s, %v", a.body, err)
	}
	if a.header.Get("Cache-Status") != "hotrow; hit; detail=mem" {
		t.Errorf("Cache-Status = %q, want a hit", a.header.Get("Cache-Status"))
	}
	big := r.get("/depts/1000000")
	if n := len(big.body); n < 1500 || n > 1800 {
		t.Errorf("a generated department has %d bytes, want 1500-1800: %s", n, big.body)
	}
	// The seed's own stale case: the child changes, its parent's number not.
	for i := range 20 {
		r.hit("/depts/10")
		dbtest.SQLiteShell(t, file, fmt.Sprintf("UPDATE emp SET sal=%d WHERE empno=7839", i))
		r.shows("/depts/10", fmt.Sprintf(`"sal":%d,`, i), showBound)
		r.shows("/depts/010", fmt.Sprintf(`"sal":%d,`, i), showBound)
	}
	put := r.do("PATCH", "/emps/7839", `{"sal":77}`, "Content-Type: application/json")
	if put.code != 200 || !strings.Contains(r.get("/depts/10").body, `"sal":77,`) {
		t.Errorf("PATCH = %d %s; the next read must see it", put.code, put.body)
	}
	if code := r.stop(); code != 0 {
		t.Errorf("exit %d after the signal:\n%s", code, r.log)
	}
	again := serve(t, "demo", "--file", file, "--scale", "20")
	again.shows("/depts/10", `"sal":77,`, 0)
}

func TestServe_PortInUse(t *testing.T) {
	r := serve(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	t.Setenv("HOTROW_HTTP_LISTEN", strings.TrimPrefix(r.http, "http://"))
	missing := filepath.Join(t.TempDir(), "other.db")
	code, _, stderr := command(t, "demo", "--file", missing)
	if code != 1 || !strings.Contains(stderr, "address already in use") ||
		!strings.Contains(stderr, "HOTROW_HTTP_LISTEN") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a database was made before the port was known to be free")
	}
}
