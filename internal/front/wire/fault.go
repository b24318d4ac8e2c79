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
	front.Kind
	code gofast.Code
	// again says that nothing was done, and that the same request may succeed
	// later or elsewhere.
	again bool
}

// common returns a kind that other fronts have, too.
func common(slug string, code gofast.Code) *kind {
	return &kind{Kind: front.KindOf(slug), code: code}
}

// own returns a kind of the wire alone.
func own(slug string, code gofast.Code, means, hint string) *kind {
	return &kind{Kind: front.Kind{Slug: slug, Means: means, Hint: hint}, code: code}
}

// hinted gives k a hint that speaks of the wire.
func (k *kind) hinted(hint string) *kind {
	k.Hint = hint
	return k
}

// repeatable says that the same request may succeed later.
func (k *kind) repeatable() *kind {
	k.again = true
	return k
}

// The kinds of failures.
var (
	kindBadMessage = own("bad-message", gofast.InvalidArgument,
		"the message cannot be read", "see the wire reference, rows")
	kindBadKey      = common("bad-key", gofast.InvalidArgument)
	kindBadQuery    = common("bad-query", gofast.InvalidArgument)
	kindAmbiguous   = common("ambiguous-relation", gofast.InvalidArgument)
	kindUnindexed   = common("unindexed-filter", gofast.InvalidArgument)
	kindRange       = common("range-not-satisfiable", gofast.InvalidArgument)
	kindBadPosition = own("bad-header", gofast.InvalidArgument,
		"the position cannot be read", "send a position as an answer had it")
	kindBadBody      = common("bad-body", gofast.InvalidArgument)
	kindInvalid      = common("invalid-value", gofast.InvalidArgument)
	kindKeyMismatch  = common("key-mismatch", gofast.InvalidArgument)
	kindUnauthorized = common("unauthorized", gofast.Unauthenticated).
				hinted("send a token with whoami; hotrow token NAME makes one")
	kindForbidden       = common("forbidden", gofast.PermissionDenied)
	kindDatabaseForbids = common("database-forbids", gofast.PermissionDenied)
	kindNotFound        = common("not-found", gofast.NotFound)
	kindGone            = common("table-missing", gofast.NotFound)
	kindNotAllowed      = own("method-not-allowed", gofast.Unimplemented,
		"the resource does not take this request", "")
	kindReadOnly  = common("read-only", gofast.Unimplemented)
	kindNoMessage = own("unknown-message", gofast.Unimplemented,
		"nothing answers messages of this id", "")
	kindNoFeed = own("no-feed", gofast.Unimplemented,
		"no feed tells of changes of this resource", "see feed.mode of its source")
	kindConflict      = common("conflict", gofast.AlreadyExists)
	kindPrecondition  = common("precondition-failed", gofast.FailedPrecondition)
	kindUnconditional = common("precondition-required", gofast.FailedPrecondition)
	kindTooLarge      = common("too-large", gofast.ResourceExhausted)
	kindFull          = common("database-full", gofast.ResourceExhausted)
	kindSlow          = own("slow-watcher", gofast.ResourceExhausted,
		"the watcher does not keep up", "watch again from the last cursor").repeatable()
	kindStarting    = common("starting", gofast.Unavailable).repeatable()
	kindUnread      = common("unread-answers", gofast.Unavailable).repeatable()
	kindInternal    = common("internal", gofast.Internal)
	kindUnavailable = common("database-unavailable", gofast.Unavailable).repeatable()
	kindBusy        = common("database-busy", gofast.Unavailable).repeatable()
	kindRetry       = common("try-again", gofast.Aborted).repeatable()
	kindUnknown     = common("outcome-unknown", gofast.Unknown)
	kindNotCached   = common("not-cached", gofast.Unavailable)
	kindDeadline    = own("deadline", gofast.DeadlineExceeded,
		"the time that the request gave is up", "")
	kindCanceled = own("canceled", gofast.Canceled,
		"the request was cancelled", "")
	kindDraining = own("going-away", gofast.Unavailable,
		"hotrow is stopping", "connect again").repeatable()
)

// A fault is why a request has failed, as its peer is told.
type fault struct {
	kind  *kind
	text  string // "": what the kind means
	hint  string // "": the kind's
	code  string // the database's own
	after time.Duration

	logged bool // the log has the cause: who asked is not told it
}

func (f *fault) Error() string {
	if f.text != "" {
		return f.text
	}
	return f.kind.Means
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
		kindAmbiguous, kindKeyMismatch} {
		bySlug[k.Slug] = k
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
		after: of.After, logged: of.Logged}
}

// wire returns f as an error message says it.
func (f *fault) wire() *gofast.Error {
	hint := f.hint
	if hint == "" {
		hint = f.kind.Hint
	}
	detail := rows.Detail{Kind: f.kind.Slug, Code: clip(f.code), Hint: clip(hint)}
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
