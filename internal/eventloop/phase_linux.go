package eventloop

import "fmt"

// A phase is the state of a loop's connection: who has it, and what it waits for. What
// else a conn says of itself are facts about its socket and its buffers, none of
// which decides who may do what.
type phase uint8

// The phases. Output that the peer has not taken may be pending in all but the last two.
const (
	accepted    phase = iota // nothing has been done with it yet
	reading                  // the protocol gets what comes
	parked                   // waits for Resume; what has come waits too
	streaming                // its last answer is made by Send, and nothing is read
	halfClosed               // sends nothing more, and hears what a linked connection brings
	handing                  // to be handed over as soon as the peer has taken the output
	closing                  // to be closed as soon as the peer has taken the output
	lingering                // its last answer is sent: what comes is thrown away
	handshaking              // a goroutine does the handshake of TLS, before the protocol begins
	hijacked                 // handed over to Config.HandedOver
	closed                   // its descriptor is another's, perhaps
	phases      = iota
)

var phaseNames = [phases]string{
	"accepted", "reading", "parked", "streaming", "halfClosed", "handing", "closing", "lingering",
	"handshaking", "hijacked", "closed",
}

func (p phase) String() string { return phaseNames[p] }

// A set of phases is one bit for each.
func set(list ...phase) (bits uint16) {
	for _, p := range list {
		bits |= 1 << p
	}
	return bits
}

// follows says which phases may come after each.
var follows = [phases]uint16{
	accepted:    set(handshaking, reading, closed),
	reading:     set(parked, halfClosed, handing, closing, closed),
	parked:      set(reading, streaming, handing, closing, closed),
	streaming:   set(closing, closed),
	halfClosed:  set(closing, closed),
	handing:     set(hijacked, closed),
	closing:     set(lingering, closed),
	lingering:   set(closed),
	handshaking: set(reading, closed),
	hijacked:    set(reading, closed),
}

var (
	// the protocol may add output
	served = set(reading, parked, streaming, halfClosed)

	ending    = set(handing, closing)              // it goes on when the peer has taken the output
	borrowed  = set(handshaking, hijacked)         // another goroutine reads and writes the socket
	elsewhere = set(parked, handshaking, hijacked) // another goroutine works for it
)

// in reports whether p is one of a set.
func (p phase) in(bits uint16) bool { return bits>>p&1 != 0 }

// become is where the phase of a connection changes, and nowhere else.
func (l *loop) become(c *conn, next phase) {
	if !next.in(follows[c.phase]) {
		panic(fmt.Sprintf("BUG: a connection that is %v becomes %v", c.phase, next))
	}
	if c.phase.in(elsewhere) {
		l.queue.busy.Add(-1)
	}
	if next.in(elsewhere) {
		l.queue.busy.Add(1)
	}
	c.phase = next
}
