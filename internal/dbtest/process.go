package dbtest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A process is a program that ends, at the latest, with the test binary.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended; err is set before
	err  error
}

// Start starts a program that ends, at the latest, with the test binary. What it returns is closed
// when that has ended, and cmd.ProcessState is there.
func Start(cmd *exec.Cmd) (ended <-chan struct{}, err error) {
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	return p.done, nil
}

// start starts cmd.
//
// Linux kills a child with the parent's death when the thread that started it
// ends, not the process (PR_SET_PDEATHSIG in prctl(2)). Therefore the goroutine
// that starts it keeps its thread until the child has ended.
func start(cmd *exec.Cmd) (*process, error) {
	dieWithParent(cmd)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop sends each signal in turn until the process has ended, and gives each
// one this long.
func (p *process) stop(wait time.Duration, signals ...os.Signal) error {
	for _, sig := range signals {
		if err := p.cmd.Process.Signal(sig); errors.Is(err, os.ErrProcessDone) {
			<-p.done
			return nil
		} else if err != nil {
			return err
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(wait):
		}
	}
	return errors.New("the process did not end")
}
