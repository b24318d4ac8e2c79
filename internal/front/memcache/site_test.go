package memcachefront

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/waittest"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

func TestMain(m *testing.M) {
	eventloop.PoisonBuffers()
	goleak.VerifyTestMain(dbtest.Wrap(m))
}

// A site is a front over real resources that listens.
type site struct {
	*fronttest.Database
	fronttest.Tokens
	t     testing.TB
	f     *Front
	over  *kv.Site
	opts  Options
	trust *tls.Config
	fault *fronttest.Faults // nil: there is none
}

// newSite starts a site. change may alter its options.
func newSite(t testing.TB, change ...func(*Options, *kv.Listen)) *site {
	t.Helper()
	// X would say that the machine is busy.
	return newSiteOver(t, fronttest.More{StaleAfter: time.Minute}, change...)
}

// newSiteOver is newSite with what more has besides.
func newSiteOver(t testing.TB, more fronttest.More, change ...func(*Options, *kv.Listen)) *site {
	t.Helper()
	more.Tables = []string{kv.StoreTable, fronttest.NoteTable}
	more.Resources = append(fronttest.Notes(column), kv.StoreSpec("main", fronttest.Public))
	s := &site{t: t, Database: fronttest.Open(t, more), fault: more.Faults}
	s.opts.Resources = s.Set
	s.opts.Version = "1.2.3"
	s.opts.Issued, s.opts.Auth, s.opts.Tokens = s.Issued, s.Auth, s.Any
	s.opts.Memory = func() (keys, bytes, most int64) {
		return int64(s.Database.Memory.Stats().Entries), 1, 2
	}
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

func (c *client) raw(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.nc, text); err != nil {
		c.t.Fatal(err)
	}
}

// read reads so many bytes, or up to the end.
func (c *client) read(n int) string {
	c.t.Helper()
	_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
	b := make([]byte, n)
	got, err := io.ReadFull(c.r, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.Is(err, syscall.ECONNRESET) {
		c.t.Fatalf("%v, behind %q", err, b[:got])
	}
	return string(b[:got])
}

// do sends commands, each with its end, and returns what comes before the reply to one
// more command.
func (c *client) do(commands string) string {
	c.t.Helper()
	c.raw(commands + "\r\nflush_all x\r\n")
	const end = memcache.BadExptime + "\r\n"
	_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
	var all strings.Builder
	for {
		line, err := c.r.ReadString('\n')
		if line == end {
			return all.String()
		}
		all.WriteString(line)
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			c.t.Fatalf("%q: %v, behind %q", commands, err, all.String())
		}
	}
}

// want fails unless commands have these replies.
func (c *client) want(commands, replies string) {
	c.t.Helper()
	if got := c.do(commands); got != replies {
		c.t.Errorf("%q = %q, want %q", commands, got, replies)
	}
}

const (
	dept10 = fronttest.Dept10
	dept20 = fronttest.Dept20
)

var eventually = fronttest.Eventually

// column makes a column the value of a key.
func column(value, flags, unique string) resource.Preparer {
	return kv.Column{Value: value, Flags: flags, Unique: unique}
}
