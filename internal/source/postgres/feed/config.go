// Package feed is what the feeds of PostgreSQL have in common: the connection for their
// small questions, the facts that decide which of them works, the watcher that finds what
// neither of them is told (changes of definitions), and the texts of keys.
//
// It follows nothing by itself.
package feed

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

const (
	// AskEvery is how often a session asks for a sign of life.
	AskEvery = time.Second

	// LookEvery is how long it can go unnoticed that a role has lost its rights.
	// Definitions are looked at with each fence.
	LookEvery = 5 * time.Second
)

// DefaultPublication is the name of the publication unless another one is configured.
const DefaultPublication = "hotrow"

// Unreported is what neither the log nor the catalogue tells.
const Unreported = "what a text search configuration or the library of a C function does"

// Schema is that of what hotrow puts into a database.
const Schema = "hotrow"

// A Config is what a feed needs of a Source.
type Config struct {
	Conn *pgx.ConnConfig
	Log  *slog.Logger
	Pin  func(Server) // makes the connections of loads go to this one

	// Standby is the server that is followed and read in place of the primary; nil: the
	// primary is.
	Standby *Standby

	// Followed returns the server that was followed last, nil for none yet.
	Followed func() *Server

	Names         Names
	Slot          string // named replication slot; "": a temporary one
	SlotUnbounded bool   // take it although nothing bounds what it keeps
	SlotFailover  bool   // have standbys keep it, too
	Definitions   *Definitions

	Reconnect func() // see Watcher

	// Explain says what the error of a connection means.
	Explain func(error) error

	// Read runs what only reads on a connection of loads.
	Read func(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error
}

// Counters are read by Stats and written by Run.
type Counters struct {
	transactions, changes, Bytes, Position atomic.Uint64
}

// Stats returns a snapshot of the counters.
func (c *Counters) Stats() source.FeedStats {
	return source.FeedStats{
		Transactions: c.transactions.Load(),
		Changes:      c.changes.Load(),
		Bytes:        c.Bytes.Load(),
		Position:     source.Position(c.Position.Load()),
	}
}

// Add counts a transaction.
func (c *Counters) Add(tx *source.Tx) {
	c.transactions.Add(1)
	c.changes.Add(uint64(len(tx.Changes) + len(tx.Tables)))
	c.Position.Store(uint64(tx.Pos))
}
