package crew

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A function lets others pass until the patience is over, and the next one does
// again. Other threads are as they were.
func TestClerk_LetsOthersPassForAWhile(t *testing.T) {
	before := policyOf(t, 0)
	c := Clerk{Nice: 7}
	defer c.Close()
	for range 2 {
		c.Do(time.Hour, func() {
			if got := policyOf(t, 0); got.Policy != schedIdle {
				t.Errorf("the thread has policy %d, want SCHED_IDLE", got.Policy)
			}
		})
		c.Do(time.Millisecond, func() {
			want := min(before.Nice+7, 19)
			for deadline := time.Now().Add(10 * time.Second); ; {
				got := policyOf(t, 0)
				if got.Policy == before.Policy && got.Nice == want {
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("the thread waits with policy %d, nice %d; want %d, %d",
						got.Policy, got.Nice, before.Policy, want)
					return
				}
			}
		})
	}
	if after := policyOf(t, 0); after != before {
		t.Errorf("who asked has policy %+v now, was %+v", after, before)
	}
}

// policyOf returns the policy of a thread, 0: this one.
func policyOf(t *testing.T, thread int) unix.SchedAttr {
	a, err := unix.SchedGetAttr(thread, 0)
	if err != nil {
		t.Error(err)
		return unix.SchedAttr{}
	}
	return *a
}
