package workers

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A function that panics ends alone, and the goroutine goes on with others.
func TestPool_OutlivesPanics(t *testing.T) {
	var c Pool
	before := Panics()
	for range 20 {
		ended, done := make(chan struct{}), make(chan struct{})
		c.Go(func() {
			defer close(ended)
			panic("oops")
		})
		<-ended
		c.Go(func() { close(done) })
		<-done
	}
	for end := waittest.Deadline(time.Minute); Panics()-before != 20; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d panics were counted, want 20", Panics()-before)
		}
	}
}

// forget has nothing told of any place, as in a new process.
func forget() {
	panics.mu.Lock()
	defer panics.mu.Unlock()
	panics.at = nil
}

// The log shows the stack of each place once, however often it panics, with what it was in.
func TestCaught_LogsEachPlaceOnce(t *testing.T) {
	forget()
	var text strings.Builder
	log := slog.New(slog.NewTextHandler(&text, nil))
	var none *struct{ n int }
	catch := func(f func()) (err error) {
		defer func() { err = Caught(log, "load emps", recover()) }()
		f()
		return nil
	}
	for range 100 {
		if err := catch(func() { none.n++ }); !errors.Is(err, ErrPanic) ||
			!strings.Contains(err.Error(), "load emps") {
			t.Fatalf("error %v", err)
		}
	}
	if err := catch(func() {}); err != nil {
		t.Errorf("error %v of what has not panicked", err)
	}
	_ = catch(func() { panic("another place") })
	lines := strings.Count(text.String(), "\n")
	if lines != 2 || !strings.Contains(text.String(), "TestCaught_LogsEachPlaceOnce.func2") ||
		!strings.Contains(text.String(), "nil pointer dereference") {
		t.Errorf("%d lines for two places:\n%s", lines, text.String())
	}
	if text.Len() > 2*(maxStack+maxStack/2) {
		t.Errorf("%d bytes of log", text.Len())
	}
}

// Of a place that goes on the log tells once a minute, with the number.
func TestTell_GoesOnEachMinute(t *testing.T) {
	forget()
	at := time.Now()
	first, _ := tell("a place", at)
	for range 10 {
		if again, times := tell("a place", at.Add(time.Second)); again || times != 0 {
			t.Errorf("told again within the minute: %v, %d", again, times)
		}
	}
	if again, times := tell("a place", at.Add(panicEvery)); !first || again || times != 12 {
		t.Errorf("told first %v, again %v with %d times, want 12", first, again, times)
	}
}
