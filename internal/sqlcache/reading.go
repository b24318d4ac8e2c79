package sqlcache

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"github.com/hotrow/hotrow/internal/sqlread"
)

// A Form is what is known of a text without its values. It never changes, but for what is found out
// when it is asked for first.
type Form struct {
	Reason sqlread.Reason
	Shape  string // without any value

	text    string // what tells the effects
	once    sync.Once
	effects []effect
}

// An effect is what one statement of a text does.
type effect struct {
	sqlread.Effect
	rows *Reading // of Effect.Rows; nil: it is not eligible
}

// A Reading is what is known of a text by itself. It never changes, but for what is found out when
// it is asked for first.
type Reading struct {
	*Form
	text string
	st   *sqlread.Statement // nil: it is not eligible

	once   sync.Once
	digest [sha256.Size]byte
}

// A Former knows Forms of statements that memory could answer.
type Former interface {
	// FormOf returns the form of those with a shape; nil: it is not known.
	FormOf(shape []byte) *Form
}

// nobody knows a Form.
type nobody struct{}

func (nobody) FormOf([]byte) *Form { return nil }

// Read reads a text, which it keeps. The Form of an eligible one does not keep it.
func Read(text string, known Former) *Reading {
	st := sqlread.NewStatement()
	r := &Reading{text: text}
	reason := st.Read(text)
	if reason == sqlread.Eligible {
		r.st = st
		if r.Form = known.FormOf(st.Shape()); r.Form != nil {
			return r
		}
	}
	r.Form = &Form{Reason: reason, Shape: string(st.Shape()), text: text}
	if reason == sqlread.Eligible { // statements of one shape do the same: see FuzzRead
		r.Form.text = r.Shape
	}
	return r
}

// sum returns the digest of what an eligible text means: its blanks and comments do not change it.
func (r *Reading) sum() *[sha256.Size]byte {
	r.once.Do(func() { r.digest = sumOf(r.st) })
	return &r.digest
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
func (f *Form) Effects() []effect {
	f.once.Do(func() {
		for _, e := range sqlread.Effects(f.text) {
			one := effect{Effect: e}
			if e.Rows != "" {
				if rows := Read(e.Rows, nobody{}); rows.st != nil {
					one.rows = rows
				}
			}
			f.effects = append(f.effects, one)
		}
	})
	return f.effects
}

// unknown is the reading of a text that nobody has read: it may do anything.
var unknown = func() *Reading {
	f := &Form{Reason: sqlread.TooLong}
	f.once.Do(func() { f.effects = []effect{{Effect: sqlread.Effect{Unread: true}}} })
	return &Reading{Form: f}
}()

// Unknown returns the reading of a text that was too long to be read, or is not known.
func Unknown() *Reading { return unknown }

// Text returns the text.
func (r *Reading) Text() string { return r.text }

// Size returns how many bytes the text has.
func (r *Reading) Size() int { return len(r.text) }
