package httpfront

import (
	"context"
	"net"
	"time"

	"github.com/hotrow/hotrow/internal/front"
)

// WithConn gives the requests of a connection their part of the budget for answers
// that clients do not read. Under HTTP/2 many handlers may wait for one client.
func (h *Handler) WithConn(ctx context.Context, _ net.Conn) context.Context {
	return front.WithPeer(ctx, h.unsent.NewPeer())
}

// claim waits until there is room for an answer with so many documents.
func (c *call) claim(documents int) error {
	p := front.PeerOf(c.r.Context())
	if p == nil || c.got != nil {
		return nil
	}
	n := c.h.unsent.Estimate(c.res.Name(), documents, c.o.MaxList)
	switch err := p.Acquire(c.r.Context(), n); err {
	case nil:
		c.claimed = n
		return nil
	case front.ErrBusy:
		return problem{kind: kindUnread, after: time.Second}
	default:
		return err
	}
}

// settle says how large the answer has become.
func (c *call) settle(bytes int) {
	if c.claimed != 0 {
		n := max(int64(bytes), 1)
		front.PeerOf(c.r.Context()).Add(n - c.claimed)
		c.claimed = n
	}
}

// release gives the room back.
func (c *call) release() {
	if c.claimed != 0 {
		front.PeerOf(c.r.Context()).Add(-c.claimed)
		c.claimed = 0
	}
}

// learn notes how large documents of the resource are.
func (c *call) learn(documents, bytes int) {
	c.h.unsent.Learn(c.res.Name(), documents, bytes)
}
