package crew

import (
	"runtime"
	"testing"
	"time"
)

// A function has run when Do returns, and its panic is the caller's.
func TestClerk_RunsWhatItIsGiven(t *testing.T) {
	var c Clerk
	defer c.Close()
	n := 0
	for range 3 {
		c.Do(time.Hour, func() { n++ })
	}
	if n != 3 {
		t.Errorf("%d functions have run when Do had returned three times", n)
	}
	func() {
		defer func() {
			if got := recover(); got != "as expected" {
				t.Errorf("Do panicked with %v, want the function's own", got)
			}
		}()
		c.Do(0, func() { panic("as expected") })
	}()
	c.Do(0, func() { n++ })
	if n != 4 {
		t.Error("after a panic the clerk runs nothing")
	}
}

// A clerk that was closed begins again, and leaves the number of processors as it
// was.
func TestClerk_BeginsAgainAfterClose(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer func() {
		if after := runtime.GOMAXPROCS(0); after != before {
			t.Errorf("GOMAXPROCS is %d, was %d", after, before)
		}
	}()
	var c Clerk
	for range 3 {
		ran := false
		c.Do(time.Hour, func() { ran = true })
		if now := runtime.GOMAXPROCS(0); now != before+1 {
			t.Errorf("GOMAXPROCS is %d beside a clerk, was %d", now, before)
		}
		c.Close()
		c.Close()
		if !ran {
			t.Error("nothing has run")
		}
	}
}

// What it counts for it gives back when it has rested, and not while it works.
func TestClerk_CountsWhileItWorks(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	c := Clerk{Askers: 2}
	c.Do(time.Hour, func() {
		c.count.rest() // as the timer does that an earlier function has set
		if now := runtime.GOMAXPROCS(0); now != before+3 {
			t.Errorf("GOMAXPROCS is %d while it works, want %d", now, before+3)
		}
	})
	c.count.rest() // too soon
	if now := runtime.GOMAXPROCS(0); now != before+3 {
		t.Errorf("GOMAXPROCS is %d right after, want %d", now, before+3)
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.GOMAXPROCS(0) != before {
		if time.Now().After(deadline) {
			t.Fatalf("GOMAXPROCS is %d for ever, was %d", runtime.GOMAXPROCS(0), before)
		}
		runtime.Gosched()
	}
	c.Close() // there is nothing left to give
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("GOMAXPROCS is %d, was %d", after, before)
	}
}
