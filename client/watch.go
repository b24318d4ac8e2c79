package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	// Changed says that a document is not what it was, or is new or gone, and that
	// a read made now sees it. The event has no document: who wants it asks.
	Changed EventKind = iota
	// Deleted is Changed, where the server knows that the document is gone.
	Deleted
	// Reset says that anything may have changed: forget what you hold. It comes
	// when the server's own feed had a gap, when a watch could not be resumed
	// where it broke, and when the watcher was too slow.
	Reset

	ready EventKind = 255 // the first event of a subscription; watchers do not see it
)

// An Event is one change.
type Event struct {
	Kind     EventKind
	Key      string // of the document; "" with Reset, and of a query
	Position string // MinPosition of this sees the change; "" when nobody knows

	cursor string // where to go on from when the connection breaks
}

// A WatchOption changes one watch.
type WatchOption func(*watchCall)

// A watchCall is one watch as it is asked for.
type watchCall struct {
	resource, key string
	query         string
	format        Format // of the answers to query that are asked for then
	since         string
}

// name names the call in errors.
func (q *watchCall) name() string {
	switch {
	case q.query != "":
		return "watch " + q.resource + "?" + q.query
	case q.key != "":
		return "watch " + q.resource + "/" + q.key
	}
	return "watch " + q.resource
}

// OfKey watches one document instead of all of a resource.
func OfKey(key string) WatchOption { return func(q *watchCall) { q.key = key } }

// OfQuery watches the answer to a query, as Query asks it, instead of documents: Changed,
// without a Key, says that the answer is another than before. It is told exactly if there
// was a change, too, when the watch goes on after its connection broke.
func OfQuery(query string) WatchOption { return func(q *watchCall) { q.query = query } }

// Since tells what has changed after a position, too, or begins with Reset when
// the server does not know that any more. It is the Position of the last event
// that was seen, or of a Document.
func Since(position string) WatchOption { return func(q *watchCall) { q.since = position } }

// A subscription is one watch on one connection, for one goroutine.
type subscription interface {
	// next waits for an event. Errors are *Error; after one the subscription has
	// ended.
	next(ctx context.Context) (Event, error)
	close()
}

// A Watch delivers the changes of a resource, or of one document. When its
// connection breaks it makes another and goes on where it was, or delivers Reset
// when the server cannot do that. It is for one goroutine; Close may be called
// by another.
type Watch struct {
	client   *Client
	call     watchCall
	sub      subscription
	began    bool // there was a connection before
	attempts int  // in a row that have failed

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

// Watch subscribes to the changes of a resource. What changes after it has
// returned is delivered. Call Close.
func (c *Client) Watch(
	ctx context.Context, resource string, opts ...WatchOption,
) (*Watch, error) {
	w := &Watch{client: c, call: watchCall{resource: resource, format: c.opts.format}}
	for _, set := range opts {
		set(&w.call)
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	ctx, cancel := c.bound(ctx)
	defer cancel()
	_, err := retried(ctx, c, &w.call, safe, func() (struct{}, error) {
		return struct{}{}, w.connect(ctx)
	})
	if err != nil {
		w.cancel()
		return nil, err
	}
	return w, nil
}

// connect makes a subscription that goes on after the last event.
func (w *Watch) connect(ctx context.Context) error {
	sub, err := w.client.remote.watch(ctx, &w.call)
	if err != nil {
		return err
	}
	w.sub, w.began, w.attempts = sub, true, 0
	return nil
}

// Next waits for an event. The error is the context's, ErrClosed after Close, or
// one that another attempt cannot mend (a resource that is gone, a token that is
// not good any more). After the context's error Next may be called again.
func (w *Watch) Next(ctx context.Context) (Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.ctx, cancel)()
	for {
		if w.sub == nil {
			if again, err := w.reconnect(ctx); err != nil {
				return Event{}, w.ended(err)
			} else if again {
				continue
			}
		}
		e, err := w.sub.next(ctx)
		if err != nil {
			w.sub.close()
			w.sub = nil
			if ctx.Err() != nil || !w.mends(err) {
				return Event{}, w.ended(err)
			}
			continue
		}
		if e.cursor != "" {
			w.call.since = e.cursor
		}
		if e.Kind == ready {
			continue
		}
		return e, nil
	}
}

// reconnect makes another subscription. again says that it has not worked, and
// is to be tried once more.
func (w *Watch) reconnect(ctx context.Context) (again bool, err error) {
	if !pause(ctx, w.attempts, 0) {
		return false, ctx.Err()
	}
	w.attempts++
	lost := w.call.since == "" // nothing to go on from: what came in between is not known
	err = w.connect(ctx)
	switch {
	case err == nil && lost && w.began:
		w.sub = &resetFirst{subscription: w.sub}
		return false, nil
	case err == nil:
		return false, nil
	case ctx.Err() == nil && w.mends(err):
		return true, nil
	}
	return false, err
}

// mends reports whether another connection may do better.
func (w *Watch) mends(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, io.ErrUnexpectedEOF)
}

// ended returns the error for the caller.
func (w *Watch) ended(err error) error {
	if w.ctx.Err() != nil {
		return &Error{Op: w.call.name(), Kind: ErrClosed}
	}
	return err
}

// All iterates over the events until the first error, which is the last thing
// that it yields.
func (w *Watch) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			e, err := w.Next(ctx)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Close ends the watch, and a Next that waits.
func (w *Watch) Close() error {
	w.cancel()
	return nil
}

// A resetFirst delivers a Reset before what a subscription has.
type resetFirst struct {
	subscription
	told bool
}

func (r *resetFirst) next(ctx context.Context) (Event, error) {
	if !r.told {
		r.told = true
		return Event{Kind: Reset}, nil
	}
	return r.subscription.next(ctx)
}

// quiet is how long a server may say nothing on a watch: it sends a sign of life
// every 15 seconds.
const quiet = 45 * time.Second
