package clicklog

import (
	"encoding/hex"
	"fmt"
)

// A Seq names one record among all that share a database: node (10 bits), writer
// (6) and position in the writer's log (47, in units of 8 bytes), below a zero
// bit. Seqs of one writer grow with time; those of different writers say nothing
// about each other.
type Seq uint64

const (
	positionBits = 47
	writerBits   = 6
	maxNode      = 1<<10 - 1
	maxWriter    = 1<<writerBits - 2 // of loops: one number is for the shared writer
	positionMask = 1<<positionBits - 1
)

// makeSeq returns the name of the record at a place of a log, in bytes.
func makeSeq(node, writer int, at uint64) Seq {
	return Seq(node)<<(positionBits+writerBits) | Seq(writer)<<positionBits | Seq(at>>3)
}

// Node returns the number of the process.
func (s Seq) Node() int { return int(s >> (positionBits + writerBits)) }

// Writer returns the number of the log within the node.
func (s Seq) Writer() int { return int(s>>positionBits) & (1<<writerBits - 1) }

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
