package wire

import (
	"context"
	"runtime"
	"time"
)

// The bounds of one write. What a peer takes at once is written in few system
// calls, each of which costs as much as hundreds of messages. A peer that is
// slow gets less at a time, since only what is written shows that it takes
// anything: see StuckTimeout.
const (
	writeBytes = 64 << 10
	mostBytes  = 1 << 20
	fastWrite  = 10 * time.Millisecond
	slowWrite  = 100 * time.Millisecond
	keptBytes  = 8 << 10 // of a buffer that nobody needs just now
)

// write writes what there is, until the connection ends.
func (c *Conn) write() {
	portion := writeBytes
	for {
		c.mu.Lock()
		for c.err == nil && len(c.out) == 0 && !c.session.Pending() {
			c.sleep()
		}
		if c.err != nil {
			c.mu.Unlock()
			return
		}
		batch := c.batch()
		c.mu.Unlock()
		var err error
		if portion, err = c.send(batch, portion); err != nil {
			c.end(err)
			return
		}
		c.mu.Lock()
		c.spare = batch
		c.mu.Unlock()
	}
}

// batch takes what there is to write. c.mu is held.
func (c *Conn) batch() []byte {
	if c.session.Pending() {
		c.out = c.session.Pump(c.out, writeBytes)
	}
	batch := c.out
	c.out, c.spare = c.spare[:0], nil
	c.taken += uint64(len(batch))
	c.busy = true
	c.session.CountFlush()
	c.line.move(len(batch), c.queue)
	return batch
}

// sleep waits until there is something to write, or the connection ends. c.mu is
// held before and after.
func (c *Conn) sleep() {
	c.idle = true
	over := c.drained()
	c.mu.Unlock()
	if over {
		c.end(ErrClosed)
	} else {
		<-c.wake
		// Others who are about to send something go along in the same write.
		runtime.Gosched()
	}
	c.mu.Lock()
}

// shrink gives back large buffers that were of no use since it was called last.
// c.mu is held.
func (c *Conn) shrink() {
	if !c.busy && len(c.out) == 0 {
		if cap(c.out) > keptBytes {
			c.out = nil
		}
		if cap(c.spare) > keptBytes {
			c.spare = nil
		}
	}
	c.busy = false
}

// send writes a batch, in portions of at most so many bytes. It returns how large
// the next one should be.
func (c *Conn) send(batch []byte, portion int) (next int, err error) {
	for len(batch) > 0 {
		began := time.Now()
		c.writing.Store(began.UnixNano())
		n, err := c.nc.Write(batch[:min(len(batch), portion)])
		c.writing.Store(0)
		if err != nil {
			return portion, err
		}
		if batch = batch[n:]; n < portion {
			continue
		}
		switch took := time.Since(began); {
		case took > slowWrite:
			portion = writeBytes
		case took < fastWrite:
			portion = min(2*portion, mostBytes)
		}
	}
	return portion, nil
}

// await gives c.mu back, waits for a channel to be closed and takes c.mu again.
// On the context's error it does not hold it.
func (c *Conn) await(ctx context.Context, closed <-chan struct{}) error {
	c.unlockAndWake()
	select {
	case <-closed:
		c.mu.Lock()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// signalFreed tells those who wait for an exchange that one has ended. c.mu is
// held.
func (c *Conn) signalFreed() {
	if c.freed != nil {
		close(c.freed)
		c.freed = nil
	}
}

// fits reports whether a message goes out whole and at once, so that its bytes
// are not needed after the call. c.mu is held.
func (c *Conn) fits(data []byte) bool { return len(data) <= c.direct }
