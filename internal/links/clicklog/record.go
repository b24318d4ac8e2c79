package clicklog

import (
	"encoding/binary"
	"hash/crc32"
)

// The longest texts that a record holds, in bytes. Append cuts what is longer.
const (
	MaxAgent    = 512
	MaxReferrer = 1024
	MaxPath     = 256
)

// Flags are what a front knows of a request without looking into its texts.
type Flags uint16

// The flags. FlagPrivate is Sec-GPC: 1 or DNT: 1. FlagPrefetch is Sec-Purpose,
// Purpose or X-Purpose: prefetch, preview.
const (
	FlagHead Flags = 1 << iota
	FlagPrefetch
	FlagPrivate
)

// A Record is one click. Append reads it and keeps nothing of it; what a Reader
// returns aliases its Batch.
type Record struct {
	Seq      Seq   // set by Append and by Reader
	At       int64 // Unix time in milliseconds
	Link     int64 // id of the link; 0: there is none (an orphan)
	Flags    Flags
	IP       [16]byte // netip.Addr.As16; zero: unknown
	Agent    []byte   // User-Agent, as it came
	Referrer []byte   // Referer, as it came
	Path     []byte   // of an orphan, or what is behind the code; else empty
}

// The layout of a record, numbers little-endian:
//
//	length 4 | crc 4 | seq 8 | at 8 | link 8 | flags 2 | lengths of agent,
//	referrer and path, 2 each | ip 16 | agent | referrer | path
//
// A record begins at a multiple of 8. Its length is the commit word, stored last:
// zero until the rest is there, and again at the place behind every record. crc
// is the CRC-32C, begun with the length, of all that follows it.
const (
	headSize   = 56
	markSize   = 8
	maxRecord  = headSize + MaxAgent + MaxReferrer + MaxPath
	maxRoom    = (maxRecord+7)&^7 + markSize
	crcAt      = 4
	seqAt      = 8
	timeAt     = 16
	linkAt     = 24
	flagsAt    = 32
	agentLenAt = 34
	refLenAt   = 36
	pathLenAt  = 38
	ipAt       = 40
)

// Marks stand where a record's length would. endMark: the log goes on in the
// next segment. runMark, at the beginning of a segment: a process begins here,
// the segment before may have no endMark.
const (
	endMark = 0xffff_ffff
	runMark = 0xffff_fffe
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// clip returns at most n bytes of s.
func clip(s []byte, n int) []byte {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// encode puts a record of size bytes into b, all but its length, and a zero at
// the place behind it. The texts have their final lengths.
func encode(b []byte, seq Seq, r *Record, agent, ref, path []byte, size int) {
	room := (size + 7) &^ 7
	le := binary.LittleEndian
	le.PutUint64(b[room:], 0)
	le.PutUint64(b[seqAt:], uint64(seq))
	le.PutUint64(b[timeAt:], uint64(r.At))
	le.PutUint64(b[linkAt:], uint64(r.Link))
	le.PutUint16(b[flagsAt:], uint16(r.Flags))
	le.PutUint16(b[agentLenAt:], uint16(len(agent)))
	le.PutUint16(b[refLenAt:], uint16(len(ref)))
	le.PutUint16(b[pathLenAt:], uint16(len(path)))
	copy(b[ipAt:], r.IP[:])
	n := headSize
	n += copy(b[n:], agent)
	n += copy(b[n:], ref)
	copy(b[n:], path)
	le.PutUint32(b[crcAt:], crc32.Update(uint32(size), castagnoli, b[seqAt:size]))
}

// appendMark returns the 8 bytes of a mark at its place.
func appendMark(dst []byte, mark uint32, place Seq) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, mark)
	return binary.LittleEndian.AppendUint32(dst, markCheck(mark, place))
}

// markCheck is what follows a mark, so that no other bytes are taken for one.
func markCheck(mark uint32, place Seq) uint32 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(place))
	return crc32.Update(mark, castagnoli, b[:])
}

// A finding is what is at a place of a log.
type finding uint8

const (
	foundRecord finding = iota
	foundEmpty          // nothing was committed here
	foundEnd            // endMark
	foundRun            // runMark
	foundShort          // a record that does not end within the bytes
	foundBroken         // a record's length and seq, but not its checksum
	foundJunk           // anything else
)

// parse looks at b, which begins at a place. n is the record's room. r aliases b.
func parse(b []byte, place Seq, r *Record) (what finding, n int) {
	if len(b) < markSize {
		return foundShort, 0
	}
	le := binary.LittleEndian
	size := int(le.Uint32(b))
	switch mark := uint32(size); mark {
	case 0:
		return foundEmpty, 0
	case endMark, runMark:
		if le.Uint32(b[crcAt:]) != markCheck(mark, place) {
			return foundJunk, 0
		}
		if mark == endMark {
			return foundEnd, 0
		}
		return foundRun, markSize
	}
	if size < headSize || size > maxRecord {
		return foundJunk, 0
	}
	room := (size + 7) &^ 7
	if len(b) < room {
		return foundShort, 0
	}
	if Seq(le.Uint64(b[seqAt:])) != place {
		return foundJunk, 0
	}
	agent, ref, path := int(le.Uint16(b[agentLenAt:])), int(le.Uint16(b[refLenAt:])),
		int(le.Uint16(b[pathLenAt:]))
	if headSize+agent+ref+path != size || agent > MaxAgent || ref > MaxReferrer ||
		le.Uint32(b[crcAt:]) != crc32.Update(uint32(size), castagnoli, b[seqAt:size]) {
		return foundBroken, 0
	}
	r.Seq, r.At, r.Link = place, int64(le.Uint64(b[timeAt:])), int64(le.Uint64(b[linkAt:]))
	r.Flags = Flags(le.Uint16(b[flagsAt:]))
	r.IP = [16]byte(b[ipAt:])
	texts := b[headSize:size:size]
	r.Agent, texts = texts[:agent:agent], texts[agent:]
	r.Referrer, r.Path = texts[:ref:ref], texts[ref:]
	return foundRecord, room
}
