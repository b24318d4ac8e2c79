package crew

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// The functions run one after the other, on a goroutine that is not the caller's.
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
}

// A panic is the caller's, and the clerk goes on.
func TestClerk_PanicsWhereItWasAsked(t *testing.T) {
	var c Clerk
	defer c.Close()
	func() {
		defer func() {
			got, _ := recover().(string)
			if !strings.Contains(got, "nil map") || !strings.Contains(got, "clerk_test.go") {
				t.Errorf("Do panicked with %q, want the function's panic and its place", got)
			}
		}()
		var nowhere map[string]int
		c.Do(0, func() { nowhere[""] = 1 })
	}()
	ran := false
	c.Do(0, func() { ran = true })
	if !ran {
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
