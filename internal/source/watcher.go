package source

import "context"

// A SchemaWatcher is a Feed whose database can be asked for changes of definitions while
// nobody follows it, or the feed lags.
type SchemaWatcher interface {
	Feed

	// Look returns the tables whose definition is not what the handler, or the last
	// call, was told.
	Look(ctx context.Context) ([]string, error)
}
