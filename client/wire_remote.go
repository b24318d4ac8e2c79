package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/client/wire"
	"github.com/hotrow/hotrow/client/wire/rows"
)

// A wireRemote reaches a server by the wire protocol.
type wireRemote struct {
	pool    *pool
	sources sync.Map // name of the source by resource; see position
}

// maxWireMessage is the longest answer that is taken: the server's own bound of
// a list.
const maxWireMessage = 64 << 20

// newWireRemote returns the remote for a URL.
func newWireRemote(u *url.URL, o *options) (*wireRemote, error) {
	if u.Path != "" && u.Path != "/" {
		return nil, errors.New("a wire URL has no path: want hotrow://HOST:PORT")
	}
	w := wire.Options{Name: "hotrow-client", Token: []byte(o.token), MaxMessage: maxWireMessage}
	if u.Scheme == "hotrows" {
		w.TLS = o.tls
		if w.TLS == nil {
			w.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
	}
	return &wireRemote{pool: newPool(withPort(u.Host), o.connections, w)}, nil
}

func (r *wireRemote) close() error { return r.pool.close() }

// request makes one request on some connection.
func (r *wireRemote) request(ctx context.Context, op string, id uint64, data []byte) (
	[]byte, error) {
	c, s, err := r.pool.pick(ctx)
	if err != nil {
		return nil, dialError(ctx, op, err)
	}
	defer s.busy.Add(-1)
	answer, err := c.Request(ctx, id, data, nil)
	if err != nil {
		return nil, wireError(ctx, op, err)
	}
	return answer, nil
}

// dialError returns the error of a connection that could not be made.
func dialError(ctx context.Context, op string, err error) *Error {
	e := transportError(ctx, op, err, false)
	if errors.Is(err, wire.ErrClosed) {
		e.Kind, e.Err = ErrClosed, nil
	}
	return e
}

// codeKinds are the kinds of errors by code.
var codeKinds = map[wire.Code]error{
	wire.NotFound: ErrNotFound, wire.AlreadyExists: ErrConflict, wire.Aborted: ErrUnavailable,
	wire.FailedPrecondition: ErrPrecondition, wire.Unauthenticated: ErrUnauthorized,
	wire.PermissionDenied: ErrForbidden, wire.Unimplemented: ErrNotAllowed,
	wire.InvalidArgument: ErrInvalid, wire.OutOfRange: ErrInvalid,
	wire.ResourceExhausted: ErrTooLarge, wire.Unavailable: ErrUnavailable,
	wire.DeadlineExceeded: ErrUnavailable, wire.Canceled: ErrUnavailable,
	wire.Unknown: ErrUnknownOutcome,
}

// slugKinds are those that the server's own word for the problem tells better.
var slugKinds = map[string]error{
	"not-cached": ErrNotCached, "no-feed": ErrUnsupported, "database-full": ErrUnavailable,
	"unknown-message": ErrUnsupported, "slow-watcher": ErrUnavailable,
}

// wireError returns the error of a request that was made on a connection.
func wireError(ctx context.Context, op string, err error) *Error {
	var told *wire.Error
	var lost *wire.LostError
	switch {
	case errors.As(err, &told):
		return remoteError(ctx, op, told)
	case errors.As(err, &lost):
		return transportError(ctx, op, err, lost.Sent)
	case errors.Is(err, wire.ErrClosed):
		return &Error{Op: op, Kind: ErrClosed}
	case errors.Is(err, wire.ErrGoingAway):
		return transportError(ctx, op, err, false)
	case errors.Is(err, wire.ErrTooLarge):
		return &Error{Op: op, Kind: ErrTooLarge, Err: err}
	}
	return transportError(ctx, op, err, true)
}

// remoteError returns what the server has answered in place of an answer.
func remoteError(ctx context.Context, op string, told *wire.Error) *Error {
	e := &Error{Op: op, Kind: codeKinds[told.Code], Message: told.Text,
		RetryAfter: told.RetryAfter, sent: true}
	if e.Kind == nil {
		e.Kind = ErrInternal
	}
	var d rows.Detail
	if d.Decode(told.Details) == nil {
		// What was decoded points into the message.
		e.Code, e.Hint = strings.Clone(d.Code), strings.Clone(d.Hint)
		e.starting = d.Kind == "starting"
		if kind, ok := slugKinds[d.Kind]; ok {
			e.Kind = kind
		}
	}
	if ctx.Err() != nil {
		e.Err = ctx.Err()
	} else if told.Code == wire.DeadlineExceeded {
		e.Err = context.DeadlineExceeded
	}
	// As over HTTP, every failure but these is told before anything is changed.
	e.refused = told.Retryable || e.Kind != ErrUnknownOutcome && e.Err == nil &&
		e.Kind != ErrInternal
	return e
}

// originsOf are the origins that the server tells.
var originsOf = map[rows.Origin]Origin{
	rows.HitMemory: FromMemory, rows.HitDisk: FromDisk, rows.Stale: FromStale,
}

// fromRows returns a document as the server has answered it. Its texts and its
// body share the answer's memory.
func fromRows(key string, f Format, a *rows.Answer) Document {
	d := Document{
		Key: key, ETag: a.ETag, Position: a.Position, Format: f, Body: a.Body,
		Lag: time.Duration(a.Lag) * time.Millisecond, Origin: originsOf[a.Origin],
		Missing: a.State == rows.Absent, NotModified: a.State == rows.NotModified,
	}
	if a.Key != "" {
		d.Key = a.Key
	}
	return d
}

// flags returns what a read asks for besides.
func (q *readCall) flags() (f rows.Flags) {
	if q.noCache {
		f |= rows.NoCache
	}
	if q.onlyIfCached {
		f |= rows.OnlyIfCached
	}
	return f
}

// damaged is the error of an answer that cannot be read.
func damaged(op string, err error) *Error { return &Error{Op: op, Kind: ErrInternal, Err: err} }

// position returns the one position that a request takes: that of the resource's
// source. Which source that is, the server is asked once, and only by clients
// that hold positions of several.
func (r *wireRemote) position(ctx context.Context, resource, positions string) string {
	first, rest, several := strings.Cut(positions, ",")
	if !several {
		first, _, _ = strings.Cut(first, ";")
		return first
	}
	source, ok := r.sources.Load(resource)
	if !ok {
		if _, err := r.info(ctx); err != nil {
			return first
		}
		if source, ok = r.sources.Load(resource); !ok {
			return "" // no feed tells of it, so that there are no positions
		}
	}
	for token := range strings.SplitSeq(first+","+rest, ",") {
		if name, p, ok := parsePosition(token); ok && name == source {
			return p.text
		}
	}
	return ""
}

// get reads one document.
func (r *wireRemote) get(ctx context.Context, q *getCall) (Document, error) {
	d, err := r.getOnce(ctx, q)
	if err == nil && q.maxAge > 0 && d.Lag > q.maxAge && !q.noCache && !q.onlyIfCached {
		q.noCache = true // older than the caller takes
		return r.getOnce(ctx, q)
	}
	return d, err
}

func (r *wireRemote) getOnce(ctx context.Context, q *getCall) (Document, error) {
	g := rows.Get{Resource: q.resource, Key: q.key, Format: rows.Format(q.format),
		Flags: q.flags(), Min: r.position(ctx, q.resource, q.min), IfNoneMatch: q.noneMatch}
	op := "get"
	answer, err := r.request(ctx, op, rows.IDGet, g.Append(q.buffer[:0]))
	if err != nil {
		return Document{}, err
	}
	var a rows.Answer
	if err := a.Decode(answer); err != nil {
		return Document{}, damaged(op, err)
	}
	if a.State == rows.Absent {
		return fromRows(q.key, q.format, &a), &Error{Op: op, Kind: ErrNotFound, sent: true}
	}
	return fromRows(q.key, q.format, &a), nil
}

// getMany reads several documents, as many in a message as the server takes.
func (r *wireRemote) getMany(
	ctx context.Context, q *readCall, keys []string,
) ([]Document, error) {
	op := "get"
	docs := make([]Document, 0, len(keys))
	for len(keys) > 0 {
		some := keys[:min(len(keys), rows.MaxKeys)]
		keys = keys[len(some):]
		g := rows.GetMulti{Resource: q.resource, Keys: some, Format: rows.Format(q.format),
			Flags: q.flags(), Min: r.position(ctx, q.resource, q.min)}
		answer, err := r.request(ctx, op, rows.IDGetMulti, g.Append(nil))
		if err != nil {
			return nil, err
		}
		list, err := rows.DecodeAnswers(answer)
		if err == nil && len(list) != len(some) {
			err = errors.New("not as many answers as keys")
		}
		if err != nil {
			return nil, damaged(op, err)
		}
		for i := range list {
			docs = append(docs, fromRows(some[i], q.format, &list[i]))
		}
	}
	return docs, nil
}

// list reads a page.
func (r *wireRemote) list(ctx context.Context, q *listCall) (Page, error) {
	op := "list"
	query := rows.Query{Resource: q.resource, After: q.options.After,
		Limit: uint32(max(q.options.Limit, 0)), Format: rows.Format(q.format), Filter: q.query}
	answer, err := r.request(ctx, op, rows.IDQuery, query.Append(nil))
	if err != nil {
		return Page{}, err
	}
	var p rows.Page
	if err := p.Decode(answer); err != nil {
		return Page{}, damaged(op, err)
	}
	page := Page{Documents: make([]Document, 0, len(p.Answers))}
	for i := range p.Answers {
		page.Documents = append(page.Documents, fromRows("", q.format, &p.Answers[i]))
	}
	if n := len(page.Documents); q.query != "" {
		page.Next = strings.Clone(p.Next)
	} else if p.More && n > 0 {
		page.Next = page.Documents[n-1].Key
	}
	return page, nil
}

// writeIDs are the messages of the operations.
var writeIDs = [...]uint64{opPut: rows.IDPut, opPatch: rows.IDPatch, opDelete: rows.IDDelete}

// write makes one write.
func (r *wireRemote) write(ctx context.Context, w *writeCall) (Document, error) {
	m := rows.Write{Resource: w.resource, Key: w.key, Body: w.body,
		BodyFormat: rows.Format(w.format), Format: rows.Format(w.format)}
	if w.minimal {
		m.Flags = rows.Minimal
	}
	if w.match != "" {
		m.IfMatch = []string{w.match}
	}
	if w.noneMatch != "" {
		m.IfNoneMatch = []string{w.noneMatch}
	}
	answer, err := r.request(ctx, w.name(), writeIDs[w.op], m.Append(nil))
	if err != nil {
		return Document{}, err
	}
	var done rows.Written
	if err := done.Decode(answer); err != nil {
		return Document{}, damaged(w.name(), err)
	}
	d := fromRows(w.key, w.format, &done.Answer)
	d.Created = done.Created
	d.Missing = false // after a delete it says no more than that it worked
	return d, nil
}

// info reads what is served.
func (r *wireRemote) info(ctx context.Context) (Info, error) {
	answer, err := r.request(ctx, "info", rows.IDInfo, rows.AppendEmpty(nil))
	if err != nil {
		return Info{}, err
	}
	var i rows.Info
	if err := i.Decode(answer); err != nil {
		return Info{}, damaged("info", err)
	}
	info := Info{Resources: make([]Resource, 0, len(i.Resources))}
	for _, res := range i.Resources {
		if source, _, ok := parsePosition(res.Position); ok {
			r.sources.Store(res.Name, source)
		}
		info.Resources = append(info.Resources, Resource{
			Name: res.Name, Key: res.Key, Methods: methodsOf(res.Does),
		})
	}
	return info, nil
}

// methodsOf names operations as HTTP does.
func methodsOf(does rows.Does) []string {
	methods := []string{"GET"}
	for _, one := range []struct {
		does rows.Does
		name string
	}{
		{rows.DoesCreate, "POST"}, {rows.DoesPut, "PUT"}, {rows.DoesPatch, "PATCH"},
		{rows.DoesDelete, "DELETE"},
	} {
		if does&one.does != 0 {
			methods = append(methods, one.name)
		}
	}
	return methods
}
