package rows

import (
	"encoding/binary"

	"github.com/hotrow/hotrow/client/wire/cbor"
)

// A Watch opens a stream of the changes of a resource, of one document, or of the answer
// to a query.
type Watch struct {
	Resource string
	Key      string // "": every document
	// Since is the cursor of the last event that the client has worked in, or
	// the position of an answer that it holds. "": from now on.
	Since  string
	Filter string // as in a Query; "": documents are watched
	Format Format // of the answer that is kept in memory for who asks the Query then
}

// Append appends the payload of w.
func (w *Watch) Append(dst []byte) []byte {
	n := 3
	if w.Filter != "" { // which older servers refuse
		n = 5
	}
	dst = cbor.AppendText(cbor.AppendText(cbor.AppendArray(dst, n), w.Resource), w.Key)
	if dst = cbor.AppendText(dst, w.Since); w.Filter != "" {
		dst = cbor.AppendUint(cbor.AppendText(dst, w.Filter), uint64(w.Format))
	}
	return dst
}

// Decode reads the payload of a Watch.
func (w *Watch) Decode(b []byte) error {
	*w = Watch{}
	r := newReader(b)
	n := r.Array(1, 5)
	w.Resource = r.Text(MaxName)
	if n > 1 {
		w.Key = r.Text(maxText)
	}
	if n > 2 {
		w.Since = r.Text(maxText)
	}
	if n > 3 {
		w.Filter = r.Text(maxFilter)
	}
	if n > 4 {
		w.Format = r.format()
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
	dst = cbor.AppendText(cbor.AppendUint(cbor.AppendArray(dst, 4), uint64(e.Kind)), e.Key)
	return cbor.AppendText(cbor.AppendText(dst, e.Position), e.Cursor)
}

// Decode reads the payload of an Event.
func (e *Event) Decode(b []byte) error {
	r := newReader(b)
	r.Array(4, 4)
	*e = Event{
		Kind: EventKind(r.Uint(uint64(numKinds) - 1)), Key: r.Text(maxText),
		Position: r.Text(maxText), Cursor: r.Text(maxText),
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
	return cbor.AppendUint(cbor.AppendArray(dst, 2), uint64(s))
}

// AppendFailure appends what such a peer is told of an error.
func AppendFailure(dst []byte, s Status, text string) []byte {
	return cbor.AppendText(AppendStatus(dst, s), text)
}

// DecodeStatus takes apart what such a peer is answered: text is what went
// wrong, answer the payload of the answer when there is one.
func DecodeStatus(b []byte) (s Status, answer []byte, text string, err error) {
	r := newReader(b)
	r.Array(2, 2)
	s = Status(r.Uint(255))
	if r.IsArray() {
		return s, r.Rest(), "", nil
	}
	text = r.Text(len(b))
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

// IsEcho reports whether a message is one of them.
func IsEcho(id uint64) bool { return id >= IDEchoPost && id <= IDEchoReceive }

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
