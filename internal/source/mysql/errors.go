package mysql

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
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
	errNoLetter     = 3988 // MySQL: a text has letters that the column's character set lacks
	errDefinition   = 1412 // table definition has changed: the snapshot is older
	errPrivilege    = 1227
	errBinlogFormat = 1665
	errKilled       = 1317
	errTimeMariaDB  = 1969
	errTimeMySQL    = 3024
)

// classOfNumber gives the class of each error number that has one of its own; of the others
// classOfState tells.
var classOfNumber = map[uint16]source.Class{
	1020: source.Retry,       // record has changed since last read
	1021: source.Full,        // disk full
	1022: source.Conflict,    // duplicate key
	1026: source.Full,        // error on write
	1028: source.Unavailable, // sort aborted
	1030: source.Unavailable, // the storage engine
	1034: source.Unavailable, // incorrect key file
	1036: source.ReadOnly,    // table is read only
	1037: source.Unavailable, // out of memory
	1038: source.Unavailable, // out of sort memory
	1040: source.Unavailable, // too many connections
	1041: source.Unavailable, // out of resources
	1044: source.Forbidden,   // access denied to the database
	1045: source.Unavailable, // access denied: hotrow is not let in
	1048: source.Invalid,     // column cannot be null
	1049: source.Unavailable, // unknown database
	1053: source.Unavailable, // server shutdown in progress
	1054: source.Missing,     // unknown column
	1062: source.Conflict,    // duplicate entry
	1064: source.Internal,    // syntax
	1114: source.Full,        // table is full
	1118: source.TooLarge,    // row too large
	1129: source.Unavailable, // host is blocked
	1130: source.Unavailable, // host is not allowed
	1135: source.Unavailable, // no new thread
	1136: source.Internal,    // column count
	1142: source.Forbidden,   // command denied on a table
	1143: source.Forbidden,   // command denied on a column
	1146: source.Missing,     // no such table
	1153: source.TooLarge,    // packet too large
	1158: source.Unavailable, // read from the network
	1159: source.Unavailable, // read from the network
	1160: source.Unavailable, // write to the network
	1161: source.Unavailable, // write to the network
	1169: source.Conflict,    // unique constraint
	1172: source.Conflict,    // more than one row, in a trigger
	1180: source.Unavailable, // error during COMMIT
	1194: source.Unavailable, // table is marked as crashed
	1195: source.Unavailable, // table is marked as crashed
	1197: source.TooLarge,    // transaction larger than max_binlog_cache_size
	1203: source.Unavailable, // too many user connections
	1205: source.Busy,        // lock wait timeout
	1206: source.Busy,        // too many locks
	1213: source.Retry,       // deadlock
	1216: source.Conflict,    // no referenced row
	1217: source.Conflict,    // row is referenced
	1223: source.Busy,        // FLUSH TABLES WITH READ LOCK
	1226: source.Unavailable, // a user's resource limit
	1227: source.Forbidden,   // a privilege is needed
	1242: source.Conflict,    // more than one row, in a trigger
	1264: source.Invalid,     // out of range
	1265: source.Invalid,     // data truncated
	1267: source.Invalid,     // collations that do not mix, in a trigger
	1270: source.Invalid,     // collations that do not mix, in a trigger
	1271: source.Invalid,     // collations that do not mix, in a trigger
	1290: source.ReadOnly,    // --read-only
	1292: source.Invalid,     // incorrect value
	1296: source.Unavailable, // the storage engine
	1297: source.Unavailable, // the storage engine, for the moment
	1300: source.Invalid,     // invalid text of a character set
	1305: source.Missing,     // no such function
	1317: source.Busy,        // query interrupted
	1329: source.Conflict,    // no row, in a trigger
	1356: source.Missing,     // a view whose table is gone
	1364: source.Invalid,     // no default value
	1365: source.Invalid,     // division by zero
	1366: source.Invalid,     // incorrect value for a column
	1369: source.Invalid,     // view with check option
	1370: source.Forbidden,   // execute denied
	1406: source.Invalid,     // data too long
	1411: source.Invalid,     // incorrect value for a function
	1412: source.Retry,       // table definition has changed, as by ALTER or TRUNCATE
	1416: source.Invalid,     // no geometry
	1422: source.Conflict,    // a trigger that commits
	1424: source.Conflict,    // a trigger that calls itself
	1426: source.Invalid,     // too big precision
	1441: source.Invalid,     // datetime out of range
	1442: source.Conflict,    // a trigger that changes its own table
	1449: source.Forbidden,   // the definer of a view or trigger is no user
	1451: source.Conflict,    // row is referenced
	1452: source.Conflict,    // no referenced row
	1456: source.Conflict,    // a trigger that calls itself
	1467: source.Full,        // no AUTO_INCREMENT value is left
	1525: source.Invalid,     // incorrect value of a type
	1526: source.Invalid,     // no partition for the value
	1534: source.Unavailable, // no row can be written to the binlog
	1557: source.Conflict,    // foreign key would lead to a duplicate
	1586: source.Conflict,    // duplicate entry, with the key's name
	1598: source.Unavailable, // the binlog cannot be written
	1614: source.Retry,       // XA: deadlock
	1615: source.Retry,       // a statement is to be prepared anew
	1637: source.Busy,        // too many transactions
	1643: source.Invalid,     // SIGNAL of a trigger
	1644: source.Invalid,     // SIGNAL of a trigger
	1690: source.Invalid,     // out of range in an expression
	1712: source.Unavailable, // index is corrupted
	1713: source.TooLarge,    // undo record too large
	1748: source.Invalid,     // row is in another partition
	1761: source.Conflict,    // foreign key would lead to a duplicate
	1792: source.ReadOnly,    // read-only transaction
	1814: source.Unavailable, // tablespace was discarded
	1836: source.ReadOnly,    // read-only mode
	1878: source.Unavailable, // temporary file cannot be written
	1906: source.Invalid,     // MariaDB: a generated column
	1927: source.Unavailable, // MariaDB: connection was killed
	1932: source.Unavailable, // table is not in the engine, as in the middle of DDL
	1969: source.Busy,        // MariaDB: max_statement_time exceeded
	3024: source.Busy,        // MySQL: max_execution_time exceeded
	3037: source.Invalid,     // MySQL: invalid geometry
	3100: source.Unavailable, // MySQL: group replication
	3101: source.Retry,       // MySQL: rolled back by group replication
	3105: source.Invalid,     // MySQL: a generated column
	3140: source.Invalid,     // MySQL: invalid JSON
	3572: source.Busy,        // MySQL: NOWAIT
	3643: source.Invalid,     // MySQL: geometry of another SRID than the column's
	3819: source.Invalid,     // MySQL: check constraint
	3988: source.Invalid,     // MySQL: letters that the column's character set lacks
	4025: source.Invalid,     // MariaDB: check constraint
	4031: source.Unavailable, // ended for inactivity
	4037: source.Invalid,     // MariaDB: invalid JSON
	4038: source.Invalid,     // MariaDB: invalid JSON
	4078: source.Missing,     // MariaDB: column is of another type by now
	4079: source.Missing,     // MariaDB: columns are of other types by now
	4084: source.Full,        // MariaDB: a sequence has run out
}

