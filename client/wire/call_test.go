package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// onlyTimed is a context that ends at its deadline, and not before.
type onlyTimed struct{ context.Context }

func (onlyTimed) OnlyTimed() {}

// TestDeadline_OfManyCallers: of those that wait side by side, who is out of time ends at its
// deadline, not before, and the next call is not ended by what the one before has left.
func TestDeadline_OfManyCallers(t *testing.T) {
	release := make(chan struct{})
	h := echoes()
	h.Request(slowID, func(_ context.Context, _, dst []byte) ([]byte, error) {
		<-release
		return dst, nil
	})
	c, _ := pair(t, Options{}, Options{Handlers: h})
	defer close(release)
	ask := func(id uint64, limit time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_, err := c.Request(onlyTimed{ctx}, id, []byte("x"), nil)
		if at, _ := ctx.Deadline(); err != nil && time.Now().Before(at) {
			return fmt.Errorf("%v before its time: %w", time.Until(at), err)
		}
		return err
	}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 20 {
				if err := ask(slowID, 5*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("out of time: %v", err)
				}
				if err := ask(echoID, 30*time.Second); err != nil {
					t.Errorf("in time: %v", err)
				}
			}
		})
	}
	callers.Wait()
}
