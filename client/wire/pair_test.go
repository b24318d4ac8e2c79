package wire

import (
	"context"
	"net"
	"testing"
	"time"
)

// limit bounds everything that a test waits for.
const limit = time.Minute

// within returns a context that ends with the test, or after limit.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// pair returns the two ends of a connection over the loopback.
func pair(t testing.TB, client, server Options) (c, s *Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	accepted := make(chan *Conn, 1)
	failed := make(chan error, 1)
	ctx := within(t)
	go func() {
		nc, err := l.Accept()
		if err != nil {
			failed <- err
			return
		}
		s, err := Accept(ctx, nc, server)
		if err != nil {
			failed <- err
			return
		}
		accepted <- s
	}()
	if c, err = Dial(ctx, l.Addr().String(), client); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	select {
	case s = <-accepted:
		t.Cleanup(func() { _ = s.Close() })
	case err := <-failed:
		t.Fatal(err)
	}
	return c, s
}

// The messages of tests.
const (
	echoID   = 20
	slowID   = 21
	streamID = 22
	postID   = 23
	failID   = 24
)

// echoes are handlers that answer with what they were asked.
func echoes() *Handlers {
	h := new(Handlers)
	h.Inline(echoID, func(data, dst []byte) ([]byte, error) { return append(dst, data...), nil })
	return h
}
