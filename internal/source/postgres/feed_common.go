package postgres

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

const (
	// silence ends a connection that says nothing for so long although it is
	// asked every askEvery. It only decides when to connect again: that the feed
	// may be behind is known by its fences much sooner.
	silence  = 5 * time.Second
	askEvery = time.Second

	// lookEvery is how long it can go unnoticed that a role has lost its rights.
	// Definitions are looked at with each fence.
	lookEvery = 5 * time.Second

	// flushAfter is when a fence stops waiting for the log to be written by
	// itself and writes something that flushes it: open transactions and
	// asynchronous commits leave a tail that is not sent until then.
	flushAfter = 20 * time.Millisecond

	// waitNotice is when the log says what a slot waits for.
	waitNotice = 5 * time.Second
)

// A feedSource is what a feed needs of a Source.
type feedSource struct {
	cfg *pgx.ConnConfig
	log *slog.Logger
	pin func(system string) // makes the connections of loads go to this cluster

	names feedNames
	opts  Options // those of the slot
	defs  *definitions

	reconnect func() // see looker

	// read runs what only reads on a connection of loads.
	read func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error
}

// counters are read by Stats and written by Run.
type counters struct {
	transactions, changes, bytes, position atomic.Uint64
}

func (c *counters) stats() source.FeedStats {
	return source.FeedStats{
		Transactions: c.transactions.Load(),
		Changes:      c.changes.Load(),
		Bytes:        c.bytes.Load(),
		Position:     source.Position(c.position.Load()),
	}
}

func (c *counters) add(tx *source.Tx) {
	c.transactions.Add(1)
	c.changes.Add(uint64(len(tx.Changes) + len(tx.Tables)))
	c.position.Store(uint64(tx.Pos))
}

// quoteName quotes a name, or a name within a schema, for SQL.
func quoteName(parts ...string) string { return pgx.Identifier(parts).Sanitize() }

// quoteText quotes a text for SQL and for replication commands, where no
// parameter can be. It counts on standard_conforming_strings, which every
// session of ours sets.
func quoteText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", "''") + "'"
}
