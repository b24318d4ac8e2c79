package proxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestGuard_RefusesAddressesOfThisMachineAndItsLink(t *testing.T) {
	refused := []string{
		"127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.169.254", "169.254.0.1", "224.0.0.1", "255.255.255.255",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "::", "::1", "fe80::1", "ff02::1", "fd00:ec2::254",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "2002:a9fe:a9fe::1",
		"64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "::7f00:1", "::a9fe:a9fe", "2001::1", "fe80::1%eth0",
	}
	allowed := []string{
		"8.8.8.8", "10.0.0.1", "192.168.1.1", "2606:4700::1111", "fc00::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
		"2002:808:808::1",
	}
	o := Options{}
	for _, text := range refused {
		if o.permits(netip.MustParseAddr(text)) {
			t.Errorf("%s is permitted", text)
		}
	}
	for _, text := range allowed {
		if !o.permits(netip.MustParseAddr(text)) {
			t.Errorf("%s is refused", text)
		}
	}
	o.DenyPrivate = true
	for _, text := range []string{"10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "fc00::1", "::ffff:10.0.0.1"} {
		if o.permits(netip.MustParseAddr(text)) {
			t.Errorf("%s is permitted although private networks are not", text)
		}
	}
	o.AllowAddresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
	if !o.permits(netip.MustParseAddr("10.0.0.7")) || o.permits(netip.MustParseAddr("10.0.1.7")) {
		t.Error("an allowed network is not what is allowed")
	}
}

// nameServer answers every question for an A record with the next address.
func nameServer(t *testing.T, addrs ...string) (*net.Resolver, *atomic.Int64) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := new(atomic.Int64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			n, from, err := pc.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = pc.WriteTo(dnsAnswer(b[:n], addrs, asked), from)
		}
	}()
	t.Cleanup(func() { _ = pc.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", pc.LocalAddr().String())
	}}, asked
}

// dnsAnswer answers one question (RFC 1035 4.1). Only A records exist.
func dnsAnswer(question []byte, addrs []string, asked *atomic.Int64) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5 // the root, the type, the class
	isA := binary.BigEndian.Uint16(question[end-4:]) == 1
	answer := append([]byte(nil), question[:end]...)
	binary.BigEndian.PutUint16(answer[2:], 0x8180)
	clear(answer[6:12])
	if !isA {
		return answer
	}
	i := int(asked.Add(1)) - 1
	answer[7] = 1
	answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
	a := netip.MustParseAddr(addrs[min(i, len(addrs)-1)]).As4()
	return append(answer, a[:]...)
}

func TestGuard_RefusesWhatAClientMayNotReach(t *testing.T) {
	up := witnessNobody(t)
	_, port, _ := net.SplitHostPort(up.addr)
	resolver, _ := nameServer(t, "127.0.0.1")
	_, addr := start(t, Options{Resolver: resolver})
	for _, host := range []string{
		"127.0.0.1.ccnproxy", "localhost.ccnproxy", "evil.example.ccnproxy-ssl", "169.254.169.254.ccnproxy",
		"2130706433.ccnproxy", "0x7f.1.ccnproxy", "017700000001.ccnproxy", "127.1.ccnproxy", "0.ccnproxy",
	} {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: " + host + ":" + port + "\r\n\r\n")
		if resp, body := c.answer("GET"); resp.StatusCode != 403 && resp.StatusCode != 502 {
			t.Errorf("%s: %d %q", host, resp.StatusCode, body)
		}
	}
	for _, name := range []string{"http://[::1]:", "http://[::ffff:127.0.0.1]:", "http://127.0.0.1:"} {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: localhost\r\nX-Hotrow-Upstream: " + name + port + "\r\n\r\n")
		if resp, body := c.answer("GET"); resp.StatusCode != 403 {
			t.Errorf("%s: %d %q", name, resp.StatusCode, body)
		}
	}
}

// witnessNobody is an upstream that must not be reached.
func witnessNobody(t *testing.T) *script {
	up := upstreamScript(t, func(net.Conn, *bufio.Reader) {})
	t.Cleanup(func() {
		if up.opened() > 0 {
			t.Errorf("%d connections to what must not be reached", up.opened())
		}
	})
	return up
}

