package dbtest

import (
	"bytes"
	"fmt"
	"net"
	"time"
)

// awaitListener waits until a process called name takes connections at addr. output is
// what it prints, and is read when it has ended.
func (p *process) awaitListener(name, addr string, output *bytes.Buffer) error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if p.ended() {
			return fmt.Errorf("%s ended: %v\n%s", name, p.err, output)
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case <-p.done:
		case <-time.After(time.Millisecond):
		}
	}
	return fmt.Errorf("%s is not ready after %v", name, startTimeout)
}
