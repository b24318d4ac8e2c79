package memcachefront

import (
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
)

// A conn is the state of one connection, for the goroutine that owns it.
type conn struct {
	kv.Session
	f       *Front
	failed  int // wrong tokens
	swallow int // bytes of a refused value that are still to come
}

// Open makes the state of a connection. The client speaks first.
func (f *Front) Open(lc *eventloop.Conn, out []byte) []byte {
	c := &conn{f: f, Session: f.store.NewSession(lc)}
	lc.Data = c
	f.stats.opened.Add(1)
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
	return out
}

// Tick looks after what the peer has not taken.
func (f *Front) Tick(lc *eventloop.Conn, out []byte) ([]byte, eventloop.Next) {
	c := lc.Data.(*conn)
	c.Peer.Expire(time.Now())
	return out, eventloop.More
}

// End forgets a connection.
func (f *Front) End(lc *eventloop.Conn) {
	if _, ok := lc.Data.(*conn); !ok {
		return
	}
	f.mu.Lock()
	f.open--
	f.mu.Unlock()
}
