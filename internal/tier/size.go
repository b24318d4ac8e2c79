package tier

import (
	"reflect"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
)

const (
	// largestClass is the largest object that the Go allocator takes from a size
	// class; a larger one gets whole pages.
	largestClass = 32 << 10
	pageSize     = 8 << 10

	// tinyBlock is what the Go allocator takes for small objects without
	// pointers, such as short keys: it packs several into one block, which
	// stays as long as any of them.
	tinyBlock = 16

	// entryOverhead is what an entry takes besides its key and document: otter's
	// node (64 bytes), its share of a hash table between 3/8 and 3/4 full (64
	// bytes for 5 entries: 17 to 34), and of the frequency sketch (8 to 16).
	// TestMemory_CountsBytesAsTheyAre compares the whole with the heap.
	entryOverhead = 64 + 28 + 12

	// indexShare is a row's share of the index: 64 bytes for 2.5 to 5 documents.
	indexShare = 18
)

// A sizer says how many bytes a value takes in memory: as many as the Go
// allocator gives out for it, which is up to an eighth more than asked for.
type sizer struct {
	// classes holds the size of the block for objects of up to 8*i bytes.
	classes  [largestClass/8 + 1]uint16
	document uint64 // of a row.Document, without what it points to
	attached uint64 // of one with an attachment
}

// newSizer asks the allocator for one block of each of its size classes, so
// that the figures are those of the Go release that runs.
func newSizer() *sizer {
	s := &sizer{}
	filled := 1
	for filled < len(s.classes) {
		class := cap(slices.Grow([]byte(nil), 8*filled))
		for ; filled < len(s.classes) && 8*filled <= class; filled++ {
			s.classes[filled] = uint16(class)
		}
	}
	size := uint64(reflect.TypeFor[row.Document]().Size())
	s.document = s.block(size)
	s.attached = s.block(size + uint64(reflect.TypeFor[row.Attachment]().Size()))
	return s
}

// block returns the size of the block that holds an object of n bytes.
func (s *sizer) block(n uint64) uint64 {
	switch {
	case n == 0:
		return 0
	case n <= tinyBlock:
		return tinyBlock
	case n <= largestClass:
		return uint64(s.classes[(n+7)/8])
	default:
		return (n + pageSize - 1) / pageSize * pageSize
	}
}

// entry returns the size of all that is kept for ref.
func (s *sizer) entry(ref Ref, d *row.Document) uint64 {
	return s.plain(ref, d) + s.copies(d.NextCopy())
}

// plain returns the size of what is kept for ref without the copies of d.
func (s *sizer) plain(ref Ref, d *row.Document) uint64 {
	n := entryOverhead + s.document + s.block(uint64(d.Size()))
	if a := d.Attached(); a != nil {
		n += s.attached - s.document + s.block(uint64(a.Size()))
	}
	if !d.Absent() {
		n += indexShare
	}
	if ref.Key != d.Key() {
		n += s.block(uint64(len(ref.Key)))
	}
	return n
}

// MemoryLimit returns the bytes that a process should hold its heap to (see
// debug.SetMemoryLimit) whose Memory has a budget: with it, connections, requests,
// the program and garbage.
func MemoryLimit(budget int64) int64 {
	const besides = 128 << 20
	return budget + max(besides, budget*19/100)
}
