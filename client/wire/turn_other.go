//go:build !unix

package wire

import "net"

// canTurn reports whether callers may read themselves. Here they cannot look whether
// there is something to read.
func canTurn(net.Conn, int) bool { return false }

func (c *Conn) receiveNow() error { return nil }
