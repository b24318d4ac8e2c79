package gofast

import (
	"encoding/binary"
	"math"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"
)

// wireError is an Error as a CBOR array; details may be left out.
type wireError struct {
	_          struct{} `cbor:",toarray"`
	Code       uint64
	Text       string
	Retryable  bool
	RetryAfter uint64 // milliseconds
	Details    cbor.RawMessage
}

// wireErrorShort is a wireError without details.
type wireErrorShort struct {
	_          struct{} `cbor:",toarray"`
	Code       uint64
	Text       string
	Retryable  bool
	RetryAfter uint64
}

// AppendErrorData appends the data of an ERROR message. Details that are not
// one CBOR item are left out.
func AppendErrorData(dst []byte, e *Error) []byte {
	var after uint64
	if e.RetryAfter > 0 {
		after = uint64(min(e.RetryAfter, maxDeadline) / time.Millisecond)
	}
	w := wireErrorShort{
		Code: uint64(e.Code), Text: strings.ToValidUTF8(e.Text, "?"),
		Retryable: e.Retryable, RetryAfter: after,
	}
	var b []byte
	var err error
	if len(e.Details) > 0 && strict.dec.Wellformed(e.Details) == nil {
		long := wireError{
			Code: w.Code, Text: w.Text, Retryable: w.Retryable, RetryAfter: w.RetryAfter,
			Details: e.Details,
		}
		b, err = strict.enc.Marshal(&long)
	} else {
		b, err = strict.enc.Marshal(&w)
	}
	if err != nil {
		b, _ = strict.enc.Marshal(&wireErrorShort{Code: w.Code})
	}
	return append(dst, b...)
}

// ParseError reads the data of an ERROR message. Elements behind the known ones
// are ignored; the result keeps nothing of b.
func ParseError(b []byte) (*Error, error) {
	var raw []cbor.RawMessage
	if strict.dec.Unmarshal(b, &raw) != nil || len(raw) < 4 {
		return nil, ErrControl
	}
	var code, after uint64
	e := &Error{}
	fields := [...]any{&code, &e.Text, &e.Retryable, &after}
	for i, f := range fields {
		if strict.dec.Unmarshal(raw[i], f) != nil {
			return nil, ErrControl
		}
	}
	e.Code = Code(code)
	e.RetryAfter = time.Duration(min(after, math.MaxInt32)) * time.Millisecond
	if len(raw) > 4 && len(raw[4]) > 0 && raw[4][0] != 0xf6 {
		e.Details = raw[4]
	}
	return e, nil
}

// appendCancelData appends the data of a CANCEL message.
func appendCancelData(dst []byte, opaque uint64, why Code) []byte {
	dst = binary.BigEndian.AppendUint64(dst, opaque)
	return binary.BigEndian.AppendUint16(dst, uint16(why))
}

func parseCancel(b []byte) (opaque uint64, why Code, err error) {
	if len(b) != 10 {
		return 0, 0, ErrControl
	}
	return binary.BigEndian.Uint64(b), Code(binary.BigEndian.Uint16(b[8:])), nil
}

// appendCreditData appends the data of a CREDIT message.
func appendCreditData(dst []byte, opaque uint64, bytes uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, opaque), bytes)
}

func parseCredit(b []byte) (opaque uint64, bytes uint32, err error) {
	if len(b) != 12 {
		return 0, 0, ErrControl
	}
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]), nil
}

// appendGoAwayData appends the data of a GOAWAY message.
func appendGoAwayData(dst []byte, why Code, text string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(why)), text...)
}

func parseGoAway(b []byte) (why Code, text string, err error) {
	if len(b) < 2 {
		return 0, "", ErrControl
	}
	return Code(binary.BigEndian.Uint16(b)), string(b[2:]), nil
}

// appendPingData appends the data of a ping, or of its echo. An echo longer than
// 65,535 bytes is cut.
func appendPingData(dst, echo []byte) []byte {
	echo = echo[:min(len(echo), math.MaxUint16)]
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(echo))), echo...)
}

// appendHeartbeatData appends the data of a heartbeat.
func appendHeartbeatData(dst []byte, count uint64) []byte {
	return binary.BigEndian.AppendUint64(dst, count)
}
