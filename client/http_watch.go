package client

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxLine bounds a line of a stream of events.
const maxLine = 64 << 10

// An httpSubscription is a stream of server-sent events (WHATWG HTML 9.2).
type httpSubscription struct {
	op     string
	body   io.ReadCloser
	lines  *bufio.Scanner
	cancel context.CancelFunc
	silent *time.Timer // ends the stream when nothing comes
	key    string      // of the document that is watched, if it is one
	began  bool        // it has told of a state, or its reader knows one
}

// watch opens a stream of events.
func (r *httpRemote) watch(ctx context.Context, q *watchCall) (subscription, error) {
	if q.key == "" && q.query == "" {
		return nil, &Error{Op: q.name(), Kind: ErrUnsupported,
			Hint: "over HTTP a document or a query is watched, by OfKey or OfQuery;" +
				" all of a resource over hotrow://HOST:9900"}
	}
	address := r.base + "/" + url.PathEscape(q.resource)
	if q.key != "" {
		address = r.path(ctx, q.resource, q.key)
	}
	if q.query != "" {
		address += "?" + q.query
	}
	// The stream outlives the call that opens it; until it is open it ends with it.
	streamCtx, cancel := context.WithCancel(r.ctx)
	opening := context.AfterFunc(ctx, cancel)
	req, err := http.NewRequestWithContext(streamCtx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, &Error{Op: q.name(), Kind: ErrInvalid, Err: err}
	}
	req.Header.Set("Accept", "text/event-stream")
	if q.since != "" {
		req.Header.Set("Last-Event-ID", q.since)
	}
	r.authorize(req.Header)
	resp, err := r.client.Do(req)
	if !opening() && err == nil {
		_ = resp.Body.Close()
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, transportError(ctx, q.name(), withoutURL(err), false)
	}
	if err := streamRefused(q, resp); err != nil {
		cancel()
		return nil, err
	}
	s := &httpSubscription{op: q.name(), body: resp.Body, cancel: cancel, key: q.key,
		began: q.since != ""}
	s.lines = bufio.NewScanner(resp.Body)
	s.lines.Buffer(nil, maxLine)
	s.silent = time.AfterFunc(quiet, cancel)
	return s, nil
}

// streamRefused returns the error of an answer that is no stream of events, and
// closes it.
func streamRefused(q *watchCall, resp *http.Response) error {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if resp.StatusCode == http.StatusOK && strings.TrimSpace(kind) == "text/event-stream" {
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < http.StatusBadRequest || resp.StatusCode == http.StatusNotAcceptable {
		return &Error{Op: q.name(), Kind: ErrUnsupported,
			Hint: "this server has no watches over HTTP: open hotrow://HOST:9900 instead"}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	if err != nil {
		return transportError(resp.Request.Context(), q.name(), err, true)
	}
	return problemError(q.name(), &roundTrip{resp.StatusCode, resp.Header, body})
}

// next reads lines until an event is complete.
func (s *httpSubscription) next(ctx context.Context) (Event, error) {
	defer context.AfterFunc(ctx, s.cancel)()
	var name, id string
	seen := false
	for s.lines.Scan() {
		s.silent.Reset(quiet)
		line := s.lines.Text()
		if line == "" {
			if !seen {
				continue
			}
			if e, ok := s.event(name, id); ok {
				return e, nil
			}
			name, id, seen = "", "", false
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name, seen = value, true
		case "data":
			seen = true
		case "id":
			id, seen = value, true
		}
	}
	err := s.lines.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return Event{}, transportError(ctx, s.op, err, true)
}

// event returns what the fields of an event say: each is a state of what is watched. The first
// one is no change, unless the reader knows another. Events of other names are not for us.
func (s *httpSubscription) event(name, id string) (e Event, ok bool) {
	e = Event{Key: s.key, cursor: id}
	if at := strings.LastIndexByte(id, '~'); at >= 0 {
		e.Position = id[:at]
	}
	switch name {
	case "", "changed":
		e.Kind = Changed
	case "absent":
		e.Kind = Deleted
	default:
		return Event{}, false
	}
	if !s.began {
		e.Kind, e.Key = ready, ""
	}
	s.began = true
	return e, true
}

// close ends the stream.
func (s *httpSubscription) close() {
	s.silent.Stop()
	s.cancel()
	_ = s.body.Close()
}
