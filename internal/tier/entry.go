package tier

import (
	"encoding/binary"
	"math"

	"github.com/hotrow/hotrow/internal/arena"
	"github.com/hotrow/hotrow/internal/row"
)

// What an entry of the arena says, behind the arena's own head. Places are those of a View.
//
//	 4 key's bytes 2 · format 1 · flags 1 │ 8 epoch 4 · generation 4 │ 16 at 8 │ 24 hash 8
//	32 resource 4 · born 4 │ 40 [copies 4 · asked 1 · 0 3] [attachment 4] key body
//
// copies is the first compressed copy, of a copy the next one; asked has a bit for each coding
// of which one has been asked for. Nothing else changes once the entry is published. Who is too
// small to have copies has neither. born is how many entries had been put before.
const (
	atKeyBytes   = arena.HeadBytes
	atFormat     = 6
	atEpoch      = 8
	atGeneration = 12
	atTime       = 16
	atHash       = 24
	atResource   = 32
	atBorn       = 36
	entryHead    = 40
	atCopies     = entryHead

	copiesBytes     = 8
	attachmentBytes = 4

	codingBits   = 0x0f // of the flags
	flagCopies   = 0x20
	flagAbsent   = 0x40
	flagAttached = 0x80

	askedAt = 32 // the lowest bit of asked, of the word that begins with copies
)

// An entry is what is written for a document.
type entry struct {
	head [entryHead - arena.HeadBytes + copiesBytes + attachmentBytes]byte
	size int // of the head
}

// set makes e the head of d's entry for ref. It reports false when d's stamp does not fit:
// after 2^32 epochs or generations nothing is kept any more.
func (e *entry) set(ref *Ref, d *row.Document, born, attachment uint32) bool {
	s := d.Stamp()
	if s.Epoch > math.MaxUint32 || s.Generation > math.MaxUint32 || len(ref.Key) > math.MaxUint16 {
		return false
	}
	flags := byte(d.Coding())
	if d.Absent() {
		flags |= flagAbsent
	}
	b := append(e.head[:0], 0, 0, byte(ref.Format), 0)
	native.PutUint16(b, uint16(len(ref.Key)))
	b = native.AppendUint32(b, uint32(s.Epoch))
	b = native.AppendUint32(b, uint32(s.Generation))
	b = native.AppendUint64(b, uint64(s.At))
	b = native.AppendUint64(b, d.Hash())
	b = native.AppendUint32(b, ref.Resource)
	b = native.AppendUint32(b, born)
	if d.Coding() != row.Identity || hasCopies(d) {
		flags |= flagCopies
		b = native.AppendUint64(b, 0)
	}
	if attachment != 0 {
		flags |= flagAttached
		b = native.AppendUint32(b, attachment)
	}
	b[3], e.size = flags, len(b)
	return true
}

// hasCopies reports whether compressed copies of d can be kept.
func hasCopies(d *row.Document) bool { return len(d.Body()) >= row.MinCoded }

// entryBytes returns what the entry of d takes under a key of so many bytes, but for what is
// attached.
func entryBytes(key int, d *row.Document) int {
	n := entryHead + key + len(d.Body())
	if hasCopies(d) {
		n += copiesBytes
	}
	return n
}

var native = binary.NativeEndian

// An item is an entry as it is read, within a Section.
type item struct {
	arena.View
	format row.Format
	flags  byte
	key    int // where it begins
	body   int
}

func itemOf(v arena.View) item {
	x := item{View: v}
	word := v.Uint32(atKeyBytes)
	x.format, x.flags = row.Format(word>>16), byte(word>>24)
	if littleEndian { // the usual case, in one load
		x.body = int(word & 0xffff)
	} else {
		x.body = int(v.Uint16(atKeyBytes))
		x.format, x.flags = row.Format(word>>8), byte(word)
	}
	// The bits are the bytes of what they stand for, times 32 and 4: no branch.
	x.key = entryHead + int(x.flags&flagAttached>>5) + int(x.flags&flagCopies>>2)
	x.body += x.key
	return x
}

var littleEndian = native.Uint16([]byte{1, 0}) == 1

// is reports whether x is what is held for ref.
func (x *item) is(ref *Ref) bool {
	return x.Uint32(atResource) == ref.Resource && x.format == ref.Format &&
		x.flags&codingBits == 0 && x.body-x.key == len(ref.Key) &&
		x.HasAt(x.key, string(ref.Key))
}

// ref returns what x is held for. The key is good for as long as x.
func (x *item) ref() Ref {
	return Ref{Resource: x.Uint32(atResource), Format: x.format,
		Key: row.Key(x.Text(x.key, x.body))}
}

func (x *item) absent() bool { return x.flags&flagAbsent != 0 }

func (x *item) coding() row.Coding { return row.Coding(x.flags & codingBits) }

func (x *item) born() uint32 { return x.Uint32(atBorn) }

func (x *item) stamp() row.Stamp {
	return row.Stamp{Epoch: uint64(x.Uint32(atEpoch)), Generation: uint64(x.Uint32(atGeneration)),
		At: int64(x.Uint64(atTime)), Owner: x.Uint32(atResource)}
}

// attachment returns the number of what is attached to x, 0: nothing is.
func (x *item) attachment() uint32 {
	if !x.hasAttachment() {
		return 0
	}
	return x.Uint32(x.key - attachmentBytes)
}

func (x *item) hasAttachment() bool { return x.flags&flagAttached != 0 }

// copies returns the first compressed copy of x, and of a copy the next one; 0: there is none.
func (x *item) copies() arena.Ref { return arena.Ref(uint32(x.copiesWord())) }

// copiesWord returns what of x can change.
func (x *item) copiesWord() uint64 {
	if x.flags&flagCopies == 0 {
		return 0
	}
	return x.Load(atCopies)
}

// lend makes d the document of x, without copies and attachment.
func (x *item) lend(d *row.Document) {
	if x.absent() {
		d.LendNoRow(x.stamp())
		return
	}
	key := x.body - x.key
	if x.coding() != row.Identity { // as NewCopy makes it
		key = 0
	}
	d.Lend(x.Text(x.body-key, x.Len()), key, x.Uint64(atHash), x.format, x.coding(), x.stamp(),
		uint32(x.copiesWord()>>askedAt))
}

// same reports whether x was made of d, which is no copy.
func (x *item) same(d *row.Document) bool {
	s := d.Stamp()
	return x.Uint64(atHash) == d.Hash() && x.absent() == d.Absent() &&
		x.Uint64(atTime) == uint64(s.At) && uint64(x.Uint32(atEpoch)) == s.Epoch &&
		uint64(x.Uint32(atGeneration)) == s.Generation
}

// setCopies makes ref the first copy of x, which can have some. Its stripe is locked.
func (x *item) setCopies(ref arena.Ref) {
	for {
		old := x.Load(atCopies)
		if x.CompareAndSwap(atCopies, old, old&^math.MaxUint32|uint64(ref)) {
			return
		}
	}
}

// ask notes that the copy of x in coding c was asked for, or that it was not. It reports
// whether that is news.
func (x *item) ask(c row.Coding, asked bool) bool {
	bit := uint64(1) << (askedAt + uint(c))
	for x.flags&flagCopies != 0 {
		old := x.Load(atCopies)
		if (old&bit != 0) == asked {
			return false
		}
		if x.CompareAndSwap(atCopies, old, old^bit) {
			return true
		}
	}
	return false
}
