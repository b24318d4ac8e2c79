package source

import (
	"errors"
	"fmt"
	"time"
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
	Err     error         // the cause, or nil
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
)

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
