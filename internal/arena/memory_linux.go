//go:build !race

package arena

import "golang.org/x/sys/unix"

const (
	givesBack = true

	// OnHeap says whether arenas are of Go's heap.
	OnHeap = false
)

// mapMemory returns n bytes of zeros that are the system's until they are written to.
func mapMemory(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	if err == nil {
		_ = unix.Madvise(mem, unix.MADV_DONTDUMP) // rows are nobody's who reads a core file
	}
	return mem, err
}

func unmapMemory(mem []byte) error {
	if mem == nil {
		return nil
	}
	return unix.Munmap(mem)
}

// giveBack lets the system have memory until it is written to again, and reports whether it
// took it.
func giveBack(mem []byte) bool { return unix.Madvise(mem, unix.MADV_DONTNEED) == nil }
