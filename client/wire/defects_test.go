package wire

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of this file are about what is known to go wrong in gofast itself.

// TestDrop_IsAnErrorToEachCaller: gofast decodes nothing and crashes the process.
func TestDrop_IsAnErrorToEachCaller(t *testing.T) {
	entered := make(chan struct{}, 100)
	h := new(Handlers)
	h.Request(slowID, func(ctx context.Context, _, dst []byte) ([]byte, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return dst, ctx.Err()
	})
	c, s := pair(t, Options{}, Options{Handlers: h})
	ctx := within(t)
	errs := make(chan error, 20)
	for range cap(errs) {
		go func() {
			_, err := c.Request(ctx, slowID, nil, nil)
			errs <- err
		}()
	}
	for range cap(errs) {
		<-entered
	}
	_ = s.nc.Close()
	for range cap(errs) {
		var lost *LostError
		if err := <-errs; !errors.As(err, &lost) || !lost.Sent {
			t.Errorf("request on a connection that is dropped: %v, want a LostError, sent", err)
		}
	}
	<-c.Done()
	if c.Err() == nil {
		t.Error("the connection does not say why it has ended")
	}
}

// TestPost_AfterCloseReturnsAtOnce: gofast's hangs after a few.
func TestPost_AfterCloseReturnsAtOnce(t *testing.T) {
	c, _ := pair(t, Options{Opaques: [2]uint64{300, 320}}, Options{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := c.Post(context.Background(), postID, []byte("x")); !errors.Is(err, ErrClosed) {
			t.Fatalf("post after close: %v", err)
		}
	}
	if _, err := c.Request(context.Background(), echoID, nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("request after close: %v", err)
	}
	if _, err := c.Stream(context.Background(), streamID, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("stream after close: %v", err)
	}
}

// TestTooLarge_IsAnError: gofast panics in the caller.
func TestTooLarge_IsAnError(t *testing.T) {
	c, _ := pair(t, Options{}, Options{Handlers: echoes(), MaxMessage: 10_000})
	ctx := within(t)
	data := make([]byte, 10_001)
	if _, err := c.Request(ctx, echoID, data, nil); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a request that is too large: %v", err)
	}
	if err := c.Post(ctx, postID, data); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a post that is too large: %v", err)
	}
	if _, err := c.Stream(ctx, streamID, data); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a stream that begins too large: %v", err)
	}
	got, err := c.Request(ctx, echoID, data[:10_000], nil)
	if err != nil || len(got) != 10_000 {
		t.Errorf("a request that just fits: %d bytes, %v", len(got), err)
	}
}

// TestAnswerTooLarge_IsAnError: what the caller does not take is no silence.
func TestAnswerTooLarge_IsAnError(t *testing.T) {
	h := new(Handlers)
	h.Inline(echoID, func(_, dst []byte) ([]byte, error) { return make([]byte, 5000), nil })
	c, _ := pair(t, Options{MaxMessage: 1000}, Options{Handlers: h})
	_, err := c.Request(within(t), echoID, nil, nil)
	wantCode(t, err, ResourceExhausted)
}

// TestProtocolErrors_EndOneConnection: bytes that make gofast spin or panic end
// their connection, and nothing else; the process goes on.
func TestProtocolErrors_EndOneConnection(t *testing.T) {
	for name, text := range map[string]string{
		"junk":                "6a756e6b6a756e6b6a756e6b",
		"a 64-bit length":     "d9d9f7c65b0000000100000000",
		"fifteen bytes":       "d9d9f7c64ad9010a46d82bbf011900",
		"an unknown kind":     "d9d9f7aa40d9010a40ff000000",
		"a length beyond all": "d9d9f7c65a7fffffff00000000",
	} {
		t.Run(name, func(t *testing.T) {
			b, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			near, far := net.Pipe()
			t.Cleanup(func() { _ = far.Close() })
			go func() { _, _ = io.Copy(io.Discard, far) }()
			go func() { _, _ = far.Write(b) }()
			c, err := Accept(within(t), near, Options{})
			if err == nil {
				_ = c.Close()
				t.Fatal("the handshake has worked")
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the connection was kept: %v", err)
			}
		})
	}
}

