package proxy

import (
	"slices"
	"sync"
	"time"
)

// A queue bounds the connections of a target that are in use. Who comes beyond
// the bound waits in line.
type queue struct {
	max int // 0: no bound

	mu      sync.Mutex // guards used and waiting
	used    int
	waiting []chan struct{}
}

// enter waits for a place, as long as a response would be waited for.
func (q *queue) enter(c *client) error {
	if q.max <= 0 {
		return nil
	}
	q.mu.Lock()
	if q.used < q.max {
		q.used++
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	q.mu.Unlock()
	ctx, done := c.cancellable(max(c.srv.opts.ProxyRead, time.Second))
	defer done()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, turn)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.mu.Unlock()
	if i < 0 { // our turn has come at the same moment
		q.leave()
	}
	if c.reason.Load() == reasonGone {
		return errClientGone
	}
	return errQueue
}

// leave gives a place to the next in line.
func (q *queue) leave() {
	if q.max <= 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		close(q.waiting[0])
		q.waiting = q.waiting[1:]
		return
	}
	q.used--
}
