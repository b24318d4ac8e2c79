package sqlfront

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) {
	eventloop.PoisonBuffers()
	goleak.VerifyTestMain(dbtest.Wrap(m))
}

// A stand is a relay in front of a database.
type stand struct {
	t        *testing.T
	front    *Front
	site     *Site
	database string // its URL
	url      string // of the same database through the relay
}

// A way says how a stand is made.
type way struct {
	listen  string // 127.0.0.1:0 without it
	tls     *tls.Config
	shown   []byte
	options func(*Options)

	goroutines bool // and no event loop
}

// newStand starts a relay that ends with the test.
func newStand(t *testing.T, database string, w way) *stand {
	t.Helper()
	d, err := postgres.NewDialer(database)
	if err != nil {
		t.Fatal(err)
	}
	d.Below = BelowTLS
	o := Options{Log: slog.New(slog.NewTextHandler(testLog{t}, nil)),
		Dial: func(ctx context.Context) (Upstream, error) {
			c, err := d.Dial(ctx)
			if err != nil {
				return Upstream{}, err
			}
			return Upstream{Conn: c.Conn, Certificate: c.Certificate,
				Again: func(ctx context.Context) (net.Conn, error) { return d.Again(ctx, c) }}, nil
		}}
	if w.options != nil {
		w.options(&o)
	}
	network, address := "tcp", "127.0.0.1:0"
	if w.listen != "" {
		address = w.listen
	}
	if strings.HasPrefix(address, "/") {
		network = "unix"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{t: t, front: New(o), database: database}
	s.site, err = s.front.Serve(l, Listen{TLS: w.tls, Certificate: func() []byte { return w.shown },
		Goroutines: w.goroutines})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.site.Close()
		if n := s.front.Stats().Open; n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		if n := s.front.opts.Load().Unsent.Stats().Bytes; n != 0 {
			t.Errorf("%d bytes count as not taken when all is closed", n)
		}
	})
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if network == "unix" {
		q := u.Query()
		q.Set("host", l.Addr().String()[:strings.LastIndexByte(l.Addr().String(), '/')])
		u.RawQuery, u.Host = q.Encode(), ""
	} else {
		u.Host = l.Addr().String()
	}
	s.url = u.String()
	return s
}

// testLog writes to the log of a test.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// with returns a URL with another parameter; "" takes it away.
func with(t *testing.T, text, name, value string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	if q.Set(name, value); value == "" {
		q.Del(name)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// as returns a URL with another user.
func as(t *testing.T, text, user, password string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}

// connect opens a connection that ends with the test.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(time.Minute))
	defer cancel()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// stateOf returns the SQLSTATE of an error.
func stateOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// setHBA replaces the rules by which a server lets clients in.
func setHBA(t *testing.T, s *dbtest.Server, rules string) {
	t.Helper()
	file := strings.TrimSpace(s.Exec("SHOW hba_file;"))
	// The owner's own way in stays: the tests' programs take it.
	text := rules + "\nhost all postgres 127.0.0.1/32 trust\nlocal all postgres trust\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Exec("SELECT pg_reload_conf();")
	waittest.Until(t, "the rules count", func() bool {
		return strings.TrimSpace(s.Exec("SELECT count(*) FROM pg_hba_file_rules WHERE error IS NOT NULL;")) == "0"
	})
}
