package kv

import (
	"slices"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// ownWrites are those of a client that is not to hear of its own changes. Of others it hears
// whatever their order: a change that cannot be told apart from its own is taken for another's.
type ownWrites struct {
	mu    sync.Mutex          // guards what follows; after a shard's
	marks map[uint64]struct{} // of its transactions
	held  map[string]uint64   // by whom keys were changed while a write is under way; nil: none is
	late  *time.Timer
}

// begin says that a write of c begins.
func (c *Tracked) begin() {
	w := &c.own
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = make(map[string]uint64)
	w.late = time.AfterFunc(front.HeldForWrite, func() { c.release(0) })
}

// release ends what begin has begun, and tells c of what has come meanwhile and is not of
// the transaction mark; 0: it is not known.
func (c *Tracked) release(mark uint64) {
	w := &c.own
	w.mu.Lock()
	if mark != 0 {
		// Beyond the bound it is told of its own: that does no harm.
		if w.marks == nil || len(w.marks) >= front.OwnWrites {
			w.marks = make(map[uint64]struct{})
		}
		w.marks[mark] = struct{}{}
	}
	var others []string
	for key, by := range w.held {
		if by == 0 || by != mark {
			others = append(others, key)
		}
	}
	w.held = nil
	w.mu.Unlock()
	if len(others) > 0 && !c.left.Load() {
		c.tell(others)
	}
}

// loops reports whether c is not to be told now that a transaction has changed key: it is its
// own, or will be told when its write has ended.
func (c *Tracked) loops(key string, mark uint64) bool {
	w := &c.own
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, own := w.marks[mark]; own {
		return true
	}
	if w.held == nil {
		return false
	}
	if by, known := w.held[key]; known && by != mark {
		mark = 0 // two have: one of them is another's
	}
	w.held[key] = mark
	return true
}

// wrote tells the client that has made a change of what that has touched, in front of its
// reply, or sees to it that it is not told.
func (t *Tracker) wrote(o *Options, w *Change, result *resource.Result) {
	c := w.By
	var told []string
	for _, touched := range result.Touched {
		if touched.Whole {
			c.flush()
		}
		for _, k := range touched.Keys {
			if w.NoLoop {
				continue
			}
			name := o.NameOf(touched.Resource.Name(), k)
			if c.bcast && c.mayRead(touched.Resource) {
				told = t.appendHeard(told, c, &name)
			}
			for _, key := range name.all() {
				if t.drop(key, c) {
					told = append(told, key)
				}
			}
		}
	}
	if w.NoLoop {
		c.own.late.Stop()
		c.release(result.Mark)
	}
	slices.Sort(told)
	t.invalidate(c, slices.Compact(told))
}
