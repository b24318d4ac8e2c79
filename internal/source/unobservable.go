package source

import "errors"

// A PartialFeed is a Feed that knows of changes which it cannot observe.
type PartialFeed interface {
	Feed

	// Unobservable names them, as part of a sentence.
	Unobservable() string
}

// ErrUnseen is the error of a Feed whose database is changed in a way that the feed is not
// told of, whatever the table. Who runs the feed forgets at once what is kept, and opens
// one again: Source.OpenFeed finds the same.
var ErrUnseen = errors.New("the database is changed in a way that the feed cannot see")
