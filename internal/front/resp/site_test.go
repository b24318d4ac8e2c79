package respfront

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/fronttest"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
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
	// A short time: a busy machine would be told as a reset.
	return newSiteOver(t, fronttest.More{StaleAfter: time.Minute}, change...)
}

// newSiteOver is newSite with what more has besides.
func newSiteOver(t testing.TB, more fronttest.More, change ...func(*Options, *kv.Listen)) *site {
	t.Helper()
	more.Tables, more.Resources = []string{fronttest.NoteTable}, fronttest.Notes(column)
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

// newSecureSite starts a site over TLS.
func newSecureSite(t testing.TB) *site {
	t.Helper()
	made := tlstest.New(t, "resp")
	shown := new(front.Certificate)
	shown.Set(made.Pair(t), tls.VersionTLS12)
	s := newSite(t, func(_ *Options, l *kv.Listen) { l.TLS = shown.Config() })
	s.trust = &tls.Config{RootCAs: made.Pool(), ServerName: "localhost"}
	return s
}

// goroutines serves without event loops.
func goroutines(_ *Options, l *kv.Listen) { l.Goroutines = true }

// bothForms runs a test over both forms of connections.
func bothForms(t *testing.T, f func(t *testing.T, form func(*Options, *kv.Listen))) {
	t.Run("loop", func(t *testing.T) { f(t, func(*Options, *kv.Listen) {}) })
	t.Run("goroutine", func(t *testing.T) { f(t, goroutines) })
}

// execTold changes n rows, and returns when clients have been told of them: who subscribes or
// tracks later is not.
func (s *site) execTold(n int, statements ...string) {
	s.t.Helper()
	c := s.dial()
	c.hears(n, func() { s.Exec(statements...) })
	_ = c.nc.Close()
}

// hears has a connection hear of n rows that f changes, and nothing behind them.
func (c *client) hears(n int, f func()) {
	c.t.Helper()
	const all = "__keyevent@0__:set"
	c.do("SUBSCRIBE " + all)
	f()
	for range n {
		c.reply()
	}
	c.do("UNSUBSCRIBE " + all)
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
	_ = c.nc.SetReadDeadline(waittest.Deadline(time.Minute))
	text, err := readReply(c.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("nothing came for a minute, behind %q", text)
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
	dept10 = fronttest.Dept10
	dept20 = fronttest.Dept20
)

var eventually = fronttest.Eventually

// column makes a column the value of a key.
func column(value, flags, unique string) resource.Preparer {
	return kv.Column{Value: value, Flags: flags, Unique: unique}
}
