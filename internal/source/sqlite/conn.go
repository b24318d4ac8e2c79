package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// maxStatements bounds the prepared statements that one connection keeps.
const maxStatements = 128

// A conn is one connection with its prepared statements. It is used by one
// goroutine at a time.
type conn struct {
	c     *sql.Conn
	stmts map[string]*sql.Stmt
	waits bool // for the locks of others, within a statement
}

// dsn returns the driver's name of the file, with the pragmas that every
// connection has. mode is SQLite's: rw never makes a file.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{
		"mode": {mode}, "_pragma": append([]string{"mmap_size(0)"}, pragmas...),
		// A quoted name that is no column any more must be an error. SQLite's old
		// habit is to take it for a text, and every row for the one of that key.
		"_dqs": {"0"},
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// newConn takes a connection of db for good. It has a busy_timeout.
func newConn(ctx context.Context, db *sql.DB) (*conn, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: make(map[string]*sql.Stmt), waits: true}, nil
}

// stmt returns the prepared statement of query.
func (c *conn) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := c.stmts[query]; ok {
		return st, nil
	}
	st, err := c.c.PrepareContext(ctx, query)
	if err != nil {
		return nil, wrap(err)
	}
	if len(c.stmts) >= maxStatements {
		c.forget()
	}
	c.stmts[query] = st
	return st, nil
}

// forget closes the prepared statements.
func (c *conn) forget() {
	for q, st := range c.stmts {
		// Closing a statement of SQLite repeats the error of its last run.
		_ = st.Close()
		delete(c.stmts, q)
	}
}

// query runs a statement that is kept prepared, and calls each for every row
// with its raw values, which are valid until each returns.
func (c *conn) query(ctx context.Context, q string, args []any, each func([]any) error) error {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return wrap(err)
	}
	defer rows.Close()
	return scanAll(rows, each)
}

// queryBrief is query for a statement that is over in microseconds unless it waits
// for a lock, and so need not be ended when ctx is. To be able to, the driver and
// database/sql start a goroutine each for every statement, which costs more than to
// find a row.
func (c *conn) queryBrief(
	ctx context.Context, q string, args []any, each func([]any) error,
) error {
	ctx, err := c.brief(ctx)
	if err != nil {
		return err
	}
	return c.query(ctx, q, args, each)
}

// execBrief is exec for such a statement.
func (c *conn) execBrief(ctx context.Context, q string) error {
	ctx, err := c.brief(ctx)
	if err != nil {
		return err
	}
	return c.exec(ctx, q)
}

// brief returns the context that a brief statement is run with.
func (c *conn) brief(ctx context.Context) (context.Context, error) {
	if c.waits {
		return ctx, nil
	}
	return context.WithoutCancel(ctx), wrap(ctx.Err())
}

// queryOnce is query for a statement that is not worth keeping.
func (c *conn) queryOnce(ctx context.Context, q string, args []any, each func([]any) error) error {
	rows, err := c.c.QueryContext(ctx, q, args...)
	if err != nil {
		return wrap(err)
	}
	defer rows.Close()
	return scanAll(rows, each)
}

// scanAll calls each for every row of rows.
func scanAll(rows *sql.Rows, each func([]any) error) error {
	columns, err := rows.Columns()
	if err != nil {
		return wrap(err)
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return wrap(err)
		}
		if err := each(values); err != nil {
			return err
		}
	}
	return wrap(rows.Err())
}

// exec runs a statement that is kept prepared.
func (c *conn) exec(ctx context.Context, q string, args ...any) error {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx, args...)
	return wrap(err)
}

// execOnce runs a statement that is not worth keeping.
func (c *conn) execOnce(ctx context.Context, q string) error {
	_, err := c.c.ExecContext(ctx, q)
	return wrap(err)
}

// integer returns the one integer that a brief statement gives.
func (c *conn) integer(ctx context.Context, q string, args ...any) (int64, error) {
	var n int64
	err := c.queryBrief(ctx, q, args, func(v []any) error {
		n, _ = v[0].(int64)
		return nil
	})
	return n, err
}

// snapshot runs fn in a transaction that reads, so that all of its statements
// see one state of the database.
func (c *conn) snapshot(ctx context.Context, fn func() error) error {
	if err := c.execBrief(ctx, "BEGIN"); err != nil {
		return err
	}
	err := fn()
	// The transaction must end whatever became of ctx; it has nothing to lose.
	if end := c.exec(context.WithoutCancel(ctx), "ROLLBACK"); err == nil {
		err = end
	}
	return err
}

// close gives the connection back to database/sql.
func (c *conn) close() error {
	c.forget()
	if err := c.c.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}

// checkVersion refuses an SQLite that can corrupt a database that several
// connections write to.
func checkVersion(ctx context.Context, c *conn) error {
	var version string
	err := c.queryOnce(ctx, "SELECT sqlite_version()", nil, func(v []any) error {
		version, _ = v[0].(string)
		return nil
	})
	if err != nil {
		return err
	}
	if !versionAtLeast(version, minVersion) {
		return fmt.Errorf("SQLite %s can corrupt databases in WAL mode; build hotrow with "+
			"%d.%d.%d or later", version, minVersion[0], minVersion[1], minVersion[2])
	}
	return nil
}

// versionAtLeast compares "3.51.3" with a version number by number.
func versionAtLeast(version string, least [3]int) bool {
	parts := strings.Split(version, ".")
	for i, want := range least {
		if i >= len(parts) {
			return false
		}
		got, err := strconv.Atoi(parts[i])
		if err != nil || got < want {
			return false
		}
		if got > want {
			return true
		}
	}
	return true
}
