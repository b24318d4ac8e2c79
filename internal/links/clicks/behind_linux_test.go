package clicks

import (
	"runtime"
	"syscall"
	"testing"
)

// A thread that steps behind is nicer by so much, and others are as they were.
func TestStepBehind_LowersItsThreadAlone(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := niceOf(t, syscall.Gettid())
	got := make(chan int)
	go func() { // its thread ends with it
		if err := stepBehind(); err != nil {
			t.Error(err)
		}
		got <- niceOf(t, syscall.Gettid())
	}()
	if nice := <-got; nice != min(before+behind, 19) {
		t.Errorf("nice %d, that of who started it is %d", nice, before)
	}
	if after := niceOf(t, syscall.Gettid()); after != before {
		t.Errorf("who started it is of nice %d now, was %d", after, before)
	}
}

// niceOf returns the nice value of a thread.
func niceOf(t *testing.T, thread int) int {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	if err != nil {
		t.Error(err)
	}
	return 20 - raw
}
