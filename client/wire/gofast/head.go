package gofast

import "encoding/binary"

// Major types of CBOR heads (RFC 8949 3).
const (
	majorUint  = 0 << 5
	majorBytes = 2 << 5
	majorTag   = 6 << 5
)

// headSize returns how many bytes the shortest head for v has.
func headSize(v uint64) int {
	switch {
	case v < 24:
		return 1
	case v < 1<<8:
		return 2
	case v < 1<<16:
		return 3
	case v < 1<<32:
		return 5
	}
	return 9
}

// appendHead appends the shortest head for v.
func appendHead(dst []byte, major byte, v uint64) []byte {
	switch {
	case v < 24:
		return append(dst, major|byte(v))
	case v < 1<<8:
		return append(dst, major|24, byte(v))
	case v < 1<<16:
		return append(dst, major|25, byte(v>>8), byte(v))
	case v < 1<<32:
		return append(dst, major|26, byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
	}
	return binary.BigEndian.AppendUint64(append(dst, major|27), v)
}

// head is readHead, inlined for the heads that nearly all frames have.
func head(b []byte, major byte) (v uint64, n int) {
	if len(b) > 2 {
		// Fast path: x is less than 32 only if the major types are the same.
		switch x := b[0] ^ major; {
		case x < 24:
			return uint64(x), 1
		case x == 24:
			return uint64(b[1]), 2
		}
	}
	return readHead(b, major)
}

// readHead returns the value of the head at the front of b and its length, 0
// when b ends within it, and -1 when it is of another major type or of a form
// that is no number.
func readHead(b []byte, major byte) (v uint64, n int) {
	if len(b) == 0 {
		return 0, 0
	}
	if b[0]&0xe0 != major {
		return 0, -1
	}
	info := b[0] & 0x1f
	if info < 24 {
		return uint64(info), 1
	}
	if info > 27 {
		return 0, -1
	}
	size := 1 << (info - 24)
	if len(b) < 1+size {
		return 0, 0
	}
	switch info {
	case 24:
		v = uint64(b[1])
	case 25:
		v = uint64(binary.BigEndian.Uint16(b[1:]))
	case 26:
		v = uint64(binary.BigEndian.Uint32(b[1:]))
	default:
		v = binary.BigEndian.Uint64(b[1:])
	}
	return v, 1 + size
}
