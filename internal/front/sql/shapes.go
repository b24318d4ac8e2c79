package sqlfront

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/sqlread"
)

// A shape counts the statements that differ in their values alone.
type shape struct {
	text   string // without any value
	reason sqlread.Reason

	count  atomic.Uint64 // how often it was run
	within atomic.Uint64 // of that, within a transaction
	took   atomic.Int64  // nanoseconds between its group's begin and end at the database
}

// shapes has those of all sessions. It tells no text that has values.
type shapes struct {
	seed   maphash.Seed
	byText [front.SQLTexts]atomic.Pointer[known] // each at its place, until another takes it

	mu      sync.RWMutex // guards what follows; innermost
	byShape map[shapeKey]*shape
	others  map[sqlread.Reason]*shape // of which there are too many
}

// A known text is one whose shape is remembered.
type known struct {
	hash uint64
	*shape
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

// readings are used by one statement at a time. Each refers to the text that it has read last.
var readings = sync.Pool{New: func() any { return new(sqlread.Statement) }}

// of returns the shape of a text. A text that comes again soon is read once.
func (s *shapes) of(text []byte) *shape {
	hash := maphash.Bytes(s.seed, text)
	place := &s.byText[hash%uint64(len(s.byText))]
	if k := place.Load(); k != nil && k.hash == hash {
		return k.shape
	}
	st := readings.Get().(*sqlread.Statement)
	reason := st.Read(string(text))
	form := st.Shape()
	if string(form) == unread {
		form = append(firstWords(text), unread...)
	}
	found := s.named(form[:min(len(form), front.SQLShapeByte)], reason)
	readings.Put(st)
	place.Store(&known{hash, found})
	return found
}

// named returns the shape with a text of its own, which is made if there is room.
func (s *shapes) named(form []byte, reason sqlread.Reason) *shape {
	s.mu.RLock()
	found := s.byShape[shapeKey{string(form), reason}]
	s.mu.RUnlock()
	if found != nil {
		return found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := shapeKey{string(form), reason}
	if found = s.byShape[key]; found != nil {
		return found
	}
	if len(s.byShape) >= front.SQLShapes {
		return s.other(reason)
	}
	found = &shape{text: key.text, reason: reason}
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

// tooLong returns what counts statements that are too long to be read.
func (s *shapes) tooLong() *shape {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.other(sqlread.TooLong)
}

// A Statement is what was counted of statements of one shape.
type Statement struct {
	Shape  string // without any value; "": of all that are too many
	Reason string // "eligible", or the code of why memory could not answer
	Why    string // the same in words
	Count  uint64
	Within uint64        // of them, within a transaction
	Took   time.Duration // in the database, and on the way there and back
}

// Statements returns what was counted, by the time that it took.
func (f *Front) Statements() []Statement {
	s := f.shapes
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]Statement, 0, len(s.byShape)+len(s.others))
	add := func(one *shape) {
		list = append(list, Statement{Shape: one.text, Reason: one.reason.String(),
			Why: one.reason.Text(), Count: one.count.Load(), Within: one.within.Load(),
			Took: time.Duration(one.took.Load())})
	}
	for _, one := range s.byShape {
		add(one)
	}
	for _, one := range s.others {
		add(one)
	}
	slices.SortFunc(list, func(a, b Statement) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Shape, b.Shape))
	})
	return list
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
