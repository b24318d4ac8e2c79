package main

import (
	"bytes"
	"context"
	"fmt"
	"net"

	"github.com/hotrow/hotrow/internal/config"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
)

// sqlFindings says what a database must know of the clients of sql.listen, if the source is theirs.
// It connects, and does not log in. A database that is away is found by others.
func sqlFindings(ctx context.Context, cfg *config.Config, name string) []source.Finding {
	if cfg.SQLSource() != name {
		return nil
	}
	dialer, err := postgres.NewDialer(cfg.Sources[name].URL.Reveal())
	if err != nil {
		return []source.Finding{{Level: source.LevelError, Text: "sql.listen: " + err.Error(),
			Why: "serve does not start so"}}
	}
	up, err := dialer.Dial(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = up.Close() }()
	list := []source.Finding{{Level: source.LevelInfo,
		Text: "the database sees each client of sql.listen at hotrow's address: " +
			addressOf(up.LocalAddr()),
		Why: "pg_hba.conf needs a line that asks them for a password, such as\n" +
			hbaLine(up.LocalAddr(), up.Certificate != nil)}}
	if cfg.SQL.TLS && up.Certificate != nil {
		cert, err := cfg.Certificate()
		if err == nil && cert != nil && !bytes.Equal(cert.Leaf.Raw, up.Certificate) {
			list = append(list, source.Finding{Level: source.LevelWarning,
				Text: "sql.listen shows another certificate than the database", Why: unbound})
		}
	}
	return list
}

// unbound says what becomes of drivers that bind a log-in to the server's certificate.
const unbound = `drivers that bind SCRAM to the certificate are refused:
  libpq, psycopg, psycopg2, pgx  set channel_binding=disable
  pgjdbc                         set channelBinding=disable
  pg8000                         has no such setting
all can log in if hotrow has the database's certificate and key, or one leg is without TLS`

// addressOf returns the address of a socket without its port.
func addressOf(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return "a unix socket"
}

// hbaLine returns a line of pg_hba.conf for who comes from an address.
func hbaLine(a net.Addr, secured bool) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return "  local all all scram-sha-256"
	}
	kind, bits := "host", 128
	if secured {
		kind = "hostssl"
	}
	if tcp.IP.To4() != nil {
		bits = 32
	}
	return fmt.Sprintf("  %s all all %s/%d scram-sha-256", kind, tcp.IP, bits)
}
