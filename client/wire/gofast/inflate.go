package gofast

import (
	"bytes"
	"compress/gzip"
	"compress/lzw"
	"errors"
	"io"
)

// An inflater decompresses what is around a message.
type inflater struct {
	codecs *Codecs
	// out are the results of the last two layers; the outer one is read while
	// the inner one is written.
	out [2][]byte
	src bytes.Reader
}

// keptInflated is how large an inflater's memory may be that is kept for later.
const keptInflated = 64 << 10

// inflate takes the compressions off b, which begins with the tag of one. The
// result is valid until the next call.
func (d *Decoder) inflate(b []byte) ([]byte, error) {
	most := min(d.limits.Inflated, max(smallInflated, d.limits.Ratio*len(b)))
	for depth := 0; len(b) > 2 && b[0] == 0xd8 && b[1] != tagMessage; depth++ {
		if depth == d.limits.Depth {
			return nil, ErrNesting
		}
		tag := tagOfNumber(b[1])
		if tag == 0 {
			return nil, ErrHeader
		}
		if d.limits.Tags&tag == 0 {
			return nil, ErrCompressed
		}
		data, rest, ok := readBytes(b[2:])
		if !ok || len(rest) != 0 {
			return nil, ErrPacket
		}
		var err error
		if b, err = d.inflater.layer(depth&1, tag, data, most); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func tagOfNumber(number byte) Tags {
	for _, n := range tagNames {
		if n.number == number {
			return n.tag
		}
	}
	return 0
}

// layer decompresses b into one of the two buffers.
func (i *inflater) layer(which int, tag Tags, b []byte, most int) ([]byte, error) {
	if i.codecs == nil {
		return nil, ErrCompressed
	}
	out := i.out[which]
	if cap(out) > keptInflated && most <= keptInflated {
		out = nil
	}
	i.src.Reset(b)
	var err error
	switch tag {
	case Gzip:
		out, err = i.gzip(out[:0], most)
	case LZW:
		out, err = i.lzw(out[:0], most)
	default:
		out, err = i.zstd(out[:0], b, most)
	}
	i.out[which] = out
	return out, err
}

// gzip reads one member, whole or flushed and never closed, which is how gofast
// sends it. One that is cut elsewhere does not hold a whole message.
func (i *inflater) gzip(out []byte, most int) ([]byte, error) {
	z, ok := i.codecs.gzipReaders.Get().(*gzip.Reader)
	if !ok {
		z = new(gzip.Reader)
	}
	defer i.codecs.gzipReaders.Put(z)
	if z.Reset(&i.src) != nil {
		return out, ErrCompressed
	}
	z.Multistream(false)
	out, err := readUpTo(out, z, most)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	if err == nil && i.src.Len() > 0 {
		err = ErrCompressed
	}
	return out, err
}

func (i *inflater) lzw(out []byte, most int) ([]byte, error) {
	z, ok := i.codecs.lzwReaders.Get().(*lzw.Reader)
	if !ok {
		z, _ = lzw.NewReader(&i.src, lzw.LSB, 8).(*lzw.Reader) // as documented
	}
	defer i.codecs.lzwReaders.Put(z)
	z.Reset(&i.src, lzw.LSB, 8)
	out, err := readUpTo(out, z, most)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrCompressed
	}
	return out, err
}

// zstd reads whole frames. The decoder never writes more than the capacity of
// what it is given.
func (i *inflater) zstd(out, b []byte, most int) ([]byte, error) {
	z, err := i.codecs.zstdReader()
	if err != nil {
		return out, ErrCompressed
	}
	if cap(out) < most {
		out = make([]byte, 0, most)
	}
	out, err = z.DecodeAll(b, out[:0:most])
	if err != nil {
		return nil, ErrCompressed
	}
	return out, nil
}

// readUpTo appends what r has to out, which may become as long as most, and not
// longer.
func readUpTo(out []byte, r io.Reader, most int) ([]byte, error) {
	if cap(out) == 0 {
		out = make([]byte, 0, min(most, 1<<10))
	}
	for len(out) < most {
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := r.Read(out[len(out):min(cap(out), most)])
		out = out[:len(out)+n]
		if err != nil {
			return out, endOfData(err)
		}
	}
	var more [1]byte
	n, err := io.ReadFull(r, more[:])
	if n > 0 {
		return out, ErrRatio
	}
	return out, endOfData(err)
}

// endOfData sorts the errors of decompressors: nil at the end, the protocol's
// for damaged data.
func endOfData(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return ErrCompressed
}
