package gofast

import "encoding/binary"

// leastPlain is how long input must be for plain to look at it: so the parts
// before the data are there, whatever their form.
const leastPlain = 32

// plain is Next for frames in the form in which nearly all come: every head as
// short as it can be, an opaque of two or four bytes, an id below 256, data of
// less than 64 KiB, neither compressed nor with extras. It returns 0 for a frame
// that is not whole or of another form: Next then finds out what it is. What
// plain reads Next would read the same (FuzzDecode compares the two).
func (d *Decoder) plain(in []byte, f *Frame) (n int) {
	if len(in) < leastPlain {
		return 0
	}
	if d.last.begin == binary.LittleEndian.Uint64(in) {
		if n = d.last.again(in, f); n > 0 {
			return n
		}
	}
	w := binary.BigEndian.Uint64(in)
	kind := Kind(w >> 32)
	if w>>40 != 0xd9d9f7 || kind == KindFinish || !kind.known() {
		return 0
	}
	end, at := 6+int(byte(w>>16)), 6
	switch byte(w >> 24) {
	case majorBytes | 24:
	case majorBytes | 25:
		end, at = 7+int(uint16(w>>8)), 7
	default:
		return 0
	}
	if end > len(in) || end-at > d.limits.Packet || end < leastPlain {
		return 0
	}
	in = in[:end:end]

	var opaque uint64
	switch in[at] {
	case majorTag | 25:
		opaque = uint64(binary.BigEndian.Uint16(in[at+1:]))
		at += 3
	case majorTag | 26:
		opaque = uint64(binary.BigEndian.Uint32(in[at+1:]))
		at += 5
	default:
		return 0
	}
	size, h := shortLength(in, at)
	if at += h; h == 0 || at+size != end {
		return 0
	}
	id, at := plainID(in, at)
	if id == 0 {
		return 0
	}
	size, h = shortLength(in, at)
	if at += h; h == 0 || at+size != end-1 || in[end-1] != 0xff {
		return 0
	}
	f.Kind, f.Opaque, f.ID = kind, opaque, id
	f.Data, f.Prefix, f.Meta = in[at:end-1:end-1], nil, nil
	f.Deadline, f.Flags = 0, 0
	if kind == KindPost || kind == KindMessage {
		d.last.remember(in, at, f)
	}
	return end
}

// A repeat is the heading of the last post, or message of a stream, that plain
// has read. Of the next one it is often the same, byte for byte, and then nothing
// but the data need be looked at. Requests have an opaque of their own each.
type repeat struct {
	begin  uint64    // the first bytes; 0: there was none, for no frame begins so
	rest   [3]uint64 // the others of leastPlain, those behind the heading cleared
	masks  [3]uint64 // which bits of rest are heading
	data   int       // where the data begins
	end    int       // of the frame
	kind   Kind
	opaque uint64
	id     uint64
}

// again is plain for a frame that begins so, and returns 0 for one with another
// heading.
func (r *repeat) again(in []byte, f *Frame) (n int) {
	end := r.end
	if end < leastPlain || len(in) < end {
		return 0
	}
	in = in[:end:end]
	differ := binary.LittleEndian.Uint64(in[8:])&r.masks[0] ^ r.rest[0]
	differ |= binary.LittleEndian.Uint64(in[16:])&r.masks[1] ^ r.rest[1]
	differ |= binary.LittleEndian.Uint64(in[24:])&r.masks[2] ^ r.rest[2]
	if differ != 0 || in[end-1] != 0xff {
		return 0
	}
	f.Kind, f.Opaque, f.ID = r.kind, r.opaque, r.id
	f.Data, f.Prefix, f.Meta = in[r.data:end-1:end-1], nil, nil
	f.Deadline, f.Flags = 0, 0
	return end
}

// remember takes the heading of f, which plain has read: in is the frame, whose
// data begins at data.
func (r *repeat) remember(in []byte, data int, f *Frame) {
	r.data, r.end, r.kind, r.opaque, r.id = data, len(in), f.Kind, f.Opaque, f.ID
	r.begin = binary.LittleEndian.Uint64(in)
	for i := range r.rest {
		at := 8 + 8*i
		r.masks[i] = 1<<(8*min(max(data-at, 0), 8)) - 1 // shifted by 64: all of them
		r.rest[i] = binary.LittleEndian.Uint64(in[at:]) & r.masks[i]
	}
}

// shortLength returns the length that the head of a byte string says, and that of
// the head: 0 if it is another one than those of less than 64 KiB.
func shortLength(in []byte, at int) (size, h int) {
	if at+3 > len(in) {
		return 0, 0
	}
	switch x := in[at] ^ majorBytes; {
	case x < 24:
		return int(x), 1
	case x == 24:
		return int(in[at+1]), 2
	case x == 25:
		return int(binary.BigEndian.Uint16(in[at+1:])), 3
	}
	return 0, 0
}

// plainID reads the map's begin, the id and the data's tag, and returns where the
// data's head is; the id is 0 when they have another form.
func plainID(in []byte, at int) (id uint64, after int) {
	const begin = 0xd82bbfd82c // tag 43, an indefinite map, tag 44
	if at+9 > len(in) {
		return 0, 0
	}
	w := binary.BigEndian.Uint64(in[at:])
	switch x := byte(w >> 16); {
	case w>>24 != begin:
		return 0, 0
	case x < 24 && uint16(w) == 0xd8<<8|tagData:
		return uint64(x), at + 8
	case x == 24 && byte(w) == 0xd8 && in[at+8] == tagData:
		return uint64(byte(w >> 8)), at + 9
	}
	return 0, 0
}
