package kv

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/workers"
)

// A Session is what every connection of a key-value front has. It is for the goroutine
// that owns the connection: the loop, or who answers what it is parked for.
type Session struct {
	Who    Identity
	ReadAs ReadAs // as what it reads keys
	Addr   string // of the peer
	Local  bool   // only this machine reaches the listener
	Peer   *front.ClientShare

	// Resume goes on with the connection, which was parked: eventloop.Conn.ResumeThen, unless
	// the front has more to do then.
	Resume func(out []byte, next eventloop.Next)

	Conn  *eventloop.Conn
	store *Store
	rest  *Batch // the answer that is made as the peer takes it; nil: none
}

// NewSession makes the state of a connection.
func (s *Store) NewSession(lc *eventloop.Conn) Session {
	c := Session{store: s, Conn: lc, Local: front.IsLocal(lc.ListenAddr()), Resume: lc.ResumeThen}
	var ok bool
	if c.Peer, ok = lc.Meter().(*front.ClientShare); !ok { // it is no connection of Serve's
		c.Peer = s.unsent.NewShare()
	}
	if a := lc.RemoteAddr(); a != nil {
		c.Addr = a.String()
	}
	return c
}

// GoOn appends more of an answer that is made as the peer takes it, and says what is next:
// eventloop.Again, or what was to be next behind the answer.
func (c *Session) GoOn(out []byte) ([]byte, eventloop.Next) {
	b := c.rest
	out, whole := b.Append(out)
	if !whole {
		return out, eventloop.Again
	}
	c.rest = nil
	c.Peer.Add(-b.claimed)
	if b.then == eventloop.More {
		return out, eventloop.Flush // what was pushed meanwhile comes first
	}
	return out, b.then
}

// Unfinished reports whether there is more of an answer to be made.
func (c *Session) Unfinished() bool { return c.rest != nil }

// Owe has GoOn make the rest of an answer that memory has given. It reports false when the
// documents are more than one answer may keep in memory.
func (c *Session) Owe(r *Read) bool {
	n := pinned(r.Found)
	if n > front.AnswerBytes {
		return false
	}
	Keep(r.Found)
	c.rest = &Batch{reads: []*Read{r}, claimed: n}
	c.Peer.Add(n)
	return true
}

// pinned returns how many bytes documents have, each counted once however often it was looked
// up.
func pinned(found []Found) (sum int64) {
	seen := make(map[*byte]struct{}, len(found))
	for i := range found {
		d := found[i].Doc
		if d == nil {
			continue
		}
		if _, ok := seen[d.Place()]; !ok {
			seen[d.Place()] = struct{}{}
			sum += int64(len(d.Body()))
		}
	}
	return sum
}

// Keep makes documents that the loop was lent good beyond its turn, each once.
func Keep(found []Found) {
	kept := make(map[*byte]*row.Document, len(found))
	for i := range found {
		f := &found[i]
		if f.Doc == nil {
			continue
		}
		d := kept[f.Doc.Place()]
		if d == nil {
			d = f.Doc.Keep()
			kept[f.Doc.Place()] = d
		}
		f.Doc = d
	}
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
			c.Resume(out, next)
			c.Peer.Add(-w.Size) // the connection counts it from now on
		})
		if !ok {
			c.Peer.Add(-w.Size)
			c.Resume(nil, eventloop.Close)
		}
	}
	// When it is granted later and the store is closed, so are its connections.
	refuse := func() { c.Resume(w.Busy, eventloop.Close) }
	if _, ok := c.Peer.Reserve(w.Size, start, refuse); ok {
		start()
	}
}

func (c *Session) guarded(ctx context.Context, w *Work) (out []byte, next eventloop.Next) {
	defer func() {
		if v := recover(); v != nil {
			_ = workers.Caught(c.store.Live().Log, "answer a command", v)
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