// classOfState gives the class of the first two letters of an SQLSTATE. A trigger can raise
// an error of any number, and servers have thousands; most name the state for what they are.
var classOfState = map[string]source.Class{
	"02": source.Invalid,     // no row, in a trigger
	"08": source.Unavailable, // connection
	"21": source.Conflict,    // cardinality
	"22": source.Invalid,     // data
	"23": source.Conflict,    // constraints
	"25": source.Unavailable, // state of the transaction
	"28": source.Forbidden,   // authorization
	"40": source.Retry,       // rolled back
	"44": source.Invalid,     // WITH CHECK OPTION
	"45": source.Invalid,     // raised by a trigger
	"70": source.Busy,        // interrupted
	"XA": source.Unavailable, // distributed transactions
}

// classOf returns the class of what the server says.
func classOf(my *driver.MySQLError) source.Class {
	if c, ok := classOfNumber[my.Number]; ok {
		return c
	}
	return classOfState[string(my.SQLState[:2])]
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
		Class: classOf(my), Message: my.Message, Err: err,
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
	if e.Class.Passing() {
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
	var my *driver.MySQLError
	if errors.As(err, &my) {
		e.Code = strconv.Itoa(int(my.Number))
		if hint := lastingHints[my.Number]; hint != "" {
			e.Lasting, e.Hint, e.Message = true, hint, my.Message
		}
	}
	if errors.Is(err, driver.ErrNoTLS) {
		e.Lasting = true
		e.Hint = "a server on another machine must speak TLS and prove its name;" +
			" ssl-mode=disabled in the URL connects without"
	}
	return e
}

const (
	passwordExpired = "the password has expired: ALTER USER ... IDENTIFIED BY '...'"
	accountLocked   = "the account is locked: ALTER USER ... ACCOUNT UNLOCK"
)

// lastingHints are for the errors of a connection that no other try mends.
var lastingHints = map[uint16]string{
	1044: "check the name of the database in the URL, and that the user may use it",
	1045: "check the user and the password: MYSQL_PWD or the URL",
	1049: "check the name of the database in the URL",
	1129: "the server has blocked this host after errors: FLUSH HOSTS lets it in again",
	1130: "the server accepts no connection from this host: CREATE USER 'name'@'host'",
	1698: "check the user and the password: MYSQL_PWD or the URL",
	1820: passwordExpired,
	1862: passwordExpired,
	3118: accountLocked, // MySQL
	3159: "the server takes TLS only: ssl-mode=required in the URL",
	4151: accountLocked, // MariaDB
}

// aliveLimit is how long a server has to show that it answers.
const aliveLimit = time.Second

// late returns the error of a statement whose time has run out, as the driver tells it: it
// closes the connection, and does not say why there was no answer. A server that answers
// something else was reached: the statement met a lock, or was slow.
func (s *Source) late(err error) error {
	var known *source.Error
	if !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &known) {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, aliveLimit)
	defer cancel()
	c, failed := s.controlConn(ctx)
	if failed != nil {
		return err
	}
	defer c.release()
	if c.PingContext(ctx) != nil {
		return err
	}
	return &source.Error{Class: source.Busy, After: retryAfter, Err: err,
		Message: "the database did not end the statement in time: it met a lock, or was slow"}
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
	return n == errDeadlock || n == errChanged || n == errDefinition
}

// quote writes an identifier for SQL.
func quote(name string) string { return catalog.Quote(name) }

// quoteTable writes the name of a table for SQL.
func quoteTable(schema, name string) string { return catalog.QuoteTable(schema, name) }
