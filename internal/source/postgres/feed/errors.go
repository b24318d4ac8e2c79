package feed

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLState returns the SQLSTATE within err, or "".
func SQLState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// A Broken is the error of a feed that goes on but does not tell everything
// any more. It ends Run: what was cached may not be trusted.
type Broken struct {
	Reason string
	Err    error // the cause, or nil
}

// Error returns the reason.
func (e *Broken) Error() string { return e.Reason }

// Unwrap returns the cause.
func (e *Broken) Unwrap() error { return e.Err }
