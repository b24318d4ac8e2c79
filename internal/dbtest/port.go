package dbtest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// freePort returns a TCP port of the loopback address that nobody listens on.
//
// It lies below the ports that systems give to outgoing connections. Taken from
// among those, a port could be lost while its server is being restarted, and a
// client that dials it in the meantime can be connected to itself.
func freePort() (int, error) {
	const first, last, tries = 15000, 29999, 50
	var err error
	for range tries {
		port := first + rand.IntN(last-first+1)
		var l net.Listener
		l, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}
