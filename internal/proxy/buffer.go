package proxy

import "slices"

// bufferSize is how much is read at once.
const bufferSize = 16 << 10

// A buffer holds what was read and not consumed.
type buffer struct {
	b    []byte
	r, w int
}

// bytes returns what is there. It is good until the next fill.
func (b *buffer) bytes() []byte { return b.b[b.r:b.w] }

// size returns how much is there.
func (b *buffer) size() int { return b.w - b.r }

// consume drops the first n bytes.
func (b *buffer) consume(n int) {
	if b.r += n; b.r == b.w {
		b.r, b.w = 0, 0
	}
}

// space returns where to read to, moving what is there to the front when that
// makes room, and growing when nothing else does.
func (b *buffer) space() []byte {
	if b.w == len(b.b) {
		switch {
		case b.r > 0:
			b.w = copy(b.b, b.bytes())
			b.r = 0
		default:
			b.b = slices.Grow(b.b, max(bufferSize, len(b.b)))
			b.b = b.b[:cap(b.b)]
		}
	}
	return b.b[b.w:]
}

// fill reads once from s.
func (b *buffer) fill(s *socket) (int, error) {
	n, err := s.read(b.space())
	b.w += n
	return n, err
}

// reset forgets the bytes, and memory that few need.
func (b *buffer) reset() {
	b.r, b.w = 0, 0
	if len(b.b) > 2*bufferSize {
		b.b = make([]byte, bufferSize)
	}
}
