package eventloop

import (
	"net"

	"golang.org/x/sys/unix"
)

// A connection may be silent for ever. Whether its client is still there is asked after five
// minutes, and three times more, a minute apart: the times of Redis' tcp-keepalive.
const (
	keepAliveIdle     = 300 // seconds
	keepAliveInterval = 60
	keepAliveCount    = 3
)

// keepAlive has the connections that l accepts find out that their client is gone: they
// inherit the options of their listener. A socket that refuses them is as it was.
func keepAlive(l net.Listener) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for _, o := range [][3]int{
			{unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAliveIdle},
			{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAliveInterval},
			{unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepAliveCount},
		} {
			_ = unix.SetsockoptInt(int(fd), o[0], o[1], o[2])
		}
	})
}
