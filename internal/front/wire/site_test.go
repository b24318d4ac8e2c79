package wirefront

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	eventloop.PoisonBuffers()
	goleak.VerifyTestMain(m)
}

// siteTables is the database of a site.
var siteTables = []string{
	`CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT NOT NULL UNIQUE, loc TEXT)`,
	`INSERT INTO dept VALUES (10,'ACCOUNTING','NEW YORK'), (20,'RESEARCH','DALLAS'),
		(30,'SALES','CHICAGO'), (40,'OPERATIONS',NULL)`,
	`CREATE TABLE city (city TEXT, state TEXT, people INTEGER, PRIMARY KEY (city, state))`,
	`INSERT INTO city VALUES ('Tulsa','OK',413066), ('a,b','c/d',1)`,
	`CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INTEGER)`,
	`INSERT INTO pay VALUES (1,100)`,
	`CREATE TABLE works (id INTEGER PRIMARY KEY, dept INTEGER REFERENCES dept,
		pay INTEGER REFERENCES pay)`,
	`INSERT INTO works VALUES (1,20,1)`,
	`CREATE TABLE big (id INTEGER PRIMARY KEY, text TEXT)`,
	`CREATE TABLE crowd (id INTEGER PRIMARY KEY, n INTEGER)`,
	`INSERT INTO crowd WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM s WHERE i < 1000)
		SELECT i, 0 FROM s`,
	`INSERT INTO big VALUES (1, hex(zeroblob(50000))), (2, hex(zeroblob(300)))`,
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
		spec("big", "big", public, true),
		spec("slow", "slow", public, false),
		spec("crowd", "crowd", public, true),
		spec("works", "works", public, false),
	}
}

// openSet opens the resources of a site over an SQLite file of their own.
func openSet(t testing.TB) (*resource.Set, *sqlite.Source) {
	t.Helper()
	ctx := context.Background()
	src, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "site.db"), sqlite.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Exec(ctx, slices.Concat(siteTables, slowTable)...); err != nil {
		t.Fatal(err)
	}
	memory := tier.NewMemory(1 << 20)
	set, err := resource.Open(ctx, resource.SetOptions{
		Memory: memory, Lists: 1 << 20,
		// StaleAfter: while a busy machine is late with a fence, nothing would come from memory.
		Sources: []resource.SourceOptions{{Name: "main", Source: src, Mode: source.FeedAuto,
			Timeout: time.Minute, StaleAfter: time.Minute}},
		Resources: siteResources(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(set.Check(), set.Close(), set.Check(), src.Close(), memory.Close()); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the feed is fresh", func() bool { return set.Ready() == nil })
	return set, src
}

// eventually polls f until it reports true.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	waittest.Until(t, what, f)
}

// tokens are the tokens of a site, by their text.
type tokens struct {
	live atomic.Pointer[map[string]front.Principal]
}

func (k *tokens) set(m map[string]front.Principal) { k.live.Store(&m) }

func (k *tokens) issued() any { return k.live.Load() }

func (k *tokens) principal(token string) (front.Principal, bool) {
	m := k.live.Load()
	if m == nil {
		return front.Principal{}, false
	}
	p, ok := (*m)[token]
	return p, ok
}

// A site is a front over real resources that listens.
type site struct {
	t      testing.TB
	set    *resource.Set
	src    *sqlite.Source
	f      *Front
	over   *Site
	tokens *tokens
	opts   Options
	trust  *tls.Config
}

// newSite starts a site. change may alter its options.
func newSite(t testing.TB, change ...func(*Options, *Listen)) *site {
	t.Helper()
	s := &site{t: t, tokens: new(tokens)}
	s.set, s.src = openSet(t)
	s.opts = Options{Resources: s.set, Auth: s.tokens.principal, Issued: s.tokens.issued}
	var listen Listen
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

// goroutines serves without event loops.
func goroutines(_ *Options, l *Listen) { l.Goroutines = true }

// bothForms runs a test over both forms of connections.
func bothForms(t *testing.T, f func(t *testing.T, form func(*Options, *Listen))) {
	t.Run("loop", func(t *testing.T) { f(t, func(*Options, *Listen) {}) })
	t.Run("goroutine", func(t *testing.T) { f(t, goroutines) })
}

// A peer is a client of a site: a session over a socket, for one goroutine.
type peer struct {
	t    testing.TB
	nc   net.Conn
	s    *gofast.Session
	in   []byte
	held []held // events that nobody has asked for yet
}

// A held is an event with memory of its own.
type held struct {
	gofast.Event
	data []byte
}

// dial connects a client with a token, "" for none.
func (s *site) dial(token string) *peer {
	return s.dialAs(gofast.Config{Token: []byte(token)})
}

func (s *site) dialAs(c gofast.Config) *peer {
	s.t.Helper()
	var nc net.Conn
	var err error
	if s.trust != nil {
		nc, err = tls.Dial("tcp", s.over.Addr().String(), s.trust)
	} else {
		nc, err = net.Dial("tcp", s.over.Addr().String())
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = nc.Close() })
	p := &peer{t: s.t, nc: nc, s: gofast.NewSession(c)}
	p.write(p.s.Open(time.Now(), nil))
	p.until("the handshake", func() bool { return p.s.Ready() })
	return p
}

func (p *peer) write(b []byte) {
	p.t.Helper()
	if len(b) == 0 {
		return
	}
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// read takes in what has come, and reports false when the connection has ended.
func (p *peer) read() bool {
	p.t.Helper()
	_ = p.nc.SetReadDeadline(waittest.Deadline(time.Minute))
	buf := make([]byte, 64<<10)
	n, err := p.nc.Read(buf)
	if err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			p.t.Fatal("nothing came for a minute")
		}
		return false
	}
	p.in = append(p.in, buf[:n]...)
	for {
		var e gofast.Event
		used, out, err := p.s.Next(p.in, nil, &e)
		if err != nil {
			p.t.Fatalf("the server breaks the protocol: %v", err)
		}
		if e.Type == gofast.EventNone {
			p.in = p.in[used:]
			p.write(out)
			return true
		}
		p.held = append(p.held, held{e, slices.Clone(e.Data)})
		p.in = p.in[used:]
		p.write(out)
	}
}

