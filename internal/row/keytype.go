package row

import "errors"

// KeyType is the type of a resource's key: its columns in order.
type KeyType []KeyPart

// A KeyPart is one column of a key.
type KeyPart struct {
	Column   string
	Bits     int // of an Int: 16, 32 or 64; of a Uint: 32 or 64
	MaxLen   int // of a Text, in characters; 0: no bound but MaxKey
	MaxBytes int // of a Text of which the database itself would cut off more; 0: as MaxLen
	Word     int // of a Text: so many bytes, no blank or control character; 0: any text
	Kind     Kind
	Zone     bool // of a Time: it has an offset from UTC; others have none

	// Wide says that the database's equality is wider than that of the bytes
	// (a case-insensitive or padded collation, a numeric's scale): a change then
	// names its row by one of several texts that may have been asked for.
	Wide bool
}

// MaxKey is the longest key in bytes that a request may ask for.
const MaxKey = 2048

// ErrKey is the error of a text that no row of the resource can have as key.
var ErrKey = errors.New("not a key of this resource")

// Wide reports whether any part is.
func (t KeyType) Wide() bool {
	for _, p := range t {
		if p.Wide {
			return true
		}
	}
	return false
}
