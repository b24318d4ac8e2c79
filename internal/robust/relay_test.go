package robust

import (
	"context"
	"maps"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// A relay is the network between hotrow and its database, with switches.
type relay struct {
	t        testing.TB
	listener net.Listener

	mu    sync.Mutex // guards what follows
	to    string
	conns map[net.Conn]struct{}
	hung  bool                  // nothing gets through, and nothing is closed
	delay time.Duration         // of every piece
	cut   bool                  // nobody is let in
	dead  map[net.Conn]struct{} // nothing gets through those, whatever the switches say
}

// newRelay listens in front of the server at address.
func newRelay(t testing.TB, address string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{t: t, listener: l, to: address, conns: make(map[net.Conn]struct{})}
	go r.accept()
	t.Cleanup(func() {
		_ = l.Close()
		r.hangUp()
	})
	return r
}

// through returns the URL of a database through a new relay.
func through(t testing.TB, raw string) (*relay, string) {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	r := newRelay(t, u.Host)
	u.Host = r.listener.Addr().String()
	return r, u.String()
}

func (r *relay) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		to, cut := r.to, r.cut
		r.mu.Unlock()
		if cut {
			_ = c.Close()
			continue
		}
		go r.join(c, to)
	}
}

// join copies between a client and the server until one of them ends.
func (r *relay) join(c net.Conn, to string) {
	s, err := net.Dial("tcp", to)
	if err != nil {
		_ = c.Close()
		return
	}
	r.mu.Lock()
	r.conns[c], r.conns[s] = struct{}{}, struct{}{}
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.copy(s, c) })
	both.Go(func() { r.copy(c, s) })
	both.Wait()
	r.mu.Lock()
	delete(r.conns, c)
	delete(r.conns, s)
	r.mu.Unlock()
}

// copy copies pieces, late or never as the switches say.
func (r *relay) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		for {
			r.mu.Lock()
			_, dead := r.dead[from]
			hung, delay := r.hung || dead, r.delay
			_, open := r.conns[from]
			r.mu.Unlock()
			if !open {
				return
			}
			if !hung {
				pause(context.Background(), delay)
				break
			}
			pause(context.Background(), 5*time.Millisecond) // a poll of the switch
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// set turns the switches.
func (r *relay) set(hung bool, delay time.Duration, cut bool) {
	r.mu.Lock()
	r.hung, r.delay, r.cut = hung, delay, cut
	r.mu.Unlock()
	if cut {
		r.hangUp()
	}
}

// forget lets nothing through the connections that there are, and leaves them open.
func (r *relay) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dead = maps.Clone(r.conns)
}

// point sends new connections elsewhere, and ends the old ones.
func (r *relay) point(address string) {
	r.mu.Lock()
	r.to = address
	r.mu.Unlock()
	r.hangUp()
}

func (r *relay) hangUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
	clear(r.conns)
}
