package respfront

import (
	"slices"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// subscriptions are what a connection hears, in the order in which it was asked for.
type subscriptions struct {
	channels, patterns []string

	bytes  int    // of all of them
	number uint64 // another one after each change
}

// add adds a channel or a pattern to list, which is one of s's.
func (s *subscriptions) add(list *[]string, name string) {
	*list = append(*list, name)
	s.bytes += len(name)
	s.number++
}

// remove takes a channel or a pattern out of list, if it is there.
func (s *subscriptions) remove(list *[]string, name string) {
	if i := slices.Index(*list, name); i >= 0 {
		*list = slices.Delete(*list, i, i+1)
		s.bytes -= len(name)
		s.number++
	}
}

// forgetSubscriptions ends all subscriptions.
func (c *conn) forgetSubscriptions() {
	c.mu.Lock()
	c.subs = subscriptions{number: c.subs.number + 1}
	c.mu.Unlock()
	c.watchKeys()
}

func (s *subscriptions) count() int { return len(s.channels) + len(s.patterns) }

// servePubSub says how its commands are answered. Of all channels those carry messages that
// tell of keys, and that of invalidations, for clients of RESP2 that keep copies.
func (all table) servePubSub() {
	all["subscribe"].now = func(t *turn, args [][]byte) { t.subscribe(args, false) }
	all["psubscribe"].now = func(t *turn, args [][]byte) { t.subscribe(args, true) }
	all["unsubscribe"].now = func(t *turn, args [][]byte) { t.unsubscribe(args, false) }
	all["punsubscribe"].now = func(t *turn, args [][]byte) { t.unsubscribe(args, true) }
	for _, name := range []string{"subscribe", "psubscribe", "unsubscribe", "punsubscribe", "ping",
		"quit", "reset"} {
		all[name].subscribed = true
	}
	subs := all["pubsub"].subs
	subs["channels"].now, subs["numsub"].now, subs["numpat"].now = channels, numSub, numPat
}

// heard returns the list of channels or of patterns. c.mu is held, or c is one's own.
func (c *conn) heard(patterns bool) *[]string {
	if patterns {
		return &c.subs.patterns
	}
	return &c.subs.channels
}

// subscribed reports whether the connection hears a channel. c.mu is held.
func (c *conn) subscribed(channel string) bool {
	return slices.Contains(c.subs.channels, channel)
}

// replySubscription appends what is said of one channel.
func (t *turn) replySubscription(verb string, patterns bool, channel []byte) {
	if patterns {
		verb = "p" + verb
	}
	v := t.c.v
	out := resp.AppendText(v.AppendPush(t.out, 3), verb)
	if channel == nil {
		out = v.AppendNil(out)
	} else {
		out = resp.AppendBulk(out, channel)
	}
	t.out = resp.AppendInt(out, int64(t.c.subs.count()))
}

func (t *turn) subscribe(args [][]byte, patterns bool) {
	c := t.c
	defer c.watchKeys()
	list := c.heard(patterns)
	for _, channel := range args[1:] {
		if !slices.Contains(*list, string(channel)) {
			if len(*list) >= front.SubscribedNames ||
				c.subs.bytes+len(channel) > front.SubscribedBytes {
				t.fail("ERR too many subscriptions")
				return
			}
			c.mu.Lock()
			c.subs.add(list, string(channel))
			c.mu.Unlock()
		}
		t.replySubscription("subscribe", patterns, channel)
	}
}

func (t *turn) unsubscribe(args [][]byte, patterns bool) {
	c := t.c
	if !patterns && c.v == resp.V2 {
		t.payFirst()
	}
	defer c.watchKeys()
	list, from := c.heard(patterns), args[1:]
	if len(from) == 0 {
		for _, channel := range *list {
			from = append(from, []byte(channel))
		}
		if len(from) == 0 {
			t.replySubscription("unsubscribe", patterns, nil)
		}
	}
	for _, channel := range from {
		c.mu.Lock()
		c.subs.remove(list, string(channel))
		c.mu.Unlock()
		t.replySubscription("unsubscribe", patterns, channel)
	}
}

// hears returns how many connections hear each channel, and all patterns.
func (f *Front) hears() (byChannel map[string]int, patterns map[string]bool) {
	byChannel, patterns = make(map[string]int), make(map[string]bool)
	for _, c := range f.list() {
		c.mu.Lock()
		for _, channel := range c.subs.channels {
			byChannel[channel]++
		}
		for _, p := range c.subs.patterns {
			patterns[p] = true
		}
		c.mu.Unlock()
	}
	return byChannel, patterns
}

func channels(t *turn, args [][]byte) {
	byChannel, _ := t.c.f.hears()
	var list []string
	for channel := range byChannel {
		if len(args) < 3 || kv.Match(string(args[2]), channel) {
			list = append(list, channel)
		}
	}
	slices.Sort(list)
	t.out = resp.AppendArray(t.out, len(list))
	for _, channel := range list {
		t.out = resp.AppendText(t.out, channel)
	}
}

func numSub(t *turn, args [][]byte) {
	byChannel, _ := t.c.f.hears()
	t.out = resp.AppendArray(t.out, 2*len(args[2:]))
	for _, channel := range args[2:] {
		t.out = resp.AppendBulk(t.out, channel)
		t.out = resp.AppendInt(t.out, int64(byChannel[string(channel)]))
	}
}

func numPat(t *turn, _ [][]byte) {
	_, patterns := t.c.f.hears()
	t.out = resp.AppendInt(t.out, int64(len(patterns)))
}
