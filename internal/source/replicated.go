package source

import "context"

// A Replicated is a Source that may read from a replica of the database that it writes to,
// and follow that.
type Replicated interface {
	// Replica reports whether it does.
	Replica() bool

	// Current has reads that begin when it has returned see all that was visible in the
	// database when it was called.
	Current(ctx context.Context) error

	// Elsewhere counts the reads that were, or are about to be, made on another server than
	// the feed follows. What was read while it moved must not be kept: the feed may have
	// told of changes that were not visible there.
	Elsewhere() uint64
}
