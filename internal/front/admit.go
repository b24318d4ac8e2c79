package front

import (
	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/eventloop"
)

// Admit returns the bounds of a listener that may have as many connections as most returns;
// nil: Connections. One address has half of them, so that nobody has all. A balancer has one
// address.
func Admit(most func() int) admit.Bounds {
	if most == nil {
		most = func() int { return Connections }
	}
	return admit.Bounds{Handshakes: Handshakes, Connections: func() (all, ofOne int) {
		all = most()
		return all, max(all/2, 1)
	}}
}

// Limited returns c with the bounds of connections, unless it has some. refusal is what a peer
// is told that is one too many, in the protocol of the listener.
func Limited(c eventloop.Config, refusal string) eventloop.Config {
	if c.Admit.Connections == nil {
		c.Admit = Admit(nil)
	}
	c.Refusal = func() []byte { return []byte(refusal) }
	return c
}
