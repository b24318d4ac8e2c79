package httpfront

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/hotrow/hotrow/internal/front"
)

// A kind is one sort of problem, as docs/reference/errors.md lists them.
type kind struct {
	slug   string // the end of the problem's type: /-/problems/{slug}
	status int
	means  string // what is told when nothing more is known
	hint   string // how to mend it
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
	kindBadPath = &kind{"bad-path", http.StatusBadRequest,
		"the path cannot be read",
		"paths are /{resource} and /{resource}/{key}, percent-encoded UTF-8"}
	kindBadKey = &kind{"bad-key", http.StatusBadRequest,
		"no row of the resource can have this key", "GET / shows an example key of each resource"}
	kindBadQuery = &kind{"bad-query", http.StatusBadRequest,
		"the query asks for something that is not offered", "see the HTTP API reference, lists"}
	kindUnindexed = &kind{"unindexed-filter", http.StatusBadRequest,
		"no index of the database answers the query",
		"ask for equality, or for a range ordered by its column"}
	kindAmbiguous = &kind{"ambiguous-relation", http.StatusMultipleChoices,
		"foreign keys lead in several ways to the table that is to be embedded",
		"say which, as the detail does: table!constraint(...) or table!column(...)"}
	kindBadHeader = &kind{"bad-header", http.StatusBadRequest,
		"a header cannot be read", "leave the header out, or send what the reference shows"}
	kindBadBody = &kind{"bad-body", http.StatusBadRequest,
		"the body is not a document of this resource", "GET a document to see its members"}
	kindInvalid = &kind{"invalid-value", http.StatusBadRequest,
		"the database refuses a value", "change the value that the detail names"}
	kindUnauthorized = &kind{"unauthorized", http.StatusUnauthorized,
		"this needs a token", "send Authorization: Bearer TOKEN; hotrow token NAME makes one"}
	kindForbidden = &kind{"forbidden", http.StatusForbidden,
		"this is not allowed", "ask for another role, or change access in the configuration"}
	kindCrossOrigin = &kind{"cross-origin", http.StatusForbidden,
		"a page of another site may not write", "write from the same origin, or without a browser"}
	kindDatabaseForbids = &kind{"database-forbids", http.StatusForbidden,
		"the database user may not do this", "grant it to the user that hotrow connects as"}
	kindNotFound = &kind{"not-found", http.StatusNotFound,
		"there is nothing here", ""}
	kindGone = &kind{"table-missing", http.StatusNotFound,
		"the table behind the resource is not there any more, or has another form",
		"reload hotrow after a migration"}
	kindMethod = &kind{"method-not-allowed", http.StatusMethodNotAllowed,
		"the method is not allowed here", "the Allow header lists those that are"}
	kindReadOnly = &kind{"read-only", http.StatusMethodNotAllowed,
		"the resource takes no writes", "write to the database, or to another resource"}
	kindNotAcceptable = &kind{"not-acceptable", http.StatusNotAcceptable,
		"no representation fits the Accept header",
		"accept application/json, application/vnd.msgpack or application/cbor"}
	kindTimeout = &kind{"request-timeout", http.StatusRequestTimeout,
		"the request took too long to arrive", "send the whole body at once"}
	kindConflict = &kind{"conflict", http.StatusConflict,
		"the write breaks a constraint of the database", "the detail names the constraint"}
	kindPrecondition = &kind{"precondition-failed", http.StatusPreconditionFailed,
		"the document is not the one that the request names",
		"GET the document again and retry with its ETag"}
	kindUnconditional = &kind{"precondition-required", http.StatusPreconditionRequired,
		"the resource is changed only by requests that say which document they change",
		"send If-Match with the ETag that you hold, or If-None-Match: *"}
	kindTooLarge = &kind{"too-large", http.StatusRequestEntityTooLarge,
		"the request, or its answer, is too large", "send or ask for less at a time"}
	kindTooLong = &kind{"key-too-long", http.StatusRequestURITooLong,
		"a name or key is longer than 2048 bytes", "no document has such a key"}
	kindMediaType = &kind{"unsupported-media-type", http.StatusUnsupportedMediaType,
		"the body must be JSON, MessagePack or CBOR",
		"send Content-Type: application/json, application/vnd.msgpack or application/cbor"}
	kindMisdirected = &kind{"misdirected", http.StatusMisdirectedRequest,
		"this Host is not served here", "add the name to http.hosts in the configuration"}
	kindRange = &kind{"range-not-satisfiable", http.StatusRequestedRangeNotSatisfiable,
		"the list has no such range of rows", "ask for fewer rows, or from an earlier one on"}
	kindNotSingular = &kind{"not-singular", http.StatusNotAcceptable,
		"the list has not exactly one row, so it is no object",
		"accept application/json, or filter by a unique column"}
	kindKeyMismatch = &kind{"key-mismatch", http.StatusUnprocessableEntity,
		"the key in the body is not the key in the path", "leave it out of the body"}
	kindInternal = &kind{"internal", http.StatusInternalServerError,
		"hotrow cannot answer this; the log has the cause", "look for the request in hotrow's log"}
	kindUnavailable = &kind{"database-unavailable", http.StatusServiceUnavailable,
		"the database cannot be reached and memory cannot answer", "try again later"}
	kindBusy = &kind{"database-busy", http.StatusServiceUnavailable,
		"the database was reached, but could not do this now: a lock, a time limit, its own state",
		"try again later; hotrow's log has the database's words"}
	kindRetry = &kind{"try-again", http.StatusServiceUnavailable,
		"the database gave up the transaction in favour of another", "send the request again"}
	kindUnknown = &kind{"outcome-unknown", http.StatusServiceUnavailable,
		"the connection broke during the write, which may have happened or not",
		"GET the document before you write again"}
	kindStarting = &kind{"starting", http.StatusServiceUnavailable,
		"hotrow has just started and does not know the tables of the database yet",
		"send the request again"}
	kindUnread = &kind{"unread-answers", http.StatusServiceUnavailable,
		"too many answers wait for their clients to read them", "read the answers, and ask again"}
	kindNotCached = &kind{"not-cached", http.StatusGatewayTimeout,
		"memory has no fresh copy, and the request forbids reading the database",
		"leave only-if-cached out"}
	kindFull = &kind{"database-full", http.StatusInsufficientStorage,
		"the database has no space left", "free space on the database's disk"}
)

// allKinds is every kind of problem, by status.
var allKinds = []*kind{kindAmbiguous,
	kindBadPath, kindBadKey, kindBadQuery, kindUnindexed, kindBadHeader,
	kindBadBody, kindInvalid, kindUnauthorized, kindForbidden, kindCrossOrigin,
	kindDatabaseForbids, kindNotFound, kindGone, kindMethod, kindReadOnly, kindNotAcceptable,
	kindNotSingular, kindTimeout, kindConflict, kindPrecondition, kindTooLarge, kindTooLong,
	kindMediaType, kindRange, kindMisdirected, kindKeyMismatch, kindUnconditional, kindInternal,
	kindUnavailable, kindBusy, kindRetry, kindUnknown, kindStarting, kindUnread, kindNotCached,
	kindFull}

// kindOf has the kinds by their slug.
var kindOf = func() map[string]*kind {
	bySlug := make(map[string]*kind, len(allKinds))
	for _, k := range allKinds {
		bySlug[k.slug] = k
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
		code: f.Code, after: f.After}
}
