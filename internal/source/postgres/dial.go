package postgres

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// A Dialer opens connections to the server of a URL on which nothing was said but what TLS
// wants. The session is the caller's, so that nothing of the URL but the address and sslmode
// counts, and nothing is pinned. Any goroutine may call its methods.
type Dialer struct {
	// Below returns what TLS speaks over in place of a socket; nil: TLS has the socket. It is set
	// before the first Dial.
	Below func(net.Conn) net.Conn

	hosts  []host // in the order in which they are tried
	direct bool   // TLS begins without a question: sslnegotiation=direct
	dialer net.Dialer
}

// A host is one way to the server.
type host struct {
	network, address string
	tls              *tls.Config // nil: without
}

// A Dialed is a connection of a Dialer.
type Dialed struct {
	net.Conn // *tls.Conn, *net.TCPConn or *net.UnixConn

	// Certificate is what the server has shown, in DER; nil: the connection has no TLS.
	Certificate []byte

	at host
}

// sslRequest asks a server for TLS.
const sslRequest = 80877103

// dialWait bounds one try to connect, beside what the caller's context says.
const dialWait = 10 * time.Second

// errNoTLS says that a server has none.
var errNoTLS = errors.New("the server does not speak TLS")

// NewDialer reads a URL as Open does.
func NewDialer(url string) (*Dialer, error) {
	cfg, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	return newDialer(cfg.ConnConfig)
}

func newDialer(cfg *pgx.ConnConfig) (*Dialer, error) {
	if feed.SeveralHosts(cfg) {
		return nil, errors.New("the URL names several hosts: name the primary's address alone")
	}
	d := &Dialer{direct: cfg.SSLNegotiation == "direct", dialer: net.Dialer{Timeout: dialWait}}
	add := func(name string, port uint16, secure *tls.Config) {
		h := host{tls: secure}
		h.network, h.address = pgconn.NetworkAddress(name, port)
		d.hosts = append(d.hosts, h)
	}
	add(cfg.Host, cfg.Port, cfg.TLSConfig)
	for _, f := range cfg.Fallbacks {
		add(f.Host, f.Port, f.TLSConfig)
	}
	return d, nil
}

// Dial opens a connection. Where sslmode leaves open whether there is TLS, what it prefers is
// tried first.
func (d *Dialer) Dial(ctx context.Context) (*Dialed, error) {
	var errs []error
	for _, h := range d.hosts {
		c, err := d.open(ctx, h)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Again opens another connection to where c leads, in the same form.
func (d *Dialer) Again(ctx context.Context, c *Dialed) (*Dialed, error) {
	at := c.at
	if c.Network() == "tcp" { // a name may lead elsewhere now
		at.network, at.address = "tcp", c.RemoteAddr().String()
	}
	return d.open(ctx, at)
}

// Network returns "tcp" or "unix".
func (c *Dialed) Network() string { return c.RemoteAddr().Network() }

func (d *Dialer) open(ctx context.Context, h host) (*Dialed, error) {
	nc, err := d.dialer.DialContext(ctx, h.network, h.address)
	if err != nil {
		return nil, err
	}
	c := &Dialed{Conn: nc, at: h}
	if h.tls == nil {
		return c, nil
	}
	limit := time.Now().Add(dialWait)
	if by, ok := ctx.Deadline(); ok && by.Before(limit) {
		limit = by
	}
	_ = nc.SetDeadline(limit)
	err = d.secure(ctx, c)
	_ = nc.SetDeadline(time.Time{})
	if err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("%s: %w", h.address, err)
	}
	return c, nil
}

// secure begins TLS.
func (d *Dialer) secure(ctx context.Context, c *Dialed) error {
	if !d.direct {
		ask := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, sslRequest)
		if _, err := c.Write(ask); err != nil {
			return err
		}
		var said [1]byte // no more: what is behind it must come by TLS
		if _, err := io.ReadFull(c.Conn, said[:]); err != nil {
			return err
		}
		if said[0] != 'S' {
			return errNoTLS
		}
	}
	below := c.Conn
	if d.Below != nil {
		below = d.Below(below)
	}
	secured := tls.Client(below, c.at.tls)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	if shown := secured.ConnectionState().PeerCertificates; len(shown) > 0 {
		c.Certificate = shown[0].Raw
	}
	c.Conn = secured
	return nil
}
