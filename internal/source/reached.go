package source

import (
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// Reached is a value by which embedded rows were looked for, or a row that was read.
type Reached struct {
	Of *query.Query // of the embedded rows
	As ReachedAs
	By row.Key // "": it cannot be told
}

// ReachedAs says what Reached.By is.
type ReachedAs uint8

// What it may be. The last is told where Link.Told.
const (
	ReachedBy  ReachedAs = iota // what Relation.To of the rows, or Link.From, is equal to
	ReachedRow                  // the key of an embedded row
	ReachedTo                   // what Relation.To is equal to by a row of the link; "": of some
)
