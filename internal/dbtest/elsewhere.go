package dbtest

import (
	"net"
	"testing"
)

// Elsewhere returns an address of this machine, of IPv4 and without a port, that is not of the
// loopback: a listener on every address takes a connection to it for one of another machine. A
// machine that has none fails the test.
func Elsewhere(t testing.TB) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Fatal("this machine has no address but those of the loopback")
	return ""
}
