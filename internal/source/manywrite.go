package source

import (
	"context"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// A ManyWriter is a Plan that changes many documents in one transaction.
type ManyWriter interface {
	// WriteMany changes all of what w asks for, or nothing, and reads it again.
	WriteMany(ctx context.Context, w *ManyWrite) (*ManyWritten, error)
}

// A ManyWrite changes many documents. Its functions are as those of a Write.
type ManyWrite struct {
	// Op is OpCreate, for a document of each of Inputs, or OpMerge, of the one Input, or
	// OpDelete, of the documents that Where finds.
	Op     Op
	Inputs []*row.Input
	Where  *query.Query // of Plan.Table; it has a condition

	// Present says what an OpCreate does where there is a row with the same values in the
	// columns On, the key's where that is nil.
	Present Present
	On      []string // names of columns, or of members

	Most    int // rows that may be changed: with more nothing is
	Promise int // as Most, where the client has said so; 0: it has not

	Single bool // one row is written, or none is

	Touch func(changes []Change, at Position)

	As *Session // who writes; nil: this user

	// Check is called within the transaction with the rows as they are after the write, but
	// for those that are deleted. An error ends the transaction and is returned. It may be nil.
	Check func(rows []Loaded) error
}

// Present is what becomes of a row that is there when it is to be made.
type Present uint8

// The ways.
const (
	PresentFails  Present = iota // nothing is changed
	PresentStays                 // it stays as it is
	PresentMerges                // it gets the values of the members that are present
)

// A ManyWritten is what a ManyWrite did.
type ManyWritten struct {
	// Rows are the documents as they are after the write, in the order of Inputs or of their
	// keys; of OpDelete as they were.
	Rows     []Loaded
	Created  int      // rows that were not there
	Position Position // includes the write; 0 when the source has none
}
