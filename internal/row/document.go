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
// A Document that is not compressed holds the compressed copies of itself that
// have been made: see AddCopy. They live and die with it.
type Document struct {
	// text is the key, header lines, an empty line and the body, in one piece of
	// memory: a look-up compares the key and then copies what follows, and the
	// processor has to wait for one place less. "" when there is no row.
	text       string
	epoch      uint64 // epoch to owner are the Stamp, which would not fit into 64 bytes as one
	generation uint64
	at         int64
	copies     atomic.Pointer[Document] // the first copy; of a copy, the next one
	asked      atomic.Uint32            // a bit for each Coding of which a copy has been asked for
	owner      uint32
	key        uint16 // where the header lines begin in text
	head       uint16 // where the body begins
	format     Format
	coding     Coding
	attachable bool // it is the first field of an attachable
}

// NewDocument returns the document of key's row in one format. It copies body.
// hash is the hash of the canonical document (see Hash): two formats of one row
// have one hash.
func NewDocument(key Key, f Format, body []byte, hash uint64, s Stamp) *Document {
	return newDocument(key, f, Identity, ETag(hash, f), body, s)
}

// newDocument returns a document whose body is coded already. tag is the entity
// tag of the plain one.
func newDocument(key Key, f Format, c Coding, tag string, body []byte, s Stamp) *Document {
	if len(key) > MaxKey {
		key = "" // nobody keeps it by such a key
	}
	d := NoRow(s)
	d.format, d.coding, d.key = f, c, uint16(len(key))
	var buf [160]byte
	head := appendHead(buf[:0], f, c, tag, len(body))
	d.head = d.key + uint16(len(head))             // some 150 bytes at most
	text := make([]byte, 0, int(d.head)+len(body)) // no slack: it is kept
	text = append(append(append(text, key...), head...), body...)
	d.text = Alias(text) // nobody writes to it
	return d
}

// NoRow returns the document that says that there is no row.
func NoRow(s Stamp) *Document {
	return &Document{epoch: s.Epoch, generation: s.Generation, at: s.At, owner: s.Owner}
}

// Body returns the encoded document. It must not be written to.
func (d *Document) Body() []byte { return bytesOf(d.text[d.head:]) }

// Key returns the key that the document was made with, in the document's own
// memory: who keeps the document by this text keeps no other.
func (d *Document) Key() Key { return Key(d.text[:d.key]) }

// Size returns how many bytes the key, the header lines and the body take.
func (d *Document) Size() int { return len(d.text) }

// Wire returns what every HTTP answer with this document ends with: the header
// lines Content-Type, Etag and Content-Length, the empty line, and the body. It
// is contiguous so that a hit is one copy. It must not be written to.
func (d *Document) Wire() []byte { return bytesOf(d.text[d.key:]) }

// WireHead is Wire without the body, for HEAD.
func (d *Document) WireHead() []byte { return bytesOf(d.text[d.key:d.head]) }

// ETag returns the entity tag with its quotes, as RFC 9110 8.8.3 has it.
func (d *Document) ETag() string {
	if d.Absent() {
		return ""
	}
	tag := d.text[int(d.key)+tagAt(d.format, d.coding) : d.head]
	return tag[:strings.IndexByte(tag, '\r')]
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
func (d *Document) Absent() bool { return d.text == "" }

// fetchedLines is how many cache lines Fetch reads: from there on, the
// processor has seen that the rest is read in order.
const fetchedLines = 4

// Fetch reads the beginning of what Wire returns, so that it is in the
// processor's cache when it is copied. The sum means nothing.
func (d *Document) Fetch() (sum byte) {
	for i := 0; i < min(len(d.text), fetchedLines*64); i += 64 {
		sum += d.text[i]
	}
	return sum
}
