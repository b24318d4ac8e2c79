package respfront

import (
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// A keyspace is a connection that hears the channels of keys: it is told of every change
// of a row that it may read. It implements kv.Hearer.
type keyspace struct {
	c     *conn
	built *channelIndex // what c has subscribed to; for who calls Hear
}

// mayHearKeys reports whether a channel, or a pattern, is one of those that tell of keys.
func mayHearKeys(channel string, pattern bool) bool {
	const head = "__key"
	if pattern {
		channel = kv.Literal(channel)
		return strings.HasPrefix(channel, head) || strings.HasPrefix(head, channel)
	}
	return strings.HasPrefix(channel, head)
}

// watchKeys makes what the connection is told of keys what it has subscribed to.
func (c *conn) watchKeys() {
	wants := false
	for _, channel := range c.subs.channels {
		wants = wants || mayHearKeys(channel, false)
	}
	for _, p := range c.subs.patterns {
		wants = wants || mayHearKeys(p, true)
	}
	switch t := c.f.store.Tracker(); {
	case wants && c.keyspace == nil:
		c.keyspace = t.Subscribe(&keyspace{c: c})
	case !wants && c.keyspace != nil:
		t.Unsubscribe(c.keyspace)
		c.keyspace = nil
	}
}

// An event is something that has happened to a key.
type event struct {
	name kv.Name
	what string
}

// events returns what a notice says to a connection. What has happened to a row is not
// known, so that every change is a set.
func (c *conn) events(n *kv.Notice) (list []event) {
	if n.Resource == nil {
		o := c.f.store.Live()
		for _, r := range o.Resources.All() {
			if c.MayRead(r) {
				list = append(list, event{o.NameOf(r.Name(), "*"), "reset"})
			}
		}
		return list
	}
	if !c.MayRead(n.Resource) {
		return nil
	}
	if len(n.Names) == 0 {
		return []event{{c.f.store.Live().NameOf(n.Resource.Name(), "*"), "reset"}}
	}
	for _, name := range n.Names {
		list = append(list, event{name, "set"})
	}
	return list
}

// pieceBytes is about how much is sent to a subscriber at a time.
const pieceBytes = 16 << 10

// Hear implements kv.Hearer.
func (k *keyspace) Hear(n *kv.Notice) bool {
	c, list := k.c, k.c.events(n)
	other := c.f.store.Tracker().OtherUsed()
	var out []byte
	for i, from := 0, 0; i < len(list); {
		if from == i {
			out = nil // what was sent is not written to any more
			k.build()
		}
		out = k.built.appendEvent(out, &list[i], other)
		if i++; len(out) < pieceBytes && i < len(list) {
			continue
		}
		if !c.waitRoom(n.Until()) {
			return false
		}
		if !c.sendHeard(out, k.built) {
			i = from // the client has subscribed to something else
		}
		from = i
	}
	return true
}

// Late implements kv.Hearer.
func (k *keyspace) Late() {
	k.c.kill.Store(true)
	k.c.Conn.Poke()
}

// build makes k.built what the connection hears now.
func (k *keyspace) build() {
	c := k.c
	c.mu.Lock()
	b := k.built
	if b == nil || b.number != c.subs.number || b.v != c.shared.v {
		b = nil
	}
	number, v := c.subs.number, c.shared.v
	names, patterns := c.subs.channels, c.subs.patterns
	if b == nil {
		names, patterns = slices.Clone(names), slices.Clone(patterns)
	}
	c.mu.Unlock()
	if b == nil {
		k.built = newChannelIndex(v, names, patterns)
		k.built.number = number
	}
}

// waitRoom waits until the peer has taken enough of what it was sent, and reports whether it
// has before until.
func (c *conn) waitRoom(until time.Time) bool {
	var timer *time.Timer
	for c.Conn.Backlog() > front.PushedBytes && c.Conn.Below(front.PushedBytes/2) {
		if timer == nil {
			timer = time.NewTimer(time.Until(until))
			defer timer.Stop()
		}
		select {
		case <-c.taken:
		case <-timer.C:
			return false
		}
	}
	return true
}

// sendHeard sends messages that were made by what the connection heard. It reports false when
// it hears something else now.
func (c *conn) sendHeard(out []byte, by *channelIndex) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if by.number != c.subs.number || by.v != c.shared.v {
		return c.ended
	}
	if len(out) > 0 && !c.ended {
		c.Conn.Send(out)
	}
	return true
}
