package row

import (
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Coding is a content coding (RFC 9110 8.4.1): how the bytes of a representation
// are compressed.
type Coding uint8

// The codings. Their number is the size of arrays indexed by Coding.
const (
	Identity Coding = iota // not compressed
	Gzip
	Zstd
	NumCodings = iota
)

// MinCoded is the smallest body that is worth compressing, in bytes: a smaller
// one fits into the first packet of its answer anyway.
const MinCoded = 1 << 10

// Pays reports whether a body of plain bytes is worth sending as coded bytes: a
// tenth less, since both ends work for it.
func Pays(plain, coded int) bool { return coded <= plain-plain/10 }

// String returns the coding's name in Content-Encoding and in the configuration.
func (c Coding) String() string {
	switch c {
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return "identity"
}

// ParseCoding returns the coding called name, which is in lower case. x-gzip is
// gzip (RFC 9110 8.4.1.3).
func ParseCoding(name string) (Coding, bool) {
	switch name {
	case "identity":
		return Identity, true
	case "gzip", "x-gzip":
		return Gzip, true
	case "zstd":
		return Zstd, true
	}
	return 0, false
}

// codedWindow is how far back the zstd of a body reaches, in bytes. RFC 9659
// lets a server use 8 MiB; what that saves on a long list is not worth the
// memory that both ends would hold.
const codedWindow = 1 << 20

// A Coder compresses bodies. Its encoders, a megabyte each, are shared by those
// who work at the same time and go when nobody has for a while. The zero Coder
// is ready for use by many goroutines. The same bytes always give the same
// bytes, as a strong entity tag promises.
type Coder struct {
	gzip, zstd sync.Pool // of *gzip.Writer, *zstd.Encoder
}

// Append appends plain in coding c to dst, which belongs to the caller.
func (k *Coder) Append(dst, plain []byte, c Coding) []byte {
	switch c {
	case Gzip:
		return k.appendGzip(dst, plain)
	case Zstd:
		return k.appendZstd(dst, plain)
	}
	return append(dst, plain...)
}

func (k *Coder) appendGzip(dst, plain []byte) []byte {
	to := &sink{dst}
	z, ok := k.gzip.Get().(*gzip.Writer)
	if ok {
		z.Reset(to)
	} else {
		z = gzip.NewWriter(to)
	}
	_, _ = z.Write(plain) // a sink takes all
	_ = z.Close()
	dst = to.b
	to.b = nil // the pool keeps no body
	k.gzip.Put(z)
	return dst
}

// sink is an io.Writer that appends.
type sink struct{ b []byte }

// Write appends b.
func (s *sink) Write(b []byte) (int, error) {
	s.b = append(s.b, b...)
	return len(b), nil
}

func (k *Coder) appendZstd(dst, plain []byte) []byte {
	z, ok := k.zstd.Get().(*zstd.Encoder)
	if !ok {
		// It fails for contradictory options only, and these are constant.
		z, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(codedWindow), zstd.WithLowerEncoderMem(true))
	}
	dst = z.EncodeAll(plain, dst)
	k.zstd.Put(z)
	return dst
}

// NewCopy returns the representation of d, which is not coded, whose body is
// body in coding c. It copies body. Its stamp is that of d: it is as good as d.
// It is not among the copies of d yet (see AddCopy).
func NewCopy(d *Document, c Coding, body []byte) *Document {
	return newDocument("", d.format, c, d.hash, body, d.Stamp())
}

// Coding returns how the body is compressed.
func (d *Document) Coding() Coding { return d.coding }

// Copy returns the copy of d in coding c, nil if there is none.
func (d *Document) Copy(c Coding) *Document {
	for k := d.copies.Load(); k != nil; k = k.copies.Load() {
		if k.coding == c {
			return k
		}
	}
	return nil
}

// NextCopy returns the first copy of d, and of a copy the one after it; nil when
// there are no more.
func (d *Document) NextCopy() *Document { return d.copies.Load() }

// AddCopy adds a copy that NewCopy has made of d. The copies of a document are a
// cache of what follows from its bytes alone: that one is added changes nothing
// that d says. A tier calls it, for it counts what d takes; one goroutine at a
// time may.
func (d *Document) AddCopy(k *Document) {
	k.copies.Store(d.copies.Load())
	d.copies.Store(k)
}

// Ask reports whether the copy of d in coding c is to be made: it is true once,
// and again after Unask.
func (d *Document) Ask(c Coding) bool {
	return !d.Asked(c) && d.asked.Or(1<<c)&(1<<c) == 0
}

// Asked reports whether nobody need ask for the copy of d in coding c: somebody has, or d is
// too small.
func (d *Document) Asked(c Coding) bool {
	return d.asked.Load()&(1<<c) != 0 || len(d.Body()) < MinCoded
}

// Unask lets somebody else ask for the copy.
func (d *Document) Unask(c Coding) { d.asked.And(^(uint32(1) << c)) }

// TagCoding returns the coding of the representation of d that an entity tag
// names, whether it has been made or not; false when the tag is of another
// document or format. d is not coded. tag may alias a buffer.
func (d *Document) TagCoding(tag string) (Coding, bool) {
	if d.absent {
		return 0, false
	}
	var buf [maxETag]byte
	for c := range Coding(NumCodings) {
		if string(appendETag(buf[:0], d.hash, d.format, c)) == tag { // does not allocate
			return c, true
		}
	}
	return 0, false
}
