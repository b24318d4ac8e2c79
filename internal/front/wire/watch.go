package wirefront

import (
	"strings"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A watcher is one stream of changes.
type watcher struct {
	c      *conn
	opaque uint64
	res    *served
	key    row.Key    // "": every document
	list   *listWatch // nil: documents are watched
	hub    notifier   // nil until it has joined; guarded by c.mu

	// What follows is guarded by c.mu.
	over   bool
	asked  bool     // whether it is allowed has been looked at for issued and rule
	issued any      // the tokens of then
	rule   string   // and the rule
	queue  [][]byte // events that the peer has not given credit for
	since  time.Time
}

// A listWatch is the list that is watched.
type listWatch struct {
	ask    *resource.ListAsk
	format row.Format
}

// watch opens a stream of changes. c.mu is held.
func (c *conn) watch(s *scope, e *gofast.Event) {
	var q rows.Watch
	if err := q.Decode(e.Data); err != nil {
		c.denyStream(e, faultOf(err))
		return
	}
	c.side = c.session.AppendConsumed(c.side, e.Opaque, len(e.Data))
	res := s.resource(q.Resource)
	if res == nil {
		c.denyStream(e, s.live.noResource(q.Resource))
		return
	}
	if f := c.pass(s.live, s.issued, res.rule); f != nil {
		c.denyStream(e, f)
		return
	}
	w := &watcher{c: c, opaque: e.Opaque, res: res}
	f := w.watchable(s.live, &q)
	if f == nil && c.leaving {
		f = &fault{kind: kindDraining}
	}
	if f != nil {
		c.denyStream(e, f)
		return
	}
	c.logNow(e.ID, e.Data, gofast.OK)
	if c.watchers == nil {
		c.watchers = make(map[*watcher]struct{})
	}
	c.watchers[w] = struct{}{}
	c.f.stats.watchers.Add(1)
	_ = c.session.SetUser(e.Opaque, w) // the stream has just begun
	since := strings.Clone(q.Since)
	if !c.f.start(func() { w.join(since) }) {
		w.end(&fault{kind: kindDraining})
	}
}

// watchable says why what is asked for cannot be watched, if so. c.mu is held.
func (w *watcher) watchable(o *Options, q *rows.Watch) *fault {
	switch {
	case w.res.NoFeed():
		return &fault{kind: kindNoFeed}
	case q.Filter != "" && q.Key != "":
		return fail(kindBadQuery, "a watch is of a key or of a query")
	case q.Filter != "":
		ask, _, err := w.c.ask(o, w.res.Resource,
			&rows.Query{Resource: q.Resource, Filter: q.Filter})
		if err != nil {
			return faultOf(err)
		}
		w.list = &listWatch{ask, row.Format(q.Format)}
	case q.Key != "":
		k, err := w.res.KeyType().Parse(row.Key(strings.Clone(q.Key)))
		if err != nil {
			return faultOf(err)
		}
		if !w.res.KeyType().Wide() { // else a row may be named by another text: all are told
			w.key = k
		}
	}
	return nil
}

// A notifier tells watchers of changes: a hub or a listHub.
type notifier interface {
	// join adds a watcher and tells it what it has missed. It reports false when the
	// teller is no more.
	join(w *watcher, since string) bool
	leave(w *watcher)
}

// join begins to follow the resource, or the list. One that is over joins all the same, and
// leaves: a list that was made for it would never end otherwise.
func (w *watcher) join(since string) {
	for joined := false; !joined; {
		h, err := w.joined()
		w.c.mu.Lock()
		if err != nil {
			if !w.c.ended {
				w.end(faultOf(err))
				w.c.flush()
			}
			w.c.mu.Unlock()
			return
		}
		w.hub = h
		w.c.mu.Unlock()
		joined = h.join(w, since)
	}
	w.c.mu.Lock()
	h, over := w.hub, w.over || w.c.ended
	w.c.mu.Unlock()
	if over { // before or while it joined
		h.leave(w)
	}
}

// joined returns the hub of what w watches, once it has joined that.
func (w *watcher) joined() (notifier, error) {
	if w.list == nil {
		return w.c.f.hub(w.res.Resource)
	}
	ask := w.list.ask
	return w.c.f.listHub(
		listKey{w.res.Resource, ask.Query.Key(), ask.Variant, w.list.format}, ask)
}

// leave stops to follow the resource. c.mu is not held.
func (w *watcher) leave() {
	w.c.mu.Lock()
	if !w.over {
		w.c.f.stats.watchers.Add(-1)
	}
	w.over = true
	h := w.hub
	w.c.mu.Unlock()
	if h != nil {
		h.leave(w)
	}
}

// end ends the stream, and has the watcher leave its hub. c.mu is held; a lock
// of the hub comes before it, so that somebody else takes that one.
func (w *watcher) end(f *fault) {
	if w.over {
		return
	}
	w.over = true
	w.queue = nil
	w.c.f.stats.watchers.Add(-1)
	delete(w.c.watchers, w)
	w.c.endStream(w.opaque, f)
	if h := w.hub; h != nil && !w.c.f.start(func() { h.leave(w) }) {
		return // the front is closed, and so is the hub
	}
}

// deliver tells the peer of an event.
func (w *watcher) deliver(payload []byte) { w.c.deliver([]*watcher{w}, payload) }

// deliver tells watchers of the connection of an event.
func (c *conn) deliver(list []*watcher, payload []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	o := c.f.live.Load()
	full := c.lc.Backlog() > front.PushedBytes
	for _, w := range list {
		if w.over {
			continue
		}
		if f := w.allowed(o); f != nil {
			w.end(f)
		} else if len(w.queue) > 0 || full || !w.send(payload) {
			w.wait(payload)
		}
	}
	c.flush()
}

// send appends an event to the output. It reports false when the peer has to
// give credit first. c.mu is held.
func (w *watcher) send(payload []byte) bool {
	c := w.c
	m := gofast.Message{ID: rows.IDWatch, Data: payload}
	if c.session.Legacy() {
		m.Prefix = legacyOK
	}
	var err error
	c.side, err = c.session.AppendMessage(c.side, w.opaque, &m)
	switch err {
	case nil:
		c.f.stats.events.Add(1)
	case gofast.ErrNoCredit:
		return false
	case gofast.ErrTooLarge:
		w.end(fail(kindTooLarge, "an event is larger than the peer accepts"))
	default: // the stream has ended meanwhile
		w.end(nil)
	}
	return true
}

// legacyOK is what comes before every event for a peer that knows no errors.
var legacyOK = rows.AppendStatus(nil, rows.OK)

// wait keeps an event until the peer gives credit, or cuts a watcher off that is
// too far behind. c.mu is held.
func (w *watcher) wait(payload []byte) {
	if w.over {
		return
	}
	if len(w.queue) == 0 {
		w.since = time.Now()
	} else if w.list != nil { // the answer of before is of no use any more
		w.queue = w.queue[:0]
	}
	if len(w.queue) >= front.WatchBehind {
		w.cutOff()
		return
	}
	w.queue = append(w.queue, payload)
}

// cutOff ends a watcher that does not keep up.
func (w *watcher) cutOff() {
	w.c.f.stats.slow.Add(1)
	w.end(&fault{kind: kindSlow})
}

// drain sends what has waited, as far as the peer lets us. c.mu is held.
func (w *watcher) drain() {
	n := 0
	for n < len(w.queue) && w.c.lc.Backlog() <= front.PushedBytes && w.send(w.queue[n]) {
		n++
	}
	if w.over || n == 0 {
		return
	}
	w.queue = w.queue[n:]
	if w.since = time.Now(); len(w.queue) == 0 {
		w.queue = nil
	}
}

// look goes on with a watcher, or cuts it off, as time passes. c.mu is held.
func (w *watcher) look(now time.Time) {
	if len(w.queue) == 0 {
		return
	}
	if w.drain(); len(w.queue) > 0 && now.Sub(w.since) > w.c.f.live.Load().SlowWatcher {
		w.cutOff()
	}
}

// allowed says why the peer may not read the resource any more, if so. What was
// asked is remembered while tokens and rule are the same. c.mu is held.
func (w *watcher) allowed(o *Options) *fault {
	if w.res.NoFeed() {
		return &fault{kind: kindNoFeed}
	}
	if w.list != nil {
		for _, res := range resource.Embedded(w.list.ask.Query) {
			if res.NoFeed() {
				return &fault{kind: kindNoFeed}
			}
			if err := w.c.mayEmbed(o, res.Name()); err != nil {
				return faultOf(err)
			}
		}
	}
	issued, rule := o.issued(), w.res.Access().Read
	if w.asked && w.issued == issued && w.rule == string(rule) {
		return nil
	}
	if f := w.c.pass(o, issued, rule); f != nil {
		return f
	}
	w.asked, w.issued, w.rule = true, issued, string(rule)
	return nil
}

// recheck ends the watches of what is not served, or not allowed, any more.
func (c *conn) recheck() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.watchers) == 0 || c.ended {
		return
	}
	o := c.f.live.Load()
	for w := range c.watchers {
		f := w.allowed(o)
		if r, ok := o.Resources.Lookup(w.res.name); !ok || r != w.res.Resource {
			f = faultNoResource()
		}
		if f != nil {
			w.end(f)
		}
	}
	c.flush()
}