// until reads until f reports true.
func (p *peer) until(what string, f func() bool) {
	p.t.Helper()
	for !f() {
		if !p.read() {
			p.t.Fatalf("%s: the connection has ended", what)
		}
	}
}

// send sends a request and returns its opaque.
func (p *peer) send(id uint64, payload []byte) uint64 {
	p.t.Helper()
	return p.sendMessage(&gofast.Message{ID: id, Data: payload})
}

func (p *peer) sendMessage(m *gofast.Message) uint64 {
	p.t.Helper()
	out, opaque, err := p.s.AppendRequest(nil, m, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(p.s.Pump(out, 1<<30))
	return opaque
}

// next returns the next event of an exchange.
func (p *peer) next(opaque uint64) held {
	p.t.Helper()
	at := -1
	p.until("an answer", func() bool {
		at = slices.IndexFunc(p.held, func(h held) bool { return h.Opaque == opaque })
		return at >= 0
	})
	h := p.held[at]
	p.held = slices.Delete(p.held, at, at+1)
	return h
}

// call sends a request and returns the payload of its answer, or its error.
func (p *peer) call(id uint64, payload []byte) ([]byte, *gofast.Error) {
	p.t.Helper()
	h := p.next(p.send(id, payload))
	return h.data, h.Err
}

// get reads a document; code is that of the error.
func (p *peer) get(g rows.Get) (rows.Answer, gofast.Code) {
	p.t.Helper()
	data, fault := p.call(rows.IDGet, g.Append(nil))
	if fault != nil {
		return rows.Answer{}, fault.Code
	}
	var a rows.Answer
	if err := a.Decode(data); err != nil {
		p.t.Fatal(err)
	}
	return a, gofast.OK
}

// hot reads a document until memory answers.
func (p *peer) hot(resource, key string) (a rows.Answer) {
	p.t.Helper()
	eventually(p.t, "a hit of "+resource+"/"+key, func() bool {
		var code gofast.Code
		a, code = p.get(rows.Get{Resource: resource, Key: key})
		return code == gofast.OK && a.Origin == rows.HitMemory
	})
	return a
}

// want fails unless the error is of this code and kind.
func (p *peer) want(fault *gofast.Error, code gofast.Code, kind string) {
	p.t.Helper()
	if fault == nil {
		p.t.Fatalf("no error, want %v %s", code, kind)
	}
	var d rows.Detail
	if err := d.Decode(fault.Details); err != nil {
		p.t.Fatal(err)
	}
	if fault.Code != code || d.Kind != kind || fault.Text == "" {
		p.t.Fatalf("error %v %s %q, want %v %s", fault.Code, d.Kind, fault.Text, code, kind)
	}
}

// wantEnd waits until the server has closed the connection.
func (p *peer) wantEnd() {
	p.t.Helper()
	for p.read() {
		continue
	}
}
