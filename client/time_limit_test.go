package client

import (
	"context"
	"errors"
	"testing"
	"time"
)

// limited returns parent with a limit, and what ends it.
func limited(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l := new(timeLimit)
	return l.within(parent, d), l.end
}

func TestTimeLimit_EndsAtItsTime(t *testing.T) {
	ctx, cancel := limited(context.Background(), 20*time.Millisecond)
	defer cancel()
	at, ok := ctx.Deadline()
	if err := ctx.Err(); err != nil || !ok || time.Until(at) > 20*time.Millisecond {
		t.Fatalf("at first: %v, %v, %v", err, at, ok)
	}
	child, stop := context.WithCancel(ctx)
	defer stop()
	<-child.Done()
	if err := child.Err(); !errors.Is(err, context.DeadlineExceeded) || time.Now().Before(at) {
		t.Errorf("%v, %v before its time", err, time.Until(at))
	}
	<-ctx.Done()
	unseen, cancel := limited(context.Background(), time.Millisecond)
	defer cancel()
	for until := time.Now().Add(time.Minute); unseen.Err() == nil; {
		if time.Now().After(until) {
			t.Fatal("one that nobody waits for does not end")
		}
	}
	if err := unseen.Err(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that nobody waits for: %v", err)
	}
}

func TestTimeLimit_IsEndedByItsCall(t *testing.T) {
	for _, waited := range []bool{false, true} {
		ctx, cancel := limited(context.Background(), time.Hour)
		if waited {
			_ = ctx.Done()
		}
		cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
			t.Fatal("it does not end")
		}
		if err := ctx.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("waited for %v: %v", waited, err)
		}
	}
}

func TestTimeLimit_EndsWithItsParent(t *testing.T) {
	parent, stop := context.WithCancel(context.Background())
	ctx, cancel := limited(parent, time.Hour)
	defer cancel()
	stop()
	<-ctx.Done()
	if err := ctx.Err(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
