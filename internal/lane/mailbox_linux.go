package lane

import (
	"sync"
	"sync/atomic"

	"github.com/hotrow/hotrow/internal/lane/nonblock"
)

// A letter is what other goroutines have to say to a loop.
type letter struct {
	kind letterKind
	fd   int    // adopt; else, in tests, the checksum of b
	c    *conn  // all others that are about a connection
	lent *lent  // giveBack, giveUp, shaken
	b    []byte // resume, push, giveBack
	next Next   // resume
}

type letterKind uint8

const (
	adopt    letterKind = iota // a new connection
	resume                     // the answer that the connection is parked for
	push                       // output without order
	cut                        // too much of it
	giveBack                   // the visit is over
	giveUp                     // and so is the connection
	shaken                     // the handshake of TLS is done
	tick                       // Tick is to be called
	drain                      // stop accepting
	reap                       // close what is idle
	abort                      // close everything
)

// A mailbox is how other goroutines reach a loop. The loop looks into it at
// every turn, and is woken when it sleeps.
type mailbox struct {
	mu      sync.Mutex // guards letters and closed
	letters []letter
	closed  bool

	full   atomic.Bool // there are letters
	asleep atomic.Bool // a letter must wake the loop
	wakefd int
}

// post delivers a letter. It reports false when the loop has ended.
func (m *mailbox) post(l letter) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.letters = append(m.letters, l)
	m.full.Store(true)
	// The loop says that it is asleep and looks for letters once more before
	// it sleeps: one of the two sees the other. The descriptor is written to
	// under the lock, for it is closed when the mailbox is.
	if m.asleep.CompareAndSwap(true, false) {
		nonblock.Wake(m.wakefd)
	}
	m.mu.Unlock()
	return true
}

// take returns the letters and leaves empty in their place, to be filled next.
func (m *mailbox) take(empty []letter) []letter {
	m.mu.Lock()
	letters := m.letters
	m.letters = empty[:0]
	m.full.Store(false)
	m.mu.Unlock()
	return letters
}

// close refuses letters from now on, unless there are some. It reports whether
// the mailbox is closed.
func (m *mailbox) close() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = m.closed || len(m.letters) == 0
	return m.closed
}
