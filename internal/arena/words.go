package arena

import (
	"fmt"
	"sync/atomic"
)

// Words are numbers outside Go's heap, all zero at first, that take no memory before they are
// written. They never move: a large table of which most may never be used is made of them.
type Words struct {
	mem []byte
	all []atomic.Uint64
}

// NewWords returns n numbers. Close gives them back.
func NewWords(n int) (*Words, error) {
	mem, err := mapMemory(8 * n)
	if err != nil {
		return nil, fmt.Errorf("arena: map %d bytes: %w", 8*n, err)
	}
	return &Words{mem, wordsOf(mem)}, nil
}

// All returns the numbers, which are good until Close.
func (w *Words) All() []atomic.Uint64 { return w.all }

// Close gives the memory back. Nobody may have any of the numbers.
func (w *Words) Close() error { return unmapMemory(w.mem) }
