package client

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A NearCache says what copies a client keeps. A zero field takes the default
// that its comment names.
type NearCache struct {
	Bytes  int           // of all copies together (16 MiB)
	MaxLag time.Duration // how old an answer from a copy may be (1s)
}

// WithNearCache has the client keep copies of the documents that it reads, and
// answer from them while it knows that they are fresh: the server tells it of
// every change, and it asks again and again whether the server still does. A copy
// is used only while both hold within MaxLag; when a connection breaks, a change
// may have been missed or the server's own feed lags, all copies are thrown away.
// Reads with an option (NoCache, IfNoneMatch...) always go to the server.
func WithNearCache(n NearCache) Option {
	if n.Bytes <= 0 {
		n.Bytes = 16 << 20
	}
	if n.MaxLag <= 0 {
		n.MaxLag = time.Second
	}
	return func(o *options) { o.near = &n }
}

// near keeps copies. The scheme is the server's own (see the page about
// freshness): a load takes a lease, a change of its key invalidates it, and an epoch
// ends everything when a change may have been missed.
type near struct {
	c       *Client
	opts    NearCache
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards spaces, and what is in them
	spaces map[string]*space
	order  list.List // of *copied, the one that was used last in front
	bytes  int
}

// A space is the copies of one resource. All but complete is guarded by near.mu.
type space struct {
	resource string
	near     *near

	// complete is since when copies may be served, for MaxLag; nil while the
	// resource is not followed.
	complete atomic.Pointer[moment]

	epoch  uint64
	live   bool
	copies map[copyKey]*list.Element
	loads  map[string][]*lease
	last   string // key of the copy that was kept last: probes ask for it
}

// A moment is a reading of two clocks. The monotonic one stands still while the machine
// sleeps, and the wall's may be set: what has become of copies since then is as old as
// the one that says more.
type moment struct{ steady, wall time.Time }

// now reads both.
func now() moment {
	t := time.Now()
	return moment{t, t.Round(0)} // which takes the monotonic reading away
}

// before returns the moment d before m.
func (m moment) before(d time.Duration) moment {
	return moment{m.steady.Add(-d), m.wall.Add(-d)}
}

// age returns how long before another moment m was.
func (m moment) age(at moment) time.Duration {
	return max(at.steady.Sub(m.steady), at.wall.Sub(m.wall))
}

// A copyKey names a copy.
type copyKey struct {
	key    string
	format Format
}

// A copied is a copy in the order of use.
type copied struct {
	space *space
	key   copyKey
	doc   Document
	size  int
}

// A lease is a load under way.
type lease struct {
	epoch       uint64
	invalidated bool
}

// copyOverhead is about what a copy takes besides its bytes.
const copyOverhead = 300

