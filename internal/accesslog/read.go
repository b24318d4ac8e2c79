package accesslog

import (
	"encoding/binary"
	"time"
)

// A reader takes the records out of one ring. It is the writer's.
type reader struct {
	r     *Ring
	stamp []byte // the batch's time as a line has it
	took  time.Duration
}

// read appends a line for each record before head, as e makes it, until out has
// limit bytes. It reports how many lines it has appended, and whether there are
// more.
func (d *reader) read(e *encoder, out []byte, head uint64, limit int) (
	grown []byte, lines int, more bool,
) {
	r := d.r
	tail := r.tail.Load()
	for tail != head && len(out) < limit {
		item := r.buf[tail&r.mask:]
		length := binary.LittleEndian.Uint32(item)
		item = item[:length]
		switch binary.LittleEndian.Uint32(item[4:]) {
		case itemBatch:
			at := int64(binary.LittleEndian.Uint64(item[itemHead:]))
			d.took = time.Duration(binary.LittleEndian.Uint64(item[itemHead+8:]))
			d.stamp = time.Unix(0, at).UTC().AppendFormat(d.stamp[:0], timeLayout)
		case itemRecord:
			out = e.line(out, d, item[itemHead:])
			lines++
		}
		tail += uint64(length)
	}
	r.tail.Store(tail)
	return out, lines, tail != head
}

// timeLayout is RFC 3339 with milliseconds, in UTC.
const timeLayout = "2006-01-02T15:04:05.000Z"

// text takes a text off the front of a record.
func text(b []byte) (value, rest []byte, cut bool) {
	n := binary.LittleEndian.Uint16(b)
	end := 2 + int(n&maxText)
	return b[2:end], b[end:], n&wasCut != 0
}

// number takes a number off the front of a record.
func number(b []byte) (n int64, rest []byte) {
	return int64(binary.LittleEndian.Uint64(b)), b[8:]
}
