//go:build !linux || race

package arena

const (
	givesBack = false

	// OnHeap says whether arenas are of Go's heap.
	OnHeap = true
)

// mapMemory returns n bytes of Go's heap, without pointers. The race detector sees what
// happens in them, which it does not in memory of our own.
func mapMemory(n int) ([]byte, error) { return make([]byte, n), nil }

func unmapMemory([]byte) error { return nil }

func giveBack([]byte) bool { return false }
