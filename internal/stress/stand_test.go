package stress

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	httpfront "github.com/hotrow/hotrow/internal/front/http"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/tier"
)

// A plan says what a stand serves.
type plan struct {
	specs  []resource.Spec
	mode   source.FeedMode
	memory int64 // bytes; 0: 64 MiB
	lists  int64 // bytes of lists; 0: 8 MiB
	disk   bool  // with a tier on disk behind

	// diskMax are the bytes of one that commits for nothing but because much waits; 0: it is
	// large, and commits all the time.
	diskMax int64
	change  func(*resource.SourceOptions)
}

// A stand is hotrow as it is served: HTTP on a socket, the core, a database.
type stand struct {
	t      testing.TB
	src    source.Source
	set    *resource.Set
	memory *tier.Memory
	addr   string

	wireAddr string // "" until somebody comes by the wire
}

// newStand serves the database at url until the test ends.
func newStand(t testing.TB, url string, p plan) *stand {
	t.Helper()
	return newStandOver(t, openPostgres(t, url), p)
}

// openPostgres opens a database until the test ends.
func openPostgres(t testing.TB, url string) source.Source {
	t.Helper()
	src, err := postgres.Open(t.Context(), url, postgres.Options{Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	})
	return src
}

// newStandOver serves src.
func newStandOver(t testing.TB, src source.Source, p plan) *stand {
	t.Helper()
	if p.memory == 0 {
		p.memory = 64 << 20
	}
	if p.lists == 0 {
		p.lists = 8 << 20
	}
	s := &stand{t: t, src: src, memory: tier.NewMemory(p.memory)}
	t.Cleanup(func() {
		if err := s.memory.Close(); err != nil {
			t.Error(err)
		}
	})
	so := resource.SourceOptions{Name: "main", Source: src, Mode: p.mode}
	if p.change != nil {
		p.change(&so)
	}
	set, err := resource.Open(t.Context(), resource.SetOptions{Memory: s.memory, Disk: openDisk(t, p),
		Lists:   p.lists,
		Sources: []resource.SourceOptions{so}, Resources: p.specs, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	s.set = set
	t.Cleanup(func() {
		if err := errors.Join(set.Check(), set.Close(), set.Check()); err != nil {
			t.Error(err)
		}
	})
	s.serve()
	if p.mode != source.FeedNone {
		until(t, "fresh feed", func() bool { return s.fresh() })
	}
	return s
}

// openDisk opens the tier on disk of a plan; nil when it has none.
func openDisk(t testing.TB, p plan) *tier.Disk {
	t.Helper()
	if !p.disk {
		return nil
	}
	o := tier.DiskOptions{Path: filepath.Join(t.TempDir(), "cache.db"), MaxBytes: 1 << 30, Batch: 1000,
		FlushEvery: 20 * time.Millisecond, Log: testLog(t)}
	if p.diskMax > 0 {
		o.MaxBytes, o.Batch, o.FlushEvery = p.diskMax, 0, time.Hour
	}
	d, err := tier.OpenDisk(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// recalled returns how many answers came from disk.
func (s *stand) recalled() uint64 {
	n := uint64(0)
	for _, r := range s.set.Stats().Resources {
		n += r.FromDisk
	}
	return n
}

// serve answers HTTP on a port of its own.
func (s *stand) serve() {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	site, err := httpfront.Serve(listener,
		httpfront.New(httpfront.Options{Resources: s.set}), httpserve.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(site.Close)
}

// get asks over HTTP, and reads the answer whole.
func (s *stand) get(path string) (*http.Response, string, error) {
	resp, err := http.Get("http://" + s.addr + "/" + path)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// stats returns the counters of the one source.
func (s *stand) stats() resource.SourceStats { return s.set.Stats().Sources[0] }

func (s *stand) fresh() bool { return s.stats().State == "fresh" }

// resource returns a resource that is served.
func (s *stand) resource(name string) *resource.Resource {
	s.t.Helper()
	r, ok := s.set.Lookup(name)
	if !ok {
		s.t.Fatalf("no resource %s", name)
	}
	return r
}

// quiet waits until everything that is visible now has been applied and
// settled: a fence that began after this call has been reached.
func (s *stand) quiet() {
	s.t.Helper()
	before, st := s.stats().Fences, resource.SourceStats{}
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%d fences before; now %+v", before, st)
		}
	}()
	until(s.t, "two fences and nothing unsettled", func() bool {
		st = s.stats()
		return st.Fences >= before+2 && st.Unsettled == 0 && st.State == "fresh"
	})
}

// spec returns a resource over a table, open to everybody.
func spec(table string, embeds ...source.Embed) resource.Spec {
	return resource.Spec{
		Source: "main", Writable: true,
		Access: resource.Access{Read: "public", Write: "public"},
		Table:  &source.Spec{Name: table, Table: table, Embeds: embeds},
	}
}

// testLog sends warnings to the test's log as long as the test runs.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(&logWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// A logWriter writes to a test's log. What comes after the test's end, when
// everything is being closed, is dropped.
type logWriter struct{ t testing.TB }

func (w *logWriter) Write(p []byte) (int, error) {
	if w.t.Context().Err() == nil {
		w.t.Log(strings.TrimSuffix(string(p), "\n"))
	}
	return len(p), nil
}

// dial opens a connection to the database that ends with the test.
func dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// mustExec runs statements, each by itself.
func mustExec(t testing.TB, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// number returns the one number that a query gives.
func number(t testing.TB, conn *pgx.Conn, sql string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}
