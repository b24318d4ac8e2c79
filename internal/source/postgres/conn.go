package postgres

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// An engineConn is a connection, within a transaction or without, as the engine sees it.
type engineConn struct {
	conn *pgx.Conn
	end  *seenEnd // of what is read; nil: nobody asks
	as   *actor   // who changes rows; nil: this user
}

// A seenEnd is a place in the log that nothing is behind which the last statement has seen.
type seenEnd struct {
	expr string // that reads it
	at   source.Position
}

// Where the log ends is read once for a statement, while that runs and so after its snapshot.
// A commit is in the log before it is visible; it need not be flushed yet. A standby shows
// what it has replayed, and notes how far that is a moment later: what it has received it may
// have shown.
const (
	endOfPrimary = "pg_catalog.pg_current_wal_insert_lsn()"
	endOfAny     = "CASE WHEN pg_catalog.pg_is_in_recovery() THEN GREATEST(" +
		"pg_catalog.pg_last_wal_receive_lsn(), pg_catalog.pg_last_wal_replay_lsn()) ELSE " +
		endOfPrimary + " END"
)

// newSeenEnd returns what reads asks for, of a server that may be a standby.
func (s *Source) newSeenEnd(seen *source.Seen) *seenEnd {
	switch {
	case seen == nil:
		return nil
	case s.standby != nil:
		return &seenEnd{expr: endOfAny}
	}
	return &seenEnd{expr: endOfPrimary}
}

// around returns a statement with the end of the log as one more column.
func (e *seenEnd) around(sql string) string {
	return "SELECT q.*, (SELECT " + e.expr + ") FROM (" + sql + "\n) AS q"
}

// take takes the last column off a row.
func (e *seenEnd) take(data [][]byte) ([][]byte, error) {
	last := len(data) - 1
	if last < 0 || len(data[last]) != 8 {
		return nil, fmt.Errorf("%w: the end of the log", errWire)
	}
	e.at = source.Position(binary.BigEndian.Uint64(data[last]))
	return data[:last], nil
}

// read reads the end of the log by itself, for a statement that has found no row.
func (e *seenEnd) read(ctx context.Context, conn *pgx.Conn) error {
	if e == nil || e.at != 0 {
		return nil
	}
	rows, err := conn.Query(ctx, "SELECT "+e.expr, binaryResults)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if _, err := e.take(rows.RawValues()); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Query implements document.Conn.
func (c engineConn) Query(
	ctx context.Context, st *document.Statement, args []any, each func(document.Row) error,
) error {
	if err := c.as.takeFor(ctx, c.conn, st.SQL); err != nil {
		return err
	}
	params := append(make([]any, 0, 1+len(args)), binaryResults)
	sql := st.SQL
	if c.end != nil {
		sql, c.end.at = c.end.around(sql), 0
	}
	rows, err := c.conn.Query(ctx, sql, append(params, args...)...)
	if err != nil {
		return c.unheld(err, args)
	}
	defer rows.Close()
	answer := arrived(rows)
	for rows.Next() {
		if answer.data = rows.RawValues(); c.end != nil {
			if answer.data, err = c.end.take(answer.data); err != nil {
				return err
			}
		}
		if err := each(answer); err != nil {
			return err
		}
	}
	return c.unheld(rows.Err(), args)
}

// Exec implements document.Conn.
func (c engineConn) Exec(
	ctx context.Context, st *document.Statement, args []any,
) (int64, error) {
	if err := c.as.takeFor(ctx, c.conn, st.SQL); err != nil {
		return 0, err
	}
	tag, err := c.conn.Exec(ctx, st.SQL, args...)
	return tag.RowsAffected(), c.unheld(err, args)
}
