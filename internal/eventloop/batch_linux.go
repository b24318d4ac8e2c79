package eventloop

import (
	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/eventloop/nonblock"
	"github.com/hotrow/hotrow/internal/workers"
)

const (
	batchSize = 16
	batchRead = readSize / batchSize // what each connection of a batch may bring
)

// A batch is connections that are read one after the other before any of them
// is answered, so that a Prefetcher sees what comes. Each has its part of the
// loop's buffer.
type batch struct {
	conns  [batchSize]*conn
	n      int
	inputs [batchSize][]byte
}

// gather puts c into the batch if it needs no more than to be read, and else
// gives it its turn at once.
func (l *loop) gather(c *conn) {
	if l.prefetcher == nil || !c.plain() || !l.runs(c) {
		l.turn(c)
		return
	}
	b := &l.batch
	b.conns[b.n] = c
	if b.n++; b.n == batchSize {
		l.serveBatch()
	}
}

// plain reports whether c has input, and nothing from before.
func (c *conn) plain() bool {
	return c.ready && !c.again && !c.waits && len(c.in) == 0 && c.pending() == 0
}

// serveBatch gives the connections of the batch their turn.
func (l *loop) serveBatch() {
	b := &l.batch
	n := b.n
	b.n = 0
	if n == 1 { // the whole buffer for one
		l.turn(b.conns[0])
		return
	}
	var errs [batchSize]unix.Errno
	var got [batchSize]int
	inputs := b.inputs[:0]
	for i, c := range b.conns[:n] {
		got[i], errs[i] = l.readPart(c, l.part(i))
		if got[i] > 0 {
			inputs = append(inputs, l.part(i)[:got[i]])
		}
	}
	if len(inputs) > 1 {
		l.prefetch(inputs)
	}
	for i, c := range b.conns[:n] {
		l.turnWith(c, l.part(i), got[i], errs[i])
	}
}

// readPart reads c into its part of the buffer.
func (l *loop) readPart(c *conn, part []byte) (n int, e unix.Errno) {
	if c.secure == nil {
		return nonblock.Recv(c.fd, part)
	}
	buf, e := c.secure.pull(l, c, part[:0:len(part)])
	return len(buf), e
}

// part returns the part of the loop's buffer that is for one of the batch.
func (l *loop) part(i int) []byte {
	return l.in[i*batchRead : (i+1)*batchRead : (i+1)*batchRead]
}

// prefetch shows the protocol what has come. One that panics is not asked again
// for this batch; its Step will name the connection.
func (l *loop) prefetch(inputs [][]byte) {
	defer func() {
		if v := recover(); v != nil {
			l.srv.count.panics.Add(1)
			_ = workers.Caught(l.srv.cfg.Log, "prefetch", v)
		}
	}()
	if poisoned {
		prefetchAlone(l.prefetcher, l.scope, inputs)
		return
	}
	l.prefetcher.Prefetch(l.scope, inputs)
}

// turnWith is turn for a connection that has been read.
func (l *loop) turnWith(c *conn, buf []byte, n int, e unix.Errno) {
	defer l.rescue(c)
	if c.secure != nil {
		l.pulled(c, buf[:n], 0, e)
	} else {
		l.received(c, buf, 0, n, e)
	}
	release(buf)
	l.afterTurn(c)
}
