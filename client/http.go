package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxAnswer bounds what is read of one answer over HTTP.
const maxAnswer = 64 << 20

// manyAtOnce is how many requests of one GetMany are on their way over HTTP.
const manyAtOnce = 8

// mediaTypes are the names of the formats, as HTTP has them.
var mediaTypes = [...]string{JSON: "application/json", MessagePack: "application/vnd.msgpack",
	CBOR: "application/cbor"}

// An httpRemote reaches a server by HTTP.
type httpRemote struct {
	base   string // scheme, host and base path, without a slash at the end
	opts   *options
	client *http.Client
	own    *http.Transport    // nil when the client is the caller's
	ctx    context.Context    // ends with the remote
	cancel context.CancelFunc // of ctx

	columns sync.Map // number of key columns by resource; see keySegment
}

// newHTTPRemote returns the remote for a URL.
func newHTTPRemote(u *url.URL, o *options) *httpRemote {
	r := &httpRemote{opts: o, client: o.http}
	r.base = u.Scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
	r.ctx, r.cancel = context.WithCancel(context.Background())
	if r.client == nil {
		r.own = &http.Transport{
			TLSClientConfig: o.tls, ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment,
			MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
			TLSHandshakeTimeout: defaultTimeout,
		}
		r.client = &http.Client{Transport: r.own}
	}
	return r
}

// close ends the watches and closes idle connections.
func (r *httpRemote) close() error {
	r.cancel()
	if r.own != nil {
		r.own.CloseIdleConnections()
	}
	return nil
}

// path returns the URL of a document.
func (r *httpRemote) path(ctx context.Context, resource, key string) string {
	return r.base + "/" + url.PathEscape(resource) + "/" + r.keySegment(ctx, resource, key)
}

// keySegment returns a key as a path has it. A comma is part of a key of one
// column, and parts the columns of a composite one: only then, which is rare,
// the server is asked how many columns the resource's key has.
func (r *httpRemote) keySegment(ctx context.Context, resource, key string) string {
	if !strings.ContainsAny(key, ",%") || r.keyColumns(ctx, resource) < 2 {
		return url.PathEscape(key)
	}
	parts := SplitKey(key)
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, ",")
}

// keyColumns returns how many columns the key of a resource has: 1 if the
// server does not say.
func (r *httpRemote) keyColumns(ctx context.Context, resource string) int {
	if n, ok := r.columns.Load(resource); ok {
		return n.(int)
	}
	info, err := r.info(ctx)
	if err != nil {
		return 1
	}
	for _, res := range info.Resources {
		r.columns.Store(res.Name, len(res.Key))
	}
	if n, ok := r.columns.Load(resource); ok {
		return n.(int)
	}
	return 1
}

// A roundTrip is one request and what came back.
type roundTrip struct {
	status int
	head   http.Header
	body   []byte
}

// do makes a request and reads the whole answer. A status of 400 or more is an
// error.
func (r *httpRemote) do(
	ctx context.Context, op, method, address string, head http.Header, body []byte,
) (*roundTrip, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Op: op, Kind: ErrInvalid, Err: err}
	}
	req.Header = head
	r.authorize(head)
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, transportError(ctx, op, withoutURL(err), sent.Load())
	}
	defer func() { _ = resp.Body.Close() }()
	x := &roundTrip{status: resp.StatusCode, head: resp.Header}
	if x.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1)); err != nil {
		return nil, transportError(ctx, op, err, true)
	}
	if len(x.body) > maxAnswer {
		return nil, &Error{Op: op, Kind: ErrTooLarge, sent: true}
	}
	if x.status >= http.StatusBadRequest {
		return x, problemError(op, x)
	}
	return x, nil
}

// authorize shows the token.
func (r *httpRemote) authorize(head http.Header) {
	if r.opts.token != "" {
		head.Set("Authorization", "Bearer "+r.opts.token)
	}
}

// withoutURL returns what is in a *url.Error: the call's own name says the rest.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// readHeader returns the header of a read.
func readHeader(q *readCall) http.Header {
	head := http.Header{"Accept": {mediaTypes[q.format]}}
	switch {
	case q.noCache:
		head.Set("Cache-Control", "no-cache")
	case q.maxAge > 0:
		seconds := (q.maxAge + time.Second - 1) / time.Second
		head.Set("Cache-Control", "max-age="+strconv.FormatInt(int64(seconds), 10))
	}
	if q.onlyIfCached {
		head.Add("Cache-Control", "only-if-cached")
	}
	if q.min != "" {
		head.Set("Hotrow-Min-Position", q.min)
	}
	if q.noneMatch != "" {
		head.Set("If-None-Match", q.noneMatch)
	}
	return head
}

// get reads one document.
func (r *httpRemote) get(ctx context.Context, q *getCall) (Document, error) {
	op := "get"
	address := r.path(ctx, q.resource, q.key)
	x, err := r.do(ctx, op, http.MethodGet, address, readHeader(&q.readCall), nil)
	if isKind(err, ErrNotFound) && x.head.Get("Cache-Status") != "" {
		d := document(q.key, q.format, x)
		d.Missing, d.Body = true, nil // which is why there is no document
		return d, err
	}
	if err != nil {
		return Document{}, err
	}
	d := document(q.key, q.format, x)
	d.NotModified = x.status == http.StatusNotModified
	return d, nil
}

