package binlog_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
	"github.com/hotrow/hotrow/internal/waittest"
)

// database returns the name of the database at a URL.
func database(t testing.TB, at string) string {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

// A counted is a connection that counts its queries.
type counted struct {
	*sql.Conn
	queries int
}

func (c *counted) Query(
	ctx context.Context, query string, args []any, each func([]any) error,
) error {
	c.queries++
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, targets := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := each(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

func connect(t testing.TB, at string) *counted {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.Net, cfg.Addr, cfg.User, cfg.DBName = "tcp", u.Host, u.User.Username(), database(t, at)
	cfg.Passwd, _ = u.User.Password()
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &counted{Conn: c}
}

func (c *counted) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := c.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestMariaDB_DefinitionsOfManyTablesAreReadTogether(t *testing.T) {
	const count = 40
	at := dbtest.MariaDB(t)
	home, c := database(t, at), connect(t, at)
	var watched []source.Watched
	for i := range count {
		name := fmt.Sprintf("t%d", i)
		c.exec(t, "CREATE TABLE "+name+
			" (id int, n varchar(10), u bigint unsigned, PRIMARY KEY (u, id))")
		watched = append(watched, source.Watched{Table: home + "." + name, Columns: []string{"id"}})
	}
	c.exec(t, fmt.Sprintf("ALTER TABLE t%d ADD FOREIGN KEY (u, id) "+
		"REFERENCES t0 (u, id) ON DELETE CASCADE", count-1))
	r := &catalog.Reader{Conn: c, Home: home, MariaDB: !dbtest.IsMySQL()}
	all, err := binlog.ReadDefinitions(t.Context(), r, watched)
	if err != nil {
		t.Fatal(err)
	}
	if c.queries > 12 {
		t.Errorf("%d queries for %d tables", c.queries, count)
	}
	few, err := binlog.ReadDefinitions(t.Context(), r, watched[:2])
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []map[catalog.Name]binlog.Definition{all, few} {
		for name, got := range d {
			var columns []string
			for _, c := range got.Cols {
				columns = append(columns, c.Name+" "+c.Type)
			}
			if want := []string{"id int", "n varchar", "u bigint"}; !slices.Equal(columns, want) ||
				!slices.Equal(got.Key, []int{2, 0}) || got.Engine != "InnoDB" {
				t.Errorf("%s has %q, key %v, engine %s", name, columns, got.Key, got.Engine)
			}
		}
	}
	if got := all[catalog.Name{Schema: home, Table: "t0"}]; len(all) != count ||
		!strings.HasSuffix(strings.Join(got.OnDelete, ","), ".t39") {
		t.Errorf("%d tables, t0 cascades to %q", len(all), got.OnDelete)
	}
	if len(few) != 2 {
		t.Errorf("%d tables of two", len(few))
	}
}

// A handler can go on from a place, and is told nothing that matters here.
type handler struct{ begun chan struct{} }

func (h *handler) Attached(string, source.Position, uint64) { h.begun <- struct{}{} }
func (h *handler) Resumed(string, source.Position) bool     { h.begun <- struct{}{}; return true }
func (h *handler) Apply(*source.Tx)                         {}
func (h *handler) Advance(source.Position)                  {}
func (h *handler) SchemaChanged([]string)                   {}

// A shelf keeps copies that are complete up to a place.
type shelf struct{ source.Checkpoint }

func (s shelf) Complete() (source.Checkpoint, bool) { return s.Checkpoint, true }

// run runs a feed that goes on from a place, and returns when it has begun.
func run(t *testing.T, s source.Source, table string, from source.Checkpoint) (*binlog.Feed, func()) {
	t.Helper()
	feed, _, err := s.OpenFeed(t.Context(), source.FeedBinlog,
		[]source.Watched{{Table: table, Columns: []string{"id"}}})
	if err != nil {
		t.Fatal(err)
	}
	f := feed.(*binlog.Feed)
	f.UseCheckpoints(shelf{from})
	h := &handler{begun: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx, h) }()
	select {
	case <-h.begun:
	case err := <-done:
		t.Fatal(err)
	}
	stop := func() { cancel(); <-done }
	return f, stop
}

// TestMariaDB_FenceOfAResumedFeed: the server is slow to say where its log ends, and
// nothing is written by whose name the end could be known.
func TestMariaDB_FenceOfAResumedFeed(t *testing.T) {
	at := dbtest.NewMariaDB(t, nil).Database(t)
	c, table := connect(t, at), database(t, at)+".t"
	c.exec(t, "CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
	s, err := mysql.Open(t.Context(), at, mysql.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(30*time.Second))
	defer cancel()
	first, stop := run(t, s, table, source.Checkpoint{})
	c.exec(t, "INSERT INTO t VALUES (2)")
	kept, ok := source.Checkpoint{}, false
	for !ok { // no session yet, or the place behind the transaction is not noted yet
		runtime.Gosched()
		pos, err := first.Fence(ctx)
		if err != nil && !errors.Is(err, source.ErrDetached) || ctx.Err() != nil {
			t.Fatalf("the feed has no place to resume from: %v", errors.Join(err, ctx.Err()))
		}
		if err == nil {
			kept, ok = first.Checkpoint(pos)
		}
	}
	stop()
	feed, stop := run(t, s, table, kept)
	defer stop()
	answered, ok := feed.Asking()
	for ; !ok; answered, ok = feed.Asking() {
		runtime.Gosched()
	}
	done := make(chan error, 1)
	go func() {
		_, err := feed.Fence(ctx)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a fence knows the end without asking, %v", err)
	case <-time.After(5 * binlog.LogStall):
	}
	answered()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
