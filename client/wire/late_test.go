package wire

import (
	"bytes"
	"context"
	"runtime"
	"testing"
)

// TestStream_LateReceiverLeavesNoGarbage has all that the credit allows wait to be
// received, again and again: the buffer for it is used again. A new one each time
// takes twice what waits, and large bodies are faster than the collector.
func TestStream_LateReceiverLeavesNoGarbage(t *testing.T) {
	const rounds, messages, size = 64, 7, 16 << 10 // what half the credit allows
	handlers := new(Handlers)
	handlers.Stream(streamID, func(ctx context.Context, st *Stream) error {
		b, err := st.Recv(ctx, nil)
		for range rounds {
			if b, err = st.Recv(ctx, b[:0]); err != nil { // the word that all is there
				return err
			}
			for range messages {
				if err := st.Send(ctx, b[:size]); err != nil {
					return err
				}
			}
		}
		return err
	})
	c, _ := pair(t, Options{}, Options{Handlers: handlers})
	ctx := within(t)
	word := bytes.Repeat([]byte("a"), size)
	st, err := c.Stream(ctx, streamID, word)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	var before, after runtime.MemStats
	var b []byte
	for i := range rounds {
		if i == rounds/2 {
			runtime.ReadMemStats(&before)
		}
		if err := st.Send(ctx, word); err != nil {
			t.Fatal(err)
		}
		awaitUnread(ctx, t, st, messages*size)
		for range messages {
			if b, err = st.Recv(ctx, b[:0]); err != nil || !bytes.Equal(b, word) {
				t.Fatalf("%d bytes, %v", len(b), err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	const waited = rounds / 2 * messages * size
	// The race detector has a sync.Pool forget a part of what it is given.
	if got := after.TotalAlloc - before.TotalAlloc; got > 2*waited {
		t.Errorf("%d bytes allocated for %d that waited, want at most %d", got, waited, 2*waited)
	}
}

// awaitUnread waits until so many bytes wait to be received.
func awaitUnread(ctx context.Context, t *testing.T, st *Stream, n int) {
	t.Helper()
	for ctx.Err() == nil {
		st.c.mu.Lock()
		have := len(st.unread) - st.begin
		st.c.mu.Unlock()
		if have >= n {
			return
		}
		runtime.Gosched()
	}
	t.Fatal(ctx.Err())
}
