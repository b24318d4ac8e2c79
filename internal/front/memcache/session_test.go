package memcachefront

import (
	"crypto/tls"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestTokens_ComeAsMemcachedHasThem: set of any key with the user and the token.
func TestTokens_ComeAsMemcachedHasThem(t *testing.T) {
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, form)
		s.Allow(map[string]string{"ann": "reader"})
		c := s.dial()
		c.want("get pay:1", "CLIENT_ERROR forbidden\r\n")
		c.want("set auth 0 0 14\r\nann secret-nobo", "CLIENT_ERROR bad data chunk\r\nERROR\r\n")
		c.want("set auth 0 0 13\r\nann secret-no", "CLIENT_ERROR authentication failure\r\n")
		c.want("set auth 0 0 14\r\nbob secret-ann", "CLIENT_ERROR authentication failure\r\n")
		c.want("get pay:1", "CLIENT_ERROR forbidden\r\n")
		for range 2 { // cold and hot
			c.want("set auth 0 0 14\r\nann secret-ann\r\nget pay:1", "STORED\r\n"+
				value("pay:1", `{"id":1,"sal":100}`)+"END\r\n")
			_ = c.nc.Close()
			c = s.dial()
		}
		c.want("set depts:10 0 0 14\r\nann secret-ann\r\nget pay:1", "STORED\r\n"+
			value("pay:1", `{"id":1,"sal":100}`)+"END\r\n")
		s.Allow(map[string]string{"bob": "reader"})
		c.raw("get pay:1\r\n") // the token was taken away
		const gone = "CLIENT_ERROR unauthenticated\r\n"
		if got := c.read(len(gone)); got != gone {
			t.Errorf("with a token of yesterday = %q", got)
		}
	})
}

// strangers makes the listener one that others reach.
func strangers(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTokens_AreNeededWhereOthersReach(t *testing.T) {
	s := newSite(t)
	s.Allow(map[string]string{"ann": "reader"})
	over, err := s.f.Serve(strangers(t), kv.Listen{})
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	_, port, _ := net.SplitHostPort(over.Addr().String())
	for _, host := range []string{dbtest.Elsewhere(t), "127.0.0.1"} { // whoever asks
		t.Run(host, func(t *testing.T) {
			tokensAreNeeded(t, func() *client {
				return dialAt(t, "tcp", net.JoinHostPort(host, port), nil)
			})
		})
	}
}

// tokensAreNeeded asks for what needs a token, and sends one.
func tokensAreNeeded(t *testing.T, dial func() *client) {
	c := dial()
	for _, text := range []string{"get depts:10", "version", "stats", "mn", "mg depts:10", "delete depts:10", "nope"} {
		c.raw(text + "\r\n")
		const want = "CLIENT_ERROR unauthenticated\r\n"
		if got := c.read(len(want)); got != want {
			t.Errorf("%s = %q", text, got)
		}
	}
	c.raw("set x 0 0 14\r\nann secret-ann\r\nget depts:20\r\n")
	want := "STORED\r\n" + value("depts:20", dept20) + "END\r\n"
	if got := c.read(len(want)); got != want {
		t.Errorf("with a token = %q", got)
	}
	c = dial()
	c.raw(strings.Repeat("set depts:10 0 0 5\r\na bcd\r\n", 11))
	want = strings.Repeat("CLIENT_ERROR authentication failure\r\n", front.WrongTokens)
	if got := c.read(1 << 10); got != want {
		t.Errorf("ten wrong tokens = %q", got)
	}
	c = dial()
	c.raw("quit\r\n")
	if got := c.read(1); got != "" {
		t.Errorf("quit = %q", got)
	}
}

func TestConnection_EndsWithoutAWord(t *testing.T) {
	s := newSite(t)
	for _, text := range []string{"\x80\x0b\x00\x00", "\x16\x03\x01\x02\x00",
		"GET /depts/10 HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\n", strings.Repeat("x", 5000)} {
		c := s.dial()
		c.raw(text)
		if got := c.read(1); got != "" {
			t.Errorf("%.20q = %q", text, got)
		}
		c = s.dial() // behind what waits for the database
		c.raw("get depts:10\r\n" + text)
		if got := c.read(1 << 10); got != value("depts:10", dept10)+"END\r\n" {
			t.Errorf("behind a read: %.20q = %q", text, got)
		}
	}
	if n := s.f.Stats().Broken; n != 10 {
		t.Errorf("%d are counted", n)
	}
}

func TestConnections_AreBounded(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.MaxClients = 2 })
	a, b := s.dial(), s.dial()
	a.want("mn", "MN\r\n")
	b.want("mn", "MN\r\n")
	c := s.dial()
	if got := c.read(1 << 10); got != "ERROR Too many open connections\r\n" {
		t.Errorf("the third = %q", got)
	}
	_ = a.nc.Close()
	eventually(t, "there is room", func() bool { return s.f.Stats().Open < 2 })
	s.dial().want("mn", "MN\r\n")
}

