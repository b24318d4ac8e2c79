package testbed

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// Duration is how long each load test runs; 0: its short form, of half a second for most, or in
// the long tests two seconds.
var Duration = flag.Duration("stress.duration", 0, "how long each load test runs; 0: short forms")

// Patience bounds every wait for something that has to happen.
var Patience = waittest.Limit(time.Minute)

// Length returns how long a load test runs.
func Length(short time.Duration) time.Duration {
	switch {
	case *Duration > 0:
		return *Duration
	case waittest.Long():
		return max(short, 2*time.Second)
	}
	return short
}

// Work lets a load test go on for d, and longer until every part of it has done something:
// on a busy machine a feed may be late all the while, and nothing comes from memory.
func Work(t testing.TB, d time.Duration, parts ...*atomic.Int64) {
	t.Helper()
	Pause(t.Context(), d)
	waittest.Until(t, "every part does something", func() bool {
		return !slices.ContainsFunc(parts, func(n *atomic.Int64) bool { return n.Load() == 0 })
	})
}

// Breathe reports whether ctx goes on. What asks in a loop leaves most of the processors to what
// runs beside it, but in the long form of tests, which asks as often as it can.
func Breathe(ctx context.Context) bool {
	if waittest.Long() {
		return ctx.Err() == nil
	}
	return Pause(ctx, time.Millisecond)
}

// Pause waits for d, or for the end of ctx, and reports whether ctx goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Figures prints one line of what was measured.
func Figures(t testing.TB, format string, args ...any) {
	t.Helper()
	fmt.Printf("%s: %s\n", t.Name(), fmt.Sprintf(format, args...))
}
