package tier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/hotrow/hotrow/internal/row"
)

// recordVersion is the first thing that a record says. Another one is not read:
// a cache begins anew rather than guess.
const recordVersion = 1

// The layout of a record, numbers big-endian:
//
//	crc 4 | version 1 | flags 1 | format 1 | run 8 | epoch 8 | generation 8 |
//	stamp: epoch 8, generation 8, at 8 | hash 8 | length of the slot 2 | slot | body
//
// crc is the CRC-32C of all that follows it: of the slot too, so that a record
// which a broken index gives for another key is not taken for that key's.
const (
	recordHead   = 4 + 3 + 7*8 + 2
	recordAbsent = 1 // flag: there is no row
)

// maxSlot is the longest slot that is kept: the largest key of bbolt.
const maxSlot = 32 << 10

// slotHead is what a slot has before the text of the key: the space and the
// format.
const slotHead = 9

// errRecord is what every broken record is.
var errRecord = errors.New("broken record")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A token names the state of a source's history and of a space's generation
// that a copy belongs to. Both only grow and outlive the process.
type token struct {
	epoch      uint64
	generation uint64
}

// A record is a document as it is on disk. slot and body alias what it was
// decoded from.
type record struct {
	slot   []byte
	run    uint64 // of the process that wrote it
	token  token
	stamp  row.Stamp // of the load, in the terms of that process
	hash   uint64    // of the canonical document
	format row.Format
	absent bool
	body   []byte
}

// appendSlot appends the name of a document on disk.
func appendSlot(dst []byte, space uint64, ref Ref) []byte {
	dst = binary.BigEndian.AppendUint64(dst, space)
	dst = append(dst, byte(ref.Format))
	return append(dst, ref.Key...)
}

// newRecord returns the record of d, whose body it aliases.
func newRecord(slot []byte, d *row.Document, t token, run uint64) record {
	r := record{slot: slot, run: run, token: t, stamp: d.Stamp(), format: d.Format(),
		absent: d.Absent()}
	if r.absent {
		r.format = row.Format(slot[slotHead-1]) // a document that is not there has none
		return r
	}
	r.hash, r.body = d.Hash(), d.Body()
	return r
}

// append appends the record as it is written.
func (r *record) append(dst []byte) []byte {
	begin := len(dst)
	flags := byte(0)
	if r.absent {
		flags = recordAbsent
	}
	dst = append(dst, 0, 0, 0, 0, recordVersion, flags, byte(r.format))
	for _, n := range [...]uint64{r.run, r.token.epoch, r.token.generation, r.stamp.Epoch,
		r.stamp.Generation, uint64(r.stamp.At), r.hash} {
		dst = binary.BigEndian.AppendUint64(dst, n)
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(r.slot)))
	dst = append(append(dst, r.slot...), r.body...)
	sum := crc32.Checksum(dst[begin+4:], castagnoli)
	binary.BigEndian.PutUint32(dst[begin:], sum)
	return dst
}

// decodeRecord reads what append has written. Any other bytes are an error that
// wraps errRecord.
func decodeRecord(b []byte) (record, error) {
	var r record
	if len(b) < recordHead {
		return r, fmt.Errorf("%w: %d bytes", errRecord, len(b))
	}
	if binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return r, fmt.Errorf("%w: the checksum is wrong", errRecord)
	}
	if b[4] != recordVersion || b[5]&^recordAbsent != 0 || b[6] >= byte(row.NumFormats) {
		return r, fmt.Errorf("%w: version %d, flags %d, format %d", errRecord, b[4], b[5], b[6])
	}
	r.absent, r.format = b[5] == recordAbsent, row.Format(b[6])
	var n [7]uint64
	for i := range n {
		n[i] = binary.BigEndian.Uint64(b[7+8*i:])
	}
	r.run, r.token = n[0], token{n[1], n[2]}
	r.stamp = row.Stamp{Epoch: n[3], Generation: n[4], At: int64(n[5])}
	r.hash = n[6]
	if r.slot = slotOf(b); r.slot == nil {
		return r, fmt.Errorf("%w: its slot has no length that one can have", errRecord)
	}
	r.body = b[recordHead+len(r.slot):]
	if r.slot[slotHead-1] != byte(r.format) || r.absent && len(r.body) > 0 {
		return r, fmt.Errorf("%w: its parts contradict each other", errRecord)
	}
	return r, nil
}

// slotOf returns what a record, broken perhaps, says is its slot; nil when it can be
// none.
func slotOf(b []byte) []byte {
	if len(b) < recordHead {
		return nil
	}
	length, rest := int(binary.BigEndian.Uint16(b[recordHead-2:])), b[recordHead:]
	if length < slotHead || length > maxSlot || length > len(rest) {
		return nil
	}
	return rest[:length:length]
}

// document returns the document of a record, with a stamp. It copies the body.
func (r *record) document(s row.Stamp) *row.Document {
	if r.absent {
		return row.NoRow(s)
	}
	return row.NewDocument(row.Key(r.slot[slotHead:]), r.format, r.body, r.hash, s)
}
