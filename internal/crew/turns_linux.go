package crew

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// shortTurn is the least that Linux takes.
const shortTurn = 100 * time.Microsecond

// ShortTurns gives each thread of this process, and each that they will start, short
// turns of a processor: a thread that wakes, as one does for a request, waits that long
// at most for another one of the process which computes, instead of some milliseconds.
// Others are the collector of garbage and whoever reads a database. It is for servers
// that share a processor with their own work, and does nothing before Linux 6.12.
//
// Threads that have another policy than the normal one, or shorter turns, keep them. An
// error says what the system does not allow.
func ShortTurns() error {
	// A thread that is started meanwhile may have what was before.
	for again := true; again; {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("short turns: %w", err)
		}
		again = false
		for _, task := range tasks {
			changed, err := shorten(task.Name())
			if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
				return fmt.Errorf("short turns: thread %s: %w", task.Name(), err)
			}
			again = again || changed
		}
	}
	return nil
}

// shorten gives one thread short turns, and reports whether it had longer ones.
func shorten(name string) (changed bool, err error) {
	id, err := strconv.Atoi(name)
	if err != nil {
		return false, err
	}
	a, err := unix.SchedGetAttr(id, 0)
	if err != nil {
		return false, err
	}
	// Where turns are not known Runtime is 0.
	if a.Policy != schedNormal || a.Runtime <= uint64(shortTurn) {
		return false, nil
	}
	a.Runtime = uint64(shortTurn)
	return true, unix.SchedSetAttr(id, a, 0)
}
