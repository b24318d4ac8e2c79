package respfront

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// A conn is the state of one connection. The goroutine that owns it uses it alone: the
// loop, or who answers what it is parked for. The exceptions are guarded by mu or atomic.
type conn struct {
	kv.Session
	f      *Front
	id     uint64
	born   time.Time
	v      resp.Version
	failed int // wrong passwords
	db     int
	multi  *transaction // nil: none
	exec   []queued     // what is left of one that is answered
	cached bool         // CLIENT CACHING has been said for it
	queued int64        // bytes of both
	reply  replies
	fields []kv.Field     // scratch
	track  tracking       // see there
	wrote  resource.Token // of the last write
	subs   subscriptions  // changed with mu held

	keyspace *kv.Subscriber // hears of keys for subs; nil: nobody does
	taken    chan struct{}  // has room for one: the peer has taken output

	uncacheable []string // keys of a batch whose answers nobody may keep, until that is told

	used atomic.Int64            // when it was last used, in seconds since 1970
	last atomic.Pointer[command] // what it was last used for
	kill atomic.Bool             // the next tick ends it

	mu     sync.Mutex // guards what follows, of which others read
	shared sharedState
	ended  bool
	owed   owed   // to the peer
	holder string // whose token it is: "default"
	hears  kv.Identity
}

// sharedState is what a client has said of itself, and others may list.
type sharedState struct {
	name, lib, version string
	db                 int
	v                  resp.Version
	multi              int // commands that are queued; -1: no transaction
}

// Open makes the state of a connection. The client speaks first.
func (f *Front) Open(lc *eventloop.Conn, out []byte) []byte {
	c := &conn{
		Session: f.store.NewSession(lc), f: f, born: time.Now(), v: resp.V2,
		holder: "default", shared: sharedState{v: resp.V2, multi: -1},
		taken: make(chan struct{}, 1),
	}
	c.Resume = c.resume
	c.used.Store(c.born.Unix())
	lc.Data = c
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number++
	c.id = f.number
	f.stats.opened.Add(1)
	f.conns[c.id] = c
	return out
}

// Tick ends a connection that is to end, and looks after what its peer has not taken.
func (f *Front) Tick(lc *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	c := lc.Data.(*conn)
	if c.kill.Load() {
		return out, eventloop.Close
	}
	c.Peer.Expire(time.Now())
	o := f.store.Live()
	hears := c.track.client != nil || c.keyspace != nil
	if hears && c.Who.Lost(o, o.IssuedNow()) {
		if c.lost() {
			return out, eventloop.Close
		}
	}
	return out, eventloop.More
}

// lost ends what a connection hears whose token was taken away: what that could read is
// not for this client any more. It reports whether the connection is to be closed: nothing
// else would tell the client that it hears nothing of its channels any more.
func (c *conn) lost() bool {
	c.Flush()
	subscribed := c.subs.count() > 0
	c.forgetSubscriptions()
	return subscribed
}

// End forgets a connection.
func (f *Front) End(lc *eventloop.Conn) {
	c, ok := lc.Data.(*conn)
	if !ok {
		return
	}
	c.stopTracking()
	c.dropQueued()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.forgetSubscriptions()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c.id)
}

// Drained implements eventloop.Drainer: the peer has taken output.
func (f *Front) Drained(lc *eventloop.Conn) {
	c, ok := lc.Data.(*conn)
	if !ok {
		return
	}
	select {
	case c.taken <- struct{}{}:
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if owes := c.owed.all || len(c.owed.keys) > 0; owes && !c.ended &&
		!c.Conn.Below(front.PushedBytes/2) {
		c.pay()
	}
}

// update changes what others may list.
func (c *conn) update(change func(*sharedState)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.shared)
}
