package resource

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/fresh"
	"github.com/hotrow/hotrow/internal/row"
)

// An Event tells a watcher that a document is not what it was, and that a read
// made now sees the change. It carries no document: who wants it asks.
type Event struct {
	Key   row.Key // "" with Reset
	Reset bool    // anything may have changed, or the watcher was too slow
	Own   bool    // with Reset: of this resource alone, which a reload has changed
	Token Token   // includes the change
	Mark  uint64  // Result.Mark of the write that it tells of; 0: nobody can tell
}

// A Watch is a subscription to the changes of a resource.
type Watch struct {
	// C delivers the events. It is never closed. When the watcher does not keep
	// up, events are dropped and a Reset is delivered in their place.
	C <-chan Event

	hub  *hub
	c    chan Event
	lost bool // guarded by hub.mu: a Reset is owed
}

// hub holds the watches of one resource.
type hub struct {
	mu      sync.Mutex // guards watches
	watches map[*Watch]struct{}
	count   atomic.Int64 // len(watches)
	dropped atomic.Uint64
}

// Watch subscribes to the changes of all documents, with room for buffer events (at least
// 1). Call Close.
func (r *Resource) Watch(buffer int) *Watch {
	w := &Watch{hub: &r.watch, c: make(chan Event, max(buffer, 1))}
	w.C = w.c
	r.watch.add(w)
	if u := r.revision.Load().src; u.followed.Load() {
		u.follower.fenceSoon() // who watches ends a rest
	}
	return w
}

// Close ends the subscription.
func (w *Watch) Close() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watches, w)
	h.count.Store(int64(len(h.watches)))
}

func (h *hub) add(w *Watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watches == nil {
		h.watches = make(map[*Watch]struct{})
	}
	h.watches[w] = struct{}{}
	h.count.Store(int64(len(h.watches)))
}

// changed tells everybody of a change of keys by the transaction mark.
func (h *hub) changed(keys []row.Key, t Token, mark uint64) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range keys {
		for w := range h.watches {
			h.send(w, Event{Key: k, Token: t, Mark: mark})
		}
	}
}

// reset tells everybody that anything may have changed.
func (h *hub) reset(t Token) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		h.send(w, Event{Reset: true, Token: t})
	}
}

// redefined tells everybody that the resource is another one, or no more.
func (h *hub) redefined(t Token) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watches {
		h.send(w, Event{Reset: true, Own: true, Token: t})
	}
}

// send delivers e, or remembers that a Reset is owed. It never waits. h.mu is
// held. Room is made for the Reset by dropping what is older than it.
func (h *hub) send(w *Watch, e Event) {
	if w.lost {
		e = Event{Reset: true, Token: e.Token}
	}
	select {
	case w.c <- e:
		w.lost = false
		return
	default:
	}
	h.dropped.Add(1)
	select {
	case <-w.c:
	default:
	}
	select {
	case w.c <- Event{Reset: true, Token: e.Token}:
		w.lost = false
	default:
		w.lost = true
	}
}

// watched reports whether somebody is to be told of changes of f's documents.
func (f *revision) watched() bool { return f.r.watch.count.Load() > 0 }

// notifyChanged tells who watches that a document may have changed.
func (f *revision) notifyChanged(k row.Key) {
	f.r.watch.changed([]row.Key{k}, f.src.token(f.src.domain.Applied()), 0)
}

// touched returns the documents of f that those who watch are told of, or that it is all.
func (f *revision) touched(
	t *fresh.Invalidation, moved *fresh.InvalidationSet,
) (keys []row.Key, all bool) {
	if f.docDeps == nil || moved == nil {
		return t.Keys, t.Whole
	}
	shown, all := f.space.WatchedIn(moved)
	for _, k := range shown {
		if !slices.Contains(t.Keys, k) {
			keys = append(keys, k)
		}
	}
	return append(keys, t.Keys...), all || t.Whole
}

// announce tells the watchers what a transaction has touched, once reads see it: touches
// are those of it now, with those of resources that were added since it was applied.
func announce(a *applied, invalidations []fresh.Invalidation, u *sourceState) {
	u.apply.Lock()
	bySpace := u.bySpace
	u.apply.Unlock()
	announceTo(a, invalidations, u, bySpace)
}

func announceTo(
	a *applied, invalidations []fresh.Invalidation, u *sourceState,
	bySpace map[*fresh.Space]*revision,
) {
	t := Token{}
	if p := u.domain.Applied(); p.Origin != "" {
		t = Token{Source: u.name, Origin: p.Origin, Pos: a.tx.Pos}
	}
	var moved *fresh.InvalidationSet
	for i := range invalidations {
		if invalidations[i].InvalidationSet != nil {
			moved = invalidations[i].InvalidationSet
		}
	}
	if moved != nil {
		u.waits.Moved(moved)
	}
	u.waits.Look()
	for i := range invalidations {
		f := bySpace[invalidations[i].Space]
		if f == nil { // replaced meanwhile
			continue
		}
		keys, all := f.touched(&invalidations[i], moved)
		if all {
			f.r.watch.reset(t)
		} else {
			f.r.watch.changed(keys, t, a.tx.Mark)
		}
	}
}
