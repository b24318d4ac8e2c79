package httpfront

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

const (
	watchTick      = 250 * time.Millisecond // between two looks at all watches
	heartbeatTicks = 60                     // of them between two comments: 15 s
)

var (
	heartbeat  = []byte(":\n\n")
	staleEvent = []byte("event: stale\ndata: null\n\n")
)

// watches are those who follow documents and lists over HTTP. There is no queue: a client that
// does not take what it is sent gets the newest state when it does.
type watches struct {
	live            *atomic.Pointer[settings] // of the Handler
	events, refused atomic.Uint64
	running         sync.WaitGroup

	mu       sync.Mutex // guards the rest, the topics and the watchers; innermost
	topics   map[topicKey]*topic
	docs     map[*resource.Resource]*docWatch
	watchers map[*watcher]struct{}
	clients  map[string]int // watches of each
	ticking  bool
	count    int // watches that there were
}

// A watcher is one answer that goes on.
type watcher struct {
	of     *watches
	conn   *eventloop.Conn
	client string // "": one of this machine
	joined bool   // it may follow; of the goroutine that answers

	rule   resource.Rule // by which it may
	issued any           // the tokens of then; nil: nobody was asked for one

	// What follows is guarded by of.mu.
	topic  *topic
	tag    string // of the state that it has; "": none
	active bool   // the head of the answer is sent
	doomed bool   // the answer ends with its head
	over   bool
	number int // of its heartbeats
}

// A topicKey is what may be followed.
type topicKey struct {
	res  *resource.Resource
	what string // the key of a document behind "/", or what tells one list from all others
}

// A topic is a document or a list with those who follow it. Its states are told by one
// goroutine: that of a list is its own, that of a document is one for the resource.
type topic struct {
	of  *watches
	key topicKey
	res *resource.Resource
	doc row.Key           // of a document
	ask *resource.ListAsk // nil: a document

	// What follows is guarded by of.mu.
	watchers  map[*watcher]struct{}
	last      state
	stale     bool               // they have been told that the feed lags
	end       context.CancelFunc // of a list: ends its goroutine
	interrupt context.CancelFunc // of a list: has it read again
	again     bool               // it is to be read, whether it has changed or not
}

// join has w follow a document, or the list that ask asks for. It reports false when there
// are too many watches.
func (ws *watches) join(
	w *watcher, client string, key topicKey, doc row.Key, ask *resource.ListAsk,
) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.watchers) >= front.HTTPWatches ||
		client != "" && ws.clients[client] >= front.HTTPWatchesOf {
		ws.refused.Add(1)
		return false
	}
	if ws.topics == nil {
		ws.topics, ws.docs = make(map[topicKey]*topic), make(map[*resource.Resource]*docWatch)
		ws.watchers, ws.clients = make(map[*watcher]struct{}), make(map[string]int)
	}
	t := ws.topics[key]
	if t == nil {
		t = &topic{of: ws, key: key, res: key.res, doc: doc, ask: ask,
			watchers: make(map[*watcher]struct{})}
		ws.topics[key] = t
		ws.begin(t)
	}
	ws.count++
	w.topic, w.client, w.number = t, client, ws.count
	t.watchers[w] = struct{}{}
	ws.watchers[w] = struct{}{}
	if client != "" {
		ws.clients[client]++
	}
	if !ws.ticking {
		ws.ticking = true
		ws.running.Go(ws.tick)
	}
	return true
}

// activate has a watcher told of what is new, once the head of its answer is sent, which has
// shown a state with this tag. allowed reports whether it may follow yet.
func (w *watcher) activate(tag string, allowed func() bool) {
	ws := w.of
	ws.mu.Lock()
	w.active, w.tag = true, tag
	doomed := w.topic == nil || w.doomed || !allowed() // under the lock: see endAll
	if !w.over && !doomed {
		w.topic.readAgain()
	}
	ws.mu.Unlock()
	if doomed {
		w.finish()
	}
}

// leave ends what a watcher is told. It reports whether that had not ended.
func (w *watcher) leave() bool {
	ws := w.of
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if w.over {
		return false
	}
	w.over = true
	t := w.topic
	if t == nil { // it has not joined
		return true
	}
	delete(t.watchers, w)
	delete(ws.watchers, w)
	if w.client != "" {
		if ws.clients[w.client]--; ws.clients[w.client] == 0 {
			delete(ws.clients, w.client)
		}
	}
	if len(t.watchers) == 0 {
		delete(ws.topics, t.key)
		t.finish()
	}
	return true
}

