package load

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// A caller is a connection, and the goroutine that asks over it.
type caller struct {
	run    *run
	number int
	random *rand.Rand

	conn    net.Conn    // nil: it is made with the next request
	stop    func() bool // has the end of the run's context not close conn
	in      *bufio.Reader
	out     []byte
	limit   time.Time // the deadline of conn
	closing bool      // the answer said that it is the last of its connection

	times    []uint32 // of answers, microseconds
	statuses map[int]int
	errors   map[string]int
	first    error
}

func newCaller(r *run, number int) *caller {
	return &caller{run: r, number: number, random: rand.New(rand.NewPCG(uint64(number), 1)),
		statuses: make(map[int]int), errors: make(map[string]int)}
}

// again is how long a connection waits before it is made anew after a failure.
const again = 20 * time.Millisecond

// loop asks until the run is over.
func (c *caller) loop(ctx context.Context) {
	r := c.run
	defer c.hangUp()
	for i := 0; ; i++ {
		due := time.Now()
		if r.Rate > 0 {
			turn := float64(i*r.Connections + c.number)
			due = r.began.Add(time.Duration(turn / r.Rate * float64(time.Second)))
			if due.Before(r.till) && time.Now().Before(due) {
				pause(ctx, due)
			}
		}
		if !due.Before(r.till) || ctx.Err() != nil {
			return
		}
		status, err := c.ask(ctx, r.First+c.random.Int64N(r.Keys))
		now := time.Now()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			c.failed(kindOf(err), err)
			time.Sleep(again)
			continue
		case status >= http.StatusBadRequest:
			c.failed("status", fmt.Errorf("the status is %d", status))
		}
		c.statuses[status]++
		if !now.Before(r.from) && now.Before(r.till) {
			c.times = append(c.times, uint32(min(now.Sub(due)/time.Microsecond, 1<<32-1)))
		}
	}
}

// failed counts a failure.
func (c *caller) failed(kind string, err error) {
	c.errors[kind]++
	if c.first == nil {
		c.first = err
	}
}

// kindOf returns what a failure is counted as.
func kindOf(err error) string {
	var of *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout"
	case errors.As(err, &of) && of.Op == "dial":
		return "connect"
	}
	return "connection"
}

// dial makes the connection.
func (c *caller) dial(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, c.run.Timeout)
	defer cancel()
	nc, err := new(net.Dialer).DialContext(within, "tcp", c.run.address)
	if err == nil && c.run.tls {
		name, _, _ := net.SplitHostPort(c.run.address)
		// Whoever measures a server knows which one it is.
		secured := tls.Client(nc, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err = secured.HandshakeContext(within); err != nil {
			_ = nc.Close()
		}
		nc = secured
	}
	if err != nil {
		return err
	}
	c.conn, c.in, c.limit = nc, bufio.NewReaderSize(nc, 16<<10), time.Time{}
	c.stop = context.AfterFunc(ctx, func() { _ = nc.Close() })
	return nil
}

// hangUp ends the connection, if there is one.
func (c *caller) hangUp() {
	if c.conn != nil {
		c.stop()
		_ = c.conn.Close()
		c.conn = nil
	}
}

// errUnanswered is wrapped by the failure of a request of which no byte was answered.
var errUnanswered = errors.New("the connection has ended")

// ask makes one request, and reads the answer. What is closed while nobody asks, as by a server
// that starts anew, is no failure: the request is made again, once.
func (c *caller) ask(ctx context.Context, key int64) (status int, err error) {
	for used := c.conn != nil; ; used = false {
		if c.conn == nil {
			if err := c.dial(ctx); err != nil {
				return 0, err
			}
		}
		status, err = c.exchange(key)
		if err != nil || c.closing {
			c.hangUp()
		}
		if !used || !errors.Is(err, errUnanswered) {
			return status, err
		}
	}
}

// exchange is ask over the connection that is there.
func (c *caller) exchange(key int64) (status int, err error) {
	now, timeout := time.Now(), c.run.Timeout
	if c.limit.Sub(now) < timeout-timeout/8 { // not for each request: it costs
		c.limit = now.Add(timeout)
		if err := c.conn.SetDeadline(c.limit); err != nil {
			return 0, err
		}
	}
	c.out = c.out[:0]
	for i, text := range c.run.request {
		if i > 0 {
			c.out = strconv.AppendInt(c.out, key, 10)
		}
		c.out = append(c.out, text...)
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, unanswered(err)
	}
	if _, err := c.in.Peek(1); err != nil {
		return 0, unanswered(err)
	}
	return c.answer()
}

// unanswered returns the failure of a connection over which nothing was answered.
func unanswered(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnanswered, err)
}

// answer reads one answer.
func (c *caller) answer() (status int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, ended(err)
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, fmt.Errorf("no answer of HTTP/1.1: %.50q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("no answer of HTTP/1.1: %.50q", line)
	}
	length, chunked := int64(-1), false
	for c.closing = false; ; {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, ended(err)
		}
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if len(name) == 0 {
			break
		}
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil || length < 0 {
				return 0, fmt.Errorf("Content-Length: %.50q", value)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		case bytes.EqualFold(name, []byte("Connection")):
			c.closing = bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
	switch {
	case c.run.Method == http.MethodHead || status == http.StatusNoContent ||
		status == http.StatusNotModified:
	case chunked:
		err = c.chunks()
	case length >= 0:
		err = c.skip(length)
	default: // until the connection ends
		c.closing = true
		_, err = io.Copy(io.Discard, c.in)
	}
	return status, ended(err)
}

// chunks reads a body in chunks, and the fields behind it.
func (c *caller) chunks() error {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		text, _, _ := strings.Cut(string(bytes.TrimSpace(line)), ";")
		n, err := strconv.ParseInt(text, 16, 63)
		if err != nil {
			return fmt.Errorf("the length of a chunk: %.50q", line)
		}
		if n > 0 {
			if err := c.skip(n + int64(len("\r\n"))); err != nil {
				return err
			}
			continue
		}
		for len(bytes.TrimSpace(line)) > 0 {
			if line, err = c.in.ReadSlice('\n'); err != nil {
				return err
			}
		}
		return nil
	}
}

// skip reads n bytes.
func (c *caller) skip(n int64) error {
	_, err := io.CopyN(io.Discard, c.in, n)
	return err
}

// ended returns err, with another text for an answer that is not whole.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the connection ended within an answer")
	}
	return err
}
