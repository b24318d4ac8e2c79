package main

import (
	"context"
	"sync"
	"time"
)

// A pacer has each client of a crowd do something once a second, a few of them each
// millisecond. Were each to wait for a timer of its own, waking them would cost the
// core that the generator is on more than what they do.
type pacer struct {
	mu  sync.Mutex // guards new
	new []*paced
}

// A paced is one client.
type paced struct {
	do     func() error
	failed chan struct{} // closed when do has
}

const (
	paceEvery = time.Millisecond      // how often some clients have their turn
	paceLate  = 20 * time.Millisecond // what is later than that is not made up for
)

// pace has do called once a second until it fails, or ctx ends.
func (p *pacer) pace(ctx context.Context, do func() error) {
	one := &paced{do, make(chan struct{})}
	p.mu.Lock()
	p.new = append(p.new, one)
	p.mu.Unlock()
	select {
	case <-one.failed:
	case <-ctx.Done():
	}
}

// run gives all their turns until ctx ends.
func (p *pacer) run(ctx context.Context) {
	ticker := time.NewTicker(paceEvery)
	defer ticker.Stop()
	var list []*paced
	last, at := time.Now(), 0
	for owed := 0.0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		list = append(list, p.new...)
		p.new = nil
		p.mu.Unlock()
		now := time.Now()
		owed += float64(len(list)) * min(now.Sub(last), paceLate).Seconds()
		for last = now; owed >= 1 && len(list) > 0; owed-- {
			at %= len(list)
			if err := list[at].do(); err == nil {
				at++
				continue
			}
			close(list[at].failed)
			list[at] = list[len(list)-1]
			list = list[:len(list)-1]
		}
	}
}
