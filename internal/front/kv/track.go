package kv

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// A Listener is a connection whose client keeps copies. Its methods are called by any
// goroutine, with no lock of a Tracker held, and must not block.
type Listener interface {
	// Invalidate tells that the rows of keys have changed. Nobody may write to keys.
	Invalidate(keys []string)

	// Flush tells that any row may have changed.
	Flush()

	// MayRead reports whether it may hear of the keys of a resource.
	MayRead(r *resource.Resource) bool
}

// A Tracked is a Listener that a Tracker knows of.
type Tracked struct {
	l        atomic.Pointer[Listener] // nil when it has left: keys may name it still
	bcast    bool
	prefixes []string // of the keys that it hears of with bcast, sorted; none: all
	left     atomic.Bool

	own ownWrites
}

func (c *Tracked) flush() {
	if l := c.l.Load(); l != nil {
		(*l).Flush()
	}
}

func (c *Tracked) tell(keys []string) {
	if l := c.l.Load(); l != nil {
		(*l).Invalidate(keys)
	}
}

func (c *Tracked) mayRead(r *resource.Resource) bool {
	l := c.l.Load()
	return l != nil && (*l).MayRead(r)
}

// A Tracker tells Listeners of changes: of the keys that they have read, or with bcast of
// all keys that begin with a prefix. It follows every resource while there is a Listener.
//
// A read tracks its key before it looks into memory. The other way round, a change that
// comes in between is never told.
type Tracker struct {
	store         *Store
	seed          maphash.Seed
	shards        [64]trackShard
	keys          atomic.Int64 // in the table
	invalidations atomic.Uint64
	flush         atomic.Uint64 // flushes of everybody
	late          atomic.Uint64 // subscribers that were cut
	other         atomic.Bool   // somebody has read a row by Name.Other

	mu        sync.Mutex // guards what follows; before a shard's
	all       map[*Tracked]struct{}
	bcast     map[*Tracked]struct{} // those of all that hear of every key
	subs      map[*Subscriber]struct{}
	following map[*resource.Resource]*following
	gates     map[string]bool // of sources: whether they were fresh at the last look
	stop      chan struct{}   // of the look at the gates; nil: nobody listens
}

// A trackShard is a part of the table: who has read each key.
type trackShard struct {
	mu    sync.Mutex // guards byKey; innermost
	byKey map[string]*readers
}

func newTracker(s *Store) *Tracker {
	t := &Tracker{store: s, seed: maphash.MakeSeed(), all: make(map[*Tracked]struct{}),
		bcast: make(map[*Tracked]struct{}), subs: make(map[*Subscriber]struct{}),
		following: make(map[*resource.Resource]*following)}
	for i := range t.shards {
		t.shards[i].byKey = make(map[string]*readers)
	}
	return t
}

func (t *Tracker) shard(key string) *trackShard {
	return &t.shards[maphash.String(t.seed, key)%uint64(len(t.shards))]
}

// Track notes that c is about to read a key, which may alias a buffer and has to be the
// canonical one. Of a key that c has read already it allocates nothing.
func (t *Tracker) Track(key string, c *Tracked) {
	s := t.shard(key)
	s.mu.Lock()
	list := s.byKey[key]
	switch {
	case list == nil:
		if t.keys.Add(1) > int64(t.store.Live().TrackingKeys) {
			t.evict(s)
		}
		s.byKey[strings.Clone(key)] = &readers{few: []*Tracked{c}}
	case !list.has(c):
		list.add(c)
	}
	s.mu.Unlock()
}

// evict takes some key out of a full table, and tells who has read it. s.mu is held.
func (t *Tracker) evict(s *trackShard) {
	for key, list := range s.byKey {
		delete(s.byKey, key)
		t.keys.Add(-1)
		t.store.Go(func(context.Context) {
			for c := range list.all() {
				t.invalidate(c, []string{key})
			}
		})
		return
	}
}

