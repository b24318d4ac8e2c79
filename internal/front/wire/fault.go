package wirefront

import (
	"errors"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
)

// A kind is one sort of failure. Its slug is that of the same problem over HTTP,
// so that a client tells failures apart whichever way it came.
type kind struct {
	slug string
	code gofast.Code
	// again says that nothing was done, and that the same request may succeed
	// later or elsewhere.
	again bool
	means string // what is told when nothing more is known
	hint  string
}

// The kinds of failures.
var (
	kindBadMessage = &kind{"bad-message", gofast.InvalidArgument, false,
		"the message cannot be read", "see the wire reference, rows"}
	kindBadKey = &kind{"bad-key", gofast.InvalidArgument, false,
		"no row of the resource can have this key", ""}
	kindBadQuery = &kind{"bad-query", gofast.InvalidArgument, false,
		"the query asks for something that is not offered", ""}
	kindAmbiguous = &kind{"ambiguous-relation", gofast.InvalidArgument, false,
		"foreign keys lead in several ways to the table that is to be embedded", ""}
	kindUnindexed = &kind{"unindexed-filter", gofast.InvalidArgument, false,
		"no index of the database answers the query",
		"ask for equality, or for a range ordered by its column"}
	kindRange = &kind{"range-not-satisfiable", gofast.InvalidArgument, false,
		"the list has no such range of rows", ""}
	kindBadPosition = &kind{"bad-header", gofast.InvalidArgument, false,
		"the position cannot be read", "send a position as an answer had it"}
	kindBadBody = &kind{"bad-body", gofast.InvalidArgument, false,
		"the body is not a document of this resource", "get a document to see its members"}
	kindInvalid = &kind{"invalid-value", gofast.InvalidArgument, false,
		"the database refuses a value", ""}
	kindKeyMismatch = &kind{"key-mismatch", gofast.InvalidArgument, false,
		"the key in the body is not the key of the request", "leave it out of the body"}
	kindUnauthorized = &kind{"unauthorized", gofast.Unauthenticated, false,
		"this needs a token", "send a token with whoami; hotrow token NAME makes one"}
	kindForbidden = &kind{"forbidden", gofast.PermissionDenied, false,
		"this is not allowed", "ask for another role, or change access in the configuration"}
	kindDatabaseForbids = &kind{"database-forbids", gofast.PermissionDenied, false,
		"the database user may not do this", "grant it to the user that hotrow connects as"}
	kindNotFound = &kind{"not-found", gofast.NotFound, false, "there is nothing here", ""}
	kindGone     = &kind{"table-missing", gofast.NotFound, false,
		"the table behind the resource is not there any more, or has another form",
		"reload hotrow after a migration"}
	kindNotAllowed = &kind{"method-not-allowed", gofast.Unimplemented, false,
		"the resource does not take this request", ""}
	kindReadOnly = &kind{"read-only", gofast.Unimplemented, false,
		"the resource takes no writes", "write to the database, or to another resource"}
	kindNoMessage = &kind{"unknown-message", gofast.Unimplemented, false,
		"nothing answers messages of this id", ""}
	kindNoFeed = &kind{"no-feed", gofast.Unimplemented, false,
		"no feed tells of changes of this resource", "see feed.mode of its source"}
	kindConflict = &kind{"conflict", gofast.AlreadyExists, false,
		"the write breaks a constraint of the database", ""}
	kindPrecondition = &kind{"precondition-failed", gofast.FailedPrecondition, false,
		"the document is not the one that the request names",
		"get the document again and retry with its entity tag"}
	kindUnconditional = &kind{"precondition-required", gofast.FailedPrecondition, false,
		"the resource is changed only by requests that say which document they change",
		"send the entity tag that you hold"}
	kindTooLarge = &kind{"too-large", gofast.ResourceExhausted, false,
		"the request, or its answer, is too large", "send or ask for less at a time"}
	kindFull = &kind{"database-full", gofast.ResourceExhausted, false,
		"the database has no space left", ""}
	kindSlow = &kind{"slow-watcher", gofast.ResourceExhausted, true,
		"the watcher does not keep up", "watch again from the last cursor"}
	kindStarting = &kind{"starting", gofast.Unavailable, true,
		"hotrow has just started and does not know the tables of the database yet",
		"send the request again"}
	kindUnread = &kind{"unread-answers", gofast.Unavailable, true,
		"too many answers wait for their clients to read them", "read the answers, and ask again"}
	kindInternal = &kind{"internal", gofast.Internal, false,
		"hotrow cannot answer this; the log has the cause", ""}
	kindUnavailable = &kind{"database-unavailable", gofast.Unavailable, true,
		"the database cannot be reached and memory cannot answer", ""}
	kindBusy = &kind{"database-busy", gofast.Unavailable, true,
		"the database was reached, but could not do this now: a lock, a time limit, its own state",
		""}
	kindRetry = &kind{"try-again", gofast.Aborted, true,
		"the database gave up the transaction in favour of another", "send the request again"}
	kindUnknown = &kind{"outcome-unknown", gofast.Unknown, false,
		"the connection broke during the write, which may have happened or not",
		"get the document before you write again"}
	kindNotCached = &kind{"not-cached", gofast.Unavailable, false,
		"memory has no fresh copy, and the request forbids reading the database", ""}
	kindDeadline = &kind{"deadline", gofast.DeadlineExceeded, false,
		"the time that the request gave is up", ""}
	kindCanceled = &kind{"canceled", gofast.Canceled, false, "the request was cancelled", ""}
	kindDraining = &kind{"going-away", gofast.Unavailable, true,
		"hotrow is stopping", "connect again"}
)

