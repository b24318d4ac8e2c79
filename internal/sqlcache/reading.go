package sqlcache

import (
	"crypto/sha256"
	"encoding/binary"
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
	sum  [sha256.Size]byte  // of what the text means, which its blanks and comments do not change

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
	if r.st != nil {
		r.sum = sumOf(st)
	}
	return r
}

// sumOf returns the digest of a statement: its shape and its values.
func sumOf(st *sqlread.Statement) [sha256.Size]byte {
	b := appendText(make([]byte, 0, 256), string(st.Shape()))
	for i := range st.Values {
		v := &st.Values[i]
		minus := byte(0)
		if v.Minus {
			minus = 1
		}
		b = append(binary.BigEndian.AppendUint32(b, uint32(v.Param)), byte(v.Kind), minus)
		b = appendText(b, v.Text)
	}
	return sha256.Sum256(b)
}

// appendText appends a text with its length in front, so that others behind it are told apart.
func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
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

// Text returns the text.
func (r *Reading) Text() string { return r.text }

// Size returns how many bytes the text has.
func (r *Reading) Size() int { return len(r.text) }
