package sqlcache

import (
	"sync"

	"github.com/hotrow/hotrow/internal/sqlread"
)

// A Reading is what is known of a text by itself. It never changes, but for what is found out
// when it is asked for first.
type Reading struct {
	Reason sqlread.Reason
	Shape  string // without any value

	text string
	st   *sqlread.Statement // nil: it is not eligible

	once    sync.Once
	effects []sqlread.Effect
}

// Read reads a text, which it keeps.
func Read(text string) *Reading {
	st := new(sqlread.Statement)
	r := &Reading{text: text}
	if r.Reason = st.Read(text); r.Reason == sqlread.Eligible {
		r.st = st
	}
	r.Shape = string(st.Shape())
	return r
}

// Is reports whether r is the reading of a text.
func (r *Reading) Is(text []byte) bool { return r.text == string(text) }

// Effects returns what the statements of the text do.
func (r *Reading) Effects() []sqlread.Effect {
	r.once.Do(func() {
		r.effects = sqlread.Effects(r.text)
	})
	return r.effects
}

// unknown is the reading of a text that nobody has read: it may do anything.
var unknown = func() *Reading {
	r := &Reading{Reason: sqlread.TooLong}
	r.once.Do(func() { r.effects = []sqlread.Effect{{Unread: true}} })
	return r
}()

// Unknown returns the reading of a text that was too long to be read, or is not known.
func Unknown() *Reading { return unknown }

// Size returns how many bytes the text has.
func (r *Reading) Size() int { return len(r.text) }
