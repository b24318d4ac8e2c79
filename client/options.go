package client

import (
	"crypto/tls"
	"net/http"
	"time"
)

// An Option changes what Open makes.
type Option func(*options)

// options are what Open was told.
type options struct {
	token       string
	format      Format
	connections int
	timeout     time.Duration
	retries     int
	ownWrites   bool
	tls         *tls.Config
	http        *http.Client
	near        *NearCache
}

// defaults are the options of a client that was told nothing.
func defaults() options {
	return options{connections: 2, timeout: defaultTimeout, retries: 2, ownWrites: true}
}

// WithToken has the client show a token: what hotrow token NAME printed.
func WithToken(token string) Option { return func(o *options) { o.token = token } }

// WithFormat sets the representation in which documents travel (JSON).
func WithFormat(f Format) Option { return func(o *options) { o.format = f } }

// WithConnections sets how many wire connections there are at most (2). Each
// carries any number of requests at the same time.
func WithConnections(n int) Option { return func(o *options) { o.connections = max(n, 1) } }

// WithTimeout sets the time limit of calls whose context has no deadline (10
// seconds); 0 sets none.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// WithRetries sets how often a call is tried again at most (2). See the package
// comment for what is tried again.
func WithRetries(n int) Option { return func(o *options) { o.retries = max(n, 0) } }

// WithoutOwnWrites lets reads forget what the client has written. Reads are
// then as fresh as the server promises to anybody, and a hit costs the server
// less after a write: it need not compare positions.
func WithoutOwnWrites() Option { return func(o *options) { o.ownWrites = false } }

// WithTLS sets how hotrows:// and https:// connections are made. The
// configuration is cloned.
func WithTLS(c *tls.Config) Option { return func(o *options) { o.tls = c.Clone() } }

// WithHTTPClient has requests over HTTP made by h, which Close leaves alone.
func WithHTTPClient(h *http.Client) Option { return func(o *options) { o.http = h } }

// A ReadOption changes one read.
type ReadOption func(*readCall)

// A readCall is one read as it is asked for.
type readCall struct {
	resource, key string
	format        Format
	min           string // positions that the answer must include
	explicit      bool   // and the caller has said so
	noneMatch     string
	noCache       bool
	onlyIfCached  bool
	maxAge        time.Duration // 0: any
}

// A getCall is a read of one document, with what it needs while it is under way: one
// allocation for all of it (BenchmarkGet).
type getCall struct {
	readCall
	limit  timeLimit
	buffer [128]byte // for what is sent
}

// name names the call in errors.
func (q *readCall) name() string {
	if q.key == "" {
		return "get " + q.resource
	}
	return "get " + q.resource + "/" + q.key
}

// plain reports whether a copy that is fresh by the server's own promise will
// do. The client's own writes empty a near-cache, so their positions need no look.
func (q *readCall) plain() bool {
	return !q.explicit && !q.noCache && !q.onlyIfCached && q.maxAge == 0 && q.noneMatch == ""
}

// NoCache has the server read the database now.
func NoCache() ReadOption { return func(q *readCall) { q.noCache = true } }

// OnlyIfCached has the server answer from memory or with ErrNotCached.
func OnlyIfCached() ReadOption { return func(q *readCall) { q.onlyIfCached = true } }

// MaxAge has the server read the database when its copy may be older than d,
// rounded up to a whole second.
func MaxAge(d time.Duration) ReadOption {
	return func(q *readCall) {
		if q.maxAge = d; d <= 0 {
			q.maxAge, q.noCache = 0, true
		}
	}
}

// MinPosition has the answer include every change up to a position, in place of
// those of the client's own writes.
func MinPosition(position string) ReadOption {
	return func(q *readCall) { q.min, q.explicit = position, true }
}

// IfNoneMatch asks for the document unless its entity tag is etag: then the
// answer has NotModified set and no body.
func IfNoneMatch(etag string) ReadOption { return func(q *readCall) { q.noneMatch = etag } }

// InFormat asks for another representation than the client's.
func InFormat(f Format) ReadOption { return func(q *readCall) { q.format = f } }

// A WriteOption changes one write.
type WriteOption func(*writeCall)

// writeOp is what a write does.
type writeOp uint8

const (
	opPut writeOp = iota
	opPatch
	opDelete
)

// writeMethods are the names of the operations, as HTTP has them.
var writeMethods = [...]string{opPut: http.MethodPut, opPatch: http.MethodPatch,
	opDelete: http.MethodDelete}

// writeNames are those in errors.
var writeNames = [...]string{opPut: "put", opPatch: "patch", opDelete: "delete"}

// A writeCall is one write as it is asked for.
type writeCall struct {
	op            writeOp
	resource, key string
	format        Format
	body          []byte
	match         string // If-Match
	noneMatch     string // If-None-Match
	minimal       bool
}

// name names the call in errors.
func (w *writeCall) name() string { return writeNames[w.op] + " " + w.resource + "/" + w.key }

// IfMatch writes only if the document's entity tag is etag; "*" only if there is
// a document. Otherwise the error is ErrPrecondition. It is compared in the
// transaction of the write.
func IfMatch(etag string) WriteOption { return func(w *writeCall) { w.match = etag } }

// IfAbsent writes only if there is no such document.
func IfAbsent() WriteOption { return func(w *writeCall) { w.noneMatch = "*" } }

// WithoutAnswer leaves the document out of the answer to a write.
func WithoutAnswer() WriteOption { return func(w *writeCall) { w.minimal = true } }
