package httpfront

import (
	"bytes"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/internal/row"
)

// The id of an event of a stream of several things says which state of each the client has, so
// that one that comes back, to whatever node, is sent what is new alone: the position of the
// event, "~", what names the questions, and a tag for each of them, in their order. A tag is the
// 64 bits of an entity tag, so that the id of a hundred things has 1.4 KB.

// haves are the tags of the states that a client has got, of each of the things that a stream
// tells of.
type haves struct {
	mu   sync.Mutex // held while an event is sent: an id tells of no event that follows it
	of   string     // names the questions
	tags []string   // "": none
}

// newHaves returns what a client has by the id of the last event that it has got.
func newHaves(list []string, id []byte) *haves {
	h := &haves{tags: make([]string, len(list)),
		of: shortTag(row.ETag(row.Hash([]byte(strings.Join(list, "\n"))), row.FormatJSON))}
	known := strings.Split(knownTag(id), ".")
	if known[0] == h.of && len(known) == 1+len(list) {
		copy(h.tags, known[1:])
	}
	return h
}

// shortTag returns the part of a tag that names the state, whatever its representation.
func shortTag(tag string) string {
	tag, _, _ = strings.Cut(strings.Trim(tag, `"`), "-")
	return tag
}

// appendID appends the id of an event of a position.
func (h *haves) appendID(dst, position []byte) []byte {
	dst = append(append(dst, position...), '~')
	dst = append(dst, h.of...)
	for _, t := range h.tags {
		dst = append(append(dst, '.'), t...)
	}
	return dst
}

// send sends a state of the thing of this number, whose lines but the id are frame.
func (h *haves) send(w *watcher, s *state, frame []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w.s.conn.Send(h.event(w.number, s, frame))
}

// event returns a state as an event that says what the client has with it. h.mu is held.
func (h *haves) event(number int, s *state, frame []byte) []byte {
	if s.event == eventStale {
		return frame
	}
	h.tags[number] = shortTag(s.tag)
	b := h.appendID(append(make([]byte, 0, len(frame)+64+16*len(h.tags)), "id: "...), s.id)
	return append(append(b, '\n'), frame...)
}

// first returns the events of the first states; those that the client has are left out.
func (h *haves) first(list []string, states []state) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b bytes.Buffer
	for i := range states {
		s := &states[i]
		if s.event != eventStale && h.tags[i] == shortTag(s.tag) {
			continue
		}
		b.Write(h.event(i, s, s.of(list[i])))
	}
	return b.Bytes()
}
