package client

import (
	"errors"
	"fmt"
	"testing"
)

// TestCut_NoAcknowledgedWriteIsLost cuts the connection after each of the bytes
// that the server sends: a write that was acknowledged is there, one that was
// not says so, and reads do not fail.
func TestCut_NoAcknowledgedWriteIsLost(t *testing.T) {
	s := newSite(t)
	p := newProxy(t, s.wireURL[len("hotrow://"):])
	direct := open(t, s.wireURL)
	unknown := 0
	for cut := range 400 {
		c := open(t, "hotrow://"+p.address(), WithConnections(1))
		p.after(cut)
		want := fmt.Sprint("CUT ", cut)
		_, err := c.Patch(within(t), "depts", "40", map[string]any{"deptLocation": want})
		switch {
		case err == nil:
			if got := location(t, direct, "40"); got != want {
				t.Fatalf("cut at %d: acknowledged %q, found %q", cut, want, got)
			}
		case errors.Is(err, ErrUnknownOutcome):
			unknown++
		case !errors.Is(err, ErrUnavailable):
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if _, err := c.Get(within(t), "depts", "40"); err != nil {
			t.Fatalf("cut at %d: get: %v", cut, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if unknown == 0 {
		t.Error("no write was cut before its answer")
	}
}
