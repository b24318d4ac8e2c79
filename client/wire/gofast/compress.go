package gofast

import (
	"compress/gzip"
	"compress/lzw"
	"errors"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Tags is a set of compressions.
type Tags uint8

// The compressions. Gzip and LZW are gofast's own; Zstd needs a negotiated peer.
const (
	Gzip Tags = 1 << iota
	LZW
	Zstd

	legacyTags = Gzip | LZW
)

// tagNames are the compressions in the order in which they are preferred.
var tagNames = [...]struct {
	tag    Tags
	number byte
	name   string
}{{Zstd, tagZstd, "zstd"}, {Gzip, tagGzip, "gzip"}, {LZW, tagLZW, "lzw"}}

// ParseTags returns the set of the names in a list with commas, as in a whoami.
// Names that are not known are ignored, as gofast does.
func ParseTags(list string) (t Tags) {
	for name := range strings.SplitSeq(list, ",") {
		t |= tagOf(name)
	}
	return t
}

func tagOf(name string) Tags {
	for _, n := range tagNames {
		if n.name == name {
			return n.tag
		}
	}
	return 0
}

// String returns the list of the names, with commas.
func (t Tags) String() string {
	return strings.Join(t.names(), ",")
}

func (t Tags) names() (names []string) {
	for _, n := range tagNames {
		if t&n.tag != 0 {
			names = append(names, n.name)
		}
	}
	return names
}

// best returns the first compression of the set with its tag number, 0 and 0 for
// none.
func (t Tags) best() (tag Tags, number byte) {
	for _, n := range tagNames {
		if t&n.tag != 0 {
			return n.tag, n.number
		}
	}
	return 0, 0
}

// The sizes of messages that are worth compressing, and that a gofast peer can
// decompress: it reads gzip once, into a window of 32 KiB.
const (
	minCompress       = 256
	maxCompressLegacy = 32 << 10
)

// zstdWindow is how far back compressed data may refer.
const zstdWindow = 1 << 20

// Codecs are the (large) states of compressors and decompressors, made when they
// are first needed and lent to whoever has one frame to work on. Any number of
// decoders and sessions share one Codecs, from any goroutines.
type Codecs struct {
	gzipReaders, gzipWriters sync.Pool
	lzwReaders, lzwWriters   sync.Pool

	zstdReader func() (*zstd.Decoder, error)
	zstdWriter func() (*zstd.Encoder, error)
}

// NewCodecs returns codecs that have made nothing yet.
func NewCodecs() *Codecs {
	return &Codecs{
		zstdReader: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
				zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecodeAllCapLimit(true))
		}),
		zstdWriter: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1),
				zstd.WithWindowSize(zstdWindow), zstd.WithEncoderLevel(zstd.SpeedFastest))
		}),
	}
}

var errNoCodec = errors.New("gofast: no such compression")

// compress appends the compressed form of b.
func (c *Codecs) compress(dst []byte, tag Tags, b []byte) ([]byte, error) {
	w := sink{dst}
	switch tag {
	case Gzip:
		z, ok := c.gzipWriters.Get().(*gzip.Writer)
		if !ok {
			z, _ = gzip.NewWriterLevel(&w, gzip.BestSpeed) // the level is valid
		}
		defer c.gzipWriters.Put(z)
		z.Reset(&w)
		if _, err := z.Write(b); err != nil {
			return dst, err
		}
		// Not closed: a gofast peer takes the end of the stream for an error.
		err := z.Flush()
		return w.b, err
	case LZW:
		z, ok := c.lzwWriters.Get().(*lzw.Writer)
		if !ok {
			z, _ = lzw.NewWriter(&w, lzw.LSB, 8).(*lzw.Writer) // as documented
		}
		defer c.lzwWriters.Put(z)
		z.Reset(&w, lzw.LSB, 8)
		if _, err := z.Write(b); err != nil {
			return dst, err
		}
		err := z.Close()
		return w.b, err
	case Zstd:
		z, err := c.zstdWriter()
		if err != nil {
			return dst, err
		}
		return z.EncodeAll(b, dst), nil
	}
	return dst, errNoCodec
}

// A sink is an io.Writer into a slice; writes through a pointer, which the
// compressor keeps until its next Reset.
type sink struct{ b []byte }

func (w *sink) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}
