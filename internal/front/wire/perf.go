package wirefront

import (
	"context"
	"encoding/binary"
	"sync/atomic"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
)

// What a stream from the server carries when the peer does not say.
const (
	producedMessages = 10_000
	producedSize     = 512
)

// A producer sends the messages of a stream whose speed is measured.
type producer struct {
	c      *conn
	opaque uint64
	left   uint32
	data   []byte
	poke   chan struct{} // credit has come, or the end
	ended  atomic.Bool   // nobody wants more
	silent bool          // and it was finished already; guarded by c.mu
}

// produce answers the start of such a stream. A start whose data is 8 bytes long
// says how many messages it wants, and of how many bytes; gofast's perf program
// says neither. c.mu is held.
func (c *conn) produce(e *gofast.Event) {
	p := &producer{c: c, opaque: e.Opaque, left: producedMessages, poke: make(chan struct{}, 1)}
	size := uint32(producedSize)
	if data, ok := rows.DecodeEcho(e.Data); ok && len(data) == 8 {
		p.left = binary.BigEndian.Uint32(data)
		size = min(binary.BigEndian.Uint32(data[4:]), front.PerfBytes)
	}
	p.data = rows.AppendEcho(nil, make([]byte, size))
	c.side = c.session.AppendConsumed(c.side, e.Opaque, len(e.Data))
	_ = c.session.SetUser(e.Opaque, p) // the stream has just begun
	if !c.f.start(p.run) {
		c.endStream(e.Opaque, &fault{kind: kindDraining})
	}
}

// stop ends the producer, and reports whether it was still at work. silent says
// that the stream is finished by somebody else. c.mu is held.
func (p *producer) stop(silent bool) bool {
	p.silent = p.silent || silent
	was := !p.ended.Swap(true)
	p.wake()
	return was
}

// wake has the producer go on.
func (p *producer) wake() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// run sends the messages, as the peer takes them, and finishes the stream.
func (p *producer) run() {
	c := p.c
	for p.more() && c.room() {
		c.mu.Lock()
		ok := p.burst()
		c.flush()
		c.mu.Unlock()
		if !ok && !p.waitForCredit(c.f.ctx) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.ended.Store(true); !p.silent && !c.ended {
		c.endStream(p.opaque, nil)
		c.flush()
	}
}

func (p *producer) more() bool { return p.left > 0 && !p.ended.Load() }

// burst appends messages until there are enough for one write. It reports false
// when the peer has to give credit. c.mu is held.
func (p *producer) burst() bool {
	m := gofast.Message{ID: rows.IDEchoReceive, Data: p.data}
	for p.more() && len(p.c.side) < pumpSize {
		var err error
		p.c.side, err = p.c.session.AppendMessage(p.c.side, p.opaque, &m)
		switch err {
		case nil:
			p.left--
		case gofast.ErrNoCredit:
			return false
		default: // the stream has ended, or the message is too large
			p.left = 0
		}
	}
	return true
}

// waitForCredit reports whether there may be some.
func (p *producer) waitForCredit(ctx context.Context) bool {
	select {
	case <-p.poke:
		return true
	case <-ctx.Done():
		return false
	}
}
