package respfront

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
)

func TestMain(m *testing.M) {
	lane.PoisonBuffers()
	goleak.VerifyTestMain(dbtest.Wrap(m))
}

// siteTables is the database of a site.
var siteTables = []string{
	`CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT NOT NULL UNIQUE, loc TEXT, pic BLOB)`,
	`INSERT INTO dept VALUES (10,'ACCOUNTING','NEW "Y"',x'00ff'), (20,'RESEARCH','DALLAS',NULL),
		(30,'SALES','CHICAGO',NULL), (40,'OPERATIONS',NULL,x'')`,
	`CREATE TABLE city (city TEXT, state TEXT, people INTEGER, PRIMARY KEY (city, state))`,
	`INSERT INTO city VALUES ('Tulsa','OK',413066), ('a,b','c/d',1)`,
	`CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INTEGER)`,
	`INSERT INTO pay VALUES (1,100)`,
	`CREATE TABLE crowd (id INTEGER PRIMARY KEY, n INTEGER)`,
	`CREATE TABLE big (id INTEGER PRIMARY KEY, text TEXT)`,
	`INSERT INTO big VALUES (1, hex(zeroblob(50000)))`,
}

// siteResources is what a site serves.
func siteResources() []resource.Spec {
	public := resource.Access{Read: "public", Write: "public"}
	spec := func(name, table string, a resource.Access, w bool) resource.Spec {
		return resource.Spec{Source: "main", Access: a, Writable: w, Negative: true,
			Table: &source.Spec{Name: name, Table: table}}
	}
	depts := spec("depts", "dept", public, true)
	depts.Table.Fields = map[string]source.FieldSpec{"deptno": {Name: "deptNumber"}}
	brief := spec("brief", "dept", public, false)
	brief.TTL = time.Hour
	return []resource.Spec{
		depts, brief,
		spec("cities", "city", public, true),
		spec("pay", "pay", resource.Access{Read: "role:reader", Write: "role:editor"}, true),
		spec("log", "dept", public, false),
		spec("closed", "dept", resource.Access{Read: "none", Write: "none"}, true),
		spec("crowd", "crowd", public, true),
		spec("big", "big", public, true),
	}
}

// A site is a front over real resources that listens.
type site struct {
	t      testing.TB
	set    *resource.Set
	src    *sqlite.Source
	f      *Front
	over   *kv.Site
	tokens atomic.Pointer[map[string]front.Principal]
	opts   Options
	trust  *tls.Config
}

// newSite starts a site. change may alter its options.
func newSite(t testing.TB, change ...func(*Options, *kv.Listen)) *site {
	t.Helper()
	s := &site{t: t}
	s.open()
	s.opts.Resources = s.set
	s.opts.Version = "1.2.3"
	s.opts.Issued = func() any { return s.tokens.Load() }
	s.opts.Auth = func(token string) (front.Principal, bool) {
		p, ok := (*s.tokens.Load())[token]
		return p, ok
	}
	s.opts.Tokens = func() bool { m := s.tokens.Load(); return m != nil && len(*m) > 0 }
	var listen kv.Listen
	for _, f := range change {
		f(&s.opts, &listen)
	}
	s.f = New(s.opts)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.over, err = s.f.Serve(l, listen); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.over.Close()
		s.f.Close()
	})
	return s
}