// TestHandshake_HasATimeout: gofast's waits for ever for a peer that is silent.
func TestHandshake_HasATimeout(t *testing.T) {
	near, far := net.Pipe()
	t.Cleanup(func() { _ = far.Close() })
	go func() { _, _ = io.Copy(io.Discard, far) }()
	_, err := Client(within(t), near, Options{HandshakeTimeout: 20 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a handshake with a silent peer: %v", err)
	}
}

// TestHandshake_SameOpaques: gofast's hangs when both ends use one range.
func TestHandshake_SameOpaques(t *testing.T) {
	near, far := net.Pipe()
	ctx := within(t)
	o := Options{Opaques: [2]uint64{1000, 2000}}
	errs := make(chan error, 1)
	go func() {
		c, err := Accept(ctx, far, o)
		if err == nil {
			_ = c.Close()
		}
		errs <- err
	}()
	c, err := Client(ctx, near, o)
	if err == nil {
		_ = c.Close()
	}
	if other := <-errs; err == nil && other == nil {
		t.Error("two ends with the same opaques have agreed")
	}
}

// TestDeadline_IsTheCallers, and it travels: the handler's context ends, too.
func TestDeadline_IsTheCallers(t *testing.T) {
	ended := make(chan error, 1)
	h := new(Handlers)
	h.Request(slowID, func(ctx context.Context, _, dst []byte) ([]byte, error) {
		if _, ok := ctx.Deadline(); !ok {
			ended <- errors.New("there is no deadline")
			return dst, nil
		}
		<-ctx.Done()
		ended <- nil
		return dst, ctx.Err()
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := c.Request(ctx, slowID, nil, nil)
	var e *Error
	if !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &e) &&
		e.Code == DeadlineExceeded) {
		t.Errorf("a request out of time: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestCancel_StopsTheHandler, and frees the exchange.
func TestCancel_StopsTheHandler(t *testing.T) {
	entered, stopped := make(chan struct{}), make(chan struct{})
	h := echoes()
	h.Request(slowID, func(ctx context.Context, _, dst []byte) ([]byte, error) {
		close(entered)
		<-ctx.Done()
		close(stopped)
		return dst, ctx.Err()
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		<-entered
		cancel()
	}()
	if _, err := c.Request(ctx, slowID, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that is given up: %v", err)
	}
	<-stopped
	if got, err := c.Request(within(t), echoID, []byte("still"), nil); string(got) != "still" {
		t.Errorf("the next request: %q, %v", got, err)
	}
	poll(t, "the exchange is free", func() bool { return c.Live() == 0 })
}

// TestCancel_AnswerIsNobodyElses: the answer to a request that was given up comes
// later, and must not be taken for that of the next one.
func TestCancel_AnswerIsNobodyElses(t *testing.T) {
	h := echoes()
	h.Request(slowID, func(ctx context.Context, _, dst []byte) ([]byte, error) {
		<-ctx.Done()
		return dst, ctx.Err()
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	for i := range 2000 {
		ctx, cancel := context.WithCancel(within(t))
		time.AfterFunc(time.Duration(i%5)*10*time.Microsecond, cancel)
		if _, err := c.Request(ctx, slowID, nil, nil); !errors.Is(err, context.Canceled) {
			t.Fatalf("request %d, which is given up: %v", i, err)
		}
		text := fmt.Sprint("next ", i)
		if got, err := c.Request(within(t), echoID, []byte(text), nil); string(got) != text {
			t.Fatalf("the request after it: %q, %v; want %q", got, err, text)
		}
	}
}

// TestHandler_PanicEndsItsExchange and nothing else.
func TestHandler_PanicEndsItsExchange(t *testing.T) {
	h := echoes()
	h.Inline(failID, func(data, _ []byte) ([]byte, error) { return data[len(data)+1:], nil })
	h.Request(slowID, func(_ context.Context, data, _ []byte) ([]byte, error) {
		return data[len(data)+1:], nil
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	ctx := within(t)
	for _, id := range []uint64{failID, slowID} {
		_, err := c.Request(ctx, id, nil, nil)
		wantCode(t, err, Internal)
	}
	if got, err := c.Request(ctx, echoID, []byte("alive"), nil); string(got) != "alive" {
		t.Errorf("after the panics: %q, %v", got, err)
	}
}

// TestUnknown_IsAnswered: gofast's peer waits for ever.
func TestUnknown_IsAnswered(t *testing.T) {
	c, _ := pair(t, Options{}, Options{})
	_, err := c.Request(within(t), 77, nil, nil)
	wantCode(t, err, Unimplemented)
	st, err := c.Stream(within(t), 78, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.Recv(within(t), nil)
	wantCode(t, err, Unimplemented)
	for _, id := range []uint64{0, 0x1000, 0x100f} {
		if err := c.Post(within(t), id, nil); !errors.Is(err, ErrReserved) {
			t.Errorf("post of id %#x: %v", id, err)
		}
	}
}

// TestLarge_DoesNotBlockSmall: a large message goes in fragments, between which
// others get through. gofast sends nothing larger than its buffer.
func TestLarge_DoesNotBlockSmall(t *testing.T) {
	c, _ := pair(t, Options{MaxMessage: 8 << 20}, Options{Handlers: echoes(), MaxMessage: 8 << 20})
	ctx := within(t)
	large := bytes.Repeat([]byte("0123456789abcdef"), 8<<20/16)
	var wg sync.WaitGroup
	wg.Go(func() {
		if got, err := c.Request(ctx, echoID, large, nil); !bytes.Equal(got, large) {
			t.Errorf("a large echo: %d bytes, %v", len(got), err)
		}
	})
	for range 50 {
		if got, err := c.Request(ctx, echoID, []byte("small"), nil); string(got) != "small" {
			t.Errorf("a small echo: %q, %v", got, err)
		}
	}
	wg.Wait()
}

// TestFewOpaques_CallersWait: gofast's callers hang without an error; ours wait
// for those before them, and for their context.
func TestFewOpaques_CallersWait(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 20)
	let := sync.OnceFunc(func() { close(release) })
	h := echoes()
	h.Request(slowID, func(_ context.Context, data, dst []byte) ([]byte, error) {
		entered <- struct{}{}
		<-release
		return append(dst, data...), nil
	})
	c, _ := pair(t, Options{MaxCalls: 4}, Options{Handlers: h})
	t.Cleanup(let) // before the connections are closed, which waits for handlers
	ctx := within(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := c.Request(ctx, slowID, nil, nil); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		select {
		case <-entered:
		case <-ctx.Done():
			t.Fatal("the opaques are not used")
		}
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := c.Request(short, echoID, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller without an opaque: %v", err)
	}
	let()
	wg.Wait()
}

// TestSilentPeer_IsGivenUp: a peer that has said who it is and then nothing more.
func TestSilentPeer_IsGivenUp(t *testing.T) {
	c, s := pair(t, Options{Heartbeat: 300 * time.Millisecond, Missed: 2}, Options{Heartbeat: -1})
	defer func() { _ = s.Close() }()
	select {
	case <-c.Done():
		if !strings.Contains(c.Err().Error(), "heartbeat") {
			t.Errorf("the connection has ended since %v", c.Err())
		}
	case <-within(t).Done():
		t.Error("a silent peer is kept")
	}
}

// TestStuckPeer_IsCutOff: one that reads nothing takes no memory beyond the
// queue, and callers are let go.
func TestStuckPeer_IsCutOff(t *testing.T) {
	near, far := net.Pipe()
	ctx := within(t)
	accepted := make(chan *Conn, 1)
	gate := &gatedConn{Conn: far, open: make(chan struct{})}
	go func() {
		s, err := Accept(ctx, gate, Options{Heartbeat: -1})
		if err != nil {
			t.Error(err)
		}
		accepted <- s
	}()
	c, err := Client(ctx, near, Options{StuckTimeout: time.Millisecond, Queue: 4096, Heartbeat: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	s := <-accepted
	gate.shut.Store(true)
	var last error
	for last == nil && ctx.Err() == nil {
		last = c.Post(ctx, postID, make([]byte, 1000))
	}
	var lost *LostError
	if !errors.As(last, &lost) || !strings.Contains(last.Error(), "taken nothing") {
		t.Errorf("posts to a peer that reads nothing: %v", last)
	}
	close(gate.open)
	if s != nil {
		_ = s.Close()
	}
}
