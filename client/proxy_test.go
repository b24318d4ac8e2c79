package client

import (
	"io"
	"net"
	"sync"
	"testing"
)

// A proxy relays connections to a server, and cuts them when it is told, or after
// some bytes.
type proxy struct {
	l       net.Listener
	to      string
	running sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]struct{}
	left  int           // bytes from the server that pass before all is cut; < 0: any number
	held  chan struct{} // nil: what clients send passes; else when it is closed
}

// newProxy starts a proxy.
func newProxy(t testing.TB, to string) *proxy {
	p := &proxy{l: listen(t), to: to, conns: make(map[net.Conn]struct{}), left: -1}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) address() string { return p.l.Addr().String() }

func (p *proxy) close() {
	_ = p.l.Close()
	p.mu.Lock()
	if p.held != nil {
		close(p.held)
	}
	p.mu.Unlock()
	p.cut()
	p.running.Wait()
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// after cuts everything when so many bytes more have come from the server.
func (p *proxy) after(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = n
}

// stop takes nothing more from clients.
func (p *proxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = make(chan struct{})
}

// A gate passes what clients send, unless the proxy was stopped.
type gate struct {
	to io.Writer
	p  *proxy
}

func (g *gate) Write(b []byte) (int, error) {
	g.p.mu.Lock()
	held := g.p.held
	g.p.mu.Unlock()
	if held != nil {
		<-held
	}
	return g.to.Write(b)
}

func (p *proxy) accept() {
	for {
		near, err := p.l.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns[near], p.conns[far] = struct{}{}, struct{}{}
		p.mu.Unlock()
		p.running.Go(func() {
			_, _ = io.Copy(&gate{far, p}, near)
			_ = far.Close()
		})
		p.running.Go(func() {
			_, _ = io.Copy(&counted{near, p}, far)
			_ = near.Close()
		})
	}
}

// A counted passes what the proxy lets through.
type counted struct {
	to io.Writer
	p  *proxy
}

func (c *counted) Write(b []byte) (int, error) {
	c.p.mu.Lock()
	n := len(b)
	over := c.p.left >= 0 && n > c.p.left
	if over {
		n = c.p.left
	}
	if c.p.left >= 0 {
		c.p.left -= n
	}
	c.p.mu.Unlock()
	written, err := c.to.Write(b[:n])
	if over && err == nil {
		c.p.mu.Lock()
		c.p.left = -1 // once
		c.p.mu.Unlock()
		c.p.cut()
		err = io.ErrClosedPipe
	}
	return written, err
}
