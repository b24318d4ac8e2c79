package gofast

import (
	"errors"
	"strconv"
	"time"
)

// A ProtocolError says how the peer has broken the protocol. The connection is
// of no use any more: close it, and only it.
type ProtocolError string

// Error returns what is wrong.
func (e ProtocolError) Error() string { return "gofast: " + string(e) }

// What a peer can do wrong in a frame.
const (
	ErrPrefix     ProtocolError = "a frame does not begin with d9d9f7"
	ErrKind       ProtocolError = "a frame is of an unknown kind"
	ErrLength     ProtocolError = "a frame's length is not a byte string's of at most 32 bits"
	ErrFrameSize  ProtocolError = "a frame is longer than was announced as acceptable"
	ErrPacket     ProtocolError = "a frame's packet is not a tagged byte string that fills it"
	ErrHeader     ProtocolError = "a message is not the map of an id and data"
	ErrID         ProtocolError = "a message has no id, or the id 0"
	ErrFinish     ProtocolError = "a finish frame is not empty, or its end is missing"
	ErrNesting    ProtocolError = "a message is compressed too many times over"
	ErrCompressed ProtocolError = "compressed data cannot be read, or was not agreed upon"
	ErrRatio      ProtocolError = "compressed data grows beyond the limit"
)

// What a peer can do wrong in a conversation.
const (
	ErrWhoami     ProtocolError = "a whoami message cannot be read"
	ErrExtension  ProtocolError = "the extension map of a whoami cannot be read"
	ErrControl    ProtocolError = "a control message cannot be read"
	ErrOpaques    ProtocolError = "both ends use the same range of opaques"
	ErrInUse      ProtocolError = "an opaque is used again before its exchange has ended"
	ErrForeign    ProtocolError = "an opaque that is ours to give is used by the peer"
	ErrUnexpected ProtocolError = "a frame has no place in the exchange of its opaque"
	ErrFragments  ProtocolError = "the fragments of a message do not fit together"
	ErrTooMuch    ProtocolError = "a message, or all unfinished ones, are longer than is acceptable"
	ErrOverrun    ProtocolError = "a stream has sent more than its credit"
	ErrFlood      ProtocolError = "more exchanges are open than was announced as acceptable"
	ErrHandshake  ProtocolError = "the peer did not introduce itself in time"
	ErrSilent     ProtocolError = "the peer has missed its heartbeats"
)

// What the caller can do wrong, or must wait with. None of them breaks the
// connection, and nothing was appended.
var (
	// ErrTooLarge says that the peer does not take a message of this size.
	ErrTooLarge = errors.New("gofast: message is larger than the peer accepts")
	// ErrNoOpaque says that the peer, or we, allow no further exchange now.
	ErrNoOpaque = errors.New("gofast: too many exchanges are open")
	// ErrGoingAway says that one end is about to close: use another connection.
	ErrGoingAway = errors.New("gofast: connection is going away")
	// ErrNoCredit says that the peer does not take more of this stream yet.
	ErrNoCredit = errors.New("gofast: stream has no credit")
	// ErrNoExchange says that the opaque's exchange has ended, or never was.
	ErrNoExchange = errors.New("gofast: no such exchange")
	// ErrNotReady says that the peer has not said yet who it is.
	ErrNotReady = errors.New("gofast: peer is not known yet")
	// ErrNotAgreed says that the peer has not negotiated what is asked for.
	ErrNotAgreed = errors.New("gofast: peer does not understand this")
	// ErrReserved says that a message id belongs to the protocol, or is 0.
	ErrReserved = errors.New("gofast: message id is reserved")
)

// Code is why an exchange has failed: gRPC's codes, by number and name.
type Code uint64

// The codes.
const (
	OK                 Code = 0
	Canceled           Code = 1
	Unknown            Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	AlreadyExists      Code = 6
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	OutOfRange         Code = 11
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	DataLoss           Code = 15
	Unauthenticated    Code = 16
)

var codeNames = [...]string{"ok", "canceled", "unknown", "invalid argument",
	"deadline exceeded", "not found", "already exists", "permission denied",
	"resource exhausted", "failed precondition", "aborted", "out of range", "unimplemented",
	"internal", "unavailable", "data loss", "unauthenticated"}

// String returns the code's name, "not found", or "code 17" for one that is not
// known.
func (c Code) String() string {
	if c < Code(len(codeNames)) {
		return codeNames[c]
	}
	return "code " + strconv.FormatUint(uint64(c), 10)
}

// An Error is the failure of one exchange, as it travels.
type Error struct {
	Code Code
	Text string
	// Retryable says that the same request may succeed later or elsewhere, and
	// that nothing of it was carried out.
	Retryable bool
	// RetryAfter is when to try again at the earliest, in whole milliseconds.
	RetryAfter time.Duration
	// Details is a CBOR item of the application's, nil for none.
	Details []byte
}

// Error returns the code's name and the text.
func (e *Error) Error() string {
	if e.Text == "" {
		return e.Code.String()
	}
	return e.Code.String() + ": " + e.Text
}

// Is reports whether target is an *Error of the same code, so that
// errors.Is(err, &Error{Code: NotFound}) asks for the code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}
