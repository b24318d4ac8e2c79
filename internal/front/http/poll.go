package httpfront

import (
	"net/http"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

// A request with If-None-Match and Prefer: wait=N waits until what it asks for is another, or
// N seconds: a client that reads no stream follows a document or a list by asking again and
// again. It is one more watch of what it asks for, with the bounds of all.

// polls reports whether a request would rather wait than be told that nothing is new.
func (r *request) polls() bool {
	return r.IfNoneMatch != nil && r.Prefer != nil && r.MinPosition == nil &&
		parsePrefer(row.Alias(r.Prefer)).wait > 0
}

// poll answers once read's answer is not 304, or the client would not wait any longer.
func (c *call) poll(read func() (*answer, error)) (*answer, error) {
	conn, ok := c.p.conn.(*eventloop.Conn)
	if !ok || c.res.NoFeed() { // net/http has the request, or nobody tells of changes
		return read()
	}
	if !c.mayFollow() {
		return nil, followedByOthers()
	}
	s := &stream{of: &c.h.watches, conn: conn, woken: make(chan struct{}, 1)}
	c.stream = s // call.answer has it leave
	c.watcher = &watcher{s: s}
	a, err := read()
	w := c.watcher
	c.watcher = nil // it has joined
	if err != nil || a.code != http.StatusNotModified {
		return a, err
	}
	if s.full {
		return nil, problem{kind: kindBusy, after: retryFull, detail: "too many requests wait"}
	}
	wait := min(parsePrefer(row.Alias(c.r.Prefer)).wait, front.PollWait)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	known := tagOf(a.tag)
	if !c.p.follow(s) || !s.listen(w, known) {
		return a, nil // the client has left, or is to be answered by other settings
	}
	for last := false; !last; {
		c.release() // nothing is held meanwhile
		select {
		case <-s.woken:
			last = s.ended()
		case <-timer.C:
			last = true
		}
		c.o = c.h.live.Load()
		if a, err = read(); err != nil || a.code != http.StatusNotModified {
			break
		}
	}
	return a, err
}

// tagOf returns the entity tag of JSON that is of the same state as a tag.
func tagOf(tag string) string { return shortTag(tag) + "-j" }

// followedByOthers is the problem of a page that may not follow.
func followedByOthers() error {
	return problem{kind: kindCrossOrigin, detail: "a page of another origin follows this",
		hint: "name the origin of the page in http.cors.origins"}
}

// listen has a request that waits woken when w is of another state than known, which it has.
// What has changed since it was read wakes it at once. It reports false if it is over.
func (s *stream) listen(w *watcher, known string) bool {
	ws := s.of
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if s.over || s.doomed || w.topic == nil {
		return false
	}
	s.active, w.tag = true, known
	w.topic.readAgain()
	return true
}

// wake has a request that waits look again.
func (s *stream) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// ended reports whether a request is not to wait any more.
func (s *stream) ended() bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.over || s.doomed || s.conn.Draining()
}
