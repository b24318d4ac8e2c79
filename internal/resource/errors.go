package resource

import (
	"errors"
	"maps"
)

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

	// ErrUnreadable is within the error of a read that the database forbids hotrow's own user:
	// that is no matter of the client's rights, which a client would take it for.
	ErrUnreadable = errors.New("the database user that hotrow connects as may not read the" +
		" table: grant SELECT on it")

	// errReplaced is the error of a load through a revision that a reload has
	// replaced: the caller asks the new one.
	errReplaced = errors.New("the resource is being replaced")

	// errAbandoned is the error of a load of a list that nobody waited for any more.
	errAbandoned = errors.New("nobody waits for the list")

	// errClosed is the error of a reload after the end.
	errClosed = errors.New("the resources are closed")
)

// A CompileError says why a resource cannot be made of its tables.
type CompileError struct {
	Resource string
	Err      error
}

// Error returns that of the source.
func (e *CompileError) Error() string { return e.Err.Error() }

// Unwrap returns the source's error.
func (e *CompileError) Unwrap() error { return e.Err }

// Uncompiled returns the errors of Reload by resource, if all that is wrong is that some
// do not compile; else nil.
func Uncompiled(err error) map[string]error {
	if e, ok := err.(*CompileError); ok {
		return map[string]error{e.Resource: e.Err}
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	all := make(map[string]error)
	for _, err := range joined.Unwrap() {
		some := Uncompiled(err)
		if some == nil {
			return nil
		}
		maps.Copy(all, some)
	}
	return all
}
