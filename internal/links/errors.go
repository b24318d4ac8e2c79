package links

import (
	"errors"
	"fmt"
)

// The errors that callers tell apart.
var (
	ErrNotFound     = errors.New("there is no such link")
	ErrTaken        = errors.New("the code is taken")
	ErrPrecondition = errors.New("the link is not the one that the request names")
	ErrCursor       = errors.New("the cursor does not belong to this list")
)

// A FieldError says which member of a link cannot be as it is, and why.
type FieldError struct {
	Field  string
	Detail string
	Loop   bool // the target is one of our own links
}

// Error returns "url: it has no host".
func (e *FieldError) Error() string { return e.Field + ": " + e.Detail }

// refuse returns the FieldError of a field.
func refuse(field, format string, args ...any) error {
	return &FieldError{Field: field, Detail: fmt.Sprintf(format, args...)}
}
