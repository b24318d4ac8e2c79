package wirebench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
)

// The raw protocol is what any other costs more than: a frame is the length of
// what follows (4 bytes), its kind (1), the number of the exchange (4) and the
// data. It has no negotiation, no flow control and no deadlines; frames are
// batched as hotrow batches them.
const (
	rawHead    = 9
	rawPost    = 'p'
	rawRequest = 'r' // answered with the same frame
	rawMessage = 'm'
	rawEnd     = 'e' // of a stream, and answered with the same frame
	rawRoom    = 1 << 20
	rawBuffer  = 64 << 10
	rawLargest = 16 << 20
)

// errRawClosed is the error of what is asked of a connection that has ended.
var errRawClosed = errors.New("raw: the connection is closed")

// A rawConn is one end of a connection of the raw protocol.
type rawConn struct {
	conn net.Conn

	mu     sync.Mutex // guards what follows
	out    []byte     // not written yet
	idle   bool       // the writer sleeps
	full   sync.Cond  // there is room again; of mu
	free   []*rawCall // of exchanges that have ended
	calls  []*rawCall // by number
	err    error      // why the connection has ended
	wake   chan struct{}
	ended  sync.WaitGroup
	closed sync.Once
}

// A rawCall waits for one answer.
type rawCall struct {
	number uint32
	answer []byte
	done   chan error
}

// DialRaw returns a Dial of the raw protocol.
func DialRaw(address string) Dial {
	return func(ctx context.Context) (Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		return newRawConn(conn), nil
	}
}

// newRawConn starts the two goroutines of a connection.
func newRawConn(conn net.Conn) *rawConn {
	c := &rawConn{conn: conn, wake: make(chan struct{}, 1)}
	c.full.L = &c.mu
	c.ended.Go(c.write)
	c.ended.Go(c.read)
	return c
}

// send appends a frame to what is to be written.
func (c *rawConn) send(kind byte, number uint32, data []byte) error {
	c.mu.Lock()
	for len(c.out) > rawRoom && c.err == nil {
		c.full.Wait()
	}
	if c.err != nil {
		c.mu.Unlock()
		return c.err
	}
	c.out = appendRaw(c.out, kind, number, data)
	c.unlockAndWake()
	return nil
}

// unlockAndWake has the writer write.
func (c *rawConn) unlockAndWake() {
	idle := c.idle
	c.idle = false
	c.mu.Unlock()
	if idle {
		c.wake <- struct{}{}
	}
}

// appendRaw appends a frame.
func appendRaw(dst []byte, kind byte, number uint32, data []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(5+len(data)))
	dst = binary.BigEndian.AppendUint32(append(dst, kind), number)
	return append(dst, data...)
}

// write writes what there is, until there is nothing, and sleeps.
func (c *rawConn) write() {
	var batch []byte
	for {
		c.mu.Lock()
		for len(c.out) == 0 {
			if c.err != nil {
				c.mu.Unlock()
				return
			}
			c.idle = true
			c.mu.Unlock()
			<-c.wake
			runtime.Gosched() // others that are about to send go along
			c.mu.Lock()
		}
		batch, c.out = c.out, batch[:0]
		c.mu.Unlock()
		c.full.Broadcast()
		if _, err := c.conn.Write(batch); err != nil {
			c.end(err)
			return
		}
	}
}

// read takes answers until the connection ends.
func (c *rawConn) read() {
	in := bufio.NewReaderSize(c.conn, rawBuffer)
	for {
		if err := c.frame(in); err != nil {
			c.end(err)
			return
		}
	}
}

// frame takes one answer.
func (c *rawConn) frame(in *bufio.Reader) error {
	head, err := in.Peek(rawHead)
	if err != nil {
		return err
	}
	size := int(binary.BigEndian.Uint32(head)) - 5
	number := binary.BigEndian.Uint32(head[5:])
	if size < 0 || size > rawLargest {
		return errors.New("raw: a frame of an impossible length")
	}
	if _, err := in.Discard(rawHead); err != nil {
		return err
	}
	c.mu.Lock()
	if uint64(number) >= uint64(len(c.calls)) {
		c.mu.Unlock()
		return errors.New("raw: an answer to nothing")
	}
	call := c.calls[number]
	c.mu.Unlock()
	n := len(call.answer)
	call.answer = slices.Grow(call.answer, size)[:n+size]
	if _, err := io.ReadFull(in, call.answer[n:]); err != nil {
		return err
	}
	call.done <- nil
	return nil
}

// end tells everybody that the connection has ended.
func (c *rawConn) end(err error) {
	c.closed.Do(func() {
		_ = c.conn.Close()
		c.mu.Lock()
		c.err = errors.Join(errRawClosed, err)
		for _, call := range c.calls {
			select {
			case call.done <- c.err:
			default:
			}
		}
		c.full.Broadcast()
		c.unlockAndWake()
	})
}

// call sends a frame and waits for its answer. begin sends what comes before.
func (c *rawConn) call(
	kind byte, data, dst []byte, begin func(number uint32) error,
) ([]byte, error) {
	call, err := c.take()
	if err != nil {
		return dst, err
	}
	call.answer = dst
	if begin != nil {
		err = begin(call.number)
	}
	if err == nil {
		err = c.send(kind, call.number, data)
	}
	if err == nil {
		err = <-call.done
	}
	answer := call.answer
	if err != nil {
		return dst, err // the call is left alone: its answer may still come
	}
	c.mu.Lock()
	c.free = append(c.free, call)
	c.mu.Unlock()
	return answer, nil
}

// take returns a call that nobody uses.
func (c *rawConn) take() (*rawCall, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	if n := len(c.free); n > 0 {
		call := c.free[n-1]
		c.free = c.free[:n-1]
		return call, nil
	}
	call := &rawCall{number: uint32(len(c.calls)), done: make(chan error, 1)}
	c.calls = append(c.calls, call)
	return call, nil
}

// Post sends a message that is not answered.
func (c *rawConn) Post(data []byte) error { return c.send(rawPost, 0, data) }

// Request sends a message and waits for its answer.
func (c *rawConn) Request(data, dst []byte) ([]byte, error) {
	answer, err := c.call(rawRequest, data, dst, nil)
	return answer, right(err, len(answer)-len(dst), len(data))
}

// Stream sends messages and waits for the answer to their end.
func (c *rawConn) Stream(n int, data []byte, sent func()) error {
	_, err := c.call(rawEnd, nil, nil, func(number uint32) error {
		for range n {
			if err := c.send(rawMessage, number, data); err != nil {
				return err
			}
			sent()
		}
		return nil
	})
	return err
}

// Barrier waits for the answer to a request: the server answers in order.
func (c *rawConn) Barrier() error {
	_, err := c.Request(nil, nil)
	return err
}

// Close closes the connection and waits for its goroutines.
func (c *rawConn) Close() error {
	c.end(net.ErrClosed)
	c.ended.Wait()
	return nil
}
