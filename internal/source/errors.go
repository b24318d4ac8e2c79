package source

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// An Error is what a database, or the way to it, had against a request. Class
// says what a caller can do; Code is the database's own (a SQLSTATE, a SQLite
// result code).
type Error struct {
	Class   Class
	Code    string
	Message string
	Detail  string
	Hint    string
	After   time.Duration // when to try again, for Unavailable; 0: unknown
	Lasting bool          // of Unavailable: it stays so until a person does what Hint says
	Err     error         // the cause, or nil
}

// LogRetry logs the error of something that will be tried again; what says so. One that no
// try mends, such as a wrong password, is an error and comes first.
func LogRetry(log *slog.Logger, what string, err error) {
	if e := LastingOf(err); e != nil {
		log.Error(e.Message, "hint", e.Hint, "what", what, "err", err)
		return
	}
	log.Warn(what, "err", err)
}

// LastingOf returns the Error within err that no other try mends, or nil.
func LastingOf(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e.Lasting {
		return e
	}
	return nil
}

// Class sorts errors by what they mean to the caller.
type Class uint8

// The classes, with the HTTP status that a front gives them.
const (
	Internal     Class = iota // 500: a fault of ours or of the configuration
	Unavailable               // 503: no connection, no place in the pool, timed out
	Retry                     // 503: serialization failure or deadlock, tried again once already
	Conflict                  // 409: unique, foreign key, exclusion
	Invalid                   // 400: the database refuses the value
	Forbidden                 // 403: this user may not
	Missing                   // 404: no such table or function any more
	ReadOnly                  // 405: the database or the plan takes no writes
	TooLarge                  // 413
	Full                      // 507: no space
	Unknown                   // 503: a write whose outcome nobody knows
	Precondition              // 412
	NoRow                     // 404: a merge or delete of a row that is not there
	Busy                      // 503: reached, but it could not do it now: a lock, its time limit
)

// Passing reports whether the same may succeed later, though nobody mends anything.
func (c Class) Passing() bool { return c == Unavailable || c == Retry || c == Busy }

// ErrReshaped is within the error of a table whose columns are not those that a plan was
// compiled for.
var ErrReshaped = errors.New("the table has another form than when its resource was compiled")

// Reshaped reports whether err says that a plan does not fit its tables any more.
func Reshaped(err error) bool {
	return ClassOf(err) == Missing || errors.Is(err, ErrReshaped)
}

// Gone returns the error of a write whose row is not there afterwards under its key: a
// trigger has deleted it, or given it another one. The transaction is rolled back.
func Gone(resource string, key row.Key) *Error {
	return &Error{Class: Conflict, Message: resource + "/" + string(key) +
		" is not there after the write, which was undone: a trigger deletes the row or" +
		" changes its key, or the column stores the key as another value"}
}

// Error returns the message with the code.
func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Code)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of the Error within err, or Internal.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return Internal
}