// take takes a key out of the table, and returns who is to be told. Whose own change it
// is stays in it.
func (t *Tracker) take(key string, mark uint64) []*Tracked {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.byKey[key]
	if !ok {
		return nil
	}
	told := make([]*Tracked, 0, list.len())
	var own readers
	for c := range list.all() {
		if c.loops(key, mark) {
			own.add(c)
		} else {
			told = append(told, c)
		}
	}
	t.put(s, key, &own)
	return told
}

// put makes list those who have read a key of the table. s.mu is held.
func (t *Tracker) put(s *trackShard, key string, list *readers) {
	if list.len() > 0 {
		s.byKey[key] = list
		return
	}
	delete(s.byKey, key)
	t.keys.Add(-1)
}

// drop takes c from those who have read a key, and reports whether it was one of them.
func (t *Tracker) drop(key string, c *Tracked) bool {
	s := t.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.byKey[key]
	if list == nil || !list.remove(c) {
		return false
	}
	t.put(s, key, list)
	return true
}

// forget empties the table.
func (t *Tracker) forget() {
	for i := range t.shards {
		s := &t.shards[i]
		s.mu.Lock()
		t.keys.Add(-int64(len(s.byKey)))
		clear(s.byKey)
		s.mu.Unlock()
	}
}

// Join makes l hear of changes from now on. Every key that is looked up afterwards, and
// tracked before that, is told. Of prefixes none begins with another.
func (t *Tracker) Join(l Listener, bcast bool, prefixes []string) *Tracked {
	c := &Tracked{bcast: bcast, prefixes: slices.Sorted(slices.Values(prefixes))}
	c.l.Store(&l)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all[c] = struct{}{}
	if bcast {
		t.bcast[c] = struct{}{}
	}
	t.begin()
	return c
}

// begin begins to follow the resources, for the first that hears of changes: everything is
// followed when it returns. t.mu is held.
func (t *Tracker) begin() {
	if t.stop != nil {
		return
	}
	t.stop = make(chan struct{})
	stop := t.stop
	t.gates = make(map[string]bool)
	t.look()
	if !t.store.Go(func(context.Context) { t.watchGates(stop) }) {
		t.stop = nil
	}
}

// Leave ends what Join has begun.
func (t *Tracker) Leave(c *Tracked) {
	c.left.Store(true)
	c.l.Store(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, c)
	delete(t.bcast, c)
	t.end()
}

// end ends what begin has begun when nobody hears of changes any more. t.mu is held.
func (t *Tracker) end() {
	if len(t.all) == 0 {
		t.forget()
	}
	if len(t.all)+len(t.subs) > 0 || t.stop == nil {
		return
	}
	close(t.stop)
	t.stop = nil
	for r, f := range t.following {
		close(f.done)
		delete(t.following, r)
	}
}

// listeners returns who is in a set of t's now.
func (t *Tracker) listeners(set map[*Tracked]struct{}) []*Tracked {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(set))
}

// Flush tells everybody that any row may have changed.
func (t *Tracker) Flush() {
	t.forget()
	t.flush.Add(1)
	for _, c := range t.listeners(t.all) {
		c.flush()
	}
	t.announce(&Notice{})
}

// forgetOf tells everybody that any row of one resource may have changed, or is no more.
func (t *Tracker) forgetOf(r *resource.Resource) {
	o := t.store.Live()
	if r.Name() == o.Default { // what its keys are depends on which other resources there are
		t.Flush()
		return
	}
	byListener := make(map[*Tracked][]string)
	prefix := string(o.appendNamed(nil, r.Name(), ""))
	for i := range t.shards {
		t.shards[i].take(t, prefix, byListener)
	}
	for _, c := range t.listeners(t.bcast) {
		if c.hearsSome(prefix) {
			c.flush()
		}
	}
	for c, keys := range byListener {
		for some := range slices.Chunk(keys, front.InvalidationKeys) {
			t.invalidate(c, some)
		}
	}
	t.announce(&Notice{Resource: r})
}

