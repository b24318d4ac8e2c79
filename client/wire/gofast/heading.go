package gofast

import (
	"encoding/binary"
	"slices"
)

// maxHeading bounds what a frame has before its data.
const maxHeading = 4 + 5 + 9 + 5 + 5 + 9 + 2 + 5

// A heading is all that a plain frame, one that is neither compressed nor has
// extras, has before its data. It depends on the kind, the opaque, the id and
// the length of the data alone: of one message and the next hardly anything
// changes, so that a session keeps the last one and changes what differs.
type heading struct {
	opaque, id uint64
	size       int // of the data
	packet     int // as compared with the buffer size of the peer
	n          int // bytes that are used; 0: nothing is ready
	number     int // where in them the opaque's number ends
	wide       int // how many bytes the opaque's head has

	// bytes are copied whole, which takes a few instructions where a copy by length
	// is a call; therefore a multiple of 16.
	bytes [maxHeading + 4]byte
}

// prepare makes h the heading of a frame, apart from its kind.
func (h *heading) prepare(opaque, id uint64, size int) {
	if h.n == 0 || h.id != id || h.size != size || h.wide != headSize(opaque) {
		h.write(opaque, id, size)
		return
	}
	h.opaque = opaque
	switch h.wide {
	case 3:
		binary.BigEndian.PutUint16(h.bytes[h.number-2:], uint16(opaque))
	case 5:
		binary.BigEndian.PutUint32(h.bytes[h.number-4:], uint32(opaque))
	default:
		h.write(opaque, id, size)
	}
}

// write writes the whole heading.
func (h *heading) write(opaque, id uint64, size int) {
	inner := 8 + headSize(id) + headSize(uint64(size)) + size
	h.opaque, h.id, h.size = opaque, id, size
	h.packet, h.wide = packetSize(opaque, inner), headSize(opaque)
	h.number = 4 + headSize(uint64(h.packet)) + h.wide
	h.n = len(appendHeading(h.bytes[:0], 0, opaque, id, size, inner))
}

// appendHeading appends what a frame has before its data. inner is the length of
// its inner part, which ends with the data's end unless there are extras.
func appendHeading(dst []byte, kind Kind, opaque, id uint64, size, inner int) []byte {
	dst = append(dst, 0xd9, 0xd9, 0xf7, byte(kind))
	dst = appendHead(dst, majorBytes, uint64(packetSize(opaque, inner)))
	dst = appendHead(dst, majorTag, opaque)
	dst = appendHead(dst, majorBytes, uint64(inner))
	return appendInnerHeading(dst, id, size)
}

// plain appends a plain frame. It reports false, and has appended nothing, when
// the message is none or when the peer does not accept it in one frame.
func (s *Session) plain(out []byte, kind Kind, opaque uint64, m *Message) ([]byte, bool) {
	size := len(m.Prefix) + len(m.Data)
	if m.hasExtras() || s.zip != 0 || size > s.peerMessage {
		return out, false
	}
	h := &s.heading
	if h.opaque != opaque || h.id != m.ID || h.size != size {
		h.prepare(opaque, m.ID, size)
	}
	if h.packet > s.peerBuffer {
		return out, false
	}
	h.bytes[3] = byte(kind)
	begin := len(out)
	data := begin + h.n
	end := data + size
	if cap(out) < end+len(h.bytes) {
		out = slices.Grow(out, end+len(h.bytes)-begin)
	}
	out = out[:end+1]
	*(*[len(h.bytes)]byte)(out[begin : begin+len(h.bytes)]) = h.bytes
	if len(m.Prefix) > 0 {
		data += copy(out[data:], m.Prefix)
	}
	copy(out[data:], m.Data)
	out[end] = 0xff
	s.stats.Tx++
	s.stats.TxByte += uint64(end + 1 - begin)
	return out, true
}
