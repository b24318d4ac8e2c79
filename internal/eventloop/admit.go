package eventloop

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"
)

// admission counts connections, and those of each address, against their bounds.
type admission struct {
	most, mostOf int // 0: no bound

	mu     sync.Mutex // guards what follows; innermost
	open   int
	byAddr map[netip.Addr]int // of those that are not this machine's own

	handshakes chan struct{} // holds one for each that is under way; nil: no bound
}

func newAdmission(c *Config) *admission {
	a := &admission{most: c.MaxConns, mostOf: c.MaxConnsOf, byAddr: make(map[netip.Addr]int)}
	if c.MaxHandshakes > 0 {
		a.handshakes = make(chan struct{}, c.MaxHandshakes)
	}
	return a
}

// enter counts a connection from an address, unless there are too many. This machine's own
// programs, and those behind a unix socket, have no bound of their own.
func (a *admission) enter(from netip.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	counted := from.IsValid() && !from.IsLoopback()
	if a.most > 0 && a.open >= a.most || counted && a.mostOf > 0 && a.byAddr[from] >= a.mostOf {
		return false
	}
	a.open++
	if counted {
		a.byAddr[from]++
	}
	return true
}

// leave forgets a connection that has entered.
func (a *admission) leave(from netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open--
	if n, ok := a.byAddr[from]; ok {
		if a.byAddr[from] = n - 1; n <= 1 {
			delete(a.byAddr, from)
		}
	}
}

// beginHandshake waits until there are few enough handshakes of TLS, and reports false when
// ctx has ended before. end ends it.
func (a *admission) beginHandshake(ctx context.Context) (end func(), ok bool) {
	if a.handshakes == nil {
		return func() {}, true
	}
	select {
	case a.handshakes <- struct{}{}:
		return func() { <-a.handshakes }, true
	case <-ctx.Done():
		return nil, false
	}
}

// addrOf returns the address of a peer, without its port; invalid for one that has none.
func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		addr, _ := netip.AddrFromSlice(tcp.IP)
		return addr.Unmap()
	}
	return netip.Addr{}
}

// turnedAway counts a connection that is one too many, and says so now and then.
func (s *Server) turnedAway(from netip.Addr) {
	n := s.count.turnedAway.Add(1)
	now, last := int64(time.Since(s.start))+1, s.count.turnedAt.Load()
	if last != 0 && now-last < int64(refusedEvery) || !s.count.turnedAt.CompareAndSwap(last, now) {
		return
	}
	s.cfg.Log.Warn("a connection was refused: there are too many", "addr", s.addr.String(),
		"peer", from.String(), "most", s.cfg.MaxConns, "most_of_one_address", s.cfg.MaxConnsOf,
		"times", n)
}
