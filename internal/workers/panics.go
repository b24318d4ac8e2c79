package workers

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A panic is a bug of ours. It ends what it happened in, with an error for those who wait,
// and neither the process nor what others do. Each place that may see one gives it to Caught.

// ErrPanic is within the error of what has ended by a panic.
var ErrPanic = errors.New("a defect of hotrow, which its log shows")

const (
	// maxPlaces is of how many places in the code the log shows each its first panic.
	maxPlaces = 64

	// panicEvery is how often the log tells of further panics of a place.
	panicEvery = time.Minute

	// maxStack is how much of a stack the log shows, in bytes.
	maxStack = 8 << 10
)

// panics are those of this process.
var panics struct {
	count atomic.Uint64

	mu sync.Mutex // guards at
	at map[string]*panicPlace
}

// A panicPlace is what the log has told of one place.
type panicPlace struct {
	told  time.Time
	times uint64
}

// Panics returns how many panics were caught in this process.
func Panics() uint64 { return panics.count.Load() }

// Caught counts v, which recover has returned in the goroutine that has panicked, and returns
// the error for those who wait for what: "load emps". The log shows the stack of each place
// once, and then its count once a minute. nil: slog's own log. A nil v is no panic, and no error.
func Caught(log *slog.Logger, what string, v any) error {
	if v == nil {
		return nil
	}
	panics.count.Add(1)
	if log == nil {
		log = slog.Default()
	}
	place := panicked()
	first, times := tell(place, time.Now())
	switch {
	case first:
		stack := debug.Stack()
		log.Error("a defect of hotrow: please report it", "during", what, "panic", v,
			"stack", string(stack[:min(len(stack), maxStack)]))
	case times > 0:
		log.Error("a defect of hotrow, whose stack the log has shown", "during", what,
			"panic", v, "place", place, "times", times)
	}
	return fmt.Errorf("%s: %w", what, ErrPanic)
}

// Guard returns a function that runs f, whose panic ends f alone; see Caught.
func Guard(log *slog.Logger, what string, f func()) func() {
	return func() {
		defer func() { _ = Caught(log, what, recover()) }()
		f()
	}
}

// tell reports whether the log is to show the stack of a place, or how often it has
// panicked; neither: it was told lately.
func tell(place string, now time.Time) (first bool, times uint64) {
	panics.mu.Lock()
	defer panics.mu.Unlock()
	p := panics.at[place]
	if p == nil {
		if len(panics.at) == maxPlaces {
			return false, 0
		}
		if panics.at == nil {
			panics.at = make(map[string]*panicPlace)
		}
		panics.at[place] = &panicPlace{told: now, times: 1}
		return true, 1
	}
	if p.times++; now.Sub(p.told) < panicEvery {
		return false, 0
	}
	p.told = now
	return false, p.times
}

// panicked returns the place whose panic a caller of Caught has recovered.
func panicked() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	place, within := "unknown", false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		runtimes := strings.HasPrefix(f.Function, "runtime.")
		if within && !runtimes {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
		within = within || f.Function == "runtime.gopanic"
	}
	return place
}
