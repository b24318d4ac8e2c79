package kv

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/workers"
)

// gateEvery is how often the gates are looked at: a copy that a client keeps must not
// outlive what a hit would be.
const gateEvery = 50 * time.Millisecond

// A following is a resource whose changes are told.
type following struct {
	res   *resource.Resource
	watch *resource.Watch
	done  chan struct{}
}

// watchGates looks at the gates of the sources, and at which resources there are, until
// stop is closed.
func (t *Tracker) watchGates(stop chan struct{}) {
	tick := time.NewTicker(gateEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.store.ctx.Done():
			return
		case <-tick.C:
		}
		t.mu.Lock()
		flush, others := false, []*resource.Resource(nil)
		if t.stop == stop {
			flush, others = t.look()
		}
		t.mu.Unlock()
		if flush {
			t.Flush()
		}
		if len(others) > 0 && t.store.Live().Default != "" {
			t.Flush() // keys may be of other resources now
			continue
		}
		for _, r := range others {
			t.forgetOf(r)
		}
	}
}

// look follows the resources of now, and reports whether something has changed by which
// no copy is good: a gate has closed, or has opened again, for what was answered meanwhile
// was not followed. It returns the resources that are served no more, or were not followed
// before: no copy of these is good. t.mu is held.
func (t *Tracker) look() (changed bool, others []*resource.Resource) {
	served := make(map[*resource.Resource]bool)
	for _, r := range t.store.Live().Resources.All() {
		served[r] = true
		if t.following[r] == nil && r.Followed() && t.follow(r) {
			others = append(others, r)
		}
	}
	gates := make(map[string]bool)
	for r, f := range t.following {
		if !served[r] {
			close(f.done)
			delete(t.following, r)
			others = append(others, r)
			continue
		}
		if _, seen := gates[r.Source()]; !seen {
			gates[r.Source()] = r.Fresh()
		}
	}
	for name, fresh := range gates {
		if was, seen := t.gates[name]; seen && was != fresh {
			changed = true
		}
	}
	t.gates = gates
	return changed, others
}

// follow begins to follow a resource. t.mu is held.
func (t *Tracker) follow(r *resource.Resource) bool {
	w := r.Watch(front.FollowedEvents)
	f := &following{res: r, watch: w, done: make(chan struct{})}
	if !t.store.Go(func(context.Context) { t.run(f) }) {
		w.Close()
		return false
	}
	t.following[r] = f
	return true
}

// run tells what changes of one resource. What waits already is told together.
func (t *Tracker) run(f *following) {
	defer f.watch.Close()
	for {
		select {
		case <-f.done:
			return
		case <-t.store.ctx.Done():
			return
		case e := <-f.watch.C:
			told := false
			workers.Guard(t.store.Live().Log, "tell clients of a change", func() {
				t.invalidateAll(f, e)
				told = true
			})()
			if !told { // who does not know what has changed drops all
				workers.Guard(t.store.Live().Log, "have clients drop all", t.Flush)()
			}
		}
	}
}

// invalidateAll has clients drop the keys of an event, and of those that wait behind it.
func (t *Tracker) invalidateAll(f *following, e resource.Event) {
	o := t.store.Live()
	var names []Name
	var marks []uint64
	reset, own := false, false
	for more := true; more; {
		reset, own = reset || e.Reset && !e.Own, own || e.Own
		if !e.Reset {
			names = append(names, o.NameOf(f.res.Name(), e.Key))
			marks = append(marks, e.Mark)
		}
		if len(names) >= front.InvalidationKeys {
			break
		}
		select {
		case e = <-f.watch.C:
		default:
			more = false
		}
	}
	switch {
	case reset:
		t.Flush()
		return
	case own:
		t.forgetOf(f.res)
		return
	}
	t.Changed(f.res, names, marks)
}
