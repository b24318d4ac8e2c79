package row

import "strconv"

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

	// At is when the load began, in nanoseconds of the loader's own clock: a
	// resource with a time to live compares it.
	At int64
}

// A Document is one representation of a row, encoded once and shared by every
// tier, front and request that holds it: nobody may write to it. A Document
// may also say that there is no row (Absent).
type Document struct {
	wire   []byte // header lines, an empty line, the body: see Wire
	head   int    // where the body begins in wire
	etag   string
	stamp  Stamp
	format Format
	absent bool
}

// NewDocument returns the document of a row in one format. It copies body. hash
// is the hash of the canonical document (see Hash): two formats of one row have
// one hash.
func NewDocument(f Format, body []byte, hash uint64, s Stamp) *Document {
	d := &Document{etag: ETag(hash, f), stamp: s, format: f}
	var buf [128]byte
	head := append(buf[:0], "Content-Type: "...)
	head = append(append(head, f.MediaType()...), "\r\nEtag: "...)
	head = append(append(head, d.etag...), "\r\nContent-Length: "...)
	head = append(strconv.AppendInt(head, int64(len(body)), 10), "\r\n\r\n"...)
	d.head = len(head)
	d.wire = make([]byte, 0, len(head)+len(body)) // no slack: it is kept
	d.wire = append(append(d.wire, head...), body...)
	return d
}

// NoRow returns the document that says that there is no row.
func NoRow(s Stamp) *Document { return &Document{absent: true, stamp: s} }

// Body returns the encoded document. It must not be written to.
func (d *Document) Body() []byte { return d.wire[d.head:] }

// Wire returns what every HTTP answer with this document ends with: the header
// lines Content-Type, Etag and Content-Length, the empty line, and the body. It
// is contiguous so that a hit is one copy. It must not be written to.
func (d *Document) Wire() []byte { return d.wire }

// WireHead is Wire without the body, for HEAD.
func (d *Document) WireHead() []byte { return d.wire[:d.head] }

// ETag returns the entity tag with its quotes, as RFC 9110 8.8.3 has it.
func (d *Document) ETag() string { return d.etag }

// Stamp returns the stamp of the load that made the document.
func (d *Document) Stamp() Stamp { return d.stamp }

// Format returns the representation that Body holds.
func (d *Document) Format() Format { return d.format }

// Absent reports whether the document says that there is no row.
func (d *Document) Absent() bool { return d.absent }
