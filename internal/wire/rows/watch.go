package rows

import (
	"encoding/binary"

	"github.com/hotrow/hotrow/internal/row"
)

// A Watch opens a stream of the changes of a resource, or of one document.
type Watch struct {
	Resource string
	Key      string // "": every document
	// Since is the cursor of the last event that the client has worked in, or
	// the position of an answer that it holds. "": from now on.
	Since string
}

// Append appends the payload of w.
func (w *Watch) Append(dst []byte) []byte {
	dst = appendText(appendText(appendArray(dst, 3), w.Resource), w.Key)
	return appendText(dst, w.Since)
}

// Decode reads the payload of a Watch.
func (w *Watch) Decode(b []byte) error {
	*w = Watch{}
	r := reader{b: b}
	n := r.array(1, 3)
	w.Resource = r.text(MaxName)
	if n > 1 {
		w.Key = r.text(maxText)
	}
	if n > 2 {
		w.Since = r.text(maxText)
	}
	return r.end("watch")
}

// EventKind says what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	// Ready comes once, when what was missed since Watch.Since has been told: from
	// now on events are told as they happen.
	Ready EventKind = iota
	// Changed says that the document of Key is not what it was, and that a read
	// made now sees the change. It carries no document: who wants it asks.
	Changed
	// Reset says that anything may have changed: forget what you hold.
	Reset
	numKinds
)

// An Event is one message of a watch.
type Event struct {
	Kind     EventKind
	Key      string // canonical; "" unless Kind is Changed
	Position string // a read that asks for it sees the change; "": nobody knows
	Cursor   string // to go on from after a broken connection: see Watch.Since
}

// Append appends e.
func (e *Event) Append(dst []byte) []byte {
	dst = appendText(appendUint(appendArray(dst, 4), uint64(e.Kind)), e.Key)
	return appendText(appendText(dst, e.Position), e.Cursor)
}

// Decode reads the payload of an Event.
func (e *Event) Decode(b []byte) error {
	r := reader{b: b}
	r.array(4, 4)
	*e = Event{
		Kind: EventKind(r.uint(uint64(numKinds) - 1)), Key: r.text(maxText),
		Position: r.text(maxText), Cursor: r.text(maxText),
	}
	return r.end("event")
}

// A Status is the first element of what a peer is answered that has not
// negotiated error messages; the second is the answer, or a text.
type Status uint8

// The statuses that have a name of their own; they are gRPC's codes.
const (
	OK          Status = 0
	NotFound    Status = 5 // with an Answer whose State is Absent, or with a text
	TooLarge    Status = 8 // for the peer's buffer
	Unavailable Status = 14
)

// AppendStatus appends what comes before an answer for a peer that has not
// negotiated errors. The answer, one CBOR value, follows it.
func AppendStatus(dst []byte, s Status) []byte {
	return appendUint(appendArray(dst, 2), uint64(s))
}

// AppendFailure appends what such a peer is told of an error.
func AppendFailure(dst []byte, s Status, text string) []byte {
	return appendText(AppendStatus(dst, s), text)
}

// DecodeStatus takes apart what such a peer is answered: text is what went
// wrong, answer the payload of the answer when there is one.
func DecodeStatus(b []byte) (s Status, answer []byte, text string, err error) {
	r := reader{b: b}
	r.array(2, 2)
	s = Status(r.uint(255))
	if r.problem == "" && r.pos < len(b) && b[r.pos]&^31 == row.CBORArray {
		return s, b[r.pos:], "", nil
	}
	text = r.text(len(b))
	return s, nil, text, r.end("status")
}

// An echo is what the messages of performance measurements carry: a big-endian
// length and so many bytes. gofast's perf program speaks them.
const (
	IDEchoPost     = 111 // one way
	IDEchoRequest  = 112 // answered with itself
	IDEchoSend     = 113 // a stream from the client
	IDEchoReceive  = 114 // a stream from the server
	echoHead       = 8
	maxEchoPayload = 1 << 30
)

// AppendEcho appends the payload of an echo message.
func AppendEcho(dst, data []byte) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(data))), data...)
}

// DecodeEcho returns the bytes of an echo message, which alias b.
func DecodeEcho(b []byte) (data []byte, ok bool) {
	if len(b) < echoHead {
		return nil, false
	}
	n := binary.BigEndian.Uint64(b)
	return b[echoHead:], n <= maxEchoPayload && n == uint64(len(b)-echoHead)
}
