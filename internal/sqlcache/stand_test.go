package sqlcache_test

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	sqlfront "github.com/hotrow/hotrow/internal/front/sql"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/sqlcache"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/waittest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(dbtest.Wrap(m)) }

// A stand is a relay with a cache that follows its database.
type stand struct {
	t        testing.TB
	database string // its URL
	url      string // through the relay
	set      *resource.Set
	cache    *sqlcache.Cache
	front    *sqlfront.Front
	names    readings
}

// readings counts how often the catalogue is read.
type readings struct {
	source.Definer
	n atomic.Int64
}

func (r *readings) Stamp(ctx context.Context) (source.Stamp, error) {
	r.n.Add(1)
	return r.Definer.Stamp(ctx)
}

// newStand starts one whose resources are the tables that are named.
func newStand(t testing.TB, database string, tables ...string) *stand {
	t.Helper()
	return newStandWith(t, database, sqlcache.Options{}, tables...)
}

// newServing is newStand where memory answers, but for one of so many hits.
func newServing(t testing.TB, database string, auditEvery int, tables ...string) *stand {
	t.Helper()
	return newStandOf(t, database, sqlcache.Options{Serve: true}, auditEvery, tables...)
}

// newStandWith is newStand with options of its cache.
func newStandWith(
	t testing.TB, database string, of sqlcache.Options, tables ...string,
) *stand {
	t.Helper()
	return newStandOf(t, database, of, 0, tables...)
}

func newStandOf(
	t testing.TB, database string, of sqlcache.Options, auditEvery int, tables ...string,
) *stand {
	t.Helper()
	src, err := postgres.Open(t.Context(), database, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	memory := tier.NewMemory(8 << 20)
	t.Cleanup(func() { _ = memory.Close() })
	o := resource.SetOptions{Memory: memory, Lists: 8 << 20,
		Sources: []resource.SourceOptions{{Name: "main", Source: src}}}
	for _, name := range tables {
		o.Resources = append(o.Resources, resource.Spec{Source: "main", Writable: true,
			Table: &source.Spec{Name: name, Table: name, Hide: true}})
	}
	set, err := resource.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	log := slog.New(slog.NewTextHandler(testLog{t}, nil))
	s := &stand{t: t, database: database, set: set}
	s.names.Definer = src
	of.Set, of.Source, of.Names, of.Log = set, "main", &s.names, log
	s.cache = sqlcache.New(of)
	t.Cleanup(s.cache.Close)
	d, err := postgres.NewDialer(database)
	if err != nil {
		t.Fatal(err)
	}
	s.front = sqlfront.New(sqlfront.Options{Log: log, Cache: s.cache, LookAlways: true,
		Serve: of.Serve, AuditEvery: auditEvery,
		Dial: func(ctx context.Context) (sqlfront.Upstream, error) {
			c, err := d.Dial(ctx)
			if err != nil {
				return sqlfront.Upstream{}, err
			}
			return sqlfront.Upstream{Conn: c.Conn, Certificate: c.Certificate,
				Again: func(ctx context.Context) (net.Conn, error) { return d.Again(ctx, c) }}, nil
		}})
	s.url = s.listen(sqlfront.Listen{})
	waittest.Until(t, "the feed is followed", func() bool { return set.Ready() == nil })
	return s
}

// listen returns the URL of the database through one more listener.
func (s *stand) listen(how sqlfront.Listen) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	site, err := s.front.Serve(l, how)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(site.Close)
	u, err := url.Parse(s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	u.Host = l.Addr().String()
	return u.String()
}

// testLog writes to the log of a test.
type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// connect opens a connection that ends with the test. mode is how statements are sent.
func connect(t testing.TB, url string, mode pgx.QueryExecMode) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = mode
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(time.Minute))
	defer cancel()
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// run runs a statement and forgets its answer.
func run(t testing.TB, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	rows, err := c.Query(t.Context(), sql, args...)
	if err == nil {
		rows.Close()
		err = rows.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// counts returns the sum of what was counted of all shapes.
func (s *stand) counts() (all sqlcache.Counts) {
	for _, one := range s.front.Statements() {
		m := one.Memory
		all.Looks += m.Looks
		all.Hits += m.Hits
		all.Same += m.Same
		all.Uncompared += m.Uncompared
		all.Older += m.Older
		all.Wrong += m.Wrong
	}
	return all
}

// settled returns counts when every hit has been compared.
func (s *stand) settled() (c sqlcache.Counts) {
	s.t.Helper()
	waittest.Until(s.t, "all hits are compared", func() bool {
		c = s.counts()
		return c.Hits == c.Same+c.Uncompared+c.Older+c.Wrong
	})
	return c
}

// hits returns how many of n executions of a statement memory would have answered.
func (s *stand) hits(c *pgx.Conn, n int, sql string, args ...any) uint64 {
	s.t.Helper()
	before := s.settled().Hits
	for range n {
		run(s.t, c, sql, args...)
	}
	return s.settled().Hits - before
}

// becomes waits until a statement is a hit.
func (s *stand) becomes(c *pgx.Conn, sql string, args ...any) {
	s.t.Helper()
	waittest.Until(s.t, "memory has "+sql, func() bool {
		return s.hits(c, 2, sql, args...) == 2
	})
}

// why returns why the last group of an eligible shape was passed on.
func (s *stand) why(part string) string {
	for _, one := range s.front.Statements() {
		if strings.Contains(one.Shape, part) {
			return one.Memory.Refused
		}
	}
	return "no shape has " + part
}

// becomesServed waits until memory answers a statement.
func (s *stand) becomesServed(c *pgx.Conn, sql string, args ...any) {
	s.t.Helper()
	waittest.Until(s.t, "memory answers "+sql, func() bool {
		before := s.front.Stats().Hits
		run(s.t, c, sql, args...)
		return s.front.Stats().Hits > before
	})
}
