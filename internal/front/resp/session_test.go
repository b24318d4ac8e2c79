package respfront

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestHello_TellsWhatClientsGoBy(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	got := c.do("HELLO 3 SETNAME me")
	want := "%7\r\n" + bulk("server") + bulk("redis") + bulk("version") + bulk("7.4.0") + bulk("proto") + ":3\r\n" +
		bulk("id") + ":1\r\n" + bulk("mode") + bulk("standalone") + bulk("role") + bulk("master") + bulk("modules") +
		"*0\r\n"
	if got != want {
		t.Errorf("HELLO 3 = %q, want %q", got, want)
	}
	c.want("CLIENT GETNAME", bulk("me"))
	c.want("GET depts:99", "_\r\n")
	c.want("CLIENT SETINFO LIB-NAME go-redis", "+OK\r\n")
	c.want("CLIENT SETINFO lib-ver 9.23.0", "+OK\r\n")
	c.want("CLIENT SETINFO nope 1", "-ERR Unrecognized option 'nope'\r\n")
	if got := c.do("CLIENT LIST"); !strings.Contains(got, " name=me ") || !strings.Contains(got, " resp=3 ") ||
		!strings.Contains(got, " lib-name=go-redis lib-ver=9.23.0\n") || !strings.HasPrefix(got, "=") {
		t.Errorf("CLIENT LIST = %q", got)
	}
	// A version that is not spoken changes nothing, nor does an option that is not known.
	c.want("HELLO 4", "-NOPROTO unsupported protocol version\r\n")
	c.want("HELLO 2 NOPE", "-ERR Syntax error in HELLO option 'NOPE'\r\n")
	c.want("GET depts:99", "_\r\n")
	c.want("RESET", "+RESET\r\n")
	c.want("GET depts:99", "$-1\r\n")
}

