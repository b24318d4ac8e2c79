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

var heartbeat = []byte(":\n\n")

// watches are those who follow documents and lists over HTTP. There is no queue: a client that
// does not take what it is sent gets the newest state when it does.
type watches struct {
	live            *atomic.Pointer[settings] // of the Handler
	events, refused atomic.Uint64

	mu      sync.Mutex // guards the rest, the topics and the watchers; innermost
	topics  map[topicKey]*topic
	docs    map[*resource.Resource]*docWatch
	streams map[*stream]struct{}
	clients map[string]int // watches of each
	open    int            // watches of all
	ticking bool
	count   int // streams that there were
}

// A stream is one answer that goes on, for one who follows something, or several things.
type stream struct {
	of   *watches
	conn *eventloop.Conn

	grounds grounds // on which its token was good; zero: nobody was asked for one
	until   int64   // when that ends, in Unix seconds; 0: it does not

	haves *haves        // of a stream that tells of several things
	woken chan struct{} // of a request that waits, and is answered by itself: see poll; else nil

	// What follows is guarded by of.mu.
	client   string // "": one of this machine
	watchers []*watcher
	full     bool // something is not followed: there are too many watches
	active   bool // the head of the answer is sent
	doomed   bool // the answer ends with its head
	over     bool
	number   int // of its heartbeats
}

