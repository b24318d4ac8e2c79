package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
)

// A Conn is one end of a connection. It is safe for concurrent use.
type Conn struct {
	nc       net.Conn
	queue    int
	stuck    time.Duration
	handlers map[uint64]handler
	ready    chan struct{} // closed when the peer has said who it is
	done     chan struct{} // closed when the connection has ended
	wake     chan struct{} // to the writer, which sleeps; holds one
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup // reader, writer and handlers

	writing atomic.Int64 // since when a write is on its way, in Unix ns; 0: none
	leaving atomic.Bool  // it has ended, or one end has said that it takes nothing new

	mu      sync.Mutex // guards what follows
	session *gofast.Session
	out     []byte        // not written yet
	spare   []byte        // takes the place of out while that is written
	busy    bool          // something was written since shrink has looked
	taken   uint64        // bytes that the writer has taken so far
	idle    bool          // the writer sleeps, or is about to
	line    line          // of those who wait for room in out
	freed   chan struct{} // closed when an exchange of ours ends; nil: nobody waits
	err     error         // why the connection has ended; nil: it has not
	drain   bool          // end when nothing is open
	tick    *time.Timer
	granted chan struct{} // closed when the peer takes more of all streams; nil: nobody waits
	direct  int           // bytes of data that go out in one frame
	turns   turns
	expiry  expiry
	woken   []*call // of who reads: whose answers have come
	scratch []byte  // of who reads: what inline handlers append to

	// Of who reads, and without mu.
	in    []byte // its buffer
	have  int    // bytes of it that were read and are not used
	event gofast.Event

	calls sync.Pool // of *call; without it each request would allocate (BenchmarkRequest)
}

// tickEvery is how often the session looks at the time.
const tickEvery = time.Second

// newConn starts the goroutines of a connection.
func newConn(nc net.Conn, o Options, cfg gofast.Config) *Conn {
	c := &Conn{
		nc: nc, queue: o.Queue, stuck: o.StuckTimeout, handlers: o.Handlers.clone(),
		ready: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1),
		session: gofast.NewSession(cfg),
	}
	if c.queue <= 0 {
		c.queue = defaultQueue
	}
	if c.stuck <= 0 {
		c.stuck = defaultStuck
	}
	c.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	if canTurn(nc, len(c.handlers)) {
		c.turns.take = make(chan struct{}, 1)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.out = c.session.Open(time.Now(), nil)
	c.running.Go(c.write)
	c.running.Go(c.read)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.tick = time.AfterFunc(tickEvery, c.look)
	}
	return c
}

// look looks at the time, again and again.
func (c *Conn) look() {
	now := time.Now()
	if began := c.writing.Load(); began != 0 && now.UnixNano()-began > int64(c.stuck) {
		c.end(fmt.Errorf("wire: the peer has taken nothing for %v", c.stuck))
		return
	}
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	var err error
	c.shrink()
	c.out, err = c.session.Tick(now, c.out)
	c.tick.Reset(tickEvery)
	c.unlockAndWake()
	if err != nil {
		c.end(err)
	}
}

// unlockAndWake gives c.mu back and has the writer write what there is. If there
// is nothing, whoever waits for room has it.
func (c *Conn) unlockAndWake() {
	wake := c.idle && (len(c.out) > 0 || c.session.Pending())
	if wake {
		c.idle = false
	}
	if len(c.line.waiting) > 0 {
		c.line.keepMoving(len(c.out))
	}
	if c.turns.reads == nobody && (len(c.out) > 0 || c.session.Pending()) {
		c.readOn()
	}
	c.mu.Unlock()
	if wake {
		c.wake <- struct{}{}
	}
}

// end ends the connection, once, and everything that is open with it.
func (c *Conn) end(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = why
	if c.tick != nil {
		c.tick.Stop()
	}
	if c.expiry.timer != nil {
		c.expiry.timer.Stop()
	}
	c.leaving.Store(true)
	c.session.End(func(_ uint64, user any, ours bool) {
		switch x := user.(type) {
		case *call:
			x.settle(nil, c.lost(x.at))
			x.done <- struct{}{}
		case *Stream:
			x.broken(c.lost(x.at))
		}
	})
	wake := c.idle
	c.idle = false
	c.line.disperse()
	c.signalFreed()
	c.mu.Unlock()
	c.cancel()
	close(c.done)
	_ = c.nc.Close()
	if wake {
		c.wake <- struct{}{}
	}
}

// lost returns the error of what was appended at a byte of the output. c.mu is
// held, and the connection has ended.
func (c *Conn) lost(at uint64) error {
	if errors.Is(c.err, ErrClosed) {
		return ErrClosed
	}
	return &LostError{Sent: at < c.taken, Err: c.err}
}

// ended returns the error of what is asked of a connection that has ended. c.mu
// is held.
func (c *Conn) ended() error { return c.lost(c.taken) }

// Close ends the connection at once: what is open fails with ErrClosed. It
// returns when the goroutines of the connection have ended, handlers included;
// a handler that calls it waits for itself, and should return an error instead.
func (c *Conn) Close() error {
	c.end(ErrClosed)
	c.running.Wait()
	return nil
}

// Shutdown tells the peer that this end takes nothing new, waits until what is
// open has ended, and closes. It returns the context's error if that comes first.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	if c.err == nil {
		c.out = c.session.AppendGoAway(c.out, gofast.OK, "")
		c.drain = true
		c.leaving.Store(true)
	}
	c.unlockAndWake()
	c.mu.Lock()
	over := c.drained()
	c.mu.Unlock()
	if over {
		return c.Close()
	}
	select {
	case <-c.done:
		return c.Close()
	case <-ctx.Done():
		_ = c.Close()
		return ctx.Err()
	}
}

// drained reports whether a connection that ends gracefully may end. c.mu is
// held.
func (c *Conn) drained() bool {
	return c.drain && c.err == nil && len(c.out) == 0 && c.idle && c.session.Idle()
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection has ended, nil if it has not.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// A Peer is what the other end has said of itself.
type Peer struct {
	Name     string
	Version  uint64
	Instance string // of a hotrow server: another one after a restart
	Legacy   bool   // it speaks gofast's own protocol and nothing beyond
	MaxData  int    // bytes of a message that it takes
	Token    []byte // what a client has sent to show who it is; not one of over 300 bytes
}

// Peer says who the other end is.
func (c *Conn) Peer() Peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.session.Peer()
	p := Peer{Name: w.Name, Version: w.Version, Legacy: c.session.Legacy(),
		MaxData: c.session.MaxData()}
	if w.Ext != nil {
		p.Instance, p.Token = w.Ext.Instance, w.Ext.Token
	}
	return p
}

// GoingAway reports whether one end has said that it takes nothing new.
func (c *Conn) GoingAway() bool { return c.leaving.Load() }

// Live returns how many requests and streams this end has open.
func (c *Conn) Live() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	ours, _ := c.session.Live()
	return ours
}

// Stats returns counters under the names that gofast gives them: n_tx, n_rxreq
// and so on.
func (c *Conn) Stats() map[string]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session.Stats()
	return s.Map()
}

// Silent returns how long ago the peer's last heartbeat came, 0 if none has.
func (c *Conn) Silent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session.Silent(time.Now())
}
