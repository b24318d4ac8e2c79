package logical

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// connectReplication opens a connection that speaks the replication protocol.
func connectReplication(ctx context.Context, src feed.Config) (*pgconn.PgConn, error) {
	return feed.ConnectRaw(ctx, replicationConfig(src))
}

// replicationConfig is that of a connection that speaks the replication protocol.
func replicationConfig(src feed.Config) *pgx.ConnConfig {
	conn := src.Conn
	if src.Standby != nil {
		conn = src.Standby.Conn
	}
	cfg := feed.ConnConfig(conn, "hotrow feed")
	feed.Validate(cfg, src.MayFollow)
	if src.Standby != nil {
		cfg.ValidateConnect = nil // attach asks
	}
	cfg.RuntimeParams["replication"] = "database"
	cfg.RuntimeParams["statement_timeout"] = "0"
	delete(cfg.RuntimeParams, "default_transaction_read_only")
	return cfg
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
	pid      uint32 // of the server's process that sends

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
			return &stream{conn: h.Conn, frontend: h.Frontend, pid: h.PID}, nil
		case *pgproto3.ErrorResponse:
			return nil, pgconn.ErrorResponseToPgError(m)
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return nil, fmt.Errorf("%w: %T instead of a stream", errPgoutput, m)
		}
	}
}

// receive returns the next payload, valid until the next call. It fails when
// nothing comes for limit, and goes on from there when it is called again.
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

// copyHead is what a message of the stream has before its payload, in bytes.
const copyHead = 5

// buffered returns how many bytes were received that receive has not returned yet.
func (s *stream) buffered() int { return s.frontend.ReadBufferLen() }

// status tells the server how far we have got and what it need not send again (0:
// says nothing of that), and with reply asks it for the same in return.
func (s *stream) status(pos, done feed.LSN, reply bool) error {
	b := make([]byte, 0, 39)
	b = append(b, 'd')
	b = binary.BigEndian.AppendUint32(b, 38)
	b = append(b, 'r')
	for _, p := range [...]feed.LSN{pos, done, done} { // written, flushed, applied
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
