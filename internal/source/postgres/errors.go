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

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// retryAfter is when a caller may try again what the database could not do now.
const retryAfter = time.Second

// classOfCode gives the class of each SQLSTATE that has one of its own, and below it
// classOfPrefix that of the whole class of codes (its first two characters). Whatever
// is in neither is raised by functions and triggers only, with a message for whoever
// writes: Invalid.
var (
	classOfCode = map[string]source.Class{
		"22P05": source.Invalid,     // a character that the database cannot hold
		"23502": source.Invalid,     // not null
		"23514": source.Invalid,     // check
		"25006": source.ReadOnly,    // read-only transaction
		"25P03": source.Unavailable, // idle in transaction for too long: the session is ended
		"42501": source.Forbidden,   // no privilege
		"42703": source.Missing,     // no such column
		"42704": source.Missing,     // no such type
		"42725": source.Missing,     // a function of which there are several
		"42804": source.Missing,     // a column has another type
		"42809": source.Missing,     // a table has become something else
		"42846": source.Missing,     // a type has no such cast any more
		"42883": source.Missing,     // no such function
		"42P01": source.Missing,     // no such table
		"42P10": source.Missing,     // no such column in a constraint
		"42P18": source.Missing,     // no type can be told
		"428C9": source.Invalid,     // a generated column
		"53100": source.Full,        // disk full
		"53300": source.Unavailable, // too many connections
		"57014": source.Busy,        // canceled: the statement timeout
		"XX000": source.Busy,        // internal: a relation that is replaced meanwhile, ...
	}
	classOfPrefix = map[string]source.Class{
		"08": source.Unavailable, // connection
		"23": source.Conflict,    // integrity
		"25": source.Internal,    // the state of the transaction
		"26": source.Retry,       // a prepared statement is not there any more
		"27": source.Conflict,    // a trigger has changed the row that is being changed
		"28": source.Unavailable, // the database does not let hotrow in
		"3D": source.Unavailable, // no such database
		"3F": source.Missing,     // no such schema
		"40": source.Retry,       // serialization failure, deadlock
		"42": source.Internal,    // a mistake in a statement
		"53": source.Busy,        // resources
		"55": source.Busy,        // not in the state for it, locked
		"57": source.Unavailable, // operator intervention
		"58": source.Busy,        // system
		"72": source.Retry,       // snapshot too old
		"F0": source.Internal,    // the server's own configuration
		"HV": source.Busy,        // a foreign server
		"XX": source.Internal,    // corrupted
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
	e.Class = classOf(pg)
	if e.Class.Passing() {
		e.After = retryAfter
	}
	return e
}

// classOf returns the class of what the server said. A mistake within a function or a
// trigger is nobody's who reads or writes, and not hotrow's: the database's own rules
// do not let the row be.
func classOf(pg *pgconn.PgError) source.Class {
	if len(pg.Code) != 5 {
		return source.Internal
	}
	switch {
	case stalePlan(pg):
		return source.Retry
	case pg.File == "tsquery.c", pg.Routine == "get_ts_config_oid": // who searches has said it
		return source.Invalid
	}
	class, ok := classOfCode[pg.Code]
	if !ok {
		if class, ok = classOfPrefix[pg.Code[:2]]; !ok {
			class = source.Invalid
		}
	}
	if pg.Where != "" && (class == source.Internal || class == source.Missing) {
		class = source.Conflict
	}
	return class
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
	if hint := lastingHints[e.Code]; hint != "" {
		e.Lasting, e.Hint, e.Message = true, hint, pg.Message
	}
	if strings.Contains(e.Message, "refused TLS") {
		e.Lasting = true
		e.Hint = "a server on another machine must speak TLS and prove its name;" +
			" sslmode=disable in the URL connects without"
	}
	if strings.Contains(e.Message, "unsupported startup parameter") {
		e.Message = behindPooler + ": " + e.Message
	}
	return e
}

// lastingHints are for the errors of a connection that no other try mends.
var lastingHints = map[string]string{
	"28000": "check the user, the password (PGPASSWORD, ~/.pgpass or the URL) and pg_hba.conf",
	"28P01": "check the user and the password: PGPASSWORD, ~/.pgpass or the URL",
	"3D000": "check the name of the database in the URL",
	"42501": "GRANT CONNECT ON DATABASE ... TO the user",
	"42704": "check the parameters of the URL",
	"22023": "check the parameters of the URL",
	"55000": "check the name of the database; ALTER DATABASE ... ALLOW_CONNECTIONS true",
}

// behindPooler is what an error of PgBouncer means, which does not know a session's
// settings.
const behindPooler = "the URL leads to a pooler, which no feed gets through;" +
	" point it at PostgreSQL itself"

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
// its tables, or is not there (a pooler gave the connection to another server). Its text may
// be in any language.
func stalePlan(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "26000" ||
		pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery")
}

// serialization reports whether err asks to run the transaction again.
func serialization(err error) bool {
	code := feed.SQLState(err)
	return code == "40001" || code == "40P01"
}

// died reports whether the connection was ended before its answer, by the
// server or on the way, and not by our own deadline. Nothing that it was asked
// to commit is meant: see commitTx for that.
func died(conn *pgx.Conn, err error) bool {
	if interrupted(err) {
		return false
	}
	switch feed.SQLState(err) {
	case "57P01", "57P02", "57P03": // shut down, crashed, starting
		return true
	case "":
		return conn.IsClosed() || pgconn.SafeToRetry(err)
	}
	return false
}

// badValue reports whether err is the server's refusal of a parameter's text.
func badValue(err error) bool {
	code := feed.SQLState(err)
	return strings.HasPrefix(code, "22")
}