// others is an address that other machines reach, as far as a listener knows.
func TestAuth_OnThisMachine(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader", "bob": "nobody"})
	c := s.dial()
	c.want("GET depts:10", bulk(dept10))
	c.want("GET pay:1", "-NOPERM this user has no permissions to run the 'get' command\r\n")
	c.want("AUTH wrong", "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
	c.want("AUTH bob secret-ann", "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
	c.want("AUTH bob secret-bob", "+OK\r\n")
	c.want("GET pay:1", "-NOPERM this user has no permissions to run the 'get' command\r\n")
	c.want("AUTH secret-ann", "+OK\r\n")
	c.want("ACL WHOAMI", bulk("ann"))
	c.want("GET pay:1", bulk(`{"id":1,"sal":100}`))
	c.want("GET pay:1", bulk(`{"id":1,"sal":100}`))
	c.want("GET closed:10", "-NOPERM this user has no permissions to run the 'get' command\r\n")
	// A token that is taken away is worth nothing from the next command on.
	s.Allow(map[string]string{"bob": "nobody"})
	c.want("GET pay:1", "-NOAUTH Authentication required.\r\n")
	c.want("PING", "-NOAUTH Authentication required.\r\n")
	c.want("RESET", "+RESET\r\n")
	c.want("GET depts:10", bulk(dept10))
	for range front.WrongTokens - 2 { // there were two
		c.do("AUTH wrong")
	}
	if got := c.reply(); got != "" {
		t.Errorf("after %d wrong passwords: %q", front.WrongTokens, got)
	}
}

// TestAuth_WhereOthersReach: a listener that is not for this machine alone answers nothing
// before a token.
func TestAuth_WhereOthersReach(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader"})
	far := func(t *testing.T, open bool, host string) *client {
		t.Helper()
		o := s.opts
		o.Open = open
		f := New(o)
		l, err := net.Listen("tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		over, err := f.Serve(l, kv.Listen{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { over.Close(); f.Close() })
		_, port, _ := net.SplitHostPort(over.Addr().String())
		return dialAt(t, "tcp", net.JoinHostPort(host, port), nil)
	}
	for _, host := range []string{dbtest.Elsewhere(t), "127.0.0.1"} { // whoever asks
		t.Run(host, func(t *testing.T) {
			theAuthOf(t, far(t, false, host))
			far(t, true, host).want("GET depts:10", bulk(dept10))
		})
	}
}

// theAuthOf asks for what needs a token, and sends one.
func theAuthOf(t *testing.T, c *client) {
	noAuth := "-NOAUTH Authentication required.\r\n"
	c.want("GET depts:10", noAuth)
	c.want("PING", noAuth)
	c.want("MULTI", noAuth)
	c.want("INFO", noAuth)
	c.want("CLIENT LIST", noAuth)
	if got := c.do("HELLO 3"); !strings.HasPrefix(got, "-NOAUTH HELLO must be called") {
		t.Errorf("HELLO 3 = %q", got)
	}
	if got := c.do("HELLO 3 AUTH default secret-ann"); !strings.HasPrefix(got, "%7\r\n") {
		t.Errorf("HELLO 3 AUTH = %q", got)
	}
	c.want("GET pay:1", bulk(`{"id":1,"sal":100}`))
	c.want("RESET", "+RESET\r\n")
	c.want("PING", noAuth)
	c.raw("*11\r\n")
	if got := c.reply(); got != "-ERR Protocol error: unauthenticated multibulk length\r\n" {
		t.Errorf("many arguments of somebody unknown: %q", got)
	}
}

func TestKeys_AsConfigured(t *testing.T) {
	tests := []struct {
		change func(*Options)
		talks  []talk
	}{
		{func(o *Options) { o.Prefix, o.Separator = "app/", "::" }, []talk{
			{"GET app/depts::10", bulk(dept10), ""}, {"GET depts::10", "$-1\r\n", ""},
			{"GET app/depts:10", "$-1\r\n", ""},
			{"SCAN 0 MATCH app/depts::* COUNT 10", "*2\r\n" + bulk("0") + "*4\r\n" + bulk("app/depts::10") +
				bulk("app/depts::20") + bulk("app/depts::30") + bulk("app/depts::40"), ""}}},
		{func(o *Options) { o.Default = "depts" }, []talk{
			{"GET 10", bulk(dept10), ""}, {"GET depts:20", bulk(dept20), ""}, {"GET x:10", "$-1\r\n", ""}}},
		{func(*Options) {}, []talk{
			{"GET nope:1", "$-1\r\n", ""}, {"GET depts:99", "$-1\r\n", ""}}},
	}
	for _, tt := range tests {
		c := newSite(t, func(o *Options, _ *kv.Listen) { tt.change(o) }).dial()
		for range 2 {
			for _, k := range tt.talks {
				c.want(k.command, k.v2)
			}
		}
	}
}

func TestClient_ReplyAndKill(t *testing.T) {
	s := newSite(t)
	a, b := s.dial(), s.dial()
	id := strings.TrimSpace(strings.TrimPrefix(b.do("CLIENT ID"), ":"))
	a.send("CLIENT REPLY OFF", "GET depts:10", "PING", "SCAN 0", "MULTI", "GET depts:10", "EXEC", "CLIENT REPLY ON",
		"CLIENT REPLY SKIP", "PING", "ECHO x")
	if got := a.reply() + a.reply(); got != "+OK\r\n"+bulk("x") {
		t.Errorf("after CLIENT REPLY: %q", got)
	}
	a.want("CLIENT KILL ID "+id, ":1\r\n")
	if got := b.reply(); got != "" {
		t.Errorf("a connection that was ended got %q", got)
	}
	eventually(t, "one connection is left", func() bool { return s.f.Stats().Open == 1 })
	a.want("CLIENT KILL ID "+id, ":0\r\n")
}

// TestClient_SeesItsOwn: a token sees the connections of this token alone.
func TestClient_SeesItsOwn(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader", "bob": "reader"})
	a, b := s.dial(), s.dial()
	a.do("AUTH secret-ann")
	b.do("AUTH secret-bob")
	id := strings.TrimSpace(strings.TrimPrefix(b.do("CLIENT ID"), ":"))
	if got := a.do("CLIENT LIST"); strings.Contains(got, "user=bob") || !strings.Contains(got, "user=ann") {
		t.Errorf("ann sees %q", got)
	}
	a.want("CLIENT KILL ID "+id, ":0\r\n")
}

func TestBounds_EndConnections(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.MaxClients = 2 })
	tests := []struct{ sent, got string }{
		{"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", ""},
		{"Host: localhost\r\n", ""},
		{"GET /depts/10 HTTP/1.1\r\n\r\n", ""},
		{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\x00", ""},
		{fmt.Sprintf("*2\r\n$3\r\nGET\r\n$%d\r\n", 2<<20), "-ERR Protocol error: invalid bulk length\r\n"},
		{strings.Repeat("x", 70<<10), "-ERR Protocol error: too big inline request\r\n"},
	}
	for _, tt := range tests {
		c := s.dial()
		c.raw(tt.sent)
		if got := c.rest(); got != tt.got {
			t.Errorf("%.40q = %q, want %q", tt.sent, got, tt.got)
		}
		_ = c.nc.Close()
	}
	eventually(t, "nobody is left", func() bool { return s.f.Stats().Open == 0 })
	s.dial().want("PING", "+PONG\r\n")
	s.dial().want("PING", "+PONG\r\n")
	c := s.dial()
	if got := c.rest(); got != "-ERR max number of clients reached\r\n" {
		t.Errorf("the third of two connections: %q", got)
	}
	if st := s.f.Stats(); st.Rejected != 1 || st.Broken < 2 {
		t.Errorf("counted: %+v", st)
	}
	keys := strings.Repeat(" x", front.CommandKeys+1)
	eventually(t, "there is room", func() bool { return s.f.Stats().Open < 3 })
	_ = c.nc.Close()
	other := newSite(t).dial()
	other.want("MGET"+keys, "-ERR too many keys\r\n")
	if got := other.do("NOPE " + strings.Repeat("y", 60<<10)); len(got) > 500 {
		t.Errorf("an error has %d bytes", len(got))
	}
}

func TestListeners_TLSAndUnixSockets(t *testing.T) {
	s := newSecureSite(t)
	c := s.dial()
	for range 2 {
		c.want("GET depts:10", bulk(dept10))
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	over, err := s.f.Serve(l, kv.Listen{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(over.Close)
	u := dialAt(t, "unix", l.Addr().String(), nil)
	for range 2 {
		u.want("GET depts:20", bulk(dept20))
	}
}

func TestInfo_SaysWhatExportersAskFor(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.do("GET depts:10")
	all := c.do("INFO")
	for _, line := range []string{"# Server\r\nredis_version:7.4.0\r\nhotrow_version:1.2.3\r\n",
		"\r\n# Clients\r\nconnected_clients:1\r\n", "\r\nloading:0\r\n", "\r\nrole:master\r\n",
		"\r\nsource_main:gate=fresh,lag_ms=", "\r\ntotal_connections_received:1\r\n"} {
		if !strings.Contains(all, line) {
			t.Errorf("INFO has no %q: %s", line, all)
		}
	}
	some := c.do("INFO replication server")
	if !strings.Contains(some, "# Server") || !strings.Contains(some, "# Replication") ||
		strings.Contains(some, "# Stats") {
		t.Errorf("INFO replication server = %q", some)
	}
	if got := c.do("DBSIZE"); got == ":0\r\n" || got[0] != ':' {
		t.Errorf("DBSIZE = %q", got)
	}
	for _, text := range []string{"PUBLISH a b", "FLUSHALL", "FLUSHDB", "CONFIG RESETSTAT"} {
		if got := c.do(text); !strings.HasPrefix(got, "-NOPERM ") {
			t.Errorf("%s = %q", text, got)
		}
	}
	if got := c.do("COMMAND COUNT"); got != fmt.Sprintf(":%d\r\n", len(newTable())) {
		t.Errorf("COMMAND COUNT = %q", got)
	}
	if got := c.do("COMMAND DOCS get"); !strings.Contains(got, "summary") {
		t.Errorf("COMMAND DOCS = %q", got)
	}
	if got := c.do("TIME"); !strings.HasPrefix(got, "*2\r\n$10\r\n") {
		t.Errorf("TIME = %q", got)
	}
}

// TestConfigure_CountsForTheNextCommand on connections that are open.
func TestConfigure_CountsForTheNextCommand(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.want("GET a/depts:10", "$-1\r\n")
	o := s.opts
	o.Prefix = "a/"
	s.f.Configure(o)
	c.want("GET a/depts:10", bulk(dept10))
}

// TestShutdown_AnswersWhatHasCome: what is sent within the grace is answered, and then the
// connection ends.
func TestShutdown_AnswersWhatHasCome(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.want("PING", "+PONG\r\n")
	done := make(chan error, 1)
	go func() { done <- s.over.Shutdown(t.Context()) }()
	c.want("GET depts:10", bulk(dept10))
	if got := c.reply(); got != "" {
		t.Errorf("after the end came %q", got)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(waittest.Limit(time.Minute)):
		t.Error("Shutdown does not end")
	}
}