// newNear returns the copies of a client.
func newNear(c *Client, o NearCache) *near {
	n := &near{c: c, opts: o, spaces: make(map[string]*space)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// close ends the goroutines that follow resources.
func (n *near) close() {
	n.mu.Lock() // no space is made any more
	n.cancel()
	n.mu.Unlock()
	n.running.Wait()
}

// get answers from a copy, or asks the server and keeps what it says.
func (n *near) get(ctx context.Context, q *getCall) (Document, error) {
	s := n.space(q.resource)
	key := copyKey{q.key, q.format}
	if doc, ok := s.copyOf(key); ok {
		return doc, nil
	}
	l := s.take(q.key)
	doc, err := n.c.fetch(ctx, q)
	// Changes are told by the key that the row has, whatever its spelling here.
	s.give(key, l, &doc, err == nil && doc.Origin != FromStale && doc.Key == q.key)
	return doc, err
}

// space returns the copies of a resource, and follows it from the first time on.
func (n *near) space(resource string) *space {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := n.spaces[resource]
	if s == nil {
		s = &space{resource: resource, near: n,
			copies: make(map[copyKey]*list.Element), loads: make(map[string][]*lease)}
		n.spaces[resource] = s
		if n.ctx.Err() == nil {
			n.running.Go(s.follow)
		}
	}
	return s
}

// copyOf returns the copy of a document if it is fresh.
func (s *space) copyOf(key copyKey) (Document, bool) {
	complete := s.complete.Load()
	if complete == nil {
		return Document{}, false
	}
	left := s.near.opts.MaxLag - complete.age(now())
	if left <= 0 {
		return Document{}, false
	}
	s.near.mu.Lock()
	defer s.near.mu.Unlock()
	at := s.copies[key]
	if at == nil || !s.live {
		return Document{}, false
	}
	s.near.order.MoveToFront(at)
	doc := at.Value.(*copied).doc
	doc.Origin, doc.Lag = FromNear, s.near.opts.MaxLag-left
	return doc, true
}

// take begins a load.
func (s *space) take(key string) *lease {
	s.near.mu.Lock()
	defer s.near.mu.Unlock()
	l := &lease{epoch: s.epoch, invalidated: !s.live}
	s.loads[key] = append(s.loads[key], l)
	return l
}

// give ends a load, and keeps what it has brought unless a change may have
// overtaken it.
func (s *space) give(key copyKey, l *lease, doc *Document, good bool) {
	n := s.near
	n.mu.Lock()
	defer n.mu.Unlock()
	rest := s.loads[key.key][:0]
	for _, other := range s.loads[key.key] {
		if other != l {
			rest = append(rest, other)
		}
	}
	if s.loads[key.key] = rest; len(rest) == 0 {
		delete(s.loads, key.key)
	}
	if !good || l.invalidated || l.epoch != s.epoch || !s.live {
		return
	}
	s.forget(key)
	one := &copied{s, key, *doc, len(doc.Body) + len(key.key) + copyOverhead}
	s.copies[key] = n.order.PushFront(one)
	s.last = key.key
	n.bytes += one.size
	for n.bytes > n.opts.Bytes && n.order.Len() > 0 {
		oldest := n.order.Back().Value.(*copied)
		oldest.space.forget(oldest.key)
	}
}

// forget drops one copy. near.mu is held.
func (s *space) forget(key copyKey) {
	at := s.copies[key]
	if at == nil {
		return
	}
	delete(s.copies, key)
	s.near.order.Remove(at)
	s.near.bytes -= at.Value.(*copied).size
}

// changed works in a change of one document.
func (s *space) changed(key string) {
	s.near.mu.Lock()
	defer s.near.mu.Unlock()
	for f := JSON; f <= CBOR; f++ {
		s.forget(copyKey{key, f})
	}
	for _, l := range s.loads[key] {
		l.invalidated = true
	}
}

// renew begins a new epoch: nothing that is kept, or on its way, counts any more.
func (s *space) renew(live bool) {
	s.near.mu.Lock()
	defer s.near.mu.Unlock()
	s.renewLocked()
	s.live = live
	if !live {
		s.complete.Store(nil)
	}
}

// renewLocked is renew without a change of live. near.mu is held.
func (s *space) renewLocked() {
	s.epoch++
	for key := range s.copies {
		s.forget(key)
	}
}

// wrote returns what is to be called after a write of this client. A write may
// change other documents than its own, which are told of later: all copies go.
func (n *near) wrote() func() {
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, s := range n.spaces {
			s.renewLocked()
		}
	}
}

// follow keeps up a subscription to the changes of the resource.
func (s *space) follow() {
	for attempt := 0; s.near.ctx.Err() == nil; attempt++ {
		began := now()
		sub, err := s.near.c.remote.watch(s.near.ctx, &watchCall{resource: s.resource})
		if err == nil {
			attempt = 0
			s.renew(true)
			s.complete.Store(&began)
			s.listen(sub)
			s.renew(false)
			sub.close()
		}
		if !pause(s.near.ctx, attempt, 0) {
			return
		}
	}
}

// listen works in what a subscription tells, until it ends.
func (s *space) listen(sub subscription) {
	ctx, cancel := context.WithCancel(s.near.ctx)
	var probing sync.WaitGroup
	probing.Go(func() { s.probe(ctx, cancel) })
	defer probing.Wait()
	defer cancel()
	for {
		e, err := sub.next(ctx)
		if err != nil {
			return
		}
		switch e.Kind {
		case Changed, Deleted:
			s.changed(e.Key)
		case Reset:
			s.renew(true)
		}
	}
}

// probe asks again and again how fresh the server is. What it says counts only
// when the next probe has been answered, too: an event that was on its way has
// come by then. When the server does not answer in time the subscription is
// given up.
func (s *space) probe(ctx context.Context, giveUp context.CancelFunc) {
	every := s.near.opts.MaxLag / 4
	tick := time.NewTicker(every)
	defer tick.Stop()
	complete := now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		sent := now()
		known, err := s.ask(ctx)
		if err != nil {
			giveUp()
			return
		}
		if known >= 0 {
			was := complete
			s.complete.Store(&was)
			complete = sent.before(known)
		}
	}
}

// ask returns how long ago the server's feed was known to be complete, < 0 when
// it lags.
func (s *space) ask(ctx context.Context) (time.Duration, error) {
	s.near.mu.Lock()
	key, kept := s.last, len(s.copies) > 0
	s.near.mu.Unlock()
	if !kept {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*s.near.opts.MaxLag)
	defer cancel()
	q := &getCall{readCall: readCall{resource: s.resource, key: key}}
	doc, err := s.near.c.remote.get(ctx, q)
	switch {
	case isKind(err, ErrNotFound):
		return -1, nil // it was deleted; the next copy is asked for instead
	case err != nil:
		return 0, err
	case doc.Origin == FromStale:
		return -1, nil
	}
	return doc.Lag, nil
}
