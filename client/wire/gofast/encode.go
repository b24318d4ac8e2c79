package gofast

import (
	"slices"
	"time"
)

// AppendFrame appends f, uncompressed, as gofast's own encoder writes it.
func AppendFrame(dst []byte, f *Frame) []byte {
	if f.Kind == KindFinish {
		return appendFinish(dst, f.Opaque)
	}
	return appendFrame(dst, f.Kind, f.Opaque, &f.Message)
}

func appendFrame(dst []byte, kind Kind, opaque uint64, m *Message) []byte {
	return appendSized(dst, kind, opaque, m, innerSize(m))
}

// appendSized is appendFrame with the length of the inner part.
func appendSized(dst []byte, kind Kind, opaque uint64, m *Message, inner int) []byte {
	dst = slices.Grow(dst, MaxHead+packetSize(opaque, inner))
	dst = appendHeading(dst, kind, opaque, m.ID, m.size(), inner)
	return appendAfterHeading(dst, m)
}

func appendFinish(dst []byte, opaque uint64) []byte {
	dst = append(dst, 0xd9, 0xd9, 0xf7, byte(KindFinish))
	dst = appendHead(dst, majorBytes, uint64(headSize(opaque)+1))
	return append(appendHead(dst, majorTag, opaque), 0x40, 0xff)
}

// appendPacked is appendFrame for an inner part that is compressed: tag says
// how.
func appendPacked(dst []byte, kind Kind, opaque uint64, tag byte, packed []byte) []byte {
	inner := 2 + headSize(uint64(len(packed))) + len(packed)
	dst = append(dst, 0xd9, 0xd9, 0xf7, byte(kind))
	dst = appendHead(dst, majorBytes, uint64(packetSize(opaque, inner)))
	dst = appendHead(dst, majorTag, opaque)
	dst = appendHead(dst, majorBytes, uint64(inner))
	dst = appendHead(append(dst, 0xd8, tag), majorBytes, uint64(len(packed)))
	return append(dst, packed...)
}

// appendInner appends the message with its map, which is what compression works
// upon.
func appendInner(dst []byte, m *Message) []byte {
	return appendAfterHeading(appendInnerHeading(dst, m.ID, m.size()), m)
}

// appendInnerHeading appends what comes before the data of a message.
func appendInnerHeading(dst []byte, id uint64, size int) []byte {
	dst = append(dst, 0xd8, tagMessage, 0xbf, 0xd8, tagID)
	dst = append(appendHead(dst, majorUint, id), 0xd8, tagData)
	return appendHead(dst, majorBytes, uint64(size))
}

// appendAfterHeading appends the data and what follows it.
func appendAfterHeading(dst []byte, m *Message) []byte {
	dst = append(append(dst, m.Prefix...), m.Data...)
	if m.hasExtras() {
		dst = appendExtras(dst, m)
	}
	return append(dst, 0xff)
}

// hasExtras reports whether the message has what only negotiated peers
// understand.
func (m *Message) hasExtras() bool {
	return m.Deadline != 0 || m.Flags != 0 || m.Meta != nil
}

// appendExtras appends the pairs that only negotiated peers understand.
func appendExtras(dst []byte, m *Message) []byte {
	if ms := deadlineMS(m); ms != 0 {
		dst = appendHead(append(dst, 0xd8, tagDeadline), majorUint, ms)
	}
	if m.Meta != nil {
		dst = appendHead(append(dst, 0xd8, tagMeta), majorBytes, uint64(len(m.Meta)))
		dst = append(dst, m.Meta...)
	}
	if m.Flags != 0 {
		dst = appendHead(append(dst, 0xd8, tagFlags), majorUint, uint64(m.Flags))
	}
	return dst
}

// deadlineMS returns the deadline as it travels: rounded up, so that one that
// has not passed is not sent as none.
func deadlineMS(m *Message) uint64 {
	if m.Deadline <= 0 {
		return 0
	}
	return uint64((min(m.Deadline, maxDeadline) + time.Millisecond - 1) / time.Millisecond)
}

// innerSize returns how many bytes appendInner appends.
func innerSize(m *Message) int {
	d := m.size()
	n := 8 + headSize(m.ID) + headSize(uint64(d)) + d
	if m.hasExtras() {
		n += extrasSize(m)
	}
	return n
}

// extrasSize returns how many bytes appendExtras appends.
func extrasSize(m *Message) (n int) {
	if ms := deadlineMS(m); ms != 0 {
		n += 2 + headSize(ms)
	}
	if m.Meta != nil {
		n += 2 + headSize(uint64(len(m.Meta))) + len(m.Meta)
	}
	if m.Flags != 0 {
		n += 2 + headSize(uint64(m.Flags))
	}
	return n
}

// packetSize returns the length of a packet with an inner part of that length.
func packetSize(opaque uint64, inner int) int {
	return headSize(opaque) + headSize(uint64(inner)) + inner
}

// PacketSize returns how many bytes of f a receiver has to hold at once, as
// compared with the buffer size that it announces.
func PacketSize(f *Frame) int {
	if f.Kind == KindFinish {
		return headSize(f.Opaque) + 1 + 1 // its closing byte is counted, too
	}
	return packetSize(f.Opaque, innerSize(&f.Message))
}

// FrameSize returns how many bytes AppendFrame appends.
func FrameSize(f *Frame) int {
	packet := PacketSize(f)
	if f.Kind == KindFinish {
		return 4 + headSize(uint64(packet-1)) + packet
	}
	return 4 + headSize(uint64(packet)) + packet
}
