//go:build !linux

package eventloop

import "net"

// keepAlive has nothing to do: package net asks after the client of each connection that it
// accepts.
func keepAlive(net.Listener) {}
