package httpfront

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/hotrow/hotrow/internal/front"
)

// A kind is one sort of problem, as docs/reference/errors.md lists them. Its slug is the
// end of the problem's type: /-/problems/{slug}.
type kind struct {
	front.Kind
	status int
}

// common returns a kind that other fronts have, too.
func common(slug string, status int) *kind { return &kind{front.KindOf(slug), status} }

// hinted gives k a hint that speaks of HTTP.
func (k *kind) hinted(hint string) *kind {
	k.Hint = hint
	return k
}

// own returns a kind of HTTP alone.
func own(slug string, status int, means, hint string) *kind {
	return &kind{front.Kind{Slug: slug, Means: means, Hint: hint}, status}
}

// code returns what the problem's code member is when no database gave one.
func (k *kind) code() string {
	if k.status == http.StatusNotFound {
		return "HR404" // of answers that must not allocate
	}
	return "HR" + strconv.Itoa(k.status)
}

// The kinds of problems. allKinds has them in the order of the page.
var (
	kindBadPath = own("bad-path", http.StatusBadRequest,
		"the path cannot be read",
		"paths are /{resource} and /{resource}/{key}, percent-encoded UTF-8")
	kindBadKey = common("bad-key", http.StatusBadRequest).
			hinted("GET / shows an example key of each resource")
	kindBadQuery = common("bad-query", http.StatusBadRequest).
			hinted("see the HTTP API reference, lists")
	kindUnindexed = common("unindexed-filter", http.StatusBadRequest)
	kindAmbiguous = common("ambiguous-relation", http.StatusMultipleChoices)
	kindBadHeader = own("bad-header", http.StatusBadRequest,
		"a header cannot be read", "leave the header out, or send what the reference shows")
	kindRefusedHeader = own("refused-header", http.StatusBadRequest,
		"a header asks for what is not done here", "leave the header out")
	kindBadBody      = common("bad-body", http.StatusBadRequest)
	kindInvalid      = common("invalid-value", http.StatusBadRequest)
	kindUnauthorized = common("unauthorized", http.StatusUnauthorized).
				hinted("send Authorization: Bearer TOKEN; hotrow token NAME makes one")
	kindForbidden   = common("forbidden", http.StatusForbidden)
	kindCrossOrigin = own("cross-origin", http.StatusForbidden,
		"a page of another site may not write",
		"write from the same origin, or without a browser")
	kindDatabaseForbids = common("database-forbids", http.StatusForbidden)
	kindNotFound        = common("not-found", http.StatusNotFound)
	kindGone            = common("table-missing", http.StatusNotFound)
	kindMethod          = own("method-not-allowed", http.StatusMethodNotAllowed,
		"the method is not allowed here", "the Allow header lists those that are")
	kindReadOnly      = common("read-only", http.StatusMethodNotAllowed)
	kindNotAcceptable = own("not-acceptable", http.StatusNotAcceptable,
		"no representation fits the Accept header",
		"accept application/json, application/vnd.msgpack or application/cbor")
	kindProfile = own("unknown-schema", http.StatusNotAcceptable,
		"Accept-Profile or Content-Profile names another schema than public",
		"leave the header out; resources of other schemas are called schema.table")
	kindTimeout = own("request-timeout", http.StatusRequestTimeout,
		"the request took too long to arrive", "send the whole body at once")
	kindConflict     = common("conflict", http.StatusConflict)
	kindPrecondition = common("precondition-failed", http.StatusPreconditionFailed).
				hinted("GET the document again and retry with its ETag")
	kindUnconditional = common("precondition-required", http.StatusPreconditionRequired).
				hinted("send If-Match with the ETag that you hold, or If-None-Match: *")
	kindTooLarge = common("too-large", http.StatusRequestEntityTooLarge)
	kindTooLong  = own("key-too-long", http.StatusRequestURITooLong,
		"a name or key is longer than 2048 bytes", "no document has such a key")
	kindMediaType = own("unsupported-media-type", http.StatusUnsupportedMediaType,
		"the body must be JSON, MessagePack or CBOR",
		"send Content-Type: application/json, application/vnd.msgpack or application/cbor")
	kindMisdirected = own("misdirected", http.StatusMisdirectedRequest,
		"this Host is not served here", "add the name to http.hosts in the configuration")
	kindRange       = common("range-not-satisfiable", http.StatusRequestedRangeNotSatisfiable)
	kindNotSingular = own("not-singular", http.StatusNotAcceptable,
		"the list has not exactly one row, so it is no object",
		"accept application/json, or filter by a unique column")
	kindKeyMismatch = common("key-mismatch", http.StatusUnprocessableEntity)
	kindInternal    = common("internal", http.StatusInternalServerError)
	kindUnavailable = common("database-unavailable", http.StatusServiceUnavailable)
	kindBusy        = common("database-busy", http.StatusServiceUnavailable)
	kindRetry       = common("try-again", http.StatusServiceUnavailable)
	kindUnknown     = common("outcome-unknown", http.StatusServiceUnavailable)
	kindStarting    = common("starting", http.StatusServiceUnavailable)
	kindKeys        = own("keys-unavailable", http.StatusServiceUnavailable,
		"the keys that sign JWTs are not known now",
		"send the request again: hotrow's log says why")
	kindFallback = own("fallback-failed", http.StatusBadGateway,
		"the fallback's answer is none", "hotrow's log says why")
	kindFallbackAway = own("fallback-unavailable", http.StatusServiceUnavailable,
		"the fallback cannot be reached, or has too much to do", "send the request again")
	kindFallbackLate = own("fallback-timeout", http.StatusGatewayTimeout,
		"the fallback took too long", "ask for less, or send the request again")
	kindUnread    = common("unread-answers", http.StatusServiceUnavailable)
	kindNotCached = common("not-cached", http.StatusGatewayTimeout).
			hinted("leave only-if-cached out")
	kindNoFeed = own("no-feed", http.StatusNotImplemented,
		"no feed tells of changes of this resource", "see feed.mode of its source")
	kindUnknownMethod = own("unknown-method", http.StatusNotImplemented,
		"no method of HTTP that is known here has this name", "methods are in capitals")
	kindFull = common("database-full", http.StatusInsufficientStorage)
)

