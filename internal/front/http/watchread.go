package httpfront

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/workers"
)

const (
	watchBatch = 100                    // documents that are read together
	watchPause = 200 * time.Millisecond // before what could not be read is read again
)

// begin starts to follow t. Whatever changes from now on is noticed. ws.mu is held.
func (ws *watches) begin(t *topic) {
	ctx, cancel := context.WithCancel(context.Background())
	if t.ask != nil {
		t.end = cancel
		go t.guarded(func() { t.follow(ctx) })
		return
	}
	d := ws.docs[t.res]
	if d == nil {
		d = &docWatch{of: ws, res: t.res, watch: t.res.Watch(front.FollowedEvents),
			ctx: ctx, end: cancel,
			topics: make(map[row.Key]*topic), dirty: make(map[*topic]struct{}),
			wake: make(chan struct{}, 1)}
		ws.docs[t.res] = d
		go func() {
			defer d.watch.Close()
			for d.ctx.Err() == nil {
				workers.Guard(nil, "tell of documents that are followed", d.run)()
			}
		}()
	} else {
		cancel()
	}
	d.topics[t.doc] = t
}

// finish ends what begin has started. ws.mu is held.
func (t *topic) finish() {
	if t.ask != nil {
		t.end()
		return
	}
	d := t.of.docs[t.res]
	delete(d.topics, t.doc)
	delete(d.dirty, t)
	if len(d.topics) == 0 {
		delete(t.of.docs, t.res)
		d.end()
	}
}

// readAgain has t told anew to those who have another state. ws.mu is held.
func (t *topic) readAgain() {
	if t.ask == nil {
		t.of.docs[t.res].mark(t)
		return
	}
	t.again = true
	if t.interrupt != nil {
		t.interrupt()
	}
}

// guarded runs f, and ends the answers of those who follow t if it panics.
func (t *topic) guarded(f func()) {
	done := false
	workers.Guard(nil, "tell of a list that is followed", func() { f(); done = true })()
	if !done {
		t.fail()
	}
}

// follow tells of a list until ctx ends.
func (t *topic) follow(ctx context.Context) {
	list := t.res.WatchList(t.ask, row.FormatJSON)
	defer list.Close()
	told := false
	for ctx.Err() == nil {
		if !t.res.Fresh() {
			t.tellStale()
			list.Forget()
			told = false
			rest(ctx, watchTick)
			continue
		}
		inner, cancel := context.WithCancel(ctx)
		t.of.mu.Lock()
		if t.again {
			t.again, told = false, false
			list.Forget()
		}
		t.interrupt = nil
		if told { // else it reads at once, and again if need be
			t.interrupt = cancel
		}
		t.of.mu.Unlock()
		a, err := list.Next(inner)
		cancel()
		switch {
		case errors.Is(err, context.Canceled):
		case err != nil:
			t.fail()
			return
		case a.Origin == resource.HitStale:
			t.tellStale()
			list.Forget()
			told = false
		default:
			told = true
			t.tell(newState(a.Doc, a.Token))
		}
	}
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// A docWatch tells of the documents of a resource that are followed.
type docWatch struct {
	of    *watches
	res   *resource.Resource
	watch *resource.Watch
	ctx   context.Context
	end   context.CancelFunc
	wake  chan struct{}

	// What follows is guarded by of.mu.
	topics map[row.Key]*topic
	dirty  map[*topic]struct{} // that are to be read
}

// mark has t read. of.mu is held.
func (d *docWatch) mark(t *topic) {
	d.dirty[t] = struct{}{}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// run tells of changes until nobody follows a document.
func (d *docWatch) run() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.wake:
		case e := <-d.watch.C:
			d.note(&e)
		}
		for d.ctx.Err() == nil {
			list := d.take()
			if len(list) == 0 {
				break
			}
			d.read(list)
		}
	}
}

// note marks what an event tells of, and those that wait behind it.
func (d *docWatch) note(e *resource.Event) {
	wide := d.res.KeyType().Wide() // a row may be named by another text
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	for {
		switch t := d.topics[e.Key]; {
		case e.Reset, wide:
			for _, t := range d.topics {
				d.dirty[t] = struct{}{}
			}
		case t != nil:
			d.dirty[t] = struct{}{}
		}
		select {
		case next := <-d.watch.C:
			*e = next
		default:
			return
		}
	}
}

// take returns some of the topics that are to be read.
func (d *docWatch) take() (list []*topic) {
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	for t := range d.dirty {
		if len(list) == watchBatch {
			break
		}
		delete(d.dirty, t)
		list = append(list, t)
	}
	return list
}

// read reads documents and tells of them.
func (d *docWatch) read(list []*topic) {
	var again []*topic
	if d.res.Fresh() {
		keys := make([]row.Key, len(list))
		for i, t := range list {
			keys[i] = t.doc
		}
		answers := d.res.Load(d.ctx, keys, resource.Options{Format: row.FormatJSON})
		for i, t := range list {
			switch a := &answers[i]; {
			case d.ctx.Err() != nil:
				return
			case a.Err != nil && passes(a.Err), a.Err == nil && a.Origin == resource.HitStale:
				again = append(again, t)
			case a.Err != nil:
				t.fail()
			default:
				t.tell(newState(a.Doc, a.Token))
			}
		}
	} else {
		for _, t := range list {
			t.tellStale()
		}
		again = list
	}
	if len(again) == 0 {
		return
	}
	rest(d.ctx, watchPause)
	d.of.mu.Lock()
	defer d.of.mu.Unlock()
	for _, t := range again {
		if d.topics[t.doc] == t {
			d.mark(t)
		}
	}
}

// passes reports whether another attempt may mend an error.
func passes(err error) bool {
	switch problemOf(err).kind.status {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}
