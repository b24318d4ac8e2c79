package source

import (
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// A ValueSpec says how a server that has keys and values, and no tables, keeps
// the documents of a resource.
type ValueSpec struct {
	Format    ValueFormat
	Fields    []string      // the members, in order
	Separator string        // between the values of ValueFields
	Prefix    string        // of each key on the server; no part of the resource's keys
	KeyKind   row.Kind      // Text, Int or UUID
	Expire    time.Duration // of values that are written, in whole seconds; 0: never
}

// ValueFormat says what a value holds.
type ValueFormat string

// The formats, as in the configuration.
const (
	ValueFields ValueFormat = "fields" // texts with a separator between them
	ValueJSON   ValueFormat = "json"   // an object, or, without Fields, any JSON
	ValueRaw    ValueFormat = "raw"    // one text
	ValueBytes  ValueFormat = "bytes"  // any bytes
)

// A Restarter is a Source whose server forgets what it holds when it is
// restarted, and has no feed that would tell.
type Restarter interface {
	// OnRestart has f called when a connection turns out to lead to another
	// process than the one before, and before anything is read from it.
	OnRestart(f func())
}
