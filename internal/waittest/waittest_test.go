package waittest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestLimit_GrowsWithTheMachine(t *testing.T) {
	defer factor.Store(factor.Swap(1000))
	if got := Limit(3 * time.Second); got != 30*time.Second {
		t.Errorf("3 s of a machine that is ten times slower are %v, want 30 s", got)
	}
	if left := time.Until(Deadline(time.Minute)); left < 9*time.Minute {
		t.Errorf("a minute ends in %v, want ten minutes", left)
	}
}

func TestMeasure_KeepsTheSlowest(t *testing.T) {
	defer factor.Store(factor.Swap(0))
	first := measure()
	if first < 100 || first > 100*slowest {
		t.Errorf("the factor is %d hundredths, want 100 to %d", first, 100*slowest)
	}
	factor.Store(100 * slowest)
	if got := measure(); got != 100*slowest {
		t.Errorf("the factor is %d hundredths after a slower time, want %d", got, 100*slowest)
	}
}

func TestLate_IsMoreThanTheLimit(t *testing.T) {
	defer factor.Store(factor.Swap(100 * slowest))
	if Late(20*time.Second, time.Second) || !Late(21*time.Second, time.Second) {
		t.Errorf("the limit of a second is %v", Limit(time.Second))
	}
	factor.Store(100)
	if Late(time.Second, time.Second) {
		t.Error("in time is late")
	}
}

func TestUntil_WaitsForTheCondition(t *testing.T) {
	asked := 0
	Until(t, "the third question", func() bool { asked++; return asked == 3 })
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

// A failure is told by a T of its own, whose goroutine Fatalf ends.
func TestUntil_FailsWhenNothingComes(t *testing.T) {
	defer factor.Store(factor.Swap(100))
	failed := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		untilWithin(failed, time.Millisecond, time.Millisecond, "never", func() bool { return false },
			func() string { return "the log" })
	}()
	<-done
	if !strings.HasPrefix(failed.text, "never: not within ") || !strings.HasSuffix(failed.text, "s\nthe log") {
		t.Errorf("failed with %q", failed.text)
	}
}

// A failing notes how it fails.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
