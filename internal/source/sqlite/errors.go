package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	driverpkg "modernc.org/sqlite"

	"github.com/hotrow/hotrow/internal/source"
)

// The result codes of SQLite that hotrow tells apart (sqlite.org/rescode.html).
const (
	codeError      = 1
	codePerm       = 3
	codeAbort      = 4
	codeBusy       = 5
	codeLocked     = 6
	codeNoMem      = 7
	codeReadOnly   = 8
	codeInterrupt  = 9
	codeIOErr      = 10
	codeFull       = 13
	codeCantOpen   = 14
	codeProtocol   = 15
	codeSchema     = 17
	codeTooBig     = 18
	codeConstraint = 19
	codeMismatch   = 20
	codeAuth       = 23
	codeNotADB     = 26

	codeForeignKey = codeConstraint | 3<<8
	codePrimaryKey = codeConstraint | 6<<8
	codeUnique     = codeConstraint | 8<<8
	codeRowID      = codeConstraint | 10<<8
	codeSnapshot   = codeBusy | 2<<8
	codeMoved      = codeReadOnly | 4<<8
)

// codeOf returns SQLite's extended result code of err, or 0.
func codeOf(err error) int {
	var e *driverpkg.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// isBusy reports whether err says that somebody else holds a lock.
func isBusy(err error) bool {
	c := codeOf(err) & 0xff
	return c == codeBusy || c == codeLocked
}

// wrap turns an error of the driver into a source.Error. An error that is one
// already, and nil, are returned as they are.
func wrap(err error) error {
	if err == nil {
		return nil
	}
	var done *source.Error
	if errors.As(err, &done) {
		return err
	}
	var e *driverpkg.Error
	if errors.As(err, &e) {
		return classify(e, err)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded): // a file is always there
		return &source.Error{Class: source.Busy, After: time.Second, Err: err,
			Message: "the statement did not end in time: another program holds a lock," +
				" or it was slow"}
	case errors.Is(err, context.Canceled):
		return &source.Error{Class: source.Unavailable, Message: "the caller has gone", Err: err}
	case errors.Is(err, driver.ErrBadConn):
		return unavailable(err)
	}
	return &source.Error{Class: source.Internal, Message: err.Error(), Err: err}
}

// classify says what an error of SQLite means to the caller.
func classify(e *driverpkg.Error, err error) error {
	out := &source.Error{
		Class: source.Internal, Code: strconv.Itoa(e.Code()), Message: plain(e.Error()), Err: err,
	}
	switch e.Code() {
	case codeUnique, codePrimaryKey, codeRowID, codeForeignKey:
		out.Class = source.Conflict
		return out
	case codeSnapshot:
		out.Class = source.Retry
		return out
	case codeMoved: // nobody finds the file any more: it is not the resource that takes no writes
		out.Class, out.After = source.Unavailable, time.Second
		return out
	}
	switch e.Code() & 0xff {
	case codeConstraint, codeMismatch:
		out.Class = source.Invalid
	case codeBusy, codeLocked, codeInterrupt: // which ends a statement whose time is over
		out.Class, out.After = source.Busy, time.Second
	case codeIOErr, codeCantOpen, codeNoMem, codeProtocol, codeAbort:
		out.Class = source.Unavailable
	case codeSchema:
		out.Class = source.Retry
	case codeFull:
		out.Class = source.Full
	case codeReadOnly:
		out.Class = source.ReadOnly
	case codeTooBig:
		out.Class = source.TooLarge
	case codePerm, codeAuth:
		out.Class = source.Forbidden
	case codeError:
		out.Class = classOfText(out.Message)
	}
	return out
}

// classOfText gives the class of an error that SQLite has no code for. What is wrong with a
// value that an expression meets (of a generated column, an index, a trigger) is the value's;
// what a statement does not find has gone; the rest is our statement's.
func classOfText(message string) source.Class {
	has := func(texts ...string) bool {
		in := func(text string) bool { return strings.Contains(message, text) }
		return slices.ContainsFunc(texts, in)
	}
	switch {
	case has("no such ", "has no column named", "values for "):
		return source.Missing
	case has("syntax error", "no tables specified", "not an error", "incomplete input",
		"wrong number of arguments", "misuse of", "ambiguous column"):
		return source.Internal
	case has("too many levels of trigger recursion", "may not be modified", "cannot UPDATE"):
		return source.Conflict
	case has("malformed", "overflow", "non-deterministic", "bad JSON path", "JSON", "JSONB",
		"too complex", "too big", "regexp", "hex literal", "ESCAPE expression",
		"argument", "unable to", "cannot "):
		return source.Invalid
	}
	return source.Internal
}

// plain takes the code that the driver appends off its message.
func plain(msg string) string {
	if i := strings.LastIndex(msg, " ("); i > 0 && strings.HasSuffix(msg, ")") {
		return msg[:i]
	}
	return msg
}

// unavailable returns an error of a database that cannot be asked now.
func unavailable(err error) error {
	return &source.Error{Class: source.Unavailable, Message: err.Error(), Err: err}
}

// errReadOnly returns the error of a write to a source that takes none.
func errReadOnly() error {
	return &source.Error{Class: source.ReadOnly, Message: "the database is served read-only",
		Hint: "start hotrow with --writable"}
}
