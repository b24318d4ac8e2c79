package sqlfront

import (
	"encoding/binary"
	"errors"
)

// The SQLSTATEs that are hotrow's own words, and not the database's.
const (
	stateTooMany  = "53300" // too_many_connections
	stateAway     = "08006" // connection_failure
	stateProtocol = "08P01" // protocol_violation
	stateRefused  = "28000" // invalid_authorization_specification
	stateStopping = "57P01" // admin_shutdown
)

// A fault is why hotrow itself ends a session. Its texts go to the client.
type fault struct {
	state, text, hint string

	result loginResult // what the log-in is counted as
}

func (f *fault) Error() string { return f.text }

// append appends the ErrorResponse.
func (f *fault) append(dst []byte) []byte {
	at := len(dst)
	dst = append(dst, msgError, 0, 0, 0, 0)
	field := func(kind byte, text string) {
		if text != "" {
			dst = append(append(append(dst, kind), text...), 0)
		}
	}
	field('S', "FATAL")
	field('V', "FATAL")
	field('C', f.state)
	field('M', "hotrow: "+f.text)
	field('H', f.hint)
	dst = append(dst, 0)
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-1))
	return dst
}

// faultOf returns the fault of an error, or nil.
func faultOf(err error) *fault {
	var f *fault
	errors.As(err, &f)
	return f
}

// stopping is what an idle session hears when hotrow stops.
var stopping = &fault{state: stateStopping, text: "hotrow is stopping",
	hint: "connect again"}

// terminate is what the server hears then.
var terminate = []byte{msgTerminate, 0, 0, 0, headSize - 1}
