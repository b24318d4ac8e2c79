package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// retryAfter is when a caller may try again what the database could not do now.
const retryAfter = time.Second

// The error numbers of MySQL and MariaDB that hotrow asks about by name.
const (
	errDuplicate    = 1062
	errDeadlock     = 1213
	errChanged      = 1020 // record has changed since last read
	errMixTwo       = 1267 // illegal mix of two collations, of three, of more
	errMixThree     = 1270
	errMixMany      = 1271
	errBinlogFormat = 1665
	errKilled       = 1317
	errTimeMariaDB  = 1969
	errTimeMySQL    = 3024
)

// classOfNumber gives the class of each error number that has one of its own.
var classOfNumber = map[uint16]source.Class{
	1020: source.Retry,       // record has changed since last read
	1021: source.Full,        // disk full
	1022: source.Conflict,    // duplicate key
	1040: source.Unavailable, // too many connections
	1041: source.Unavailable, // out of resources
	1044: source.Forbidden,   // access denied to the database
	1045: source.Unavailable, // access denied: hotrow is not let in
	1048: source.Invalid,     // column cannot be null
	1049: source.Unavailable, // unknown database
	1053: source.Unavailable, // server shutdown in progress
	1054: source.Missing,     // unknown column
	1062: source.Conflict,    // duplicate entry
	1114: source.Full,        // table is full
	1129: source.Unavailable, // host is blocked
	1130: source.Unavailable, // host is not allowed
	1136: source.Internal,    // column count
	1142: source.Forbidden,   // command denied on a table
	1143: source.Forbidden,   // command denied on a column
	1146: source.Missing,     // no such table
	1153: source.TooLarge,    // packet too large
	1169: source.Conflict,    // unique constraint
	1203: source.Unavailable, // too many user connections
	1205: source.Unavailable, // lock wait timeout
	1213: source.Retry,       // deadlock
	1216: source.Conflict,    // no referenced row
	1217: source.Conflict,    // row is referenced
	1226: source.Unavailable, // a user's resource limit
	1227: source.Forbidden,   // a privilege is needed
	1264: source.Invalid,     // out of range
	1265: source.Invalid,     // data truncated
	1290: source.ReadOnly,    // --read-only
	1292: source.Invalid,     // incorrect value
	1305: source.Missing,     // no such function
	1317: source.Unavailable, // query interrupted
	1364: source.Invalid,     // no default value
	1366: source.Invalid,     // incorrect value for a column
	1369: source.Invalid,     // view with check option
	1370: source.Forbidden,   // execute denied
	1406: source.Invalid,     // data too long
	1411: source.Invalid,     // incorrect value for a function
	1426: source.Invalid,     // too big precision
	1451: source.Conflict,    // row is referenced
	1452: source.Conflict,    // no referenced row
	1525: source.Invalid,     // incorrect value of a type
	1526: source.Invalid,     // no partition for the value
	1586: source.Conflict,    // duplicate entry, with the key's name
	1644: source.Invalid,     // SIGNAL of a trigger
	1690: source.Invalid,     // out of range in an expression
	1761: source.Conflict,    // foreign key would lead to a duplicate
	1792: source.ReadOnly,    // read-only transaction
	1836: source.ReadOnly,    // read-only mode
	1906: source.Invalid,     // MariaDB: a generated column
	1927: source.Unavailable, // MariaDB: connection was killed
	1969: source.Unavailable, // MariaDB: max_statement_time exceeded
	3024: source.Unavailable, // MySQL: max_execution_time exceeded
	3105: source.Invalid,     // MySQL: a generated column
	3140: source.Invalid,     // MySQL: invalid JSON
	3572: source.Unavailable, // MySQL: NOWAIT
	3819: source.Invalid,     // MySQL: check constraint
	4025: source.Invalid,     // MariaDB: check constraint
}

// number returns the server's error number within err, or 0.
func number(err error) uint16 {
	var e *driver.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// classify returns err as a *source.Error, unless it is one or nil.
func classify(err error) error {
	if err == nil {
		return nil
	}
	var known *source.Error
	var my *driver.MySQLError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &my):
		return serverError(err, my)
	case errors.Is(err, row.ErrKey):
		return err
	case interrupted(err):
		return &source.Error{Class: source.Unavailable, After: retryAfter, Err: err,
			Message: "the database did not answer in time"}
	case died(err):
		return &source.Error{Class: source.Unavailable, After: retryAfter, Err: err,
			Message: "the connection to the database was lost"}
	case errors.Is(err, driver.ErrPktTooLarge):
		return &source.Error{Class: source.TooLarge, Err: err, Message: err.Error(),
			Hint: "a value is larger than the server's max_allowed_packet"}
	}
	return &source.Error{Class: source.Internal, Message: err.Error(), Err: err}
}

// serverError returns what the server itself said. The code is the SQLSTATE
// and the number, by which its manual lists errors.
func serverError(err error, my *driver.MySQLError) error {
	e := &source.Error{
		Class: classOfNumber[my.Number], Message: my.Message, Err: err,
		Code: strconv.Itoa(int(my.Number)),
	}
	if state := string(my.SQLState[:]); state != "\x00\x00\x00\x00\x00" {
		e.Code = state + "/" + e.Code
	}
	switch my.Number {
	case errBinlogFormat:
		e.Hint = "set binlog_format=ROW: hotrow doctor says how"
	case errTimeMariaDB, errTimeMySQL:
		e.Message = "the database did not answer in time"
	case errKilled:
		e.Message = "the server has ended the statement"
	}
	if e.Class == source.Unavailable || e.Class == source.Retry {
		e.After = retryAfter
	}
	return e
}

// connectError says why no connection could be made. The text of the cause has
// the host and the user, never the password.
func connectError(err error) error {
	var known *source.Error
	if errors.As(err, &known) {
		return known
	}
	e := &source.Error{
		Class: source.Unavailable, After: retryAfter, Err: err,
		Message: "connect to the database: " + err.Error(),
	}
	if n := number(err); n != 0 {
		e.Code = strconv.Itoa(int(n))
	}
	if errors.Is(err, driver.ErrNoTLS) {
		e.Hint = "a server on another machine must speak TLS and prove its name;" +
			" ssl-mode=disabled in the URL connects without"
	}
	return e
}

// interrupted reports whether err is the end of a context or of a deadline.
func interrupted(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.As(err, &network) && network.Timeout()
}

// died reports whether the connection was ended before its answer, by the
// server or on the way, and not by our own deadline.
func died(err error) bool {
	if err == nil || interrupted(err) {
		return false
	}
	switch number(err) {
	case 1053, 1927: // shutting down, killed
		return true
	}
	var network net.Error
	return errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, driver.ErrInvalidConn) ||
		errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network)
}

// serialization reports whether err asks to run the transaction again.
func serialization(err error) bool {
	n := number(err)
	return n == errDeadlock || n == errChanged
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

// quote writes an identifier for SQL.
func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quoteTable writes the name of a table for SQL.
func quoteTable(schema, name string) string { return quote(schema) + "." + quote(name) }
