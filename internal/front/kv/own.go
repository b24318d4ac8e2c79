package kv

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/resource"
)

const (
	// maxOwn is how many rows a client may have written of which the feed has not told.
	maxOwn = 4096

	// longestHeld is for how long what the feed tells waits for the end of a write, which
	// may be what it tells of.
	longestHeld = 50 * time.Millisecond
)

// A loop is what a client has written that is not to hear of its own changes.
type loop struct {
	mu   sync.Mutex // guards what follows; after a shard's
	own  map[string]resource.Token
	held map[string]resource.Token // told while a write is under way; nil: none is
	late *time.Timer
}

// begin says that a write of c begins.
func (c *Tracked) begin() {
	l := &c.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = make(map[string]resource.Token)
	l.late = time.AfterFunc(longestHeld, func() { c.release(nil) })
}

// release ends what begin has begun, and tells c of what has come meanwhile and is not its
// own.
func (c *Tracked) release(own map[string]resource.Token) {
	l := &c.loop
	l.mu.Lock()
	if len(l.own)+len(own) > maxOwn {
		l.own = nil // it is told of its own: that does no harm
	}
	if l.own == nil {
		l.own = make(map[string]resource.Token)
	}
	maps.Copy(l.own, own)
	var others []string
	for key, token := range l.held {
		if mine, ok := own[key]; !ok || !mine.Includes(token) {
			others = append(others, key)
		}
	}
	l.held = nil
	l.mu.Unlock()
	if len(others) > 0 && !c.left.Load() {
		c.l.Invalidate(others)
	}
}

// loops reports whether c is not to be told of a change now: it is its own, or will be
// told when its write has ended.
func (c *Tracked) loops(key string, token resource.Token) bool {
	l := &c.loop
	l.mu.Lock()
	defer l.mu.Unlock()
	if token.IsZero() {
		return false
	}
	if own, ok := l.own[key]; ok {
		if own.Includes(token) {
			return true
		}
		delete(l.own, key)
	}
	if l.held == nil {
		return false
	}
	l.held[key] = token
	return true
}

// wrote tells the client that has made a change of what that has touched, in front of its
// reply, or sees to it that it is not told.
func (t *Tracker) wrote(o *Options, w *Change, result *resource.Result) {
	c := w.By
	var told []string
	own := make(map[string]resource.Token)
	for _, touched := range result.Touched {
		if touched.Whole {
			c.l.Flush()
		}
		for _, k := range touched.Keys {
			key := string(o.AppendKey(nil, touched.Resource.Name(), k))
			switch {
			case w.NoLoop:
				own[key] = result.Token
			case c.bcast && c.hears(key) && c.l.MayRead(touched.Resource), t.drop(key, c):
				told = append(told, key)
			}
		}
	}
	if w.NoLoop {
		c.loop.late.Stop()
		c.release(own)
	}
	slices.Sort(told)
	t.invalidate(c, slices.Compact(told))
}