// A name that is good when it is first asked for, and then means this machine,
// gains nothing: it is the address that is connected to which is checked.
func TestGuard_RebindingGainsNothing(t *testing.T) {
	up := witnessNobody(t)
	_, port, _ := net.SplitHostPort(up.addr)
	resolver, asked := nameServer(t, "203.0.113.1", "127.0.0.1")
	_, addr := start(t, Options{Resolver: resolver, DNSRefresh: 1, Dial: 300 * time.Millisecond})
	last := ""
	eventually(t, "the second address is refused", func() bool {
		c := call(t, addr)
		c.send("GET / HTTP/1.1\r\nHost: rebind.example.ccnproxy:" + port + "\r\n\r\n")
		resp, body := c.answer("GET")
		last = body
		return resp.StatusCode == 403 && asked.Load() >= 2
	})
	if !strings.Contains(last, "is refused") {
		t.Errorf("%q", last)
	}
}

func TestGuard_AllowList(t *testing.T) {
	var list []Pattern
	for _, text := range []string{"*.example.com:443", "api.test", "10.1.2.3:80", "[2001:db8::1]:8080"} {
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	o := Options{Allow: list}
	tests := []struct {
		host string
		port uint16
		want bool
	}{
		{"a.example.com", 443, true}, {"a.b.example.com", 443, true}, {"example.com", 443, false},
		{"a.example.com", 80, false}, {"evilexample.com", 443, false}, {"api.test", 1, true}, {"api.test.", 1, true},
		{"10.1.2.3", 80, true}, {"10.1.2.3", 81, false}, {"2001:db8::1", 8080, true},
		{"a.example.com.evil", 443, false},
	}
	for _, tt := range tests {
		if got := o.allows(tt.host, tt.port); got != tt.want {
			t.Errorf("%s:%d: %v", tt.host, tt.port, got)
		}
	}
	for _, text := range []string{"", "a b", "x:0", "x:99999", "*", "a/b", "..", "user@host"} {
		if p, err := ParsePattern(text); err == nil && text != "*" {
			t.Errorf("%q is %+v", text, p)
		}
	}
	up := witnessNobody(t)
	o.AllowAddresses = loopbackAllowed().AllowAddresses
	_, addr := start(t, o)
	c := call(t, addr)
	c.send(simple(up.addr, "/"))
	if resp, _ := c.answer("GET"); resp.StatusCode != 403 {
		t.Errorf("%d", resp.StatusCode)
	}
}

func TestHostRule(t *testing.T) {
	tests := []struct {
		host, origin, authority string
		secure, ok              bool
	}{
		{"example.com.ccnproxy.local:3000", "example.com:3000", "example.com:3000", false, true},
		{"example.com.ccnproxy-ssl", "example.com:443", "example.com", true, true},
		{"example.com.ccnproxy-secure.x", "example.com:443", "example.com", true, true},
		{"example.com.ccnproxy-ssl.dev.X.", "example.com:443", "example.com", true, true},
		{"example.com.ccnproxy.localhost:3000", "example.com:3000", "example.com:3000", false, true},
		{"example.com.ccnproxy.home.arpa", "example.com:80", "example.com", false, true},
		{"example.com.ccnproxy.box.internal", "example.com:80", "example.com", false, true},
		{"example.com.ccnproxy-https.", "example.com:443", "example.com", true, true},
		{"10.0.0.5.ccnproxy.evil.example.org:3000", "", "", false, false},
		{"10.0.0.5.ccnproxy.xlocal", "", "", false, false}, {"10.0.0.5.ccnproxy.local.org", "", "", false, false},
		{"10.0.0.5.ccnproxy.arpa", "", "", false, false},
		{"example.com.ccnproxy-https:8443", "example.com:8443", "example.com:8443", true, true},
		{"a.ccnproxy.b.ccnproxy-ssl.c", "a.ccnproxy.b:443", "a.ccnproxy.b", true, true},
		{"a.ccnproxy-ssl.b.ccnproxy", "a.ccnproxy-ssl.b:80", "a.ccnproxy-ssl.b", false, true},
		{"10.0.0.1.ccnproxy", "10.0.0.1:80", "10.0.0.1", false, true},
		{"example.com", "", "", false, false}, {"ccnproxy.local", "", "", false, false}, {"", "", "", false, false},
		{"a.ccnproxy:0", "", "", false, false}, {"a.ccnproxy:x", "", "", false, false},
		{"a b.ccnproxy", "", "", false, false}, {".ccnproxy", "", "", false, false},
	}
	for _, tt := range tests {
		o, secure, ok := hostRule(tt.host, []string{"x", "c"})
		if ok != tt.ok || ok && (o.String() != tt.origin || o.authority() != tt.authority || secure != tt.secure) {
			t.Errorf("%s: %v %q, secure %v, ok %v", tt.host, o, o.authority(), secure, ok)
		}
	}
}

// TestGuard_RebindingByTheHostRule: a page of a public name that is rebound to this
// machine is no way to an upstream behind it; nor is a page that a browser says is
// of another site.
func TestGuard_RebindingByTheHostRule(t *testing.T) {
	up := echo(t)
	name, port, _ := net.SplitHostPort(up.addr)
	o := loopbackAllowed()
	_, addr := start(t, o)
	o.Suffixes = []string{"corp.example"}
	_, own := start(t, o)
	for _, tt := range []struct {
		addr, suffix, field string
		status              int
	}{
		{addr, "", "", 200}, {addr, ".local", "", 200}, {addr, ".evil.example.org", "", 400},
		{addr, ".corp.example.org", "", 400}, {own, ".corp.example", "", 200},
		{own, ".a.corp.example", "", 200}, {own, ".xcorp.example.org", "", 400},
		{addr, ".local", "Sec-Fetch-Site: cross-site\r\n", 403},
		{addr, ".local", "Sec-Fetch-Site: same-site\r\n", 403},
		{addr, ".local", "Sec-Fetch-Site: same-origin\r\n", 200},
		{addr, ".local", "Sec-Fetch-Site: none\r\n", 200},
	} {
		c := call(t, tt.addr)
		c.send("GET / HTTP/1.1\r\nHost: " + name + ".ccnproxy" + tt.suffix + ":" + port + "\r\n" + tt.field + "\r\n")
		if resp, body := c.answer("GET"); resp.StatusCode != tt.status {
			t.Errorf("%s %s: %d %q, want %d", tt.suffix, tt.field, resp.StatusCode, body, tt.status)
		}
	}
}

// TestGuard_OneUpstreamIsNamed: of two names the guard in front may have looked at
// the other; by a page's Origin a browser without Sec-Fetch-Site is known.
func TestGuard_OneUpstreamIsNamed(t *testing.T) {
	up := witnessNobody(t)
	_, addr := start(t, loopbackAllowed())
	_, fixed := start(t, Options{Upstreams: []string{"http://" + up.addr}})
	named := "X-Hotrow-Upstream: http://" + up.addr + "\r\n"
	for _, tt := range []struct {
		addr, path, fields string
		status             int
	}{
		{addr, "/", named + named, 400}, {fixed, "/", named + named, 400},
		{addr, "/", "X-Hotrow-Upstream: http://good.example\r\n" + named, 400},
		{addr, "/", "X-Hotrow-Upstream:\r\n", 400},
		{addr, "/", named + "Origin: https://evil.example\r\n", 403},
		{addr, "/_/http/" + up.addr + "/", "Origin: https://evil.example\r\n", 403},
		{addr, "/_/http/" + up.addr + "/", "Origin: null\r\n", 403},
	} {
		c := call(t, tt.addr)
		c.send("POST " + tt.path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" + tt.fields + "\r\n")
		if resp, body := c.answer("POST"); resp.StatusCode != tt.status {
			t.Errorf("%q: %d %q, want %d", tt.fields, resp.StatusCode, body, tt.status)
		}
	}
}

// TestGuard_ErrorsTellNoAddress: what a name resolves to, who was asked for it, and
// why an address was not reached is in the log alone.
func TestGuard_ErrorsTellNoAddress(t *testing.T) {
	secret, _ := nameServer(t, "127.9.8.7")
	nobody := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "udp", Addr: &net.UDPAddr{IP: net.IPv4(127, 6, 5, 4), Port: 53},
			Err: syscall.ECONNREFUSED}
	}}
	open := loopbackAllowed()
	open.Resolver = secret
	for name, tt := range map[string]struct {
		o      Options
		status int
	}{
		"a refused address": {Options{Resolver: secret}, 403}, "no answer": {Options{Resolver: nobody}, 502},
		"nobody there": {open, 502},
	} {
		var log lockedBuffer
		tt.o.Log = slog.New(slog.NewTextHandler(&log, nil))
		for _, secure := range []string{"", "-ssl"} {
			_, addr := start(t, tt.o)
			c := call(t, addr)
			c.send("GET / HTTP/1.1\r\nHost: inner.example.ccnproxy" + secure + ":1\r\n\r\n")
			resp, body := c.answer("GET")
			if resp.StatusCode != tt.status || strings.Contains(body, "127.") {
				t.Errorf("%s%s: %d %q", name, secure, resp.StatusCode, body)
			}
			eventually(t, name+secure+": the log says it", func() bool {
				return strings.Contains(log.String(), "127.")
			})
		}
	}
}
