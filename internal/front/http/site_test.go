package httpfront

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(askerVariable); addr != "" {
		if err := askRepeatedly(addr, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	waittest.SideBySide(4)
	if flag.Parse(); flag.Lookup("test.bench").Value.String() == "" { // it takes most of the time
		eventloop.PoisonBuffers()
	}
	// net/http waits half a second before it cuts a connection; that ends by itself.
	goleak.VerifyTestMain(dbtest.Wrap(m), goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// siteTables is the database of a site.
var siteTables = []string{
	`CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT NOT NULL UNIQUE, loc TEXT)`,
	`INSERT INTO dept VALUES (10,'ACCOUNTING','NEW YORK'), (20,'RESEARCH','DALLAS'),
		(30,'SALES','CHICAGO'), (40,'OPERATIONS',NULL)`,
	`CREATE TABLE city (city TEXT, state TEXT, people INTEGER, PRIMARY KEY (city, state))`,
	`INSERT INTO city VALUES ('Tulsa','OK',413066), ('a,b','c/d',1), ('50%','x',2)`,
	`CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INTEGER)`,
	`INSERT INTO pay VALUES (1,100)`,
	`CREATE TABLE "<b>" (id INTEGER PRIMARY KEY)`,
	`INSERT INTO "<b>" VALUES (1)`,
}

// siteResources is what a site serves.
func siteResources() []resource.Spec {
	public := resource.Access{Read: "public", Write: "public"}
	spec := func(name, table string, a resource.Access, w bool) resource.Spec {
		return resource.Spec{Source: "main", Access: a, Writable: w,
			Table: &source.Spec{Name: name, Table: table}}
	}
	depts := spec("depts", "dept", public, true)
	depts.Table.Fields = map[string]source.FieldSpec{"deptno": {Name: "deptNumber"}}
	depts.MaxLimit = 3
	return []resource.Spec{
		depts,
		spec("cities", "city", public, true),
		spec("pay", "pay", resource.Access{Read: "role:reader", Write: "role:editor"}, true),
		spec("log", "dept", public, false),
		spec("closed", "dept", resource.Access{Read: "none", Write: "none"}, true),
		spec("<b>", "<b>", public, false),
	}
}

// openSet opens the resources of a site over an SQLite file of their own.
func openSet(t testing.TB, over ...func(source.Source) source.Source) (*resource.Set, *sqlite.Source) {
	t.Helper()
	return openSetIn(t, tier.NewMemory(1<<20), over...)
}

// openSetIn is openSet with a memory, which ends with the test.
func openSetIn(
	t testing.TB, memory *tier.Memory, over ...func(source.Source) source.Source,
) (*resource.Set, *sqlite.Source) {
	t.Helper()
	ctx := t.Context()
	src, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "site.db"), sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Exec(ctx, siteTables...); err != nil {
		t.Fatal(err)
	}
	var served source.Source = src
	after := time.Minute // while a busy machine is late with a fence, nothing would come from memory
	for _, f := range over {
		served, after = f(src), time.Second // whose feed may be made to lag
	}
	set, err := resource.Open(ctx, resource.SetOptions{
		Memory: memory, Lists: 1 << 20,
		Sources: []resource.SourceOptions{{Name: "main", Source: served, Mode: source.FeedAuto,
			StaleAfter: after}},
		Resources: siteResources(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Check(), set.Close(), set.Check()); err != nil {
			t.Error(err)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		if err := memory.Close(); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	return set, src
}

// A site is a server over real resources.
type site struct {
	t      *testing.T
	src    *sqlite.Source
	h      *Handler
	url    string
	addr   string
	tokens *front.Tokens
	log    *syncBuffer
	over   *httpserve.Site    // nil: the Handler alone
	cert   *front.Certificate // of the listener, which begins with pair
	pair   *tls.Certificate
	trust  *tls.Config // of its clients; nil: no TLS
	client *http.Transport
}

// newServer starts a site. change may alter its options.
func newServer(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	set, src := openSet(t)
	return newServerOf(t, set, src, change...)
}

// newServerOf starts a site that serves set.
func newServerOf(t *testing.T, set *resource.Set, src *sqlite.Source, change ...func(*Options)) *site {
	t.Helper()
	s := &site{t: t, tokens: new(front.Tokens), log: new(syncBuffer)}
	s.src = src
	o := Options{Resources: set, Auth: s.tokens.Principal, Issued: s.tokens.Issued, MaxBody: 4096,
		Log: slog.New(slog.NewTextHandler(s.log, nil))}
	for _, f := range change {
		f(&o)
	}
	s.h = New(o)
	s.listen(o.Log)
	return s
}

// listen serves the site by the road that the environment names: the Handler
// alone, or behind the event loop in one of its forms. See TestSite_OverEveryRoad.
func (s *site) listen(log *slog.Logger) {
	road := os.Getenv("HOTROW_TEST_ROAD")
	if road == "" {
		srv := httptest.NewUnstartedServer(s.h)
		srv.Config = httpserve.Server(s.h, httpserve.Timeouts{}, log)
		srv.Start()
		s.t.Cleanup(srv.Close)
		s.url, s.addr = srv.URL, srv.Listener.Addr().String()
		s.client = http.DefaultTransport.(*http.Transport)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = l.Addr().String()
	s.url = "http://" + s.addr
	form := httpserve.Options{Goroutines: road == "goroutine", Log: log}
	if road == "tls" || road == "h2" {
		made := tlstest.New(s.t, "first")
		s.cert, s.pair = new(front.Certificate), made.Pair(s.t)
		s.cert.Set(s.pair, tls.VersionTLS12)
		s.trust = &tls.Config{RootCAs: made.Pool()}
		s.url, form.TLS = "https://"+s.addr, s.cert.Config(httpserve.ALPN...)
	}
	if s.over, err = Serve(l, s.h, form); err != nil {
		s.t.Fatal(err)
	}
	s.client = &http.Transport{TLSClientConfig: s.trust, ForceAttemptHTTP2: road == "h2"}
	if road == "h2c" {
		s.client.Protocols = new(http.Protocols)
		s.client.Protocols.SetUnencryptedHTTP2(true)
	}
	s.t.Cleanup(s.over.Close)
	s.t.Cleanup(s.client.CloseIdleConnections)
}

func newToken(t *testing.T, name string, roles ...string) (secret string, token front.Token) {
	t.Helper()
	secret, sum := front.MakeSecret()
	token, err := front.NewToken(name, sum, roles...)
	if err != nil {
		t.Fatal(err)
	}
	return secret, token
}

// dial connects to the site for what is not an *http.Request.
func (s *site) dial() net.Conn {
	s.t.Helper()
	var conn net.Conn
	var err error
	if s.trust != nil {
		conn, err = tls.Dial("tcp", s.addr, s.trust)
	} else {
		conn, err = net.Dial("tcp", s.addr)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(waittest.Deadline(time.Minute))
	return conn
}

// A reply is a response with its body read.
type reply struct {
	*http.Response
	body string
}

// do sends one request. headers are "Name: value".
func (s *site) do(method, path, body string, headers ...string) reply {
	s.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, r)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		switch name {
		case "Host":
			req.Host = value
		case "Content-Type":
			req.Header.Set(name, value)
		default:
			req.Header.Add(name, value)
		}
	}
	res, err := s.client.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{res, string(b)}
}

// raw sends text as it is and reads one answer to a request of method.
func (s *site) raw(method, text string) reply {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{res, string(b)}
}

// problemDocument is the body of a problem.
type problemDocument struct {
	Type     string  `json:"type"`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail"`
	Instance string  `json:"instance"`
	Code     string  `json:"code"`
	Message  string  `json:"message"`
	Details  *string `json:"details"`
	Hint     *string `json:"hint"`
}

// want fails the test unless a has this status and, if it is an error, is the
// problem slug with a body that a client can read.
func (s *site) want(a reply, status int, slug string) {
	s.t.Helper()
	if a.StatusCode != status {
		s.t.Fatalf("%s %s: status %d, want %d: %s",
			a.method(), a.path(), a.StatusCode, status, a.body)
	}
	if slug == "" || a.method() == http.MethodHead {
		return
	}
	var p problemDocument
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		s.t.Fatalf("not a problem: %v: %s", err, a.body)
	}
	if p.Type != "/-/problems/"+slug || p.Status != status || p.Message == "" || p.Code == "" ||
		a.Header.Get("Content-Type") != "application/problem+json" {
		s.t.Fatalf("%s %s: problem %s, want %s", a.method(), a.path(), a.body, slug)
	}
}

func (a reply) method() string { return a.Request.Method }

func (a reply) path() string {
	if a.Request.URL == nil {
		return ""
	}
	return a.Request.URL.Path
}

// eventually polls f until it reports true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	waittest.Until(t, what, f)
}

// hot reads path until memory answers, and returns that answer.
func (s *site) hot(path string, headers ...string) reply {
	s.t.Helper()
	var a reply
	eventually(s.t, "a hit of "+path, func() bool {
		a = s.do(http.MethodGet, path, "", headers...)
		return a.Header.Get("Cache-Status") == "hotrow; hit; detail=mem"
	})
	return a
}

// A syncBuffer is a log that the test reads while the server writes.
type syncBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
