package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	mysql "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/binlog"
)

// maxPrepared bounds how many statements a session keeps prepared: a server
// has places for 16,382 by default, for all of its clients.
const maxPrepared = 200

// A connector makes the sessions of a pool.
type connector struct {
	inner    driver.Connector
	s        *Source
	readOnly bool
	free     bool // of the pin: the server is the one that the URL leads to now
}

// Connect makes a session.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.inner.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(driverConn)
	if !ok {
		return nil, errors.Join(errors.New("the MySQL driver lacks an interface"), conn.Close())
	}
	ses := &session{driverConn: full, s: c.s, prepared: make(map[string]driver.Stmt)}
	if !c.free {
		ses.pin = c.s.pin.Load()
	}
	if err := ses.setUp(ctx, c.readOnly); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return ses, nil
}

// Driver returns the driver beneath.
func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

// A driverConn is what the driver's connections can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// A session is one connection, set up, that keeps its statements prepared.
// Like every driver.Conn it is for one goroutine at a time.
type session struct {
	driverConn
	s        *Source
	pin      *pin // under which it was made
	server   server
	prepared map[string]driver.Stmt
	compiled uint64 // Source.compiled when they were prepared
}

// A server is what a connection says of its server.
type server struct {
	version  string // "10.11.19-MariaDB-0+deb12u1-log", "8.4.2"
	identity string // see binlog.IdentityMariaDB
	mariadb  bool
}

// setUp finds out which server the session leads to, and gives it its settings.
func (ses *session) setUp(ctx context.Context, readOnly bool) error {
	row, err := ses.oneRow(ctx, "SELECT VERSION(), "+binlog.IdentityMariaDB)
	if err != nil {
		return err
	}
	ses.server.version, ses.server.identity = row[0], row[1]
	ses.server.mariadb = strings.Contains(row[0], "MariaDB")
	if !ses.server.mariadb {
		if row, err = ses.oneRow(ctx, "SELECT "+binlog.IdentityMySQL); err != nil {
			return err
		}
		ses.server.identity = row[0]
	}
	if p := ses.pin; p != nil && p.identity != ses.server.identity {
		return &source.Error{
			Class:   source.Unavailable,
			Message: "the connection leads to another server than the feed follows",
			Detail:  fmt.Sprintf("server %s, the feed follows %s", ses.server.identity, p.identity),
			After:   time.Second,
		}
	}
	return ses.pinSettings(ctx, readOnly)
}

// timeLimit returns the assignment that bounds a statement's time; 0 takes the
// bound away. MySQL has one for SELECT only.
func (v *server) timeLimit(limit time.Duration) string {
	if v.mariadb {
		return fmt.Sprintf("max_statement_time = %g", limit.Seconds())
	}
	return fmt.Sprintf("max_execution_time = %d", limit.Milliseconds())
}

// explain is what makes a statement one that has the server say how it would run it, in
// a table: MySQL may be set to draw a tree instead (explain_format), as 9.7 does by default.
func (v *server) explain() string {
	if v.mariadb {
		return "EXPLAIN "
	}
	return "EXPLAIN FORMAT=TRADITIONAL "
}

// oneRow runs a query without parameters and returns its one row as texts. The query has no
// LIMIT: the one that it gets keeps sql_select_limit from counting.
func (ses *session) oneRow(ctx context.Context, sql string) ([]string, error) {
	rows, err := ses.driverConn.QueryContext(ctx, sql+" LIMIT 1", nil)
	if err != nil {
		return nil, err
	}
	values := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(values)
	texts := make([]string, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case []byte:
			texts[i] = string(v)
		default:
			texts[i] = fmt.Sprint(v)
		}
	}
	return texts, errors.Join(err, rows.Close())
}

// stmt returns the statement, prepared.
func (ses *session) stmt(ctx context.Context, query string) (driver.Stmt, error) {
	if now := ses.s.compiled.Load(); now != ses.compiled && !ses.server.mariadb {
		// MySQL keeps the types that a statement's parameters had when it was prepared,
		// though a column has got another one: it would find no row.
		ses.forget()
		ses.compiled = now
	}
	// Fast path: it is prepared already.
	if st := ses.prepared[query]; st != nil {
		return st, nil
	}
	if len(ses.prepared) >= maxPrepared {
		ses.forget()
	}
	st, err := ses.driverConn.PrepareContext(ctx, query)
	if err == nil {
		ses.prepared[query] = st
	}
	return st, err
}

// forget closes all prepared statements.
func (ses *session) forget() {
	for query, st := range ses.prepared {
		_ = st.Close() // it is not used again; a broken connection says so elsewhere
		delete(ses.prepared, query)
	}
}

// QueryContext runs a query, prepared when it has parameters.
func (ses *session) QueryContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Rows, error) {
	if len(args) == 0 {
		return ses.driverConn.QueryContext(ctx, query, nil)
	}
	for try := 0; ; try++ {
		st, err := ses.stmt(ctx, query)
		if err != nil {
			return nil, err
		}
		q, ok := st.(driver.StmtQueryContext)
		if !ok {
			return nil, driver.ErrSkip
		}
		rows, err := q.QueryContext(ctx, args)
		if err == nil || try > 0 || !stalePlan(err) {
			return rows, err
		}
		ses.forget()
	}
}

// ExecContext runs a statement, prepared when it has parameters.
func (ses *session) ExecContext(
	ctx context.Context, query string, args []driver.NamedValue,
) (driver.Result, error) {
	if len(args) == 0 {
		return ses.driverConn.ExecContext(ctx, query, nil)
	}
	for try := 0; ; try++ {
		st, err := ses.stmt(ctx, query)
		if err != nil {
			return nil, err
		}
		e, ok := st.(driver.StmtExecContext)
		if !ok {
			return nil, driver.ErrSkip
		}
		res, err := e.ExecContext(ctx, args)
		if err == nil || try > 0 || !stalePlan(err) {
			return res, err
		}
		ses.forget()
	}
}

// ResetSession is asked before a pooled session is used again.
func (ses *session) ResetSession(ctx context.Context) error {
	if ses.pin != ses.s.pin.Load() {
		return driver.ErrBadConn
	}
	return ses.driverConn.ResetSession(ctx)
}

// IsValid is asked before a session goes back to its pool.
func (ses *session) IsValid() bool {
	return ses.pin == ses.s.pin.Load() && ses.driverConn.IsValid()
}

// errReprepare and errNoHandler are what the server says of a prepared statement
// whose tables have changed, or that it does not know.
const (
	errReprepare = 1615
	errNoHandler = 1243
)

// stalePlan reports whether err says that a statement is to be prepared anew.
func stalePlan(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == errReprepare || e.Number == errNoHandler)
}
