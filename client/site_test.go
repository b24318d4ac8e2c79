package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/front"
	httpfront "github.com/hotrow/hotrow/internal/front/http"
	wirefront "github.com/hotrow/hotrow/internal/front/wire"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit bounds everything that a test waits for.
const limit = 20 * time.Second

// within returns a context that ends with the test, or after limit.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// tables is the database of a site.
var tables = []string{
	`CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT NOT NULL UNIQUE, loc TEXT)`,
	`INSERT INTO dept VALUES (10,'ACCOUNTING','NEW YORK'), (20,'RESEARCH','DALLAS'),
		(30,'SALES','CHICAGO'), (40,'OPERATIONS',NULL)`,
	`CREATE TABLE city (city TEXT, state TEXT, people INTEGER, PRIMARY KEY (city, state))`,
	`INSERT INTO city VALUES ('Tulsa','OK',413066), ('a,b','c%d',1)`,
	`CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INTEGER)`,
	`INSERT INTO pay VALUES (1,100)`,
}

// A site is a server with both fronts.
type site struct {
	wireURL, httpURL string
	set              *resource.Set
	src              *sqlite.Source
}

// secret is the token of whoever may read and write everything.
const secret = "hrt_test"

// newSite starts a server over an SQLite file of its own.
func newSite(t testing.TB) *site {
	t.Helper()
	ctx := context.Background()
	src, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "site.db"), sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Exec(ctx, tables...); err != nil {
		t.Fatal(err)
	}
	public := resource.Access{Read: "public", Write: "public"}
	spec := func(name, table string, a resource.Access) resource.Spec {
		return resource.Spec{Source: "main", Access: a, Writable: true, Negative: true,
			Table: &source.Spec{Name: name, Table: table}}
	}
	depts := spec("depts", "dept", public)
	depts.Table.Fields = map[string]source.FieldSpec{
		"deptno": {Name: "deptNumber"}, "dname": {Name: "deptName"}, "loc": {Name: "deptLocation"}}
	depts.MaxLimit = 100
	memory := tier.NewMemory(1 << 20)
	set, err := resource.Open(ctx, resource.SetOptions{
		Memory:  memory,
		Sources: []resource.SourceOptions{{Name: "main", Source: src, Mode: source.FeedAuto}},
		Resources: []resource.Spec{depts, spec("cities", "city", public),
			spec("pay", "pay", resource.Access{Read: "role:boss", Write: "role:boss"})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Close(), src.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	poll(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	s := &site{set: set, src: src}
	s.wireURL, s.httpURL = s.listenWire(t), s.listenHTTP(t)
	return s
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (s *site) listenWire(t testing.TB) string {
	front := wirefront.New(wirefront.Options{
		Resources: s.set, Issued: func() any { return 1 },
		Auth: func(token string) (front.Principal, bool) {
			return front.Principal{Name: "boss", Roles: []string{"boss"}}, token == secret
		},
	})
	l := listen(t)
	over, err := front.Serve(l, wirefront.Listen{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		over.Close()
		front.Close()
	})
	return "hotrow://" + l.Addr().String()
}

func (s *site) listenHTTP(t testing.TB) string {
	l := listen(t)
	server := &http.Server{Handler: httpfront.New(httpfront.Options{
		Resources: s.set,
		Auth: func(token string) (front.Principal, bool) {
			return front.Principal{Name: "boss", Roles: []string{"boss"}}, token == secret
		},
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

// open opens a client.
func open(t testing.TB, url string, opts ...Option) *Client {
	t.Helper()
	c, err := Open(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// bothWays runs a test over the wire and over HTTP.
func bothWays(t *testing.T, f func(t *testing.T, s *site, url string)) {
	s := newSite(t)
	for _, url := range []string{s.wireURL, s.httpURL} {
		t.Run(url[:4], func(t *testing.T) { f(t, s, url) })
	}
}

// poll waits until f reports true.
func poll(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(time.Millisecond)
	}
}
