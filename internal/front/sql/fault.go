package sqlfront

import "errors"

// The SQLSTATEs that are hotrow's own words, and not the database's.
const (
	stateTooMany  = "53300" // too_many_connections
	stateAway     = "08006" // connection_failure
	stateProtocol = "08P01" // protocol_violation
	stateRefused  = "28000" // invalid_authorization_specification
	stateStopping = "57P01" // admin_shutdown
	stateRight    = "42501" // insufficient_privilege
)

// A fault is why hotrow itself ends a session, or answers a statement. Its texts go to the client.
type fault struct {
	state, text, hint string

	result loginResult // what the log-in is counted as
}

func (f *fault) Error() string { return f.text }

// append appends the ErrorResponse.
func (f *fault) append(dst []byte) []byte { return appendError(dst, "FATAL", f) }

// appendError appends an ErrorResponse of a severity.
func appendError(dst []byte, severity string, f *fault) []byte {
	dst, at := beginMessage(dst, msgError)
	field := func(kind byte, text string) {
		if text != "" {
			dst = append(append(append(dst, kind), text...), 0)
		}
	}
	field('S', severity)
	field('V', severity)
	field('C', f.state)
	field('M', "hotrow: "+f.text)
	field('H', f.hint)
	return endMessage(append(dst, 0), at)
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
