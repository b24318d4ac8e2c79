package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// errStandby is the error of a server that replays another one's log: it can
// neither be followed nor asked which transactions are visible.
var errStandby = errors.New("the server is a standby; point the URL at the primary")

// A control is a connection of a feed's own for its small questions: fences and
// visibility. It is not one of the pool's, because a pool whose connections all
// wait for slow loads must not make the feed look dead. Its commits wait for no
// standby: a fence has to pass while one is away.
type control struct {
	cfg *pgx.ConnConfig

	// turn holds one token: who takes it may use conn and origin. It is a
	// channel and not a mutex so that waiting for it ends with the context.
	turn   chan struct{}
	conn   *pgx.Conn
	origin string // that the server must have: see originOf; "": any
	closed bool
}

// errControlClosed is the error of a control that has been closed.
var errControlClosed = errors.New("the feed is closed")

func newControl(cfg *pgx.ConnConfig) *control {
	cfg = feedConfig(cfg, "hotrow control")
	cfg.RuntimeParams["synchronous_commit"] = "local"
	cfg.RuntimeParams["default_transaction_read_only"] = "off"
	cfg.RuntimeParams["lock_timeout"] = "2000" // milliseconds
	// Planning what a fence asks of the catalogue costs several times what it does.
	cfg.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	// Many tables, or many changes of a few, make the planner think that a look is dear
	// enough to be compiled to machine code: that takes up to a second, a look 2 ms.
	cfg.RuntimeParams["jit"] = "off"
	return &control{cfg: cfg, turn: make(chan struct{}, 1)}
}

// feedConfig returns a copy of cfg for a connection of a feed.
func feedConfig(cfg *pgx.ConnConfig, name string) *pgx.ConnConfig {
	cfg = cfg.Copy()
	if cfg.RuntimeParams == nil {
		cfg.RuntimeParams = make(map[string]string)
	}
	for k, v := range feedSettings {
		cfg.RuntimeParams[k] = v
	}
	// The pool's own spelling of the same settings; a name given twice would
	// leave it to the order of a map which one counts.
	delete(cfg.RuntimeParams, "DateStyle")
	delete(cfg.RuntimeParams, "IntervalStyle")
	delete(cfg.RuntimeParams, "TimeZone")
	cfg.RuntimeParams["application_name"] = name
	return cfg
}

// do calls f with the connection, made anew if need be. A context that ends
// while f waits for the server costs the connection.
func (c *control) do(ctx context.Context, f func(*pgx.Conn) error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.closed {
		return errControlClosed
	}
	if c.conn == nil || c.conn.IsClosed() {
		conn, err := pgx.ConnectConfig(ctx, c.cfg)
		if err != nil {
			return err
		}
		c.conn = conn
		if err := c.check(ctx); err != nil {
			c.discard()
			return err
		}
	}
	return f(c.conn)
}

// check refuses a server that is not the one that the feed follows.
func (c *control) check(ctx context.Context) error {
	origin, err := originAt(ctx, c.conn)
	if err == nil && c.origin != "" && c.origin != origin {
		err = fmt.Errorf("the connection leads to %s, the feed follows %s", origin, c.origin)
	}
	return err
}

// originAt returns the origin of the server that conn leads to: see originOf. A
// standby has none of its own, and is an error.
func originAt(ctx context.Context, conn *pgx.Conn) (string, error) {
	var system, file string
	err := conn.QueryRow(ctx, `SELECT system_identifier::text, CASE WHEN pg_is_in_recovery()
		THEN '' ELSE pg_walfile_name(pg_current_wal_insert_lsn()) END
		FROM pg_control_system()`).Scan(&system, &file)
	switch {
	case err != nil:
		return "", err
	case file == "":
		return "", errStandby
	}
	// The name of a file of the log begins with the timeline.
	timeline, err := strconv.ParseUint(file[:min(8, len(file))], 16, 32)
	if err != nil {
		return "", fmt.Errorf("timeline of %q: %w", file, err)
	}
	return originOf(system, strconv.FormatUint(timeline, 10)), nil
}

// pin makes the connection one to the server with this origin. A connection made
// before is made again: it may lead elsewhere.
func (c *control) pin(ctx context.Context, origin string) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.origin != origin {
		c.origin = origin
		c.discard()
	}
	return nil
}

