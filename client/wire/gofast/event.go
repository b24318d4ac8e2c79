package gofast

// EventType is what has happened.
type EventType uint8

// What Session.Next tells. The fields of Event that each of them fills in are
// named; Opaque is that of the exchange in all of them.
const (
	// EventNone: the input holds no whole frame more.
	EventNone EventType = iota
	// EventReady: the peer has said who it is; see Session.Peer and Agreed.
	EventReady
	// EventPost: a message of the peer that wants no answer.
	EventPost
	// EventRequest: a request of the peer. It must be answered once, by
	// AppendResponse or AppendError, now or later.
	EventRequest
	// EventResponse: the answer to a request of ours, or Err when it has
	// failed. User is what the request was sent with.
	EventResponse
	// EventStart: the peer has opened a stream. It must be ended by
	// AppendFinish or AppendError, now or later, but after EventFinish soon.
	EventStart
	// EventMessage: a message of a stream, with its User.
	EventMessage
	// EventFinish: the peer sends no more on this stream; Err says why, when it
	// is not that all is said. Finish our side if that is still open.
	EventFinish
	// EventCancel: the peer does not want this exchange any more; Err has the
	// code. Stop the work, and end the exchange nevertheless.
	EventCancel
	// EventCredit: a stream, with its User, may be sent on; with opaque 0 and
	// no User, all may.
	EventCredit
	// EventGoAway: the peer accepts no new exchanges; Err says why.
	EventGoAway
	// EventAuth: the peer proves who it is, in Data.
	EventAuth
)

// String returns the event's name.
func (t EventType) String() string {
	names := [...]string{"none", "ready", "post", "request", "response", "start", "message",
		"finish", "cancel", "credit", "go away", "auth"}
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

// An Event is what a frame, or the last of several, means. Data and Meta point
// into the input, or into the session's memory; they are valid until the next
// call of Next.
type Event struct {
	Type EventType
	Frame
	User any
	Err  *Error
	// Refuse says that the peer has more exchanges open than it may: the owner
	// answers this request before it calls Next again, and does no work for it.
	Refuse bool
}
