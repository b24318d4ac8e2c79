package admit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

func bounds(all, ofOne int) Bounds {
	return Bounds{Connections: func() (int, int) { return all, ofOne }}
}

var here = &net.TCPAddr{IP: net.IPv4(192, 0, 2, 80), Port: 80}

// TestGate_CountsAddresses: one address has its part, this machine's programs and those behind
// a unix socket have all.
func TestGate_CountsAddresses(t *testing.T) {
	tests := []struct {
		what  string
		from  []string // in order; "" has no address
		want  string   // y: entered
		all   int
		ofOne int
	}{
		{"an address of IPv4", []string{"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"}, "yyny", 9, 2},
		{"IPv4 as IPv6", []string{"192.0.2.1", "::ffff:192.0.2.1", "::ffff:192.0.2.1"}, "yyn", 9, 2},
		{"a network of IPv6", []string{"2001:db8::1", "2001:db8::2", "2001:db8::ffff:1:2:3",
			"2001:db8:0:1::1"}, "yyny", 9, 2},
		{"a link", []string{"fe80::1", "fe80::1", "fe80::2", "fe80::1"}, "yyyn", 9, 2},
		{"this machine", []string{"127.0.0.1", "127.0.0.1", "127.0.0.2", "::1", "::1", "::1"},
			"yyyyyy", 9, 2},
		{"unix sockets", []string{"", "", "", ""}, "yyyy", 9, 2},
		{"all", []string{"127.0.0.1", "", "192.0.2.1", "", "::1", "192.0.2.2"}, "yyynnn", 3, 2},
		{"no bound", []string{"192.0.2.1", "192.0.2.1", "192.0.2.1"}, "yyy", 0, 0},
	}
	for _, tt := range tests {
		g := New(bounds(tt.all, tt.ofOne), here, slog.New(slog.DiscardHandler))
		var in []netip.Addr
		got := ""
		for _, text := range tt.from {
			var from netip.Addr
			if text != "" {
				from = netip.MustParseAddr(text).Unmap()
			}
			if g.Enter(from) {
				in, got = append(in, from), got+"y"
			} else {
				got += "n"
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.what, got, tt.want)
		}
		if r := g.Refused(); int(r.Connections+r.OfOne) != strings.Count(got, "n") {
			t.Errorf("%s: %s is counted as %+v", tt.what, got, r)
		}
		for _, from := range in {
			g.Leave(from)
		}
		if g.open != 0 || len(g.byAddr) != 0 {
			t.Errorf("%s: %d are open, %v, when all have left", tt.what, g.open, g.byAddr)
		}
	}
}

// TestGate_AsksForItsBounds: a bound that a reload has changed counts at once.
func TestGate_AsksForItsBounds(t *testing.T) {
	most := 1
	g := New(Bounds{Connections: func() (int, int) { return most, most }}, here, slog.New(slog.DiscardHandler))
	from := netip.MustParseAddr("192.0.2.1")
	if !g.Enter(from) || g.Enter(from) {
		t.Error("not one")
	}
	most = 2
	if !g.Enter(from) || g.Enter(from) {
		t.Error("not two")
	}
}

// TestGate_CountsHandshakes that never had their turn, and says so once.
func TestGate_CountsHandshakes(t *testing.T) {
	var log bytes.Buffer
	g := New(Bounds{Handshakes: 1}, here, slog.New(slog.NewTextHandler(&log, nil)))
	end, ok := g.BeginHandshake(t.Context())
	if !ok || g.Handshakes() != 1 {
		t.Fatal("the first has no turn")
	}
	late, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if _, ok := g.BeginHandshake(late); ok {
			t.Error("there are two")
		}
	}
	end()
	if end, ok = g.BeginHandshake(t.Context()); !ok {
		t.Error("the turn is not given again")
	}
	end()
	if n := g.Refused().Handshakes; n != 2 || strings.Count(log.String(), "handshake was refused") != 1 {
		t.Errorf("%d are counted; the log: %s", n, &log)
	}
}

// TestListener_BoundsAnyServer over TCP and over a unix socket.
func TestListener_BoundsAnyServer(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		at := "127.0.0.1:0"
		if network == "unix" {
			at = filepath.Join(t.TempDir(), "s")
		}
		plain, err := net.Listen(network, at)
		if err != nil {
			t.Fatal(err)
		}
		l := Listener(plain, New(bounds(1, 1), plain.Addr(), slog.New(slog.DiscardHandler)))
		accepted := make(chan net.Conn)
		go func() {
			for {
				nc, err := l.Accept()
				if err != nil {
					close(accepted)
					return
				}
				accepted <- nc
			}
		}()
		dial := func() net.Conn {
			nc, err := net.Dial(network, plain.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
			return nc
		}
		first := dial()
		one := <-accepted
		second := dial()
		if n, err := second.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the second reads %d bytes", network, n)
		}
		if err := one.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Errorf("%s: %v", network, err)
		}
		if _, err := first.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("%s: behind the end of the stream: %v", network, err)
		}
		_ = one.Close()
		_ = one.Close() // leaves once
		third := dial()
		_ = (<-accepted).Close()
		for _, c := range []io.Closer{first, second, third, l} {
			_ = c.Close()
		}
		if _, more := <-accepted; more {
			t.Error(fmt.Sprint(network, ": one more"))
		}
	}
}
