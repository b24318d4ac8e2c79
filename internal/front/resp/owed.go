package respfront

import (
	"maps"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// owed is what the peer of a connection is to be told when it takes more. It is told for
// itself and for those who redirect to it: what it tracks itself is no matter.
type owed struct {
	keys map[string]struct{}
	each bool // one key in a message: somebody tracks without BCAST
	all  bool // anything may have changed

	since time.Time // of keys, when the first of them was told
}

// hearsKeys reports whether those who redirect to the connection reach its client, in
// RESP2 by a channel. c.mu is held.
func (c *conn) hearsKeys() bool {
	return c.shared.v == resp.V3 || c.subscribed(invalidateChannel)
}

// sendKeys sends what push tells, or keeps it while the peer takes nothing. bcast says how
// it is tracked. c.mu is held.
func (c *conn) sendKeys(keys []string, bcast bool) {
	o := &c.owed
	waits := o.all || len(o.keys) > 0
	if !waits && c.Conn.Backlog() <= front.PushedBytes {
		c.Conn.Send(invalidation(c.shared.v, keys, bcast))
		return
	}
	c.f.stats.owed.Add(1)
	o.each = o.each || !bcast
	switch {
	case keys == nil || len(o.keys)+len(keys) > front.OwedKeys:
		*o = owed{all: true}
	case !o.all:
		if o.keys == nil {
			o.keys, o.since = make(map[string]struct{}), time.Now()
		}
		for _, key := range keys {
			o.keys[key] = struct{}{}
		}
	}
	if !c.Conn.Below(front.PushedBytes / 2) {
		c.pay()
	}
}

// pay sends what is owed. c.mu is held.
func (c *conn) pay() {
	if out := c.takeOwed(); out != nil {
		c.Conn.Send(out)
	}
}

// takeOwed returns the messages that tell what is owed, nil if nothing is, and forgets it.
// c.mu is held.
func (c *conn) takeOwed() []byte {
	o := c.owed
	c.owed = owed{}
	switch {
	case !c.hearsKeys():
		return nil
	case o.all || len(o.keys) > 0 && time.Since(o.since) > front.TellWithin:
		return invalidation(c.shared.v, nil, true)
	case len(o.keys) == 0:
		return nil
	}
	return invalidation(c.shared.v, slices.Collect(maps.Keys(o.keys)), !o.each)
}

// payFirst tells what is owed in front of the reply of a command behind which the client
// would not understand it, or not hear it any more.
func (t *turn) payFirst() {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.replies() {
		t.out = append(t.out, c.takeOwed()...)
	} else { // the turn has no output
		c.pay()
	}
}
