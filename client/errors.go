package client

import (
	"context"
	"errors"
	"time"
)

// The kinds of errors. errors.Is(err, client.ErrNotFound) tells them.
var (
	ErrNotFound       = errors.New("not found")
	ErrConflict       = errors.New("the write breaks a constraint of the database")
	ErrPrecondition   = errors.New("the document is not the one that the request names")
	ErrUnauthorized   = errors.New("a token is needed")
	ErrForbidden      = errors.New("the token does not allow this")
	ErrNotAllowed     = errors.New("the resource does not take this request")
	ErrInvalid        = errors.New("the request is not valid")
	ErrTooLarge       = errors.New("too large")
	ErrNotCached      = errors.New("memory has no fresh copy")
	ErrUnavailable    = errors.New("unavailable")
	ErrUnknownOutcome = errors.New("the write may have happened or not")
	ErrInternal       = errors.New("the server cannot answer this")
	ErrUnsupported    = errors.New("the server does not offer this")
	ErrClosed         = errors.New("the client is closed")
)

// An Error is why a call failed. Its Kind, and what was beneath it, are found
// with errors.Is: a call that ran out of time is context.DeadlineExceeded.
type Error struct {
	Op      string // "get depts/10"
	Kind    error  // one of the errors of this package
	Code    string // the server's own: "HR404", or the database's SQLSTATE
	Message string // one sentence from the server
	Hint    string // how to mend it, if the server knows

	// RetryAfter is when the server wants to be asked again; 0: it has not said.
	RetryAfter time.Duration

	Err error // what was beneath: a network error, the context's; nil: nothing

	// sent says that the server may have begun to do what was asked; refused,
	// that it has said that it did not.
	sent, refused bool

	// starting says that the server does not know its resources yet.
	starting bool
}

// Error returns what failed, and why.
func (e *Error) Error() string {
	text := e.Op + ": "
	switch {
	case e.Message != "":
		text += e.Message
	case e.Err != nil:
		text += e.Kind.Error() + ": " + e.Err.Error()
	default:
		text += e.Kind.Error()
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap returns the kind and what was beneath.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// transportError is the error of a call whose connection failed, or whose time
// was up. sent says whether the server may have seen the request.
func transportError(ctx context.Context, op string, err error, sent bool) *Error {
	e := &Error{Op: op, Kind: ErrUnavailable, Err: err, sent: sent}
	if cause := ctx.Err(); cause != nil {
		e.Err = cause
	}
	return e
}

// isKind reports whether an error is of a kind; nil is of none.
func isKind(err, kind error) bool { return err != nil && errors.Is(err, kind) }
