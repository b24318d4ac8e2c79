package row

import (
	"strings"
	"sync/atomic"
)

// Key is the canonical text of a document's key: what the encoder of its
// column gives for the value, so that one document has one Key whatever
// spelling asked for it. The parts of a composite key are joined by commas; a
// comma or a percent sign within a part is written %2C or %25 (see JoinKey).
type Key string

// Stamp is the state of the cache under which a load began: the epoch of its
// source and the generation of the tables that it read. A copy is good only
// while both are what they were.
type Stamp struct {
	Epoch      uint64
	Generation uint64

	// At is after the load has read, in nanoseconds of the loader's own clock: a
	// resource with a time to live compares it.
	At int64

	// Owner is the number of the resource that the document is of: a look-up in
	// memory compares it, and the key, with what is asked for. 0 is nobody's.
	Owner uint32
}

// A Document is one representation of a row, encoded once and shared by every
// tier, front and request that holds it: nobody may write to it. A Document
// may also say that there is no row (Absent).
//
// A Document has memory of its own, which Go's collector frees, or it is lent: its bytes are
// those of a cache, and it is good until whoever lent it says (tier.Reader). Keep makes one
// that may be kept.
//
// A Document that is not compressed holds the compressed copies of itself that
// have been made: see AddCopy. They live and die with it.
type Document struct {
	text       string // the key, then the body; "" when there is no row
	hash       uint64 // of the canonical document: see Hash
	epoch      uint64 // epoch to owner are the Stamp
	generation uint64
	at         int64
	attached   Attachment
	copies     atomic.Pointer[Document] // the first copy; of a copy, the next one
	asked      atomic.Uint32            // a bit for each Coding of which a copy has been asked for
	owner      uint32
	key        uint16 // where the body begins in text
	format     Format
	coding     Coding
	absent     bool
	lent       bool
}

// An Attachment is what a cache knows of a document, and keeps with it.
type Attachment interface {
	Size() int // bytes of memory that it takes, always the same
}

// NewDocument returns the document of key's row in one format. It copies body.
// hash is the hash of the canonical document (see Hash): two formats of one row
// have one hash.
func NewDocument(key Key, f Format, body []byte, hash uint64, s Stamp) *Document {
	return newDocument(key, f, Identity, hash, body, s)
}

// newDocument returns a document whose body is coded already. hash is that of the plain one.
func newDocument(key Key, f Format, c Coding, hash uint64, body []byte, s Stamp) *Document {
	if len(key) > MaxKey {
		key = "" // nobody keeps it by such a key
	}
	text := make([]byte, 0, len(key)+len(body)) // no slack: it may be kept
	d := new(Document)
	d.set(Alias(append(append(text, key...), body...)), len(key), hash, f, c, s)
	return d
}

// NoRow returns the document that says that there is no row.
func NoRow(s Stamp) *Document {
	d := &Document{absent: true}
	d.stamp(s)
	return d
}

func (d *Document) stamp(s Stamp) {
	d.epoch, d.generation, d.at, d.owner = s.Epoch, s.Generation, s.At, s.Owner
}

func (d *Document) set(text string, key int, hash uint64, f Format, c Coding, s Stamp) {
	d.text, d.key, d.hash, d.format, d.coding = text, uint16(key), hash, f, c
	d.absent = false
	d.stamp(s)
}

// Lend makes d a lent document without copies and attachments: text, which the lender owns, is
// a key of so many bytes and a body. It is for tiers; d may have been another before. asked has
// a bit for each coding of which a copy was asked for.
func (d *Document) Lend(
	text string, key int, hash uint64, f Format, c Coding, s Stamp, asked uint32,
) {
	d.set(text, key, hash, f, c, s)
	d.lent, d.attached = true, nil
	if d.copies.Load() != nil {
		d.copies.Store(nil)
	}
	if d.asked.Load() != asked {
		d.asked.Store(asked)
	}
}

// LendNoRow makes d a lent document that says that there is no row.
func (d *Document) LendNoRow(s Stamp) {
	d.Lend("", 0, 0, FormatJSON, Identity, s, 0)
	d.absent = true
}

// Keep returns d, or a document like it, with its copies, that has memory of its own where d
// is lent.
func (d *Document) Keep() *Document {
	if !d.lent {
		return d
	}
	n := &Document{absent: d.absent, attached: d.attached}
	n.set(strings.Clone(d.text), int(d.key), d.hash, d.format, d.coding, d.Stamp())
	n.absent = d.absent
	if k := d.copies.Load(); k != nil {
		n.copies.Store(k.Keep())
	}
	return n
}

// Attach attaches x to a document that nobody else sees yet, or that is lent.
func (d *Document) Attach(x Attachment) { d.attached = x }

// Attached returns what was attached to d; nil: nothing was.
func (d *Document) Attached() Attachment { return d.attached }

// Body returns the encoded document. It must not be written to.
func (d *Document) Body() []byte { return BytesOf(d.text[d.key:]) }

// Key returns the key that the document was made with, in the document's own memory.
func (d *Document) Key() Key { return Key(d.text[:d.key]) }

// Size returns how many bytes the key and the body take.
func (d *Document) Size() int { return len(d.text) }

// Hash returns the hash of the canonical document, 0 where there is no row: see Hash.
func (d *Document) Hash() uint64 { return d.hash }

// SameState reports whether two documents are of the same state of a row, whatever their
// formats and codings.
func (d *Document) SameState(e *Document) bool {
	return d.absent == e.absent && (d.absent || d.hash == e.hash)
}

// Stamp returns the stamp of the load that made the document.
func (d *Document) Stamp() Stamp { return Stamp{d.epoch, d.generation, d.at, d.owner} }

// At returns Stamp's At.
func (d *Document) At() int64 { return d.at }

// Owner returns Stamp's Owner.
func (d *Document) Owner() uint32 { return d.owner }

// Format returns the representation that Body holds.
func (d *Document) Format() Format { return d.format }

// Absent reports whether the document says that there is no row.
func (d *Document) Absent() bool { return d.absent }

// fetchedLines is how many cache lines Fetch reads: from there on, the
// processor has seen that the rest is read in order.
const fetchedLines = 4

// Fetch reads the beginning of the text, so that it is in the processor's cache when it is
// copied. The sum means nothing.
func (d *Document) Fetch() (sum byte) {
	for i := 0; i < min(len(d.text), fetchedLines*64); i += 64 {
		sum += d.text[i]
	}
	return sum
}
