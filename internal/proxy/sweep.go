package proxy

import "time"

// sweepEvery is how often waits are looked at. Deadlines are as exact as this,
// and cost a request one store each instead of a timer.
const sweepEvery = 100 * time.Millisecond

// tick moves the server's clock.
func (s *Server) tick() { s.now.Store(int64(time.Since(s.start)) + 1) }

// sweepAll ends what has lasted too long, until the server is closed.
func (s *Server) sweepAll() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var clients []*client
	for n := 0; ; n++ {
		select {
		case <-s.quit:
			return
		case <-ticker.C:
		}
		s.tick()
		s.mu.Lock()
		clients = clients[:0]
		for c := range s.clients {
			clients = append(clients, c)
		}
		idle := s.draining.Load() && time.Since(s.drained) >= s.opts.Grace
		s.mu.Unlock()
		now := s.now.Load()
		for _, c := range clients {
			c.sweep(now, idle)
		}
		clear(clients)
		if n%10 == 0 {
			s.count.errors.Store(0)
			s.reap(0)
		}
	}
}

// reap closes the upstream connections that have been idle for too long, and n
// others.
func (s *Server) reap(n int) {
	s.mu.Lock()
	targets := make([]*target, 0, len(s.targets))
	for _, t := range s.targets {
		targets = append(targets, t)
	}
	s.mu.Unlock()
	now := s.now.Load()
	for _, t := range targets {
		for _, b := range t.backends() {
			closed := b.reap(now, n)
			n = max(n-closed, 0)
		}
	}
}

// makeRoom closes idle upstream connections when four fifths of the files that
// may be open are: a new connection is worth more than one that nobody uses.
func (s *Server) makeRoom() {
	const some = 16
	s.mu.Lock()
	open := int64(len(s.clients)) + s.count.upstreams.Load()
	s.mu.Unlock()
	if open > s.files/5*4 {
		s.reap(some)
	}
}
