package postgres

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parseURL reads a connection string. Where nobody says anything about TLS and
// the server is on another machine, the server must prove who it is: libpq's
// own default, "prefer", lets whoever sits in between read the password.
func parseURL(s string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(s)
	if err != nil {
		return nil, fmt.Errorf("postgres url: %w", err)
	}
	if !saysTLS(s) && !local(cfg.ConnConfig) {
		if cfg, err = pgxpool.ParseConfig(withTLS(s)); err != nil {
			return nil, fmt.Errorf("postgres url: %w", err)
		}
	}
	switch m := cfg.ConnConfig.DefaultQueryExecMode; m {
	case pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec: // values come as text
		return nil, fmt.Errorf("postgres url: default_query_exec_mode=%v is refused: the types of"+
			" results must be known; use cache_describe behind a pooler that cannot prepare"+
			" statements", strings.ReplaceAll(m.String(), " ", "_"))
	}
	if severalHosts(cfg.ConnConfig) && cfg.ConnConfig.ValidateConnect == nil {
		// Loads must come from the server that the feed follows: the primary.
		cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return cfg, nil
}

// severalHosts reports whether there is more than one server to connect to.
func severalHosts(c *pgx.ConnConfig) bool {
	for _, f := range c.Fallbacks {
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}

// saysTLS reports whether the connection string or libpq's environment say
// which TLS is wanted.
func saysTLS(s string) bool {
	return strings.Contains(s, "sslmode") || strings.Contains(s, "service=") ||
		os.Getenv("PGSSLMODE") != "" || os.Getenv("PGSERVICE") != ""
}

// withTLS returns the connection string with sslmode=verify-full added.
func withTLS(s string) string {
	u, err := url.Parse(s)
	if err != nil || !strings.HasPrefix(u.Scheme, "postgres") {
		return s + " sslmode=verify-full"
	}
	q := u.Query()
	q.Set("sslmode", "verify-full")
	u.RawQuery = q.Encode()
	return u.String()
}

// local reports whether every host is this machine.
func local(c *pgx.ConnConfig) bool {
	hosts := []string{c.Host}
	for _, f := range c.Fallbacks {
		hosts = append(hosts, f.Host)
	}
	for _, h := range hosts {
		ip := net.ParseIP(h)
		if !strings.HasPrefix(h, "/") && !strings.HasPrefix(h, "@") && h != "localhost" &&
			(ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
