package testbed

import (
	"context"
	"database/sql"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql"
	"github.com/hotrow/hotrow/internal/source/postgres"
	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// OpenPostgres opens a database until the test ends.
func OpenPostgres(t testing.TB, url string) source.Source {
	t.Helper()
	src, err := postgres.Open(t.Context(), url, postgres.Options{Log: Log(t)})
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

// OpenSQLite opens a file, with the test's log, until the test ends.
func OpenSQLite(t testing.TB, path string, o sqlite.Options) *sqlite.Source {
	t.Helper()
	o.Log = Log(t)
	src, err := sqlite.Open(t.Context(), path, o)
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

// OpenMariaDB opens a database until the test ends.
func OpenMariaDB(t testing.TB, url string) source.Source {
	t.Helper()
	src, err := mysql.Open(t.Context(), url, mysql.Options{Log: Log(t)})
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

// Log sends warnings to the test's log as long as the test runs.
func Log(t testing.TB) *slog.Logger {
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

// Dial opens a connection to the database that ends with the test.
func Dial(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// MustExec runs statements, each by itself.
func MustExec(t testing.TB, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		_, err := conn.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// Number returns the one number that a query gives.
func Number(t testing.TB, conn *pgx.Conn, sql string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// DialMariaDB opens one connection that ends with the test.
func DialMariaDB(t testing.TB, raw string) *sql.Conn {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = u.User.Username(), "tcp", u.Host
	cfg.Passwd, _ = u.User.Password()
	cfg.DBName = strings.Trim(u.Path, "/")
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// ApplyDoctor makes what a feed by notifications needs for the tables of specs.
func ApplyDoctor(t *testing.T, url string, specs []resource.Spec) {
	t.Helper()
	conn := Dial(t, url)
	src := OpenPostgres(t, url)
	ctx := context.Background()
	var plans []source.Plan
	for _, sp := range specs {
		p, err := src.Compile(ctx, sp.Table)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	findings, err := src.Doctor(ctx, source.FeedNotify, resource.Watched(plans))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		MustExec(t, conn, f.Apply...)
	}
}

// Logical are the settings of a server that can be followed.
var Logical = map[string]string{"wal_level": "logical", "max_wal_senders": "10",
	"max_replication_slots": "10", "max_connections": "100",
	"shared_preload_libraries": "pg_stat_statements", "log_min_messages": "fatal"}
