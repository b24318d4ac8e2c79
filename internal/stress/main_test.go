package stress

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A link that breaks off while it passes something on leaves what reads and passes on
// behind: toxiproxy's, which waits for a receiver that has gone.
func TestMain(m *testing.M) {
	waittest.SideBySide(4)
	const toxiproxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(dbtest.Wrap(m),
		goleak.IgnoreAnyFunction(toxiproxy+"/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction(toxiproxy+".(*ToxicLink).read"))
}

// duration is how long each load test runs; 0: its short form, of half a second for most, or in
// the long tests two seconds.
var duration = flag.Duration("stress.duration", 0, "how long each load test runs; 0: short forms")

// patience bounds every wait for something that has to happen.
var patience = waittest.Limit(time.Minute)

// length returns how long a load test runs.
func length(short time.Duration) time.Duration {
	switch {
	case *duration > 0:
		return *duration
	case waittest.Long():
		return max(short, 2*time.Second)
	}
	return short
}

// until polls ok, and fails the test when it does not come true in time.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	waittest.Until(t, what, ok)
}

// work lets a load test go on for d, and longer until every part of it has done something:
// on a busy machine a feed may be late all the while, and nothing comes from memory.
func work(t testing.TB, d time.Duration, parts ...*atomic.Int64) {
	t.Helper()
	pause(t.Context(), d)
	until(t, "every part does something", func() bool {
		return !slices.ContainsFunc(parts, func(n *atomic.Int64) bool { return n.Load() == 0 })
	})
}

// pause waits for d, or for the end of ctx, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// figures prints one line of what was measured.
func figures(t testing.TB, format string, args ...any) {
	t.Helper()
	fmt.Printf("%s: %s\n", t.Name(), fmt.Sprintf(format, args...))
}
