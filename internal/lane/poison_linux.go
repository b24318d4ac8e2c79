package lane

import (
	"hash/crc32"
	"slices"
)

// foreseeAlone calls Foresee with inputs that are gone when it returns.
func foreseeAlone(f Foreseer, s Scope, inputs [][]byte) {
	alone := make([][]byte, len(inputs))
	for i, in := range inputs {
		alone[i] = slices.Clone(in)
	}
	f.Foresee(s, alone)
	for i, in := range alone {
		poison(in)
		alone[i] = nil
	}
}

// sum returns a checksum of what must not change while it is in the mail.
func sum(b []byte) int {
	if !poisoned {
		return 0
	}
	return int(crc32.ChecksumIEEE(b))
}

// unchanged panics if the bytes of a letter have changed since it was posted.
func (m *letter) unchanged() {
	if poisoned && sum(m.b) != m.fd {
		panic("BUG: bytes were changed that were given to Resume or Send")
	}
}
