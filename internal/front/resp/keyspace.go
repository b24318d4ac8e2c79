package respfront

import (
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// A keyspace is a connection that hears the channels of keys: it is told of every change
// of a row that it may read, as a client is that keeps copies. It implements kv.Listener.
type keyspace struct{ c *conn }

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
		c.keyspace = t.Join(keyspace{c}, true, nil)
	case !wants && c.keyspace != nil:
		t.Leave(c.keyspace)
		c.keyspace = nil
	}
}

// MayRead implements kv.Listener.
func (k keyspace) MayRead(r *resource.Resource) bool { return k.c.MayRead(r) }

// Invalidate implements kv.Listener: what has happened to a row is not known, so that
// every change is a set.
func (k keyspace) Invalidate(keys []string) {
	c := k.c
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []byte
	for _, key := range keys {
		out = c.appendEvent(out, key, "set")
	}
	if len(out) > 0 && !c.ended {
		c.Conn.Send(out)
	}
}

// Flush implements kv.Listener.
func (k keyspace) Flush() {
	c, o := k.c, k.c.f.store.Live()
	var names []string
	for _, r := range o.Resources.All() {
		if c.MayRead(r) {
			names = append(names, r.Name())
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []byte
	for _, name := range names {
		out = c.appendEvent(out, string(o.AppendKey(nil, name, "*")), "reset")
	}
	if len(out) > 0 && !c.ended {
		c.Conn.Send(out)
	}
}

// appendEvent appends the messages of one event of a key. The rows are the same in every
// database: a pattern that stands for several is told of one. c.mu is held.
func (c *conn) appendEvent(out []byte, key, event string) []byte {
	v := c.shared.v
	for _, channel := range c.subs.channels {
		kind, rest, ok := cutDatabase(channel)
		switch {
		case ok && kind == "keyspace" && rest == key:
			out = appendMessage(out, v, "message", channel, event)
		case ok && kind == "keyevent" && rest == event:
			out = appendMessage(out, v, "message", channel, key)
		}
	}
	for _, p := range c.subs.patterns {
		for _, of := range [2][3]string{{"__keyspace@", key, event}, {"__keyevent@", event, key}} {
			for n := range databases {
				channel := of[0] + strconv.Itoa(n) + "__:" + of[1]
				if kv.Match(p, channel) {
					out = appendMessage(out, v, "pmessage", p, channel, of[2])
					break
				}
			}
		}
	}
	return out
}

// cutDatabase takes __keyspace@N__:KEY apart.
func cutDatabase(channel string) (kind, rest string, ok bool) {
	name, rest, ok := strings.Cut(channel, "__:")
	if !ok || !strings.HasPrefix(name, "__") {
		return "", "", false
	}
	kind, number, ok := strings.Cut(name[2:], "@")
	n, err := strconv.Atoi(number)
	return kind, rest, ok && err == nil && n >= 0 && n < databases && number == strconv.Itoa(n)
}

// appendMessage appends what a subscriber is told.
func appendMessage(out []byte, v resp.Version, parts ...string) []byte {
	out = v.AppendPush(out, len(parts))
	for _, p := range parts {
		out = resp.AppendText(out, p)
	}
	return out
}
