package eventloop

import "sync"

// A TurnEnder is a Scope that wants to know when its wake-up has ended and another
// does not follow at once: before the loop sleeps, or lets other goroutines run.
// All output has been given to the sockets by then; of a connection with a
// goroutine of its own it is about to be. After a Rest comes a Wake.
//
// It is how a Scope measures a wake-up: under load by the clock read of the next
// one, which is free, and else without the time in which nothing was to do.
type TurnEnder interface{ EndTurn() }

// rest tells a scope that wants to know.
func rest(s Scope) {
	if r, ok := s.(TurnEnder); ok {
		r.EndTurn()
	}
}

// spares are scopes that no stream uses at present. There are as many as
// streams have ever stepped at once, about one for each processor. They are
// kept for good, unlike what a sync.Pool holds: a Scope may have counters and
// buffers of its own, of which others know.
type spares struct {
	mu   sync.Mutex // guards list
	list []Scope
}

// get returns a scope, or nil when all are in use.
func (p *spares) get() Scope {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.list)
	if n == 0 {
		return nil
	}
	s := p.list[n-1]
	p.list = p.list[:n-1]
	return s
}

// put takes a scope back.
func (p *spares) put(s Scope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, s)
}
