package clicks

import (
	"fmt"
	"runtime"
	"syscall"
)

// behind is by how much the threads that take clicks to the database are nicer
// than those that answer: a tenth of the weight where both want a processor.
const behind = 10

// stepBehind gives the calling goroutine a thread of its own that lets the event
// loops pass. A batch is tens of milliseconds of work: at the same priority a loop
// that has something to do waits for a part of them. On Linux each thread has a
// nice value of its own, and it ends with the goroutine.
func stepBehind() error {
	runtime.LockOSThread()
	thread := syscall.Gettid()
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread) // 20 less the nice value
	if err == nil {
		err = syscall.Setpriority(syscall.PRIO_PROCESS, thread, min(20-raw+behind, 19))
	}
	if err != nil {
		return fmt.Errorf("lower the priority of a thread: %w", err)
	}
	return nil
}
