package resource

import "errors"

// The errors that callers branch on. Errors of the database are *source.Error.
var (
	// ErrNotCached is the answer to OnlyIfCached when memory has no fresh copy.
	ErrNotCached = errors.New("not in the cache")

	// ErrPrecondition is the answer to a write whose IfMatch or IfNoneMatch does
	// not hold.
	ErrPrecondition = errors.New("the document is not the one that the request names")

	// ErrUnconditional is the answer to a write without IfMatch or IfNoneMatch
	// where the configuration demands one.
	ErrUnconditional = errors.New("the write must say which document it changes")

	// ErrReadOnly is the answer to a write of a resource that takes none.
	ErrReadOnly = errors.New("the resource is read-only")

	// ErrToken is the error of a position token that cannot be read.
	ErrToken = errors.New("not a position token")

	// errReplaced is the error of a load through a form that a reload has
	// replaced: the caller asks the new one.
	errReplaced = errors.New("the resource is being replaced")

	// errAbandoned is the error of a load of a list that nobody waited for any more.
	errAbandoned = errors.New("nobody waits for the list")

	// errClosed is the error of a reload after the end.
	errClosed = errors.New("the resources are closed")
)
