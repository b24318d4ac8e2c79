package respfront

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// A channelIndex is the channels of keys that a connection hears, taken apart once: what an event
// costs grows with the patterns that may be for its key, and not with all of them. It does not
// change.
type channelIndex struct {
	v      resp.Version
	number uint64 // of the subscriptions that they were made of

	exact map[string][]string // keyspace channels, by the key
	named map[string][]string // keyevent channels, by the event

	patterns []pattern
	whole    map[string][]int // those of patterns for one key, by the key
	begins   map[string][]int // all others for keys, by what such a key begins with
	lengths  []int            // of what it begins with, ascending
}

// A pattern is one of PSUBSCRIBE. The rows are the same in every database: one that stands
// for channels of several is told of one.
type pattern struct {
	text   string
	keys   []tail         // of keyspace channels
	events map[string]int // the database of the keyevent channel of an event
}

// A tail is what a pattern says of a key behind the name of a database's channels.
type tail struct {
	db    string
	rests []string // patterns, one of which the key must match
}

// kinds of events, of which channels tell.
var kinds = []string{"set", "reset"}

// newChannelIndex takes channels and patterns apart.
func newChannelIndex(v resp.Version, names, patterns []string) *channelIndex {
	h := &channelIndex{v: v, exact: make(map[string][]string), named: make(map[string][]string),
		whole: make(map[string][]int), begins: make(map[string][]int)}
	for _, channel := range names {
		kind, rest, ok := cutDatabase(channel)
		switch {
		case ok && kind == "keyspace":
			h.exact[rest] = append(h.exact[rest], channel)
		case ok && kind == "keyevent":
			h.named[rest] = append(h.named[rest], channel)
		}
	}
	for _, text := range patterns {
		h.addPattern(text)
	}
	for begin := range h.begins {
		if !slices.Contains(h.lengths, len(begin)) {
			h.lengths = append(h.lengths, len(begin))
		}
	}
	slices.Sort(h.lengths)
	return h
}

// addPattern takes a pattern apart.
func (h *channelIndex) addPattern(text string) {
	p := pattern{text: text, events: make(map[string]int)}
	at := len(h.patterns)
	for n := range databases {
		db := strconv.Itoa(n)
		rests := kv.MatchAfter(text, "__keyspace@"+db+"__:")
		if len(rests) > 0 && !slices.ContainsFunc(p.keys, func(t tail) bool {
			return slices.Equal(t.rests, rests)
		}) {
			p.keys = append(p.keys, tail{db, rests})
			h.index(rests, at)
		}
		for _, kind := range kinds {
			if _, has := p.events[kind]; !has && kv.Match(text, "__keyevent@"+db+"__:"+kind) {
				p.events[kind] = n
			}
		}
	}
	if len(p.keys)+len(p.events) > 0 {
		h.patterns = append(h.patterns, p)
	}
}

// index notes for which keys a pattern is looked at.
func (h *channelIndex) index(rests []string, at int) {
	for _, rest := range rests {
		begin := kv.Literal(rest)
		if len(begin) == len(rest) {
			h.whole[rest] = append(h.whole[rest], at)
		} else {
			h.begins[begin] = append(h.begins[begin], at)
		}
	}
}

// candidates returns which patterns may stand for the channel of a key, in their order.
func (h *channelIndex) candidates(key string) []int {
	list := slices.Clone(h.whole[key])
	for _, n := range h.lengths {
		if n > len(key) {
			break
		}
		list = append(list, h.begins[key[:n]]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// database returns of which database's channel of a key the pattern is told; false: of none.
func (p *pattern) database(key string) (string, bool) {
	for _, t := range p.keys {
		for _, rest := range t.rests {
			if kv.Match(rest, key) {
				return t.db, true
			}
		}
	}
	return "", false
}

// appendEvent appends the messages of one event of a key. other says that clients use the
// other name of a row, too.
func (h *channelIndex) appendEvent(out []byte, e *event, other bool) []byte {
	names := []string{e.name.Main}
	if e.name.Other != "" {
		names = append(names, e.name.Other)
	}
	told := make(map[int]bool) // patterns that were told by the main name
	for i, key := range names {
		for _, channel := range h.exact[key] {
			out = appendMessage(out, h.v, "message", channel, e.what)
		}
		for _, at := range h.candidates(key) {
			p := &h.patterns[at]
			if i > 0 && told[at] && !other {
				continue
			}
			if db, ok := p.database(key); ok {
				told[at] = true
				out = appendMessage(out, h.v, "pmessage", p.text, "__keyspace@"+db+"__:"+key,
					e.what)
			}
		}
	}
	if !other {
		names = names[:1]
	}
	for _, key := range names {
		for _, channel := range h.named[e.what] {
			out = appendMessage(out, h.v, "message", channel, key)
		}
		for i := range h.patterns {
			p := &h.patterns[i]
			if n, ok := p.events[e.what]; ok {
				out = appendMessage(out, h.v, "pmessage", p.text,
					"__keyevent@"+strconv.Itoa(n)+"__:"+e.what, key)
			}
		}
	}
	return out
}

// appendMessage appends what a subscriber is told.
func appendMessage(out []byte, v resp.Version, parts ...string) []byte {
	out = v.AppendPush(out, len(parts))
	for _, p := range parts {
		out = resp.AppendText(out, p)
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
