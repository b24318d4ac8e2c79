package wirefront

import (
	"sync"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

const (
	tickEvery = time.Second
	pumpSize  = 64 << 10 // fragments that are sent at once
)

// A conn is one connection. Its loop and those who work for it share the
// session; a loop takes the lock once for all that it has read.
type conn struct {
	f      *Front
	lc     *eventloop.Conn
	name   string // as /gofast/transports lists it
	number uint64 // in that name
	addr   string // of the peer, once it was logged; guarded by mu
	peer   *front.ClientShare

	mu       sync.Mutex // guards what follows; held while output is given to the event loop
	session  *gofast.Session
	side     []byte // output of a Step whose place among other output matters
	ended    bool
	pumping  bool          // a goroutine sends fragments
	leaving  bool          // that we are going away
	hinted   bool          // that Perf is off
	tasks    int           // requests that are not answered
	kept     int64         // bytes that the session keeps, and the connection knows of
	wrong    int           // tokens that nobody has
	keys     int           // of the tasks
	full     bool          // nothing is read until there are fewer
	drained  chan struct{} // closed when output was taken, if somebody waits for that
	single   int           // bytes of data that surely fit into one frame
	who      front.Identity
	min      minimum
	batch    []*task // reads of this Step that memory cannot answer
	watchers map[*watcher]struct{}
}

// Open makes the state of a connection. The server speaks first.
func (f *Front) Open(lc *eventloop.Conn, out []byte) []byte {
	o := f.live.Load()
	c := &conn{f: f, lc: lc, single: 256}
	var counted bool
	c.peer, counted = lc.Meter().(*front.ClientShare)
	if !counted { // it is no connection of Serve's
		c.peer = f.unsent.NewShare()
	}
	c.session = gofast.NewSession(gofast.Config{
		Server: true, Name: o.Server, Instance: o.Instance,
		// No Tags: a gofast peer compresses everything that it sends by each of
		// them, which costs it 50 times what it saves on a local network.
		Features:   gofast.SessionFeatures | gofast.FeatureBatch,
		MaxMessage: o.MaxMessage, Exchanges: front.Exchanges, Handshake: o.Handshake,
		// What clients stream is worked in as it comes, and fills no memory.
		Credit:  front.StreamCredit,
		NoPosts: o.Perf, // none means anything to us; without Perf one may be worth a hint
	})
	lc.Data = c
	f.add(c)
	return c.session.Open(time.Now(), out)
}

// Tick sends what is due, and ends a connection whose peer is dead or late.
func (f *Front) Tick(lc *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	c := lc.Data.(*conn)
	c.recheck()
	now := time.Now()
	c.peer.Expire(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if c.side, err = c.session.Tick(now, c.side); err != nil {
		c.broken(err)
		return out, eventloop.Close
	}
	for w := range c.watchers {
		w.look(now)
	}
	c.flush()
	if lc.Draining() && c.tasks == 0 {
		return out, eventloop.Close
	}
	return out, eventloop.More
}

// End forgets a connection.
func (f *Front) End(lc *eventloop.Conn) {
	c, ok := lc.Data.(*conn)
	if !ok {
		return
	}
	c.mu.Lock()
	c.ended = true
	watchers := c.watchers
	c.watchers, c.batch = nil, nil
	c.session.End(func(_ uint64, user any, _ bool) {
		switch u := user.(type) {
		case *task:
			u.abandon()
		case *producer:
			u.stop(true)
		}
	})
	stats := c.session.Stats()
	c.wake()
	c.mu.Unlock()
	for w := range watchers {
		w.leave()
	}
	f.remove(c, &stats)
}

// broken notes why the connection ends. c.mu is held.
func (c *conn) broken(err error) {
	c.f.stats.broken.Add(1)
	if o := c.f.live.Load(); c.f.logLimit.Allow(time.Now()) {
		o.Log.Info("wire connection ended", "peer", c.lc.RemoteAddr(), "err", err)
	}
}

// hint says once for a connection why nobody answers gofast's perf program. c.mu is held.
func (c *conn) hint(e *gofast.Event) {
	if o := c.f.live.Load(); !o.Perf && !c.hinted && rows.IsEcho(e.ID) {
		if c.hinted = true; c.f.logLimit.Allow(time.Now()) {
			o.Log.Warn("messages of gofast's perf program are not answered: set wire.perf to true",
				"peer", c.lc.RemoteAddr(), "id", e.ID)
		}
	}
}

// flush gives what is in side to the event loop. c.mu is held: what was appended first
// is sent first, whoever appended it.
func (c *conn) flush() {
	c.pumpSome()
	if len(c.side) > 0 {
		c.send(c.side)
		c.side = nil
	}
	c.settle()
}

// send gives b, which nobody writes to any more, to the event loop. c.mu is held.
func (c *conn) send(b []byte) bool {
	if c.ended || len(b) == 0 {
		return !c.ended
	}
	c.session.CountFlush()
	return c.lc.Send(b)
}

// pumpSome appends fragments that wait to side, and has the rest sent as the
// peer takes it. c.mu is held.
func (c *conn) pumpSome() {
	if !c.session.Pending() || c.pumping {
		return
	}
	c.side = c.session.Pump(c.side, len(c.side)+pumpSize)
	if c.session.Pending() && c.f.start(c.pump) {
		c.pumping = true
	}
}

// pump sends fragments until none is left. Between two of them others send.
func (c *conn) pump() {
	for {
		taken := c.room()
		c.mu.Lock()
		if !taken || c.ended || !c.session.Pending() {
			c.pumping = false
			c.mu.Unlock()
			return
		}
		c.send(c.session.Pump(nil, pumpSize))
		c.settle()
		c.mu.Unlock()
	}
}

// room waits until the peer has taken enough of what was sent. It reports false
// when the connection has ended: a peer that takes nothing is cut by the event loop.
func (c *conn) room() bool {
	for {
		c.mu.Lock()
		if c.ended {
			c.mu.Unlock()
			return false
		}
		if c.drained == nil {
			c.drained = make(chan struct{})
		}
		drained := c.drained
		c.mu.Unlock()
		if c.lc.Backlog() <= front.PushedBytes || !c.lc.Below(front.PushedBytes/2) {
			return true
		}
		select {
		case <-drained:
		case <-c.f.ctx.Done():
			return false
		}
	}
}

// wake has those look again who wait for room. c.mu is held.
func (c *conn) wake() {
	if c.drained != nil {
		close(c.drained)
		c.drained = nil
	}
}

// Drained implements eventloop.Drainer: the peer has taken output.
func (f *Front) Drained(lc *eventloop.Conn) {
	c, ok := lc.Data.(*conn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake()
}

// settle says how much waits in the session: all else the event loop counts. c.mu is held.
func (c *conn) settle() {
	if n := c.session.Unsent(); n != c.kept && !c.ended {
		c.lc.Keep(int(n - c.kept))
		c.kept = n
	}
}

// busy reports whether a request is not answered, or something not taken by the
// peer.
func (c *conn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ended && (c.tasks > 0 || c.lc.Backlog() > 0)
}

// goAway tells the peer that the server stops, and ends its watches.
func (c *conn) goAway() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendGoingAway()
	c.flush()
}

// sendGoingAway is goAway without the lock, which is held.
func (c *conn) sendGoingAway() {
	if c.leaving || c.ended {
		return
	}
	c.leaving = true
	for w := range c.watchers {
		w.end(&fault{kind: kindDraining})
	}
	c.side = c.session.AppendGoAway(c.side, gofast.Unavailable, "hotrow is stopping")
}

// A minimum is the position that the last requests asked for, taken apart.
type minimum struct {
	text string
	list []resource.Token
	err  error
}

// parse returns the positions in text, which has commas between them and may
// alias a buffer. c.mu is held.
func (m *minimum) parse(text string) ([]resource.Token, error) {
	if text != m.text {
		m.list, m.err = parsePositions(text)
		m.text = string(append([]byte(nil), text...))
	}
	return m.list, m.err
}
