// Package admit bounds the connections of a listener: those of all clients, those of one
// address, and the handshakes of TLS at a time. It counts what it refuses. It accepts nothing
// and closes nothing; only Listener does, for servers that take any listener.
package admit

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds say how many connections a listener may have. A field that is zero bounds nothing.
type Bounds struct {
	// Connections returns the bound of all, and of one address; it is asked for each
	// connection, so that a reload counts at once. nil: there is none.
	Connections func() (all, ofOne int)

	// Handshakes is how many handshakes of TLS are under way at a time. Others wait.
	Handshakes int
}

// A Gate counts the connections of one listener against its bounds.
type Gate struct {
	bounds Bounds
	addr   string // of the listener
	log    *slog.Logger

	mu     sync.Mutex // guards what follows; innermost
	open   int
	byAddr map[netip.Addr]int // by what counted returns

	turns chan struct{} // holds one for each handshake that is under way; nil: no bound

	connections, ofOne, handshakes atomic.Int64 // refused
	saidAt                         atomic.Int64 // when the log was told last
}

// Refused counts what a Gate has refused.
type Refused struct {
	Connections int64 // because the listener had as many as it may
	OfOne       int64 // because their address had
	Handshakes  int64 // that never had their turn
}

// sayEvery is how often the log tells of what is refused.
const sayEvery = 10 * time.Second

// New returns the gate of the listener at addr.
func New(b Bounds, addr net.Addr, log *slog.Logger) *Gate {
	g := &Gate{bounds: b, addr: addr.String(), log: log, byAddr: make(map[netip.Addr]int)}
	if b.Handshakes > 0 {
		g.turns = make(chan struct{}, b.Handshakes)
	}
	if b.Connections == nil {
		g.bounds.Connections = func() (all, ofOne int) { return 0, 0 }
	}
	return g
}

// Refused returns the counts up to now.
func (g *Gate) Refused() Refused {
	return Refused{g.connections.Load(), g.ofOne.Load(), g.handshakes.Load()}
}

// Enter counts a connection from an address, invalid for one that has none. It reports false
// when it is one too many, which is counted and logged.
func (g *Gate) Enter(from netip.Addr) bool {
	all, ofOne := g.bounds.Connections()
	switch g.enter(from, all, ofOne) {
	case entered:
		return true
	case tooMany:
		g.connections.Add(1)
		g.say("a connection was refused: there are too many", "peer", from.String(), "most", all)
	case tooManyOfOne:
		g.ofOne.Add(1)
		g.say("a connection was refused: its address has too many", "peer", from.String(),
			"most", ofOne)
	}
	return false
}

type verdict uint8

const (
	entered verdict = iota
	tooMany
	tooManyOfOne
)

func (g *Gate) enter(from netip.Addr, all, ofOne int) verdict {
	by, has := counted(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case all > 0 && g.open >= all:
		return tooMany
	case has && ofOne > 0 && g.byAddr[by] >= ofOne:
		return tooManyOfOne
	}
	g.open++
	if has {
		g.byAddr[by]++
	}
	return entered
}

// Leave forgets a connection that has entered.
func (g *Gate) Leave(from netip.Addr) {
	by, has := counted(from)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	if !has {
		return
	}
	if g.byAddr[by]--; g.byAddr[by] <= 0 {
		delete(g.byAddr, by)
	}
}

// BeginHandshake waits until there are few enough handshakes of TLS. It reports false when
// ctx has ended before, which is counted and logged. end ends the handshake.
func (g *Gate) BeginHandshake(ctx context.Context) (end func(), ok bool) {
	if g.turns == nil {
		return func() {}, true
	}
	select {
	case g.turns <- struct{}{}:
		return func() { <-g.turns }, true
	case <-ctx.Done():
	}
	g.handshakes.Add(1)
	g.say("a TLS handshake was refused: it waited for too many others", "most", g.bounds.Handshakes)
	return nil, false
}

// Handshakes returns how many handshakes are under way.
func (g *Gate) Handshakes() int { return len(g.turns) }

// say tells the log, now and then.
func (g *Gate) say(what string, args ...any) {
	now, last := time.Now().UnixNano(), g.saidAt.Load()
	if now-last < int64(sayEvery) || !g.saidAt.CompareAndSwap(last, now) {
		return
	}
	r := g.Refused()
	g.log.Warn(what, append(args, "addr", g.addr, "connections", r.Connections,
		"of_one_address", r.OfOne, "handshakes", r.Handshakes)...)
}

// AddrOf returns the address of a peer, without its port; invalid for one that has none.
func AddrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		addr, _ := netip.AddrFromSlice(tcp.IP)
		return addr.Unmap()
	}
	return netip.Addr{}
}

// counted returns under what an address is counted, and false for one that has no bound of its
// own: this machine's programs, and those behind a unix socket. Of IPv6 that is the network,
// for a host there has 2^64 addresses; but a link has one such network, and many hosts.
func counted(from netip.Addr) (by netip.Addr, has bool) {
	if !from.IsValid() || from.IsLoopback() {
		return netip.Addr{}, false
	}
	if from.Is6() && !from.IsLinkLocalUnicast() {
		if network, err := from.Prefix(64); err == nil {
			return network.Addr(), true
		}
	}
	return from, true
}
