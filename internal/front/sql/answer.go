package sqlfront

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
)

// An answer is what the server says to a group, as a digest: of the messages that are about its
// statement, in their order, or with the rows in any order where the server may choose it.
type answer struct {
	exact bool // the order of rows counts
	size  int  // bytes of the messages
	rows  uint64
	all   [2]uint64         // the sum of the rows' digests
	rest  [sha256.Size]byte // of the others, in their order

	state    string // of an error
	other    bool   // it has what is not about the statement
	tooLarge bool
}

// add adds a message.
func (a *answer) add(kind byte, body []byte) {
	a.size += headSize + len(body)
	b := make([]byte, 0, len(body)+1+sha256.Size)
	if kind == msgDataRow && !a.exact {
		sum := sha256.Sum256(append(append(b, kind), body...))
		a.rows++
		a.all[0] += binary.BigEndian.Uint64(sum[:])
		a.all[1] += binary.BigEndian.Uint64(sum[8:])
		return
	}
	a.rest = sha256.Sum256(append(append(append(b, a.rest[:]...), kind), body...))
}

// sum returns the digest.
func (a *answer) sum() (sum [16]byte) {
	b := binary.BigEndian.AppendUint64(append([]byte(nil), a.rest[:]...), a.rows)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, a.all[0]), a.all[1])
	whole := sha256.Sum256(b)
	copy(sum[:], whole[:])
	return sum
}

// isAbout reports whether an error is about the statement and its rights, and not about what the
// server can do at the time.
func (a *answer) isAbout() bool {
	for _, class := range []string{"42", "22", "0A", "3F", "26"} {
		if strings.HasPrefix(a.state, class) {
			return true
		}
	}
	return false
}