// take takes the keys that begin with prefix out of the table, and adds who has read them.
func (s *trackShard) take(t *Tracker, prefix string, byListener map[*Tracked][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, list := range s.byKey {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		for c := range list.all() {
			byListener[c] = append(byListener[c], key)
		}
		delete(s.byKey, key)
		t.keys.Add(-1)
	}
}

// hearsSome reports whether c, with bcast, hears of keys that begin with prefix.
func (c *Tracked) hearsSome(prefix string) bool {
	return c.hears(prefix) || slices.ContainsFunc(c.prefixes, func(p string) bool {
		return strings.HasPrefix(p, prefix)
	})
}

// Changed tells who may have copies of these rows of a resource, and then subscribers. marks
// has the transaction of each, 0 where nobody knows: a client that has asked for that is not
// told of its own.
func (t *Tracker) Changed(r *resource.Resource, names []Name, marks []uint64) {
	byListener := make(map[*Tracked][]string)
	for i := range names {
		for _, key := range names[i].all() {
			for _, c := range t.take(key, marks[i]) {
				byListener[c] = append(byListener[c], key)
			}
		}
	}
	for _, c := range t.listeners(t.bcast) {
		if !c.mayRead(r) {
			continue
		}
		for i := range names {
			heard := t.appendHeard(nil, c, &names[i])
			if len(heard) > 0 && !c.loops(names[i].Main, marks[i]) {
				byListener[c] = append(byListener[c], heard...)
			}
		}
	}
	for c, list := range byListener {
		t.invalidate(c, list)
	}
	t.announce(&Notice{Resource: r, Names: names})
}

// invalidate has one client drop its copies of keys.
func (t *Tracker) invalidate(c *Tracked, keys []string) {
	if len(keys) > 0 && !c.left.Load() {
		t.invalidations.Add(uint64(len(keys)))
		c.tell(keys)
	}
}

// appendHeard appends by which of its names c, with bcast, is told of a row: of those that it
// hears of, the other one only where it is the only one, or clients use it.
func (t *Tracker) appendHeard(dst []string, c *Tracked, name *Name) []string {
	main := c.hears(name.Main)
	if main {
		dst = append(dst, name.Main)
	}
	if name.Other != "" && (!main || t.other.Load()) && c.hears(name.Other) {
		dst = append(dst, name.Other)
	}
	return dst
}

// hears reports whether c, with bcast, hears of a key. Of the sorted prefixes only the last
// that is not behind the key can be one of it, for none begins with another.
func (c *Tracked) hears(key string) bool {
	if len(c.prefixes) == 0 {
		return true
	}
	i, found := slices.BinarySearch(c.prefixes, key)
	return found || i > 0 && strings.HasPrefix(key, c.prefixes[i-1])
}

// otherUsed notes that a client has read a row of Options.Default by its other name.
func (t *Tracker) otherUsed() {
	if !t.other.Load() {
		t.other.Store(true)
	}
}

// OtherUsed reports whether clients read rows of Options.Default by their other names.
func (t *Tracker) OtherUsed() bool { return t.other.Load() }

// all returns the names of a row.
func (n *Name) all() []string {
	if n.Other == "" {
		return []string{n.Main}
	}
	return []string{n.Main, n.Other}
}

// TrackStats are the numbers of a Tracker.
type TrackStats struct {
	Clients       int    // that keep copies now
	Subscribers   int    // that hear the channels of keys now
	Late          uint64 // of them, closed because they did not take what they were told in time
	Keys          int64  // in the table
	Invalidations uint64 // keys told, each as often as it was
	Flushes       uint64 // of everybody
}

// Stats returns the numbers of now.
func (t *Tracker) Stats() TrackStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TrackStats{Clients: len(t.all), Subscribers: len(t.subs), Late: t.late.Load(),
		Keys: t.keys.Load(), Invalidations: t.invalidations.Load(), Flushes: t.flush.Load()}
}
