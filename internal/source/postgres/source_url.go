package postgres

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hotrow/hotrow/internal/source/postgres/feed"
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
	if feed.SeveralHosts(cfg.ConnConfig) && cfg.ConnConfig.ValidateConnect == nil {
		// Loads must come from the server that the feed follows: the primary.
		cfg.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return cfg, nil
}

// saysTLS reports whether the connection string or libpq's environment say
// which TLS is wanted. What a service says of it is for its file.
func saysTLS(s string) bool {
	names := keywords(s)
	if query, ok := urlQuery(s); ok {
		names = queryNames(query)
	}
	return slices.Contains(names, "sslmode") || slices.Contains(names, "service") ||
		os.Getenv("PGSSLMODE") != "" || os.Getenv("PGSERVICE") != ""
}

// withTLS returns the connection string with sslmode=verify-full added.
func withTLS(s string) string {
	const add = "sslmode=verify-full"
	query, ok := urlQuery(s)
	switch {
	case !ok:
		return add + " " + s
	case query != "":
		return s + "&" + add
	}
	return strings.TrimSuffix(s, "?") + "?" + add
}

// urlQuery returns what stands behind the question mark of a URL; false: s is a list of
// keywords. As in libpq, a password may hold a question mark.
func urlQuery(s string) (string, bool) {
	_, rest, ok := strings.Cut(s, "://")
	if !ok || !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://") {
		return "", false
	}
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		rest = rest[i+1:]
	}
	_, query, _ := strings.Cut(rest, "?")
	return query, true
}

// queryNames returns the names of a URL's parameters.
func queryNames(query string) []string {
	var names []string
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		names = append(names, strings.TrimSpace(name))
	}
	return names
}

// aKeyword is one "name = value" of libpq's other form: the value is quoted, or ends at a
// space; a backslash takes the meaning of what follows it.
var aKeyword = regexp.MustCompile(
	`(?s)^\s*([^=]*?)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)`)

// keywords returns the names of a list of keywords.
func keywords(s string) []string {
	var names []string
	for {
		m := aKeyword.FindStringSubmatch(s)
		if m == nil {
			return names
		}
		names = append(names, m[1])
		s = s[len(m[0]):]
	}
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
