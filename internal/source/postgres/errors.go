package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// retryAfter is when a caller may try again what the database could not do now.
const retryAfter = time.Second

// classOf gives the class of each SQLSTATE that has one of its own, and below
// it that of the whole class of codes (its first two characters).
var (
	classOfCode = map[string]source.Class{
		"22P05": source.Invalid,     // a character that the database cannot hold
		"23502": source.Invalid,     // not null
		"23514": source.Invalid,     // check
		"25006": source.ReadOnly,    // read-only transaction
		"28000": source.Unavailable, // the database does not let hotrow in
		"28P01": source.Unavailable, // ... or does not know its password
		"3D000": source.Unavailable, // no such database
		"40001": source.Retry,       // serialization failure
		"40P01": source.Retry,       // deadlock
		"42501": source.Forbidden,   // no privilege
		"42703": source.Missing,     // no such column
		"42883": source.Missing,     // no such function
		"42P01": source.Missing,     // no such table
		"428C9": source.Invalid,     // a generated column
		"44000": source.Invalid,     // view with check option
		"53100": source.Full,        // disk full
		"54000": source.Invalid,     // an index row too large, and the like
		"55000": source.Unavailable, // not in the state for it
		"55P03": source.Unavailable, // lock not available
		"57014": source.Unavailable, // canceled: the statement timeout
		"P0001": source.Invalid,     // raised by a trigger or a function
	}
	classOfPrefix = map[string]source.Class{
		"08": source.Unavailable, // connection
		"22": source.Invalid,     // data
		"23": source.Conflict,    // integrity
		"53": source.Unavailable, // resources
		"57": source.Unavailable, // operator intervention
		"58": source.Unavailable, // system
	}
)

// classify returns err as a *source.Error, unless it is one or nil.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var known *source.Error
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &connect):
		return connectError(err, connect)
	case errors.As(err, &pg):
		return serverError(err, pg)
	case interrupted(err):
		return &source.Error{Class: source.Unavailable, After: retryAfter, Err: err,
			Message: "the database did not answer in time"}
	case lost(err):
		return &source.Error{Class: source.Unavailable, After: retryAfter, Err: err,
			Message: "the connection to the database was lost"}
	}
	return &source.Error{Class: source.Internal, Message: err.Error(), Err: err}
}

// serverError returns what the server itself said. The detail of a violated
// constraint on one row is left out: it lists every column of the row.
func serverError(err error, pg *pgconn.PgError) error {
	e := &source.Error{
		Code: pg.Code, Message: pg.Message, Detail: pg.Detail, Hint: pg.Hint, Err: err,
	}
	if pg.Code == "23502" || pg.Code == "23514" {
		e.Detail = ""
	}
	var ok bool
	if e.Class, ok = classOfCode[pg.Code]; !ok && len(pg.Code) == 5 {
		e.Class = classOfPrefix[pg.Code[:2]]
	}
	if e.Class == source.Unavailable || e.Class == source.Retry {
		e.After = retryAfter
	}
	return e
}

// connectError says why no connection could be made. The text of the cause has
// the host and the user, never the password.
func connectError(err error, connect *pgconn.ConnectError) error {
	e := &source.Error{
		Class: source.Unavailable, After: retryAfter, Err: err,
		Message: strings.ReplaceAll(connect.Error(), "\n\t", " "),
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		e.Code, e.Hint = pg.Code, pg.Hint
	}
	if strings.Contains(e.Message, "refused TLS") {
		e.Hint = "a server on another machine must speak TLS and prove its name;" +
			" sslmode=disable in the URL connects without"
	}
	if strings.Contains(e.Message, "unsupported startup parameter") {
		e.Message = behindPooler + ": " + e.Message
	}
	return e
}

// behindPooler is what an error of PgBouncer means, which does not know a session's
// settings.
const behindPooler = "the URL leads to a pooler, which no feed gets through;" +
	" point it at PostgreSQL itself"

// sqlState returns the SQLSTATE within err, or "".
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// interrupted reports whether err is the end of a context or of a deadline.
func interrupted(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		pgconn.Timeout(err)
}

// lost reports whether err says that the connection is gone.
func lost(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// stalePlan reports whether err says that a prepared statement no longer fits
// its tables, or is not there (a pooler gave the connection to another server).
func stalePlan(err error) bool {
	switch code := sqlState(err); code {
	case "0A000":
		return strings.Contains(err.Error(), "cached plan")
	default:
		return code == "26000"
	}
}

// serialization reports whether err asks to run the transaction again.
func serialization(err error) bool {
	code := sqlState(err)
	return code == "40001" || code == "40P01"
}

// died reports whether the connection was ended before its answer, by the
// server or on the way, and not by our own deadline. Nothing that it was asked
// to commit is meant: see commitTx for that.
func died(conn *pgx.Conn, err error) bool {
	if interrupted(err) {
		return false
	}
	switch sqlState(err) {
	case "57P01", "57P02", "57P03": // shut down, crashed, starting
		return true
	case "":
		return conn.IsClosed() || pgconn.SafeToRetry(err)
	}
	return false
}

// badValue reports whether err is the server's refusal of a parameter's text.
func badValue(err error) bool {
	code := sqlState(err)
	return strings.HasPrefix(code, "22")
}

// invalid returns the error of a request that the plan itself refuses.
func invalid(message string) error {
	return &source.Error{Class: source.Invalid, Message: message}
}

// noRow returns the error of a write to a document that is not there.
func noRow(resource string, key row.Key) error {
	return &source.Error{Class: source.NoRow,
		Message: resource + "/" + string(key) + " is not there"}
}
