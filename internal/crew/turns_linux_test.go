package crew

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// All threads have short turns, also those that are started later, and a clerk's lets
// others pass nevertheless.
func TestShortTurns_AreThoseOfEachThread(t *testing.T) {
	if policyOf(t, 0).Runtime == 0 {
		t.Log("this kernel gives no thread turns of its own")
		return
	}
	keep := policyOf(t, 0)
	if err := ShortTurns(); err != nil {
		t.Fatal(err)
	}
	defer func() { // as the next test expects it
		for _, id := range threads(t) {
			_ = unix.SchedSetAttr(id, &keep, 0)
		}
	}()
	var c Clerk
	defer c.Close()
	c.Do(0, func() {})
	hold := make(chan struct{})
	var held, done sync.WaitGroup
	for range 20 {
		held.Add(1)
		done.Go(func() {
			runtime.LockOSThread() // to the end of the goroutine, and of the thread
			held.Done()
			<-hold
		})
	}
	held.Wait()
	for _, id := range threads(t) {
		// One that lets all others pass has no turn to end.
		if a := policyOf(t, id); a.Policy != schedIdle && a.Runtime != uint64(shortTurn) {
			t.Errorf("thread %d has turns of %d ns, want %d", id, a.Runtime, shortTurn)
		}
	}
	close(hold)
	done.Wait()
}

// threads returns the threads of this process.
func threads(t *testing.T) (ids []int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}