// allKinds is every kind of problem, by status.
var allKinds = []*kind{kindAmbiguous,
	kindBadPath, kindBadKey, kindBadQuery, kindUnindexed, kindBadHeader,
	kindRefusedHeader,
	kindBadBody, kindInvalid, kindUnauthorized, kindForbidden, kindCrossOrigin,
	kindDatabaseForbids, kindNotFound, kindGone, kindMethod, kindReadOnly,
	kindNotAcceptable, kindNotSingular, kindProfile,
	kindTimeout, kindConflict, kindPrecondition, kindTooLarge, kindTooLong,
	kindMediaType, kindRange, kindMisdirected, kindKeyMismatch, kindUnconditional, kindInternal,
	kindUnknownMethod, kindNoFeed,
	kindFallback, kindUnavailable, kindBusy, kindRetry, kindUnknown, kindStarting, kindKeys,
	kindFallbackAway, kindUnread, kindNotCached, kindFallbackLate,
	kindFull}

// kindOf has the kinds by their slug.
var kindOf = func() map[string]*kind {
	bySlug := make(map[string]*kind, len(allKinds))
	for _, k := range allKinds {
		bySlug[k.Slug] = k
	}
	return bySlug
}()

// problemOf returns what a client is told of err.
func problemOf(err error) problem {
	var p problem
	if errors.As(err, &p) {
		return p
	}
	f := front.FailureOf(err)
	return problem{kind: kindOf[f.Slug], detail: f.Text, details: f.Details, hint: f.Hint,
		code: f.Code, after: f.After, logged: f.Logged}
}
