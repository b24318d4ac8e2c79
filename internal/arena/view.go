package arena

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// HeadBytes is what an entry begins with: its length with them, which is the arena's.
const HeadBytes = 4

const (
	dying    = 1 << 31 // a bit of the head: the entry has been freed and readers may have it
	maxEntry = dying - 1
)

// head returns the first word of a slot: the bytes of the entry in it, 0: there is none.
func head(slot []byte) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(&slot[0])) }

// next returns the word behind the head of a free slot.
func next(slot []byte) *uint32 { return (*uint32)(unsafe.Pointer(&slot[HeadBytes])) }

// wordsOf returns mem as numbers.
func wordsOf(mem []byte) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/8)
}

// Addresses returns where the memory of a begins and ends, for who tells the system of it.
func (a *Arena) Addresses() (from, to uintptr) {
	from = uintptr(unsafe.Pointer(unsafe.SliceData(a.mem)))
	return from, from + uintptr(len(a.mem))
}

// A View is an entry as a reader sees it. Its bytes are the arena's: it is good until the
// reader leaves the Section that it is of, and so it hands out copies, but for Text. Places are
// counted from the entry's beginning, so the first byte of what Add was given is at
// HeadBytes. Numbers are in the machine's order of bytes.
type View struct{ b []byte }

// View returns the entry that ref names, which was looked up within s.
func (s Section) View(ref Ref) View {
	b := s.a.mem[s.a.at(ref):]
	n := head(b).Load() &^ dying
	if guarded && n == 0 {
		panic("BUG: arena: a Ref is used that was freed")
	}
	return View{b[:n]}
}

// Len returns how many bytes the entry has, those of its head among them.
func (v View) Len() int { return len(v.b) }

// AppendTo appends the bytes of v from one place up to another to dst, which is the caller's.
func (v View) AppendTo(dst []byte, from, to int) []byte { return append(dst, v.b[from:to]...) }

// Text returns the bytes of v from one place up to another without a copy. It is for who lends
// them further under the same rule: the text is good until the reader leaves the Section.
func (v View) Text(from, to int) string {
	b := v.b[from:to]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// HasAt reports whether text stands at a place of v.
func (v View) HasAt(at int, text string) bool {
	return at+len(text) <= len(v.b) && string(v.b[at:at+len(text)]) == text
}

// Uint16 returns the number at a place of v.
func (v View) Uint16(at int) uint16 { return binary.NativeEndian.Uint16(v.b[at:]) }

// Uint32 returns the number at a place of v.
func (v View) Uint32(at int) uint32 { return binary.NativeEndian.Uint32(v.b[at:]) }

// Uint64 returns the number at a place of v.
func (v View) Uint64(at int) uint64 { return binary.NativeEndian.Uint64(v.b[at:]) }

// Load returns a number that CompareAndSwap may change, which is read in no other way. at is
// a multiple of 8.
func (v View) Load(at int) uint64 { return v.word(at).Load() }

// CompareAndSwap makes the number at a place of v another, if it is old, and reports whether
// it was. It is the only way to write to an entry. at is a multiple of 8.
func (v View) CompareAndSwap(at int, old, new uint64) bool {
	return v.word(at).CompareAndSwap(old, new)
}

func (v View) word(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&v.b[at : at+8][0]))
}
