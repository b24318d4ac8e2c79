// Package http2 has the frames of HTTP/2 (RFC 9113), and makes of its requests those of
// HTTP/1.1, and of the responses of HTTP/1.1 its own. It does no I/O, and decodes header
// blocks by golang.org/x/net/http2/hpack.
package http2

import (
	"encoding/binary"
	"fmt"
)

// Preface is what a client sends first.
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Sizes that the protocol sets.
const (
	FrameHead     = 9          // bytes in front of each payload
	MaxPayload    = 16 << 10   // bytes of a frame that every peer takes
	InitialWindow = 64<<10 - 1 // bytes that may be sent before the first WINDOW_UPDATE
	MaxWindow     = 1<<31 - 1
	MaxStream     = 1<<31 - 1 // the highest number of a stream
)

// A FrameType says what a frame is.
type FrameType uint8

// The types of frames. Others are ignored.
const (
	Data FrameType = iota
	Headers
	Priority
	ResetStream
	Settings
	PushPromise
	Ping
	GoAway
	WindowUpdate
	Continuation
)

// Flags of frames.
const (
	FlagEndStream  = 0x1 // of Data and Headers
	FlagAck        = 0x1 // of Settings and Ping
	FlagEndHeaders = 0x4
	FlagPadded     = 0x8
	FlagPriority   = 0x20
)

// A Code says why a stream or a connection ends.
type Code uint32

// The codes that are sent.
const (
	NoError          Code = 0x0
	ProtocolError    Code = 0x1
	InternalError    Code = 0x2
	FlowControlError Code = 0x3
	StreamClosed     Code = 0x5
	FrameSizeError   Code = 0x6
	RefusedStream    Code = 0x7
	Cancel           Code = 0x8
	CompressionError Code = 0x9
	EnhanceYourCalm  Code = 0xb
)

// An Error ends a connection, or one stream of it.
type Error struct {
	Stream uint32 // 0: the connection
	Code   Code
	Reason string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Stream == 0 {
		return fmt.Sprintf("connection: %s (code %d)", e.Reason, e.Code)
	}
	return fmt.Sprintf("stream %d: %s (code %d)", e.Stream, e.Reason, e.Code)
}

// fail returns the error of a connection.
func fail(code Code, reason string) error { return &Error{Code: code, Reason: reason} }

// A Frame is the head of one.
type Frame struct {
	Type   FrameType
	Flags  uint8
	Stream uint32
	Length int // of the payload, in bytes
}

// Has reports whether a flag is set.
func (f *Frame) Has(flag uint8) bool { return f.Flags&flag != 0 }

// ParseFrame reads the head at the beginning of b, which has FrameHead bytes at least. It
// refuses what is too large, and streams and lengths that a type cannot have.
func ParseFrame(b []byte) (Frame, error) {
	f := Frame{
		Length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		Type:   FrameType(b[3]), Flags: b[4],
		Stream: binary.BigEndian.Uint32(b[5:]) & MaxStream,
	}
	if f.Length > MaxPayload {
		return f, fail(FrameSizeError, "a frame is too large")
	}
	return f, f.check()
}

func (f *Frame) check() error {
	switch f.Type {
	case Data, Headers, Priority, ResetStream, Continuation:
		if f.Stream == 0 {
			return fail(ProtocolError, "a frame is of no stream")
		}
	case Settings, Ping, GoAway:
		if f.Stream != 0 {
			return fail(ProtocolError, "a frame of the connection is of a stream")
		}
	case PushPromise:
		return fail(ProtocolError, "a client pushes")
	}
	wrong := false
	switch f.Type {
	case ResetStream, WindowUpdate:
		wrong = f.Length != 4
	case Ping:
		wrong = f.Length != 8
	case GoAway:
		wrong = f.Length < 8
	case Settings:
		wrong = f.Length%6 != 0 || f.Has(FlagAck) && f.Length > 0
	}
	if wrong {
		return fail(FrameSizeError, "a frame has a size that its type cannot have")
	}
	return nil
}

// Content returns what is between the padding, and priority, of the payload of Data or
// Headers. It aliases payload.
func (f *Frame) Content(payload []byte) ([]byte, error) {
	pad := 0
	if f.Has(FlagPadded) {
		if len(payload) == 0 {
			return nil, fail(FrameSizeError, "padding has no length")
		}
		pad, payload = int(payload[0]), payload[1:]
	}
	if f.Type == Headers && f.Has(FlagPriority) {
		if len(payload) < 5 {
			return nil, fail(FrameSizeError, "a priority is cut off")
		}
		payload = payload[5:] // CheckPriority is for who can go on with the block
	}
	if pad > len(payload) {
		return nil, fail(ProtocolError, "there is more padding than payload")
	}
	return payload[:len(payload)-pad], nil
}