// finish ends the answer of a watcher whose head is sent.
func (w *watcher) finish() {
	if w.leave() {
		w.conn.ResumeThen(nil, eventloop.Close)
	}
}

// tell gives the newest state to those who have another, or none. It is called by the one
// goroutine of t.
func (t *topic) tell(s state) {
	ws := t.of
	var list []*watcher
	ws.mu.Lock()
	if s.tag == t.last.tag { // the bytes of before do as well
		s = t.last
	}
	t.last, t.stale = s, false
	for w := range t.watchers {
		if !w.active || w.tag == s.tag {
			continue
		}
		if w.conn.Untaken() > front.StateBacklog {
			w.tag = "" // tick has it told later
			continue
		}
		w.tag = s.tag
		list = append(list, w)
	}
	ws.mu.Unlock()
	t.send(list, s.frame)
}

// tellStale says that what was sent may be old: the feed lags.
func (t *topic) tellStale() {
	ws := t.of
	var list []*watcher
	ws.mu.Lock()
	t.stale = true
	for w := range t.watchers {
		if w.active && w.tag != "" {
			w.tag = "" // it gets the state again
			list = append(list, w)
		}
	}
	ws.mu.Unlock()
	t.send(list, staleEvent)
}

// send gives an event to watchers.
func (t *topic) send(list []*watcher, event []byte) {
	for i, w := range list {
		if i > 0 && i%fanout == 0 {
			time.Sleep(fanoutPause) // the loops send what they have, and answer others
		}
		w.conn.Send(event) // who has gone is told of to the protocol
	}
	t.of.events.Add(uint64(len(list)))
}

const (
	fanout      = 64
	fanoutPause = 200 * time.Microsecond
)

// fail ends the answers of all who follow t: it cannot be read any more. Those who come back
// are told why.
func (t *topic) fail() { t.of.finish(&t.watchers) }

// endAll ends all answers: who may follow what has changed. Clients come back.
func (ws *watches) endAll() { ws.finish(&ws.watchers) }

// finish ends the answers of some, those whose head is not sent as soon as it is.
func (ws *watches) finish(some *map[*watcher]struct{}) {
	var list []*watcher
	ws.mu.Lock()
	for w := range *some {
		if w.active {
			list = append(list, w)
		}
		w.doomed = true
	}
	ws.mu.Unlock()
	for _, w := range list {
		w.finish()
	}
}

// tick looks at all watches again and again, as long as there are any.
func (ws *watches) tick() {
	ticker := time.NewTicker(watchTick)
	defer ticker.Stop()
	for n := 0; ; n++ {
		<-ticker.C
		beats, leaving, left := ws.look(n)
		for _, w := range leaving {
			w.finish()
		}
		for _, w := range beats {
			w.conn.Send(heartbeat)
		}
		if !left {
			return
		}
	}
}

// allowed reports whether w may follow what it does. Whoever may not any more, or only perhaps,
// comes back and is asked.
func (w *watcher) allowed(o *settings) bool {
	res := w.topic.res
	if now, ok := o.Resources.Lookup(res.Name()); !ok || now != res || res.Access().Read != w.rule {
		return false
	}
	return w.issued == nil || o.Issued != nil && o.Issued() == w.issued
}

// look finds those who are to hear that the connection lives, and those whose server shuts
// down or who may not follow any more, and has topics read again: that lag or lag no more,
// or that somebody waits for.
func (ws *watches) look(n int) (beats, leaving []*watcher, left bool) {
	o := ws.live.Load()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.watchers {
		switch {
		case !w.active:
		case w.conn.Draining(), !w.allowed(o):
			leaving = append(leaving, w)
		case w.conn.Untaken() > front.StateBacklog:
		case w.tag == "" && !w.topic.stale:
			w.topic.readAgain()
		case w.number%heartbeatTicks == n%heartbeatTicks:
			beats = append(beats, w)
		}
	}
	for _, t := range ws.topics {
		if t.res.Fresh() == t.stale {
			t.readAgain()
		}
	}
	ws.ticking = len(ws.watchers) > 0
	return beats, leaving, ws.ticking
}
