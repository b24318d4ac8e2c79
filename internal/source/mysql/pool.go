package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source"
)

// A conn is one connection while somebody has it.
type conn struct {
	*sql.Conn
	refused bool // for want of a privilege
}

// acquire takes a connection from the pool. The caller releases it.
func (s *Source) acquire(ctx context.Context) (*conn, error) {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	wait, cancel := context.WithTimeout(ctx, s.opts.AcquireTimeout)
	defer cancel()
	c, err := s.db.Conn(wait)
	if err == nil {
		s.acquired.Add(1)
		return &conn{Conn: c}, nil
	}
	if s.ctx.Err() != nil {
		return nil, &source.Error{Class: source.Unavailable, Message: "the source is closed",
			Err: err}
	}
	if ctx.Err() == nil && errors.Is(wait.Err(), context.DeadlineExceeded) {
		s.timeouts.Add(1)
		return nil, &source.Error{
			Class:   source.Unavailable,
			Message: fmt.Sprintf("no connection to the database within %v", s.opts.AcquireTimeout),
			Hint:    "the server is slow or pool.max is too small",
			After:   time.Second,
			Err:     err,
		}
	}
	return nil, connectError(err)
}

// controlConn takes a connection of those that do not wait for loads.
func (s *Source) controlConn(ctx context.Context) (*conn, error) {
	c, err := s.control.Conn(ctx)
	if err != nil {
		return nil, connectError(err)
	}
	return &conn{Conn: c}, nil
}

// ask runs fn on a connection of its own, to the server that the URL leads to now: what is
// asked decides whether that can be followed in the place of the one that was.
func (s *Source) ask(ctx context.Context, fn func(context.Context, *conn) error) error {
	inner, err := driver.NewConnector(s.cfg)
	if err != nil {
		return err
	}
	db := s.open(inner, s.opts.ReadOnly, true)
	defer db.Close()
	c, err := db.Conn(ctx)
	if err != nil {
		return connectError(err)
	}
	defer c.Close()
	return classify(fn(ctx, &conn{Conn: c}))
}

// release gives the connection back. A session has the global privileges that its user had
// when it began: one that lacked some is not kept, for they may be granted by now.
func (c *conn) release() {
	if c.refused {
		_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	}
	_ = c.Close() // the pool drops what it cannot use
}

// discard closes the connection instead of giving it back.
func (c *conn) discard() {
	_ = c.Raw(func(any) error { return sqldriver.ErrBadConn })
	_ = c.Close()
}

// server returns what the connection's server is.
func (c *conn) server() (server, error) {
	var v server
	err := c.Raw(func(dc any) error {
		ses, ok := dc.(*session)
		if !ok {
			return fmt.Errorf("a connection of another kind: %T", dc)
		}
		v = ses.server
		return nil
	})
	return v, err
}

// query runs a query and calls fn with the values of each row, which it may
// keep: int64, float32, float64, []byte or nil.
func (c *conn) query(
	ctx context.Context, query string, args []any, fn func(values []any) error,
) error {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		c.refused = c.refused || number(err) == errPrivilege
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	targets := make([]any, len(names))
	for rows.Next() {
		values := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		if err := fn(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Query implements catalog.Conn.
func (c *conn) Query(
	ctx context.Context, sql string, args []any, each func(values []any) error,
) error {
	return c.query(ctx, sql, args, each)
}

// exec runs a statement.
func (c *conn) exec(ctx context.Context, query string, args ...any) error {
	_, err := c.ExecContext(ctx, query, args...)
	return err
}

// read runs fn, which only reads, on a connection of the pool. It runs it
// again, once, on another connection when the first died before it answered,
// and when the server asks for it.
func (s *Source) read(ctx context.Context, fn func(context.Context, *conn) error) error {
	err := s.readOnce(ctx, fn)
	if err != nil && ctx.Err() == nil && (died(err) || serialization(err)) {
		err = s.readOnce(ctx, fn)
	}
	return classify(s.late(err))
}

// readOnce is read on one connection.
func (s *Source) readOnce(ctx context.Context, fn func(context.Context, *conn) error) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.release()
	return fn(ctx, c)
}

// snapshot runs fn in a transaction that only reads: all of its statements see
// the rows as of the first one.
func (c *conn) snapshot(ctx context.Context, fn func() error) error {
	if err := c.exec(ctx, "START TRANSACTION READ ONLY"); err != nil {
		return err
	}
	err := fn()
	end := c.exec(context.WithoutCancel(ctx), "COMMIT")
	if err == nil {
		err = end
	}
	if end != nil {
		c.discard()
	}
	return err
}