// discard closes the connection.
func (c *control) discard() {
	if c.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// The error of a farewell changes nothing: the connection is gone.
	_ = c.conn.Close(ctx)
	c.conn = nil
}

// close closes the connection for good.
func (c *control) close() {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	c.closed = true
	c.discard()
}

// connectReplication opens a connection that speaks the replication protocol.
func connectReplication(ctx context.Context, cfg *pgx.ConnConfig) (*pgconn.PgConn, error) {
	c := feedConfig(cfg, "hotrow feed").Config
	c.RuntimeParams["replication"] = "database"
	delete(c.RuntimeParams, "statement_timeout")
	delete(c.RuntimeParams, "default_transaction_read_only")
	// A walsender takes no prepared statements, which pgconn's own check uses.
	c.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		rows, err := simple(ctx, conn, "SELECT pg_is_in_recovery()")
		if err == nil && rows[0][0] == "t" {
			err = errStandby
		}
		return err
	}
	c.AfterConnect = nil
	return pgconn.ConnectConfig(ctx, &c)
}

// simple runs one statement without parameters on a replication connection and
// returns its rows as text. It returns an error when there is no row.
func simple(ctx context.Context, conn *pgconn.PgConn, sql string) ([][]string, error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(results) == 0 || len(results[0].Rows) == 0 {
		return nil, fmt.Errorf("%s: no answer", sql)
	}
	var out [][]string
	for _, r := range results[0].Rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = string(c)
		}
		out = append(out, cells)
	}
	return out, nil
}

// A stream is a replication connection that sends changes. One goroutine reads
// it; status updates are written by any.
type stream struct {
	conn     net.Conn
	frontend *pgproto3.Frontend

	// write makes status updates whole on the wire, and guards closed.
	write  sync.Mutex
	closed bool
}

// writeLimit bounds the write of one status update. A peer that does not take
// one within this time is not there.
const writeLimit = time.Second

// startStream starts replication on conn and takes the connection over.
func startStream(ctx context.Context, conn *pgconn.PgConn, sql string) (*stream, error) {
	conn.Frontend().SendQuery(&pgproto3.Query{String: sql})
	if err := conn.Frontend().Flush(); err != nil {
		return nil, err
	}
	for {
		m, err := conn.ReceiveMessage(ctx)
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *pgproto3.CopyBothResponse:
			h, err := conn.Hijack()
			if err != nil {
				return nil, err
			}
			return &stream{conn: h.Conn, frontend: h.Frontend}, nil
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(m)
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return nil, fmt.Errorf("%w: %T instead of a stream", errPgoutput, m)
		}
	}
}

// receive returns the next payload, valid until the next call. It fails when
// nothing comes for limit.
func (s *stream) receive(limit time.Duration) ([]byte, error) {
	for {
		if err := s.conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return nil, err
		}
		m, err := s.frontend.Receive()
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *pgproto3.CopyData:
			return m.Data, nil
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(m)
		case *pgproto3.CopyDone:
			return nil, errors.New("the server ended the stream")
		}
	}
}

// status tells the server how far we have got and what it need not send again (0:
// says nothing of that), and with reply asks it for the same in return.
func (s *stream) status(pos, done lsn, reply bool) error {
	b := make([]byte, 0, 39)
	b = append(b, 'd')
	b = binary.BigEndian.AppendUint32(b, 38)
	b = append(b, 'r')
	for _, p := range [...]lsn{pos, done, done} { // written, flushed, applied
		b = binary.BigEndian.AppendUint64(b, uint64(p))
	}
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().UnixMicro()-postgresEpoch))
	if reply {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	return s.send(b)
}

// send writes b. The caller holds s.write.
func (s *stream) send(b []byte) error {
	err := s.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if err == nil {
		err = s.frontend.SendUnbufferedEncodedCopyData(b)
	}
	if err != nil {
		// A part of a message may have been written: nothing can follow it.
		s.closed = true
		_ = s.conn.Close()
	}
	return err
}

// close says farewell and closes the connection; a read in progress fails.
func (s *stream) close() {
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed {
		return
	}
	if s.send([]byte{'X', 0, 0, 0, 4}) == nil {
		s.closed = true
		_ = s.conn.Close()
	}
}
