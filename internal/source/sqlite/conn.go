package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	driverpkg "modernc.org/sqlite"
)

// maxStatements bounds the prepared statements that one connection keeps.
const maxStatements = 128

// A conn is one connection with its prepared statements. It is used by one
// goroutine at a time, and so speaks with the driver itself: what database/sql has
// for connections that many share costs as much as finding a row.
type conn struct {
	c     driverConn
	stmts map[string]driverStmt
	named []driver.NamedValue // the arguments of the statement that begins
	waits bool                // for the locks of others, within a statement
}

// A driverConn is what the driver has for a connection.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driverpkg.HookRegisterer
	driverpkg.AuthorizerRegisterer
	ColumnInfo(query string) ([]driverpkg.ColumnInfo, error)
}

// A driverStmt is what it has for a prepared statement.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// dsn returns the driver's name of the file, with the pragmas that every
// connection has. mode is SQLite's: rw never makes a file.
func dsn(path, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_pragma": append([]string{"mmap_size(0)"}, pragmas...)}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// readerCache bounds the pages that each reading connection keeps, in KiB: SQLite's own 2 MiB took
// 30 MiB of 16 connections, of rows that memory has, and a miss takes no less CPU with them. These
// are the 19 pages of 4 KiB that SQLite allocates at once: to each other one belongs as much again,
// because the allocator rounds it up with its head.
const readerCache = "cache_size(-80)"

// noQuotedTexts is what follows the dsn of a connection that runs queries of users: a name
// in double quotes that is no column is an error. SQLite's old habit is to take it for a
// text. The writer keeps it, since many triggers have their texts so: see columnExpr.
const noQuotedTexts = "&_dqs=0"

// newConn opens a connection. It has a busy_timeout.
func newConn(ctx context.Context, dsn string) (*conn, error) {
	connector, err := driverpkg.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	opened, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c, ok := opened.(driverConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's %T has too few methods", opened),
			opened.Close())
	}
	return &conn{c: c, stmts: make(map[string]driverStmt), waits: true}, nil
}

// stmt returns the prepared statement of query.
func (c *conn) stmt(ctx context.Context, query string) (driverStmt, error) {
	if st, ok := c.stmts[query]; ok {
		return st, nil
	}
	prepared, err := c.c.PrepareContext(ctx, query)
	if err != nil {
		return nil, wrap(err)
	}
	st, ok := prepared.(driverStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the SQLite driver's %T has too few methods", prepared),
			prepared.Close())
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

// arguments returns args as the driver takes them, until the next call: it has
// copied them when a statement has begun.
func (c *conn) arguments(args []any) ([]driver.NamedValue, error) {
	c.named = c.named[:0]
	for i, a := range args {
		v := driver.NamedValue{Ordinal: i + 1, Value: a}
		if n, ok := a.(sql.NamedArg); ok {
			v.Name, v.Value = n.Name, n.Value
		}
		if !driver.IsValue(v.Value) {
			var err error
			if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
				return nil, fmt.Errorf("argument %d: %w", i+1, err)
			}
		}
		c.named = append(c.named, v)
	}
	return c.named, nil
}

// query runs a statement that is kept prepared, and calls each for every row
// with its raw values, which are valid until each returns. Each may run other
// statements on the connection.
func (c *conn) query(ctx context.Context, q string, args []any, each func([]any) error) error {
	rows, err := c.start(ctx, q, args)
	if err != nil {
		return err
	}
	return readAll(ctx, rows, each)
}

// start begins to run a query that is kept prepared.
func (c *conn) start(ctx context.Context, q string, args []any) (driver.Rows, error) {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	named, err := c.arguments(args)
	if err != nil {
		return nil, wrap(err)
	}
	rows, err := st.QueryContext(ctx, named)
	clear(named) // a large value is not kept by a connection that is idle
	return rows, wrap(err)
}

// queryOnce is query for a statement that is not worth keeping.
func (c *conn) queryOnce(ctx context.Context, q string, args []any, each func([]any) error) error {
	named, err := c.arguments(args)
	if err != nil {
		return wrap(err)
	}
	rows, err := c.c.QueryContext(ctx, q, named)
	if err != nil {
		return wrap(err)
	}
	return readAll(ctx, rows, each)
}

// readAll calls each for every row of rows, and closes them.
func readAll(ctx context.Context, rows driver.Rows, each func([]any) error) error {
	// Closing repeats the error of the last row.
	defer func() { _ = rows.Close() }()
	dest := make([]driver.Value, len(rows.Columns()))
	values := make([]any, len(dest))
	for {
		if err := ctx.Err(); err != nil {
			return wrap(err)
		}
		if err := rows.Next(dest); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return wrap(err)
		}
		for i, v := range dest {
			values[i] = v
		}
		if err := each(values); err != nil {
			return err
		}
	}
}

// exec runs a statement that is kept prepared.
func (c *conn) exec(ctx context.Context, q string, args ...any) error {
	_, err := c.run(ctx, q, args)
	return err
}

// run is exec, and returns what the driver says of it.
func (c *conn) run(ctx context.Context, q string, args []any) (driver.Result, error) {
	st, err := c.stmt(ctx, q)
	if err != nil {
		return nil, err
	}
	named, err := c.arguments(args)
	if err != nil {
		return nil, wrap(err)
	}
	res, err := st.ExecContext(ctx, named)
	clear(named)
	return res, wrap(err)
}

// execOnce runs a statement that is not worth keeping.
func (c *conn) execOnce(ctx context.Context, q string) error {
	_, err := c.c.ExecContext(ctx, q, nil)
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

// learn has the connection know the schema as it is now. It learns of another's DDL when it
// steps a statement that reads a table: what it only prepares, or explains, is of before.
func (c *conn) learn(ctx context.Context) error {
	_, err := c.integer(ctx, "SELECT 1 FROM main.sqlite_schema LIMIT 1")
	return err
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

// close closes the connection.
func (c *conn) close() error {
	c.forget()
	return c.c.Close()
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