// open opens the resources over an SQLite file of their own.
func (s *site) open() {
	s.t.Helper()
	ctx := context.Background()
	var err error
	path := filepath.Join(s.t.TempDir(), "site.db")
	if s.src, err = sqlite.Open(ctx, path, sqlite.Options{Own: true}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.src.Exec(ctx, siteTables...); err != nil {
		s.t.Fatal(err)
	}
	memory := tier.NewMemory(8 << 20)
	s.set, err = resource.Open(ctx, resource.SetOptions{
		Memory: memory,
		Sources: []resource.SourceOptions{{Name: "main", Source: s.src, Mode: source.FeedAuto,
			Timeout: time.Minute}},
		Resources: siteResources(),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.opts.Memory = func() (keys, bytes, most int64) { return int64(memory.Stats().Entries), 1, 2 }
	s.t.Cleanup(func() {
		if err := errors.Join(s.set.Close(), s.src.Close(), memory.Close()); err != nil {
			s.t.Error(err)
		}
	})
	eventually(s.t, "the feed is fresh", func() bool { return s.set.Ready() == nil })
}

// exec changes the database, as its only writer.
func (s *site) exec(statements ...string) {
	s.t.Helper()
	if err := s.src.Exec(context.Background(), statements...); err != nil {
		s.t.Fatal(err)
	}
}

// allow makes tokens good: each is that of a principal of its name and role.
func (s *site) allow(roles map[string]string) {
	m := make(map[string]front.Principal)
	for name, role := range roles {
		m["secret-"+name] = front.Principal{Name: name, Roles: []string{role}}
	}
	s.tokens.Store(&m)
}

// eventually polls f until it reports true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !f(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// goroutines serves without event loops.
func goroutines(_ *Options, l *kv.Listen) { l.Goroutines = true }

// bothForms runs a test over both forms of connections.
func bothForms(t *testing.T, f func(t *testing.T, form func(*Options, *kv.Listen))) {
	t.Run("loop", func(t *testing.T) { f(t, func(*Options, *kv.Listen) {}) })
	t.Run("goroutine", func(t *testing.T) { f(t, goroutines) })
}

// A client is a connection, for one goroutine.
type client struct {
	t  testing.TB
	nc net.Conn
	r  *bufio.Reader
}

func (s *site) dial() *client {
	s.t.Helper()
	return dialAt(s.t, "tcp", s.over.Addr().String(), s.trust)
}

func dialAt(t testing.TB, network, addr string, trust *tls.Config) *client {
	t.Helper()
	var nc net.Conn
	var err error
	if trust != nil {
		nc, err = tls.Dial(network, addr, trust)
	} else {
		nc, err = net.Dial(network, addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &client{t: t, nc: nc, r: bufio.NewReader(nc)}
}

// encode returns a command as clients write it. text has blanks between the arguments, with
// single quotes around what has some itself.
func encode(text string) string {
	var args []string
	for i, part := range strings.Split(text, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

// send sends commands together.
func (c *client) send(commands ...string) {
	c.t.Helper()
	var b strings.Builder
	for _, text := range commands {
		b.WriteString(encode(text))
	}
	c.raw(b.String())
}

func (c *client) raw(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.nc, text); err != nil {
		c.t.Fatal(err)
	}
}

// reply returns the bytes of the next reply, "" at the end.
func (c *client) reply() string {
	c.t.Helper()
	_ = c.nc.SetReadDeadline(time.Now().Add(10 * time.Second))
	text, err := readReply(c.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("nothing came for 10 s, behind %q", text)
	}
	return text
}

// readReply reads one reply, of either version.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return line, err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n < 0 {
			return line, nil
		}
		b := make([]byte, n+2)
		_, err = io.ReadFull(r, b)
		return line + string(b), err
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			var part string
			if part, err = readReply(r); err != nil {
				return line + part, err
			}
			line += part
		}
	}
	return line, err
}

// do sends a command and returns its reply.
func (c *client) do(text string) string {
	c.t.Helper()
	c.send(text)
	return c.reply()
}

// want fails unless a command has this reply.
func (c *client) want(text, reply string) {
	c.t.Helper()
	if got := c.do(text); got != reply {
		c.t.Errorf("%s = %q, want %q", text, got, reply)
	}
}

// bulk returns a string of bytes as it is sent.
func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

const (
	dept10 = `{"deptNumber":10,"dname":"ACCOUNTING","loc":"NEW \"Y\"","pic":"AP8="}`
	dept20 = `{"deptNumber":20,"dname":"RESEARCH","loc":"DALLAS","pic":null}`
)
