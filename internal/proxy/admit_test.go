package proxy

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/admit"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestAdmit_BoundsClients of each listener; who has left makes room.
func TestAdmit_BoundsClients(t *testing.T) {
	o := loopbackAllowed()
	o.Admit = admit.Bounds{Connections: func() (all, ofOne int) { return 2, 1 }}
	s, addr := start(t, o)
	dial := func() net.Conn {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		_ = nc.SetReadDeadline(waittest.Deadline(time.Minute))
		return nc
	}
	first, _ := dial(), dial()
	waittest.Until(t, "two are open", func() bool { return s.Stats().Clients == 2 })
	if n, err := dial().Read(make([]byte, 1)); n > 0 || err != io.EOF {
		t.Errorf("one too many reads %d bytes, %v", n, err)
	}
	if n := s.Stats().TooMany; n != 1 {
		t.Errorf("%d are counted", n)
	}
	_ = first.Close()
	waittest.Until(t, "one has left", func() bool { return s.Stats().Clients == 1 })
	dial()
	waittest.Until(t, "there is room", func() bool { return s.Stats().Clients == 2 })
	if n := s.Stats().TooMany; n != 1 {
		t.Errorf("%d are counted when there is room", n)
	}
}
