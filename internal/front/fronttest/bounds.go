package fronttest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A Served is a listener that a front serves.
type Served interface {
	Refused() admit.Refused
	Stats() eventloop.Stats
	Close()
}

// Bounds checks that a front bounds the connections of its listener, those of one address, and
// handshakes of TLS. serve serves a listener with given bounds; a nil Config is without TLS.
// said is what a client hears whose connection is one too many.
func Bounds(t *testing.T, said string,
	serve func(l net.Listener, secure *tls.Config, b admit.Bounds) (Served, error),
) {
	t.Helper()
	secure := &tls.Config{} // no handshake is ever done
	for _, form := range []struct {
		name   string
		secure *tls.Config
		listen func(t *testing.T) net.Listener
		ofOne  bool // one address has fewer
	}{
		{"plain", nil, overTCP, false}, {"TLS", secure, overTCP, false},
		{"unix", nil, overUnix, false}, {"unix TLS", secure, overUnix, false},
		{"address", nil, fromElsewhere, true}, {"address TLS", secure, fromElsewhere, true},
	} {
		t.Run(form.name, func(t *testing.T) {
			l := form.listen(t)
			most := admit.Bounds{Connections: func() (all, ofOne int) { return 2, 1 }}
			if form.ofOne {
				most.Connections = func() (all, ofOne int) { return 9, 2 }
			}
			at := l.Addr()
			site, err := serve(l, form.secure, most)
			if err != nil {
				t.Fatal(err)
			}
			defer site.Close()
			first, second := connect(t, at), connect(t, at)
			waittest.Until(t, "two are open", func() bool { return site.Stats().Open == 2 })
			hears(t, connect(t, at), said, form.secure != nil)
			want := admit.Refused{Connections: 1}
			if form.ofOne {
				want = admit.Refused{OfOne: 1}
			}
			if got := site.Refused(); got != want {
				t.Errorf("%+v are counted, want %+v", got, want)
			}
			_ = first.Close()
			waittest.Until(t, "one has left", func() bool { return site.Stats().Open == 1 })
			third := connect(t, at)
			waittest.Until(t, "there is room", func() bool { return site.Stats().Open == 2 })
			if got := site.Refused(); got != want {
				t.Errorf("%+v are counted when there is room, want %+v", got, want)
			}
			_, _ = second.Close(), third.Close()
		})
	}
}

func connect(t *testing.T, at net.Addr) net.Conn {
	t.Helper()
	nc, err := net.Dial(at.Network(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
	return nc
}

// hears checks what a client hears before its connection ends.
func hears(t *testing.T, nc net.Conn, said string, secure bool) {
	t.Helper()
	if secure {
		said = ""
	}
	got, err := io.ReadAll(nc)
	if errors.Is(err, os.ErrDeadlineExceeded) || string(got) != said {
		t.Errorf("one too many hears %q, %v, want %q", got, err, said)
	}
}

func overTCP(t *testing.T) net.Listener { return listen(t, "tcp", "127.0.0.1:0") }

func overUnix(t *testing.T) net.Listener {
	return listen(t, "unix", filepath.Join(t.TempDir(), "s"))
}

// fromElsewhere returns a listener whose clients all seem to come from one network of IPv6.
func fromElsewhere(t *testing.T) net.Listener { return &elsewhere{Listener: overTCP(t)} }

func listen(t *testing.T, network, at string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type elsewhere struct {
	net.Listener
	n byte // only who accepts uses it
}

func (l *elsewhere) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.n++
	ip := net.ParseIP("2001:db8::")
	ip[15] = l.n
	return elsewhereConn{nc, &net.TCPAddr{IP: ip, Port: 1024}}, nil
}

type elsewhereConn struct {
	net.Conn
	from net.Addr
}

func (c elsewhereConn) RemoteAddr() net.Addr { return c.from }
