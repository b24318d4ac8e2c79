package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/front"
	linksfront "github.com/hotrow/hotrow/internal/front/links"
	"github.com/hotrow/hotrow/internal/httpserve"
	"github.com/hotrow/hotrow/internal/source"
)

// A beginning is the time in which a shortener waits for its database. The
// server does not wait with it: whatever else it serves is served.
type beginning struct {
	away    error              // why the database was not reached when it was first asked
	done    atomic.Bool        // the shortener answers; its fields do not change any more
	cancel  context.CancelFunc // ends the waiting; nil: there was none
	waiting sync.WaitGroup
}

// linksPause is how long the database of links is left alone between two tries,
// at most.
const linksPause = 2 * time.Second

// linksAway is what the log says then.
const linksAway = "the database of links is not reached"

// startLinks serves links, at once if their database is there. While it is away
// the listener answers 503, readiness says why, and the database is asked again
// and again.
func (s *server) startLinks(ctx context.Context, failed chan<- error) error {
	l := &s.links
	if !l.on() {
		return nil
	}
	if l.begin.away == nil {
		err := s.serveLinks(ctx)
		if !source.ClassOf(err).Passing() {
			return err
		}
		l.begin.away = err
	}
	source.LogRetry(s.log.With(reachHint(l.begin.away)...),
		linksAway+": redirects are answered with 503 until it is", l.begin.away)
	room, err := newPlaceholder(l.listener, linksfront.Waiting(), s)
	if err != nil {
		return err
	}
	ctx, l.begin.cancel = context.WithCancel(ctx)
	l.begin.waiting.Go(func() {
		err := s.awaitLinks(ctx, room)
		if err == nil || ctx.Err() != nil {
			return
		}
		select {
		case failed <- err:
		default: // something else ends the server already
		}
	})
	return nil
}

// awaitLinks tries until links are served. Any error but an absent database ends
// it.
func (s *server) awaitLinks(ctx context.Context, room *placeholder) error {
	defer room.close()
	wait := linksPause / 32
	for {
		err := s.makeLinks(ctx)
		if err == nil {
			err = s.makeLinksFront(ctx)
		}
		if err == nil {
			break
		}
		if !source.ClassOf(err).Passing() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, linksPause)
	}
	room.close()
	s.log.Info("the database of links is reached: redirects begin")
	return s.openLinks()
}

// end ends the waiting: from then on the shortener's fields do not change.
func (b *beginning) end() {
	if b.cancel != nil {
		b.cancel()
		b.waiting.Wait()
	}
}

// ready returns nil when there is no shortener that waits for its database.
func (l *shortener) ready() error {
	if l.on() && !l.begin.done.Load() {
		return fmt.Errorf("links: the database has not been reached yet")
	}
	return nil
}

// A placeholder answers on a listener in place of a server that cannot begin
// yet, and gives the listener back.
type placeholder struct {
	listener *borrowedListener
	server   *http.Server
	ended    chan struct{}
	once     sync.Once
}

// A borrowedListener is a listener that its borrower cannot close.
type borrowedListener struct {
	net.Listener
	deadline interface{ SetDeadline(time.Time) error }
}

// Close ends Accept, and no more.
func (l *borrowedListener) Close() error { return l.deadline.SetDeadline(time.Unix(1, 0)) }

// newPlaceholder begins to answer with h.
func newPlaceholder(l net.Listener, h http.Handler, s *server) (*placeholder, error) {
	deadline, ok := l.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return nil, fmt.Errorf("links: a listener of another kind: %T", l)
	}
	gate := admit.New(front.Admit(nil), l.Addr(), s.log)
	room := &placeholder{
		listener: &borrowedListener{admit.Listener(l, gate), deadline}, ended: make(chan struct{}),
		server: httpserve.Server(h, httpserve.Timeouts{Write: 10 * time.Second}, s.log),
	}
	room.server.SetKeepAlivesEnabled(false) // who asks again asks the one that comes
	go func() {
		defer close(room.ended)
		_ = room.server.Serve(room.listener) // it ends when the room is closed
	}()
	return room, nil
}

// close gives the listener back.
func (r *placeholder) close() {
	r.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if r.server.Shutdown(ctx) != nil {
			_ = r.server.Close()
		}
		<-r.ended
		_ = r.listener.deadline.SetDeadline(time.Time{}) // an open socket takes it
	})
}
