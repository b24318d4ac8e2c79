package clicklog

import (
	"encoding/hex"
	"fmt"
)

// A Seq names one record among all that share a database: node (10 bits), writer
// (14) and position in the writer's log (39, in units of 8 bytes), below a zero
// bit. Seqs of one writer grow with time; those of different writers say nothing
// about each other.
//
// The lowest 6 bits of a writer's number are in front of its others: there were
// 64 numbers once, of 47 bits of positions. So the first 4 TiB of a log of that
// time, which none has come to the end of, are called what they were called, and
// what was behind them are the numbers from 64 on.
type Seq uint64

const (
	positionBits = 39
	highBits     = 8 // of a writer's number
	lowBits      = 6
	writers      = 1 << (highBits + lowBits)
	lowMask      = 1<<lowBits - 1
	highMask     = 1<<highBits - 1
	nodeAt       = positionBits + highBits + lowBits
	maxNode      = 1<<10 - 1
	maxLoops     = 62
	positionMask = 1<<positionBits - 1

	// streamBytes is how many bytes a writer's log has at most: its last segment
	// ends before, so that the place behind the last record is no other writer's.
	streamBytes = 8 << positionBits
)

// makeSeq returns the name of the record at a place of a log, in bytes.
func makeSeq(node, writer int, at uint64) Seq {
	low, high := Seq(writer&lowMask), Seq(writer>>lowBits)
	return Seq(node)<<nodeAt | low<<(positionBits+highBits) | high<<positionBits | Seq(at>>3)
}

// Node returns the number of the process.
func (s Seq) Node() int { return int(s >> nodeAt) }

// Writer returns the number of the log within the node.
func (s Seq) Writer() int {
	low, high := int(s>>(positionBits+highBits))&lowMask, int(s>>positionBits)&highMask
	return high<<lowBits | low
}

// Position returns the place within the log, in units of 8 bytes.
func (s Seq) Position() uint64 { return uint64(s) & positionMask }

// bytes returns the place within the log in bytes.
func (s Seq) bytes() uint64 { return s.Position() << 3 }

// An ID is the random name of a log's directory.
type ID [16]byte

// String returns the name in hexadecimal.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// parseID is the reverse of String.
func parseID(s string) (ID, error) {
	var id ID
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is not the id of a click log", s)
	}
	return ID(b), nil
}

// A Cursor is a place in one stream of a directory: the next record to read.
type Cursor struct {
	Node, Writer int
	Dir          ID
	Seq          Seq
}

// strays reports whether the place is not in the stream of that number: a log of an
// earlier version has written more than streamBytes, into what are other numbers now.
func (c *Cursor) strays() bool {
	return c.Seq.Node() != c.Node || c.Seq.Writer() != c.Writer
}
