package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/source/document"
)

// lateFor is how long hotrow counts on what it knows of deferred triggers: they are asked
// for by a write, which waits for that.
const lateFor = time.Second

// A late is what is known of the deferred triggers that run when a write commits.
type late struct {
	asked atomic.Int64 // when, in nanoseconds since some time; 0: not yet
	any   atomic.Bool
}

// lateSQL reports whether a write to the tables of $1 can have deferred triggers of a user
// run: their own, or those of whatever tables their triggers and foreign keys write to. What
// checks a deferred constraint of PostgreSQL's own is internal, and changes nothing.
const lateSQL = `WITH late AS (SELECT tgrelid FROM pg_catalog.pg_trigger
		WHERE tginitdeferred AND NOT tgisinternal AND tgenabled <> 'D'),
	written AS (SELECT unnest($1::oid[]) AS oid UNION SELECT t.relid::oid
		FROM unnest($1::oid[]) AS o, pg_catalog.pg_partition_tree(o) AS t)
	SELECT EXISTS (SELECT FROM late) AND (
		EXISTS (SELECT FROM late WHERE tgrelid IN (SELECT oid FROM written))
		OR EXISTS (SELECT FROM pg_catalog.pg_trigger g
			JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
			JOIN pg_catalog.pg_namespace n ON n.oid = f.pronamespace
			WHERE g.tgrelid IN (SELECT oid FROM written) AND g.tgenabled <> 'D'
			AND CASE WHEN g.tgisinternal THEN f.proname ~ '^RI_FKey_(cascade|setnull|setdefault)_'
				ELSE n.nspname <> 'hotrow' END))`

// finish has deferred triggers run now, at the end of a write, whose document is read after
// that; and deferred constraints are checked now, too. Where there are no such triggers it
// asks the server nothing.
func finish(ctx context.Context, c document.Conn, p *document.Plan) error {
	pl, q := p.Native.(*plan), c.(engineConn).conn
	l, now := &pl.late, int64(time.Since(lateSince))
	if at := l.asked.Load(); at == 0 || now-at > int64(lateFor) {
		rows, err := q.Query(ctx, lateSQL, pl.written())
		if err != nil {
			return err
		}
		is := false
		for rows.Next() {
			if err := rows.Scan(&is); err != nil {
				rows.Close()
				return err
			}
		}
		if rows.Close(); rows.Err() != nil {
			return rows.Err()
		}
		l.any.Store(is)
		l.asked.Store(now)
	}
	if !l.any.Load() {
		return nil
	}
	_, err := q.Exec(ctx, "SET CONSTRAINTS ALL IMMEDIATE")
	return err
}

// lateSince is where the clock of late begins: before any write.
var lateSince = time.Now().Add(-time.Nanosecond)

// written returns the tables that a write can write to.
func (p *plan) written() []uint32 {
	var oids []uint32
	for _, n := range p.Nodes() {
		if t, ok := n.Table.Native.(*table); ok {
			oids = append(oids, t.oid)
		}
	}
	return oids
}
