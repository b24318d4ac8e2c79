package kv

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
)

// A Session is what every connection of a key-value front has. It is for the goroutine
// that owns the connection: the loop, or who answers what it is parked for.
type Session struct {
	Who    Identity
	ReadAs ReadAs // as what it reads keys
	Addr   string // of the peer
	Local  bool   // only this machine reaches the listener
	Peer   *front.Peer

	// Resume goes on with the connection, which was parked: eventloop.Conn.ResumeThen, unless
	// the front has more to do then.
	Resume func(out []byte, next eventloop.Next)

	Conn  *eventloop.Conn
	store *Store
	room  *room
}

// A room is what answers have of the budget that the peer may not have taken. Whoever makes
// an answer adds to it, and whoever hears that output was taken gives back.
type room struct {
	held  atomic.Int64 // changed with mu held
	mu    sync.Mutex   // guards what follows
	ahead int64        // bytes of answers that the connection does not have yet
}

// settleStep is how much a peer takes before room is given back.
const settleStep = 256 << 10

// NewSession makes the state of a connection.
func (s *Store) NewSession(lc *eventloop.Conn) Session {
	c := Session{store: s, Conn: lc, room: new(room), Peer: s.NewPeer(),
		Local: front.IsLocal(lc.LocalAddr()), Resume: lc.ResumeThen}
	if a := lc.RemoteAddr(); a != nil {
		c.Addr = a.String()
	}
	return c
}

// Settle gives back the room of answers that the peer has taken, and asks to be told when it
// has taken more: the front's Drained calls it. So room comes back while the connection is
// parked, when it waits for some itself, and while it is idle. Any goroutine may call it,
// without a lock that Resume takes.
func (c *Session) Settle() {
	r := c.room
	if r.held.Load() == 0 { // Fast path: nothing was loaded
		return
	}
	r.mu.Lock()
	taken, left := int64(0), int64(0)
	for told := false; ; told = true {
		untaken := c.Conn.Untaken()
		left = min(r.held.Load(), r.ahead+int64(untaken))
		taken += r.held.Load() - left
		r.held.Store(left)
		if left == 0 || told {
			break
		}
		c.Conn.NextBelow(max(0, untaken-settleStep)) // and what was taken meanwhile?
	}
	r.mu.Unlock()
	c.Peer.Taken(taken)
}

// answer resumes the connection with an answer for which there is room of so many bytes.
func (c *Session) answer(out []byte, next eventloop.Next, claimed int64) {
	r, n := c.room, int64(len(out))
	r.mu.Lock()
	r.held.Add(n)
	r.ahead += n
	r.mu.Unlock()
	c.Peer.Add(n - claimed)
	c.Resume(out, next)
	r.mu.Lock()
	r.ahead -= n
	r.mu.Unlock()
	c.Settle()
}

// MustAuth reports whether nothing is answered before a token has been sent.
func (c *Session) MustAuth(s *Scope) bool {
	switch {
	case !s.Live.HasTokens():
		return false
	case c.Who.Lost(s.Live, s.Issued):
		return true
	case c.Local || s.Live.Open:
		return false
	}
	_, ok := c.Who.Principal(s.Live, s.Issued)
	return !ok
}

// Principal returns whose token the connection has sent, "" for nobody's.
func (c *Session) Principal() string {
	if name := c.Who.Name(); name != "default" {
		return name
	}
	return ""
}

// Work is what a connection is parked for.
type Work struct {
	Size int64 // bytes that the answer may have
	Run  func(context.Context) ([]byte, eventloop.Next)

	Busy  []byte // answered when there is no room for it for too long
	Crash []byte // answered when Run has panicked
}

// Do runs w as soon as there is room for its answer, and resumes the connection with what
// it returns. A panic, a bug that must not take the process with it, ends the connection:
// nobody knows how many replies were made.
func (c *Session) Do(w Work) {
	start := func() {
		ok := c.store.Go(func(ctx context.Context) {
			out, next := c.guarded(ctx, &w)
			c.answer(out, next, w.Size)
		})
		if !ok {
			c.Peer.Add(-w.Size)
			c.Resume(nil, eventloop.Close)
		}
	}
	// When it is granted later and the store is closed, so are its connections.
	refuse := func() { c.Resume(w.Busy, eventloop.Close) }
	if _, ok := c.Peer.Claim(w.Size, start, refuse); ok {
		start()
	}
}

func (c *Session) guarded(ctx context.Context, w *Work) (out []byte, next eventloop.Next) {
	defer func() {
		if v := recover(); v != nil {
			c.store.Live().Log.Error("command panicked", "panic", v, "stack",
				string(debug.Stack()))
			out, next = w.Crash, eventloop.Close
		}
	}()
	return w.Run(ctx)
}

// foreignEvery is how often the log tells of peers that speak another protocol.
const foreignEvery = time.Minute

// Foreign notes that a connection is closed because its peer speaks another protocol than
// that of the listener. The log says so once a minute.
func (c *Session) Foreign(now time.Time, protocol, found string) {
	st := &c.store.stats
	times := st.foreign.Add(1)
	last := st.foreignAt.Load()
	if now.UnixNano()-last < int64(foreignEvery) ||
		!st.foreignAt.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	c.store.Live().Log.Warn("connection closed: this is "+protocol, "found", found,
		"peer", c.Addr, "times", times)
}
