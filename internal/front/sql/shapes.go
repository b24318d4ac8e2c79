package sqlfront

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlcache"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// A shape counts the statements that differ in their values alone.
type shape struct {
	text   string // without any value
	reason sqlread.Reason

	count  atomic.Uint64 // how often it was run
	within atomic.Uint64 // of that, within a transaction
	took   atomic.Int64  // nanoseconds between its group's begin and end at the database

	tally sqlcache.Tally // what memory would have done
	form  *sqlcache.Form // of those that are eligible; nil: what is told of them is not all of it
}

// shapes has those of all sessions. It tells no text that has values.
type shapes struct {
	seed   maphash.Seed
	byText [front.SQLTexts]place

	mu      sync.RWMutex // guards what follows; innermost
	byShape map[shapeKey]*shape
	others  map[sqlread.Reason]*shape // of which there are too many
}

// A place has the text with a hash that came twice without another between them. Texts that come
// once, with values in them, leave it there: what is remembered is what comes again.
type place struct {
	hash  atomic.Uint64 // of known, so that others need not look at that
	last  atomic.Uint64 // that came last and was not known
	known atomic.Pointer[known]
}

// A known text is one that was read.
type known struct {
	hash uint64
	*shape
	reading *sqlcache.Reading
}

// is reports whether k is of a text with a hash.
func (k *known) is(hash uint64, text []byte) bool {
	return k != nil && k.hash == hash && k.reading.Is(text)
}

func newShapes() *shapes {
	return &shapes{seed: maphash.MakeSeed(), byShape: make(map[shapeKey]*shape),
		others: make(map[sqlread.Reason]*shape)}
}

// A shapeKey tells shapes apart: what was read of a statement need not be all of it.
type shapeKey struct {
	text   string
	reason sqlread.Reason
}

// unread is the shape of a statement whose first word says that memory cannot answer it.
const unread = "..."

// of returns what is known of a text. One that comes again soon is read twice, if it is short
// enough to be remembered.
func (s *shapes) of(text []byte) *known {
	hash := maphash.Bytes(s.seed, text)
	place := &s.byText[hash%uint64(len(s.byText))]
	if place.hash.Load() == hash {
		if k := place.known.Load(); k.is(hash, text) {
			return k
		}
	}
	k := &known{hash: hash, reading: sqlcache.Read(string(text), s)}
	form := k.reading.Shape
	if form == unread {
		form = string(firstWords(text)) + unread
	}
	k.shape = s.named(form[:min(len(form), front.SQLShapeByte)], k.reading.Form)
	if place.last.Swap(hash) == hash && len(text) <= front.SQLTextKept {
		place.known.Store(k)
		place.hash.Store(hash)
	}
	return k
}

// FormOf implements sqlcache.Former.
func (s *shapes) FormOf(shape []byte) *sqlcache.Form {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if found := s.byShape[shapeKey{string(shape), sqlread.Eligible}]; found != nil {
		return found.form
	}
	return nil
}

// named returns the shape with a text of its own, which is made if there is room.
func (s *shapes) named(text string, of *sqlcache.Form) *shape {
	key := shapeKey{text, of.Reason}
	s.mu.RLock()
	found := s.byShape[key]
	s.mu.RUnlock()
	if found != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found = s.byShape[key]; found != nil {
		return found
	}
	if len(s.byShape) >= front.SQLShapes {
		return s.other(of.Reason)
	}
	key.text = strings.Clone(text)
	found = &shape{text: key.text, reason: of.Reason}
	if of.Reason == sqlread.Eligible && text == of.Shape {
		found.form = of
	}
	s.byShape[key] = found
	return found
}

// firstWords returns the words that a text begins with, as INSERT INTO t: at most three, of
// letters, of which no value is made.
func firstWords(text []byte) (words []byte) {
	for range 3 {
		text = bytes.TrimLeft(text, " \t\r\n")
		n := 0
		for n < len(text) && (text[n] == '_' || 'a' <= text[n]|' ' && text[n]|' ' <= 'z') {
			n++
		}
		if n == 0 {
			break
		}
		words, text = append(append(words, text[:n]...), ' '), text[n:]
	}
	return bytes.TrimRight(words, " ")
}

// other returns what counts statements of one reason that have no shape.
func (s *shapes) other(reason sqlread.Reason) *shape {
	found := s.others[reason]
	if found == nil {
		found = &shape{reason: reason}
		s.others[reason] = found
	}
	return found
}

// tooLong returns what is known of statements that are too long to be read.
func (s *shapes) tooLong() *known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &known{shape: s.other(sqlread.TooLong), reading: sqlcache.Unknown()}
}

// texts returns the texts that a body begins with, each of which ends with a zero. ok is false
// if one does not end.
func texts(body []byte, n int) (list [2][]byte, ok bool) {
	for i := range n {
		if list[i], body, ok = bytes.Cut(body, []byte{0}); !ok {
			return list, false
		}
	}
	return list, true
}