// CheckPriority refuses, of Priority and of Headers whose Content is right, a priority that
// is none: of another size, or a stream that depends on itself. All others mean nothing.
func (f *Frame) CheckPriority(payload []byte) error {
	if f.Type == Headers && !f.Has(FlagPriority) {
		return nil
	}
	if f.Type == Headers && f.Has(FlagPadded) {
		payload = payload[1:]
	}
	switch {
	case f.Type == Priority && len(payload) != 5:
		return &Error{f.Stream, FrameSizeError, "a priority has another size"}
	case binary.BigEndian.Uint32(payload)&MaxStream == f.Stream:
		return &Error{f.Stream, ProtocolError, "a stream depends on itself"}
	}
	return nil
}

// appendFrame appends the head of a frame.
func appendFrame(dst []byte, t FrameType, flags uint8, stream uint32, length int) []byte {
	dst = append(dst, byte(length>>16), byte(length>>8), byte(length), byte(t), flags)
	return binary.BigEndian.AppendUint32(dst, stream)
}

// AppendData appends a frame of a body. b has MaxPayload bytes at most.
func AppendData(dst []byte, stream uint32, b []byte, end bool) []byte {
	flags := uint8(0)
	if end {
		flags = FlagEndStream
	}
	return append(appendFrame(dst, Data, flags, stream, len(b)), b...)
}

// AppendSettings appends settings, pairs of a name and a value.
func AppendSettings(dst []byte, pairs ...uint32) []byte {
	dst = appendFrame(dst, Settings, 0, 0, 3*len(pairs))
	for i := 0; i < len(pairs); i += 2 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(pairs[i]))
		dst = binary.BigEndian.AppendUint32(dst, pairs[i+1])
	}
	return dst
}

// AppendSettingsAck appends what says that the peer's settings hold.
func AppendSettingsAck(dst []byte) []byte { return appendFrame(dst, Settings, FlagAck, 0, 0) }

// AppendPong appends the answer to a ping.
func AppendPong(dst, payload []byte) []byte {
	return append(appendFrame(dst, Ping, FlagAck, 0, len(payload)), payload...)
}

// AppendReset appends what ends a stream.
func AppendReset(dst []byte, stream uint32, code Code) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(dst, ResetStream, 0, stream, 4), uint32(code))
}

// AppendWindowUpdate appends that n bytes more may come, on a stream or, 0, on all together.
func AppendWindowUpdate(dst []byte, stream uint32, n int) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(dst, WindowUpdate, 0, stream, 4), uint32(n))
}

// AppendGoAway appends that streams above last are not answered, and why.
func AppendGoAway(dst []byte, last uint32, code Code, reason string) []byte {
	dst = appendFrame(dst, GoAway, 0, 0, 8+len(reason))
	dst = binary.BigEndian.AppendUint32(dst, last)
	return append(binary.BigEndian.AppendUint32(dst, uint32(code)), reason...)
}

// The names of settings, but that of the size of the table of headers.
const (
	SettingEnablePush           = 2
	SettingMaxConcurrentStreams = 3
	SettingInitialWindowSize    = 4
	SettingMaxFrameSize         = 5
	SettingMaxHeaderListSize    = 6
)

// EachSetting calls f for each setting in the payload of Settings that may be what it is.
func EachSetting(payload []byte, f func(name uint16, value uint32) error) error {
	for ; len(payload) >= 6; payload = payload[6:] {
		name, value := binary.BigEndian.Uint16(payload), binary.BigEndian.Uint32(payload[2:])
		switch {
		case name == SettingEnablePush && value > 1:
			return fail(ProtocolError, "ENABLE_PUSH is neither 0 nor 1")
		case name == SettingInitialWindowSize && value > MaxWindow:
			return fail(FlowControlError, "INITIAL_WINDOW_SIZE is too large")
		case name == SettingMaxFrameSize && (value < MaxPayload || value > 1<<24-1):
			return fail(ProtocolError, "MAX_FRAME_SIZE is out of bounds")
		}
		if err := f(name, value); err != nil {
			return err
		}
	}
	return nil
}

// WindowGrowth returns by how many bytes the payload of WindowUpdate lets a window grow.
func WindowGrowth(payload []byte) int64 {
	return int64(binary.BigEndian.Uint32(payload) & MaxWindow)
}
