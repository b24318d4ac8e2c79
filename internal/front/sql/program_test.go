package sqlfront

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/tlstest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestPrograms_Work: PostgreSQL's own programs, which use its library, do through the relay what
// they do without it.
func TestPrograms_Work(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t), way{})
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	at := []string{"-h", u.Hostname(), "-p", u.Port(), "-U", "postgres"}
	database := strings.TrimPrefix(u.Path, "/")
	pgbench := dbtest.Program(t, "pgbench", "postgresql-client", "/usr/bin", "/usr/lib/postgresql/15/bin")
	run := func(program string, args ...string) string {
		t.Helper()
		out, err := exec.Command(program, append(at, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	run(pgbench, "-i", "-q", "-s", "1", database) // COPY of 100,000 rows, indexes, VACUUM
	for _, mode := range []string{"simple", "extended", "prepared"} {
		for _, script := range []string{"select-only", "tpcb-like"} {
			out := run(pgbench, "-n", "-M", mode, "-b", script, "-c", "4", "-t", "50", database)
			if !strings.Contains(out, "actually processed: 200/200") {
				t.Errorf("%s, %s: %s", mode, script, out)
			}
		}
	}
	if direct, relayed := dbtest.Psql(t, s.database, "\\d+ pgbench_accounts"), dbtest.Psql(t, s.url,
		"\\d+ pgbench_accounts"); direct != relayed {
		t.Errorf("psql shows %s, and without the relay %s", relayed, direct)
	}
}

// TestSession_OverTLS: on both legs large data goes both ways, an idle session hears that hotrow
// stops, and what is sent counts until it is taken.
func TestSession_OverTLS(t *testing.T) {
	cert := tlstest.New(t, "database")
	_, at := secureServer(t, cert)
	pair := cert.Pair(t)
	both(t, func(t *testing.T, w way) {
		w.shown = pair.Certificate[0]
		w.tls = &tls.Config{Certificates: []tls.Certificate{*pair}, NextProtos: []string{ALPN}}
		overTLS(t, newStand(t, with(t, at, "sslmode", "require"), w))
	})
}

func overTLS(t *testing.T, s *stand) {
	t.Helper()
	c, idle := connect(t, with(t, s.url, "sslmode", "require")), connect(t, with(t, s.url, "sslmode", "require"))
	rows := strings.Repeat("1\t"+strings.Repeat("x", 1000)+"\n", 5_000)
	run(t, c, "CREATE TEMP TABLE big (a int, b text)")
	if _, err := c.PgConn().CopyFrom(t.Context(), strings.NewReader(rows), "COPY big FROM STDIN"); err != nil {
		t.Fatal(err)
	}
	var back bytes.Buffer
	if _, err := c.PgConn().CopyTo(t.Context(), &back, "COPY big TO STDOUT"); err != nil || back.String() != rows {
		t.Errorf("%d of %d bytes come back, %v", back.Len(), len(rows), err)
	}
	done := make(chan error, 1)
	run(t, c, "BEGIN")
	go func() { done <- s.site.Shutdown(context.Background()) }()
	waittest.Until(t, "the idle one is told", func() bool {
		return stateOf(idle.Ping(t.Context())) == stateStopping || idle.IsClosed()
	})
	run(t, c, "SELECT 1", "COMMIT")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSession_APanicEndsOne, and nothing else.
func TestSession_APanicEndsOne(t *testing.T) {
	var broken atomic.Bool
	s := newStand(t, dbtest.Postgres(t), way{options: func(o *Options) {
		dial := o.Dial
		o.Dial = func(ctx context.Context) (Upstream, error) {
			if broken.Load() {
				panic("a defect")
			}
			return dial(ctx)
		}
	}})
	first := connect(t, s.url)
	broken.Store(true)
	if got := whoAmI(t, s.url); !strings.Contains(got, "EOF") && !strings.Contains(got, "reset") {
		t.Errorf("a client is %q", got)
	}
	waittest.Until(t, "its session has ended", func() bool { return s.front.Stats().Open == 1 })
	run(t, first, "SELECT 1")
}