// A fault is why a request has failed, as its peer is told.
type fault struct {
	kind  *kind
	text  string // "": what the kind means
	hint  string // "": the kind's
	code  string // the database's own
	after time.Duration
}

func (f *fault) Error() string {
	if f.text != "" {
		return f.text
	}
	return f.kind.means
}

// fail returns a fault with a sentence of its own.
func fail(k *kind, text string) *fault { return &fault{kind: k, text: text} }

// kindOf has the kinds of what front.FailureOf finds, by their slug.
var kindOf = func() map[string]*kind {
	bySlug := make(map[string]*kind)
	for _, k := range []*kind{kindBadKey, kindBadPosition, kindBadBody, kindInvalid,
		kindDatabaseForbids, kindNotFound, kindGone, kindReadOnly, kindConflict, kindPrecondition,
		kindUnconditional, kindTooLarge, kindFull, kindInternal, kindUnavailable, kindBusy,
		kindRetry, kindUnknown, kindNotCached, kindBadQuery, kindUnindexed, kindRange,
		kindAmbiguous} {
		bySlug[k.slug] = k
	}
	return bySlug
}()

// faultOf returns what a peer is told of err.
func faultOf(err error) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	if errors.Is(err, rows.ErrPayload) {
		return fail(kindBadMessage, err.Error())
	}
	of := front.FailureOf(err)
	return &fault{kind: kindOf[of.Slug], text: of.Text, hint: of.Hint, code: of.Code,
		after: of.After}
}

// logged reports whether the cause belongs into the log: who asked is not told.
func (f *fault) logged() bool {
	switch f.kind.code {
	case gofast.Internal, gofast.Unknown, gofast.Unavailable, gofast.Aborted:
		return f.kind != kindNotCached && f.kind != kindDraining && f.kind != kindUnread &&
			f.kind != kindStarting
	}
	return f.kind == kindFull
}

// wire returns f as an error message says it.
func (f *fault) wire() *gofast.Error {
	hint := f.hint
	if hint == "" {
		hint = f.kind.hint
	}
	detail := rows.Detail{Kind: f.kind.slug, Code: clip(f.code), Hint: clip(hint)}
	e := &gofast.Error{Code: f.kind.code, Text: clip(f.Error()), Retryable: f.kind.again,
		RetryAfter: f.after, Details: detail.Append(nil)}
	if e.Retryable && e.RetryAfter == 0 && f.kind == kindUnavailable {
		e.RetryAfter = time.Second
	}
	return e
}

// clip returns the beginning of s as UTF-8: what goes back to a client in an
// error need not be all of what it sent.
func clip(s string) string { return front.Clip(s, 1024) }
