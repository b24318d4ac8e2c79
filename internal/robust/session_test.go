package robust

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/waittest"
)

// execLimit bounds one statement of a writer.
var execLimit = waittest.Limit(3 * time.Second)

// newSession returns a function that runs a statement on a PostgreSQL database and
// connects again when the server has gone.
func newSession(t testing.TB, url string) func(sql string) error {
	var mu sync.Mutex // guards conn
	var conn *pgx.Conn
	hangUp := func() {
		if conn != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = conn.Close(ctx)
			conn = nil
		}
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		hangUp()
	})
	return func(sql string) error {
		mu.Lock()
		defer mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), execLimit)
		defer cancel()
		if conn == nil || conn.IsClosed() {
			c, err := pgx.Connect(ctx, url)
			if err != nil {
				return err
			}
			conn = c
		}
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	}
}

// newMariaSession is newSession for MariaDB.
func newMariaSession(t testing.TB, raw string) func(sql string) error {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	cfg := driver.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = u.User.Username(), "tcp", u.Host
	cfg.Passwd, _ = u.User.Password()
	cfg.Logger = &driver.NopLogger{} // that connections break is what rows are for
	cfg.DBName = strings.Trim(u.Path, "/")
	db, err := sql.Open("mysql", cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return func(statement string) error {
		ctx, cancel := context.WithTimeout(context.Background(), execLimit)
		defer cancel()
		_, err := db.ExecContext(ctx, statement)
		return err
	}
}