// A watcher is one thing that a stream tells of.
type watcher struct {
	s      *stream
	q      string        // as it was asked for beside others; "": alone
	number int           // among them
	rule   resource.Rule // by which it may be read
	role   string        // whose rights it is read by; "": no role decides
	rights any           // see resource.Resource.GrantsNow

	// What follows is guarded by watches.mu.
	topic *topic
	tag   string // of the state that the client has; "": none
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

// join has w follow a document, or the list that ask asks for, unless there are too many
// watches.
func (w *watcher) join(client string, key topicKey, doc row.Key, ask *resource.ListAsk) {
	s, ws := w.s, w.s.of
	ws.mu.Lock()
	defer ws.mu.Unlock()
	s.client = client
	if ws.open >= front.HTTPWatches || client != "" && ws.clients[client] >= front.HTTPWatchesOf {
		ws.refused.Add(1)
		s.full = true
		return
	}
	if ws.topics == nil {
		ws.topics, ws.docs = make(map[topicKey]*topic), make(map[*resource.Resource]*docWatch)
		ws.streams, ws.clients = make(map[*stream]struct{}), make(map[string]int)
	}
	t := ws.topics[key]
	if t == nil {
		t = &topic{of: ws, key: key, res: key.res, doc: doc, ask: ask,
			watchers: make(map[*watcher]struct{})}
		ws.topics[key] = t
		ws.begin(t)
	}
	if len(s.watchers) == 0 {
		ws.count++
		s.number = ws.count
		ws.streams[s] = struct{}{}
	}
	w.topic = t
	t.watchers[w] = struct{}{}
	s.watchers = append(s.watchers, w)
	ws.open++
	if client != "" {
		ws.clients[client]++
	}
	if !ws.ticking {
		ws.ticking = true
		go ws.tick()
	}
}

// activate has the client told of what is new, once the head of its answer is sent. allowed
// reports whether it may follow yet.
func (s *stream) activate(allowed func() bool) {
	ws := s.of
	ws.mu.Lock()
	s.active = true
	doomed := s.full || s.doomed || !allowed() // under the lock: see endAll
	if !s.over && !doomed {
		for _, w := range s.watchers {
			w.topic.readAgain()
		}
	}
	ws.mu.Unlock()
	if doomed {
		s.finish()
	}
}

// leave ends what a client is told. It reports whether that had not ended.
func (s *stream) leave() bool {
	ws := s.of
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if s.over {
		return false
	}
	s.over = true
	if s.woken != nil {
		s.wake()
	}
	delete(ws.streams, s)
	ws.open -= len(s.watchers)
	if n := len(s.watchers); s.client != "" && n > 0 {
		if ws.clients[s.client] -= n; ws.clients[s.client] == 0 {
			delete(ws.clients, s.client)
		}
	}
	for _, w := range s.watchers {
		t := w.topic
		if delete(t.watchers, w); len(t.watchers) == 0 {
			delete(ws.topics, t.key)
			t.finish()
		}
	}
	return true
}

// finish ends the answer of a stream whose head is sent.
func (s *stream) finish() {
	if s.woken != nil {
		s.wake()
	} else if s.leave() {
		s.conn.ResumeThen(nil, eventloop.Close)
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
		if !w.s.active || w.tag == s.tag {
			continue
		}
		if w.s.woken == nil && w.s.conn.Untaken() > front.StateBacklog {
			w.tag = "" // tick has it told later
			continue
		}
		w.tag = s.tag
		list = append(list, w)
	}
	ws.mu.Unlock()
	t.send(list, &s)
}

// tellStale says that what was sent may be old: the feed lags.
func (t *topic) tellStale() {
	ws := t.of
	var list []*watcher
	ws.mu.Lock()
	t.stale = true
	for w := range t.watchers {
		if w.s.active && w.tag != "" && w.s.woken == nil {
			w.tag = "" // it gets the state again
			list = append(list, w)
		}
	}
	ws.mu.Unlock()
	t.send(list, &staleState)
}

// send gives a state to watchers.
func (t *topic) send(list []*watcher, s *state) {
	frames := make(map[string][]byte) // of those who have asked for it beside others
	for i, w := range list {
		if i > 0 && i%fanout == 0 {
			time.Sleep(fanoutPause) // the loops send what they have, and answer others
		}
		switch {
		case w.s.woken != nil:
			w.s.wake()
		case w.q == "":
			w.s.conn.Send(s.alone) // who has gone is told of to the protocol
		default:
			if frames[w.q] == nil {
				frames[w.q] = s.of(w.q)
			}
			w.s.haves.send(w, s, frames[w.q])
		}
	}
	t.of.events.Add(uint64(len(list)))
}

const (
	fanout      = 64
	fanoutPause = 200 * time.Microsecond
)

// fail ends the answers of all who follow t: it cannot be read any more. Those who come back
// are told why.
func (t *topic) fail() {
	t.of.finish(func(end func(*stream)) {
		for w := range t.watchers {
			end(w.s)
		}
	})
}

// endAll ends all answers: who may follow what has changed. Clients come back.
func (ws *watches) endAll() {
	ws.finish(func(end func(*stream)) {
		for s := range ws.streams {
			end(s)
		}
	})
}

// finish ends some answers, those whose head is not sent as soon as it is.
func (ws *watches) finish(some func(end func(*stream))) {
	var list []*stream
	ws.mu.Lock()
	some(func(s *stream) {
		s.doomed = true
		if s.active {
			list = append(list, s)
		}
	})
	ws.mu.Unlock()
	for _, s := range list {
		s.finish()
	}
}

// tick looks at all watches again and again, as long as there are any.
func (ws *watches) tick() {
	ticker := time.NewTicker(watchTick)
	defer ticker.Stop()
	for n := 0; ; n++ {
		<-ticker.C
		beats, leaving, left := ws.look(n)
		for _, s := range leaving {
			s.finish()
		}
		for _, s := range beats {
			s.conn.Send(heartbeat)
		}
		if !left {
			return
		}
	}
}

// allowed reports whether s may tell of what it does. A client that may not have that any more,
// or only perhaps, comes back and is asked.
func (s *stream) allowed(o *settings) bool {
	for _, w := range s.watchers {
		res := w.topic.res
		now, ok := o.Resources.Lookup(res.Name())
		if !ok || now != res || res.Access().Read != w.rule {
			return false
		}
		if w.role == "" {
			continue
		}
		if _, rights := res.GrantsNow(w.role); rights != w.rights {
			return false
		}
	}
	return s.sameToken(o)
}

// look finds those who are to hear that the connection lives, and those whose server shuts
// down or who may not follow any more, and has topics read again: that lag or lag no more,
// or that somebody waits for.
func (ws *watches) look(n int) (beats, leaving []*stream, left bool) {
	o := ws.live.Load()
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for s := range ws.streams {
		switch {
		case !s.active:
		case s.conn.Draining(), !s.allowed(o):
			s.doomed = true
			leaving = append(leaving, s)
		case s.woken != nil, s.conn.Untaken() > front.StateBacklog:
		default:
			if s.number%heartbeatTicks == n%heartbeatTicks {
				beats = append(beats, s)
			}
			for _, w := range s.watchers {
				if w.tag == "" && !w.topic.stale {
					w.topic.readAgain()
				}
			}
		}
	}
	for _, t := range ws.topics {
		if t.res.Fresh() == t.stale {
			t.readAgain()
		}
	}
	ws.ticking = len(ws.streams) > 0
	return beats, leaving, ws.ticking
}
