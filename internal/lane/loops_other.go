//go:build !linux

package lane

import "net"

// startLoops says that there are no event loops here.
func startLoops(*Server, net.Listener) (form, error) { return nil, nil }

// tuneConn leaves a connection as it is.
func tuneConn(net.Conn) {}
