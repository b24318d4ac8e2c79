package kv

import (
	"context"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// A Notice tells subscribers of rows that have changed.
type Notice struct {
	Resource *resource.Resource // nil: any row of any resource may have changed
	Names    []Name             // nobody may write to them; none: any row of Resource

	at time.Time
}

// Until returns when it is too late to be told.
func (n *Notice) Until() time.Time { return n.at.Add(front.TellWithin) }

// A Hearer is a connection that hears the channels of keys. No lock of a Tracker is held when
// it is called.
type Hearer interface {
	// Hear tells the peer. One goroutine at a time calls it, and it may wait for the peer,
	// until n.Until. It reports false when the peer has not taken what it was told.
	Hear(n *Notice) bool

	// Late ends the connection: nothing else would tell the client that it has missed
	// something. It must not block.
	Late()
}

// A Subscriber is a Hearer with what it has not been told yet. Each has a goroutine of its
// own while there is something, so that nobody waits for it.
type Subscriber struct {
	t *Tracker
	h Hearer

	mu      sync.Mutex // guards what follows; innermost
	waits   []*Notice
	names   int // of waits
	telling bool
	over    bool
}

// Subscribe makes h hear of every change from now on.
func (t *Tracker) Subscribe(h Hearer) *Subscriber {
	s := &Subscriber{t: t, h: h}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subs[s] = struct{}{}
	t.begin()
	return s
}

// Unsubscribe ends what Subscribe has begun.
func (t *Tracker) Unsubscribe(s *Subscriber) {
	s.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, s)
	t.end()
}

// announce tells all subscribers. It waits for none of them.
func (t *Tracker) announce(n *Notice) {
	t.mu.Lock()
	list := make([]*Subscriber, 0, len(t.subs))
	for s := range t.subs {
		list = append(list, s)
	}
	t.mu.Unlock()
	if len(list) == 0 {
		return
	}
	n.at = time.Now()
	for _, s := range list {
		s.add(n)
	}
}

// add has the subscriber told of n.
func (s *Subscriber) add(n *Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	if n.Resource == nil { // what is older says less
		s.waits, s.names = nil, 0
	}
	if s.names += len(n.Names); s.names > front.Notices {
		s.cut()
		return
	}
	s.waits = append(s.waits, n)
	if !s.telling {
		s.telling = s.t.store.Go(func(context.Context) { s.tell() })
	}
}

// next returns what is to be told next, nil for nothing. What waits although it is too late,
// with more behind it, ends the subscriber.
func (s *Subscriber) next() *Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.waits) == 0 {
		s.telling, s.waits = false, nil
		return nil
	}
	n := s.waits[0]
	s.waits, s.names = s.waits[1:], s.names-len(n.Names)
	if len(s.waits) > 0 && time.Now().After(n.Until()) {
		s.cut()
		s.telling = false
		return nil
	}
	return n
}

// tell tells what waits, until there is nothing.
func (s *Subscriber) tell() {
	for n := s.next(); n != nil; n = s.next() {
		if !s.h.Hear(n) {
			s.mu.Lock()
			s.cut()
			s.mu.Unlock()
		}
	}
}

// cut ends a subscriber that is late. s.mu is held.
func (s *Subscriber) cut() {
	if s.over {
		return
	}
	s.over, s.waits, s.names = true, nil, 0
	s.t.late.Add(1)
	s.h.Late()
}

// end has the subscriber told nothing any more.
func (s *Subscriber) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over, s.waits, s.names = true, nil, 0
}
