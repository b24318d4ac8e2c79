package eventloop

import (
	"net/netip"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
)

// A message is what other goroutines have to say to a loop.
type message struct {
	kind     messageKind
	fd       int           // adopt; else, in tests, the checksum of b
	from     netip.Addr    // adopt: of the peer
	c        *conn         // all others that are about a connection
	borrowed *borrowedConn // giveBack, giveUp, handshakeDone
	b        []byte        // resume, push, giveBack
	next     Next          // resume
	join     *joining      // join
}

type messageKind uint8

const (
	adopt         messageKind = iota // a new connection
	resume                           // the answer that the connection is parked for
	push                             // output without order
	cut                              // too much of it
	giveBack                         // a connection that was handed over comes back
	join                             // and comes back with an upstream
	giveUp                           // and one that was closed
	handshakeDone                    // the handshake of TLS is done
	tick                             // Tick is to be called
	drain                            // stop accepting
	reap                             // close what is idle
	abort                            // close everything
)

// A queue is how other goroutines reach a loop. The loop looks into it at
// every turn, and is woken when it sleeps.
type queue struct {
	mu       sync.Mutex // guards messages and closed
	messages []message
	closed   bool

	full   atomic.Bool  // there are messages
	asleep atomic.Bool  // a message must wake the loop
	busy   atomic.Int32 // connections for which other goroutines work
	file   *os.File     // in whose Read the loop sleeps
	wakefd int
}

// post delivers a message. It reports false when the loop has ended.
func (q *queue) post(l message) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.messages = append(q.messages, l)
	q.full.Store(true)
	// The loop says that it is asleep and looks for messages once more before
	// it sleeps: one of the two sees the other. The descriptor is written to
	// under the lock, for it is closed when the queue is.
	if q.asleep.CompareAndSwap(true, false) {
		q.wake()
	}
	q.mu.Unlock()
	return true
}

// wake ends the sleep of the loop. A deadline that has passed has the loop run next on the
// processor of who calls, by Go's scheduler alone. An event does it when the runtime's
// poller is looked at, on a processor that has nothing else to do: it takes more than
// twice as long, and meanwhile the answers of others may come, which the loop then sends
// in one turn. So it is taken while others work for more than one connection.
func (q *queue) wake() {
	if q.busy.Load() <= 1 {
		_ = q.file.SetReadDeadline(longAgo) // it can: the loop's own alarm is one
		return
	}
	nonblock.Wake(q.wakefd)
}

// take returns the messages and leaves empty in their place, to be filled next.
func (q *queue) take(empty []message) []message {
	q.mu.Lock()
	messages := q.messages
	q.messages = empty[:0]
	q.full.Store(false)
	q.mu.Unlock()
	return messages
}

// close refuses messages from now on, unless there are some. It reports whether
// the queue is closed.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = q.closed || len(q.messages) == 0
	return q.closed
}