func TestServe_TLSAndUnixSockets(t *testing.T) {
	cert := tlstest.New(t, "memcache")
	shown := new(front.Certificate)
	shown.Set(cert.Pair(t), tls.VersionTLS12)
	bothForms(t, func(t *testing.T, form func(*Options, *kv.Listen)) {
		s := newSite(t, func(o *Options, l *kv.Listen) {
			form(o, l)
			l.TLS = shown.Config()
		})
		s.trust = &tls.Config{RootCAs: cert.Pool(), ServerName: "localhost"}
		c := s.dial()
		for range 2 {
			c.want("get depts:20", value("depts:20", dept20)+"END\r\n")
		}
	})
	s := newSite(t)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	over, err := s.f.Serve(l, kv.Listen{})
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close()
	c := dialAt(t, "unix", path, nil)
	for range 2 {
		c.want("get depts:20", value("depts:20", dept20)+"END\r\n")
	}
}

// TestValue_OfARefusedSetIsSwallowed, however it comes.
func TestValue_OfARefusedSetIsSwallowed(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.raw("set depts:10 0 0 3000000\r\n")
	big := strings.Repeat("get x\r\n", 500_000)[:3_000_000]
	for len(big) > 0 {
		n := min(len(big), 70_001)
		c.raw(big[:n])
		big = big[n:]
	}
	c.raw("\r\nmn\r\n")
	const want = "SERVER_ERROR object too large for cache\r\nMN\r\n"
	if got := c.read(len(want)); got != want {
		t.Errorf("%q", got)
	}
}

func TestStats_AreWhatExportersAskFor(t *testing.T) {
	s := newSite(t, func(o *Options, _ *kv.Listen) { o.Version = "1.2.3" })
	c := s.dial()
	c.do("get depts:10 depts:99")
	got := c.do("stats")
	for _, name := range []string{"pid ", "uptime ", "time ", "version 1.6.45\r\n",
		"hotrow_version 1.2.3\r\n", "pointer_size 64",
		"curr_connections 1\r\n", "total_connections ", "cmd_get 2\r\n", "get_hits 1\r\n", "get_misses 1\r\n",
		"limit_maxbytes ", "threads ", "bytes ", "curr_items ", "evictions ", "hotrow_source_main fresh"} {
		if !strings.Contains(got, "STAT "+name) {
			t.Errorf("stats has no %q: %q", name, got)
		}
	}
	for command, want := range map[string]string{
		"version": "VERSION 1.6.45\r\n", "stats items": "END\r\n", "stats slabs": "END\r\n",
		"stats sizes": "STAT sizes_status disabled\r\nEND\r\n", "stats reset": "RESET\r\n", "stats nope": "ERROR\r\n",
		"stats detail on": "OK\r\n", "stats detail dump": "END\r\n", "flush_all": "CLIENT_ERROR forbidden\r\n",
		"stats conns": "END\r\n", "verbosity 1": "OK\r\n", "shutdown": "ERROR: shutdown not enabled\r\n",
		"cache_memlimit 64": "CLIENT_ERROR forbidden\r\n", "lru_crawler metadump all": "END\r\n", "mn": "MN\r\n",
	} {
		c.want(command, want)
	}
	if got := c.do("stats settings"); !strings.Contains(got, "STAT item_size_max 1048576\r\n") {
		t.Errorf("stats settings = %q", got)
	}
}

func TestShutdown_EndsConnections(t *testing.T) {
	s := newSite(t)
	c := s.dial()
	c.want("get depts:10", value("depts:10", dept10)+"END\r\n")
	begin := time.Now()
	if err := s.over.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := c.read(1); got != "" || waittest.Late(time.Since(begin), 5*time.Second) {
		t.Errorf("%q after %v", got, time.Since(begin))
	}
}
