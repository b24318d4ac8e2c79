//go:build !linux

package eventloop

import "net"

// startLoops says that there are no event loops here.
func startLoops(*Server, net.Listener) (engine, error) { return nil, nil }

// tuneConn leaves a connection as it is.
func tuneConn(net.Conn) {}
