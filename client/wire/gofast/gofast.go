// Package gofast turns bytes into the messages of the gofast protocol and back,
// and keeps the state of a connection: what is open, who may send how much, who
// is still alive. It has no sockets, no goroutines and no clock.
//
// The frames are those of github.com/bnclabs/gofast, byte for byte. What that
// protocol lacks (errors, deadlines, cancelling, credits, going away, fragments)
// is negotiated through a map behind the whoami message, which an older peer
// ignores. See docs/reference/wire.md.
//
// Decoder and AppendFrame are the codec; Session is the connection, the same for
// both ends. A Session is not for concurrent use: its owner has a lock or a loop.
package gofast

import (
	"math"
	"time"
)

// Kind is the byte that says what a frame is for.
type Kind byte

// The kinds of frames. A request and its response have the same one: a receiver
// tells them apart by whether the opaque is that of a request of its own.
const (
	KindPost    Kind = 0xc6 // one way
	KindRequest Kind = 0x81 // a request, or the response to one
	KindStart   Kind = 0x9f // opens a stream, with its first message
	KindMessage Kind = 0xc7 // one message of a stream, either way
	KindFinish  Kind = 0xc8 // one side's end of a stream, without a message
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case KindPost:
		return "post"
	case KindRequest:
		return "request"
	case KindStart:
		return "start"
	case KindMessage:
		return "message"
	case KindFinish:
		return "finish"
	}
	return "unknown"
}

func (k Kind) known() bool {
	return k == KindRequest || k == KindPost || k == KindMessage || k == KindStart ||
		k == KindFinish
}

// Flags say more about a message; only negotiated peers are sent any.
type Flags uint64

// The flags.
const (
	More    Flags = 1 // the next frame of this opaque continues the message
	Stale   Flags = 2 // the data may be older than the promised freshness
	Missing Flags = 4 // there is no such document
)

// The ids of the protocol's own messages. Applications use none from 0x1000 to
// 0x100f.
const (
	IDPing      uint64 = 0x1001
	IDWhoami    uint64 = 0x1002
	IDHeartbeat uint64 = 0x1003
	IDError     uint64 = 0x1004
	IDCancel    uint64 = 0x1005
	IDCredit    uint64 = 0x1006
	IDGoAway    uint64 = 0x1007
	IDLimits    uint64 = 0x1008
	IDAuth      uint64 = 0x1009

	firstReserved uint64 = 0x1000
	lastReserved  uint64 = 0x100f
)

// reserved reports whether id belongs to the protocol.
func reserved(id uint64) bool { return id >= firstReserved && id <= lastReserved }

// A Message is what a frame carries.
type Message struct {
	// ID says what kind of message it is, and with it how Data is to be read.
	ID uint64
	// Data is the message itself.
	Data []byte
	// Prefix is put before Data when the message is encoded, as if the two were
	// one: a short head before a document that is shared. What is decoded has
	// none.
	Prefix []byte
	// Deadline is how long the answer is of use, in whole milliseconds; 0 when
	// there is no deadline.
	Deadline time.Duration
	// Meta is a CBOR map about the message, nil for none.
	Meta []byte
	// Flags say more; More is set by a Session alone.
	Flags Flags
}

// size returns the length of the data.
func (m *Message) size() int { return len(m.Prefix) + len(m.Data) }

// A Frame is one frame as it is on the wire. A finish has an opaque and no
// message.
type Frame struct {
	Kind   Kind
	Opaque uint64
	Message
}

// The sizes of a frame's fixed parts.
const (
	// MinFrame is the least a gofast peer may be sent at once: it reads so many
	// bytes before it looks at any.
	MinFrame = 9
	// MaxHead is how many bytes a frame may have around its packet.
	MaxHead = 4 + 5 + 1
	// Overhead bounds what a frame without Meta adds to its data.
	Overhead = MaxHead + 9 + 5 + 3 + 2 + 9 + 2 + 5 + 2*(2+9) + 1

	maxDeadline = time.Duration(math.MaxInt32) * time.Millisecond
)

// Tags of the CBOR items in a packet.
const (
	tagMessage  = 43 // d82b: the map with the message
	tagID       = 44
	tagData     = 45
	tagGzip     = 46
	tagLZW      = 47
	tagDeadline = 48
	tagMeta     = 49
	tagFlags    = 50
	tagZstd     = 51
)
