package proxy

import (
	"net/http"
	"time"
)

// When a backend has failed so often in a row, it is left alone for a time that
// doubles while it goes on failing.
const (
	failuresToEject = 5
	ejectFirst      = 5 * time.Second
	ejectLast       = time.Minute
	// ejectOnly is for a target's only address: there is no other, so it is
	// tried again soon, and only spared the crowd.
	ejectOnly = time.Second
)

// failed notes that the backend did not accept a connection, or did not answer
// as it should. The latter may be due to one kind of request; it does not keep
// others from a target's only address.
func (b *backend) failed(s *Server, connecting bool) {
	list := b.target.backends()
	if !connecting && len(list) <= 1 || b.failures.Add(1) < failuresToEject {
		return
	}
	now := s.now.Load()
	out := 0
	for _, other := range list {
		if other != b && other.ejected(now) {
			out++
		}
	}
	if len(list) > 1 && 2*(out+1) > len(list) { // at most half of them
		return
	}
	length := min(ejectFirst<<min(b.ejections.Add(1)-1, 10), ejectLast)
	if len(list) <= 1 {
		length = ejectOnly
	}
	if b.until.Swap(now+int64(length)) <= now {
		s.count.ejections.Add(1)
		s.log.Warn("an upstream address is left alone", "upstream", b.target.key,
			"addr", b.name, "for", length)
	}
}

// answered notes an answer. Gateways further on that have no good news count as
// failures of this one: another may have a better way.
func (b *backend) answered(status int, s *Server, began time.Time) {
	if b.target.several() {
		b.observe(time.Since(began))
		if status == http.StatusBadGateway || status == http.StatusGatewayTimeout {
			b.failed(s, false)
			return
		}
	}
	b.succeeded()
}

// succeeded forgets the failures.
func (b *backend) succeeded() {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
		b.ejections.Store(0)
		b.until.Store(0)
	}
}

// ejected reports whether the backend is left alone.
func (b *backend) ejected(now int64) bool { return b.until.Load() > now }

// observe notes how long an answer took: a moving average over some ten.
func (b *backend) observe(d time.Duration) {
	old := b.latency.Load()
	b.latency.Store(old + (int64(d)-old)/10)
}

// cost is what the next request on the backend may be expected to wait.
func (b *backend) cost() int64 {
	const least = int64(100 * time.Microsecond)
	return (b.inflight.Load() + 1) * max(b.latency.Load(), least)
}