// getMany reads several documents, some of them at the same time: each comes
// with its own entity tag and position, which a list would not have.
func (r *httpRemote) getMany(
	ctx context.Context, q *readCall, keys []string,
) ([]Document, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	docs := make([]Document, len(keys))
	var next atomic.Int64
	var once sync.Once
	var first error
	var workers sync.WaitGroup
	for range min(manyAtOnce, len(keys)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(keys)); i = next.Add(1) - 1 {
				one := getCall{readCall: *q}
				one.key = keys[i]
				d, err := r.get(ctx, &one)
				if errors.Is(err, ErrNotFound) {
					d, err = Document{Key: keys[i], Missing: true}, nil
				}
				if err != nil {
					once.Do(func() { first = err })
					cancel()
					return
				}
				docs[i] = d
			}
		})
	}
	workers.Wait()
	if first != nil {
		return nil, first
	}
	return docs, nil
}

// write makes one write.
func (r *httpRemote) write(ctx context.Context, w *writeCall) (Document, error) {
	head := http.Header{"Accept": {mediaTypes[w.format]}}
	if w.op != opDelete {
		head.Set("Content-Type", mediaTypes[w.format])
	}
	if w.match != "" {
		head.Set("If-Match", w.match)
	}
	if w.noneMatch != "" {
		head.Set("If-None-Match", w.noneMatch)
	}
	if w.minimal {
		head.Set("Prefer", "return=minimal")
	}
	address := r.path(ctx, w.resource, w.key)
	x, err := r.do(ctx, w.name(), writeMethods[w.op], address, head, w.body)
	if err != nil {
		return Document{}, err
	}
	d := document(w.key, w.format, x)
	d.Created = x.status == http.StatusCreated
	return d, nil
}

// info reads what is served.
func (r *httpRemote) info(ctx context.Context) (Info, error) {
	head := http.Header{"Accept": {"application/json"}}
	x, err := r.do(ctx, "info", http.MethodGet, r.base+"/", head, nil)
	if err != nil {
		return Info{}, err
	}
	var info Info
	if err := json.Unmarshal(x.body, &info); err != nil {
		return Info{}, &Error{Op: "info", Kind: ErrInternal, Err: err}
	}
	return info, nil
}

// document returns what an answer says of a document.
func document(key string, f Format, x *roundTrip) Document {
	d := Document{Key: key, Format: f, ETag: x.head.Get("ETag"), Body: x.body}
	d.Origin = originOf(x.head.Get("Cache-Status"))
	d.Position, d.Lag = splitPosition(x.head.Get("Hotrow-Position"))
	return d
}

// originOf reads Cache-Status as hotrow writes it.
func originOf(status string) Origin {
	switch {
	case strings.Contains(status, "detail=mem"):
		return FromMemory
	case strings.Contains(status, "detail=disk"):
		return FromDisk
	case strings.Contains(status, "fwd=stale"):
		return FromStale
	}
	return FromDatabase
}

// splitPosition reads Hotrow-Position: the token and its lag.
func splitPosition(value string) (token string, lag time.Duration) {
	token, params, _ := strings.Cut(value, ";")
	for p := range strings.SplitSeq(params, ";") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(p), "lag="); ok {
			seconds, err := strconv.ParseFloat(text, 64)
			if err == nil {
				lag = time.Duration(seconds * float64(time.Second))
			}
		}
	}
	return strings.TrimSpace(token), lag
}

// kinds are the kinds of errors by status.
var kinds = map[int]error{
	http.StatusUnauthorized: ErrUnauthorized, http.StatusForbidden: ErrForbidden,
	http.StatusNotFound: ErrNotFound, http.StatusMethodNotAllowed: ErrNotAllowed,
	http.StatusConflict: ErrConflict, http.StatusPreconditionFailed: ErrPrecondition,
	http.StatusRequestEntityTooLarge: ErrTooLarge, http.StatusServiceUnavailable: ErrUnavailable,
	http.StatusTooManyRequests: ErrUnavailable, http.StatusGatewayTimeout: ErrNotCached,
	http.StatusNotAcceptable: ErrUnsupported, http.StatusUnsupportedMediaType: ErrUnsupported,
	http.StatusBadGateway: ErrUnavailable, http.StatusInsufficientStorage: ErrUnavailable,
}

// problemError returns the error that a problem document (RFC 9457) tells.
func problemError(op string, x *roundTrip) *Error {
	e := &Error{Op: op, Kind: kinds[x.status], sent: true}
	if e.Kind == nil {
		e.Kind = ErrInvalid
		if x.status >= http.StatusInternalServerError {
			e.Kind = ErrInternal
		}
	}
	if s, err := strconv.Atoi(x.head.Get("Retry-After")); err == nil && s >= 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	var p struct{ Type, Code, Detail, Hint string }
	if json.Unmarshal(x.body, &p) != nil {
		e.Message = http.StatusText(x.status)
		return e
	}
	e.Code, e.Message, e.Hint = p.Code, p.Detail, p.Hint
	// Every problem but this one is told before anything is changed, or after it
	// was rolled back.
	e.refused = true
	e.starting = strings.HasSuffix(p.Type, "/-/problems/starting")
	if strings.HasSuffix(p.Type, "/outcome-unknown") {
		e.Kind, e.refused = ErrUnknownOutcome, false
	}
	return e
}
