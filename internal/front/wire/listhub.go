package wirefront

import (
	"context"
	"errors"
	"sync"

	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/workers"
)

// A listKey names what the watchers of one list have in common.
type listKey struct {
	res    *resource.Resource
	text   string // of the query
	room   string // see conn.ask
	format row.Format
}

// A listHub tells the watchers of one list when its answer is another. The cursor of an
// event is the tag of the answer, so that who comes back is told of a change exactly if
// there is one. It lives from the first watcher to the last.
type listHub struct {
	f   *Front
	key listKey
	ask *resource.ListAsk

	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex // guards what follows; taken before conn.mu
	over     bool
	watchers map[*watcher]string // and since when; "" once it has joined
	state    rows.Event          // with the cursor of now; none before the first answer
}

// listHub returns the hub of a list, made for the first who watches it.
func (f *Front) listHub(key listKey, ask *resource.ListAsk) (*listHub, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.lists[key]; h != nil {
		return h, nil
	}
	if f.closed {
		return nil, fail(kindDraining, "")
	}
	h := &listHub{f: f, key: key, ask: ask, watchers: make(map[*watcher]string)}
	h.ctx, h.cancel = context.WithCancel(f.ctx)
	f.lists[key] = h
	f.work.Go(h.run)
	return h, nil
}

// run tells what has changed until nobody watches or the list cannot be read any more.
func (h *listHub) run() {
	defer h.cancel()
	defer func() {
		if err := workers.Caught(nil, "watch a list", recover()); err != nil {
			h.fail(err)
		}
	}()
	list := h.key.res.WatchList(h.ask, h.key.format)
	defer list.Close()
	for {
		a, err := list.Next(h.ctx)
		if err != nil {
			h.fail(err)
			return
		}
		h.notify(&a)
	}
}

// notify notes an answer, and sends it to those who know another.
func (h *listHub) notify(a *resource.ListAnswer) {
	listed, changed := h.note(a)
	fanOut(h.ctx.Done(), listed, changed)
}

// note notes an answer, and returns those who know another, and what they are told.
func (h *listHub) note(a *resource.ListAnswer) (listed []*watcher, changed []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = rows.Event{Kind: rows.Changed, Cursor: a.Doc.ETag()}
	if !a.Token.IsZero() {
		h.state.Position = a.Token.String()
	}
	changed = h.state.Append(nil)
	for w, since := range h.watchers {
		if since == "" {
			listed = append(listed, w)
		} else {
			h.welcome(w, since)
		}
	}
	return listed, changed
}

// fromNow stands for a watcher that asks for no changes of before.
const fromNow = "now"

// join adds a watcher, and tells it first whether the answer is another than it knows. It
// reports false when the hub is no more.
func (h *listHub) join(w *watcher, since string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	if since == "" {
		since = fromNow
	}
	h.watchers[w] = since
	if h.state.Cursor != "" {
		h.welcome(w, since)
	}
	return true
}

// welcome tells a watcher where it is. h.mu is held, so that nothing overtakes it.
func (h *listHub) welcome(w *watcher, since string) {
	h.watchers[w] = ""
	if since != fromNow && since != h.state.Cursor {
		w.deliver(h.state.Append(nil))
	}
	ready := h.state
	ready.Kind = rows.Ready
	w.deliver(ready.Append(nil))
}

// leave removes a watcher; with the last the hub ends.
func (h *listHub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
	if len(h.watchers) == 0 {
		h.end()
	}
}

// end takes the hub out of the front. h.mu is held.
func (h *listHub) end() {
	h.over = true
	h.cancel()
	h.f.mu.Lock()
	defer h.f.mu.Unlock()
	if h.f.lists[h.key] == h {
		delete(h.f.lists, h.key)
	}
}

// fail ends all watches, unless there are none.
func (h *listHub) fail(err error) {
	h.mu.Lock()
	h.end()
	var listed []*watcher
	for w := range h.watchers {
		listed = append(listed, w)
	}
	clear(h.watchers)
	h.mu.Unlock()
	f := &fault{kind: kindDraining}
	if !errors.Is(err, context.Canceled) {
		f = faultOf(err)
	}
	for _, w := range listed {
		w.c.mu.Lock()
		w.end(f)
		w.c.flush()
		w.c.mu.Unlock()
	}
}
