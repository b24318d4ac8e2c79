package logical

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/source"
)

func TestSnapshot_Sees(t *testing.T) {
	for _, c := range []struct {
		name string
		snap string
		xid  uint32
		want bool
	}{
		{"before all", "100:105:101,103", 99, true},
		{"ended among those in progress", "100:105:101,103", 102, true},
		{"in progress", "100:105:101,103", 103, false},
		{"the next one", "100:105:101,103", 105, false},
		{"later", "100:105:101,103", 106, false},
		{"the last that ended", "105:105:", 104, true},
		{"epoch above 32 bits", "4294967396:4294967401:4294967397", 101, false},
		{"epoch above 32 bits, ended", "4294967396:4294967401:4294967397", 102, true},
		{"before the wrap", "4294967296:4294967300:", math.MaxUint32, true},
		{"before the wrap, in progress", "4294967295:4294967300:4294967295", math.MaxUint32, false},
		{"after the wrap, not begun", "4294967290:4294967295:", 3, false},
		{"half the circle ahead", "100:100:", 100 + math.MaxInt32, false},
		{"more than half the circle", "100:100:", 101 + math.MaxInt32, true},
		{"behind by half the circle", "2147483748:2147483748:", 101, true},
	} {
		snap, err := parseSnapshot(c.snap)
		if err != nil {
			t.Fatal(err)
		}
		if got := snap.sees(c.xid); got != c.want {
			t.Errorf("%s: %s sees %d: %v", c.name, c.snap, c.xid, got)
		}
	}
}

func TestParseSnapshot_RefusesOtherTexts(t *testing.T) {
	for _, s := range []string{"", "1", "1:2", "1:2:3:4", "a:2:", "1:2:3,", "1:2:-3", "1:2: 3"} {
		if snap, err := parseSnapshot(s); err == nil {
			t.Errorf("%q was taken as %v", s, snap)
		}
	}
}

func mustSnapshot(t *testing.T, s string) snapshot {
	t.Helper()
	snap, err := parseSnapshot(s)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func TestSettler_BarrierWaitsForAllInProgress(t *testing.T) {
	const big = uint64(7) << 32
	var s settler
	// 101 and 103 are in progress, 105 and 106 have a number and no more.
	id := s.barrier(snapshot{xmin: big + 101, xmax: big + 105,
		xip: []uint64{big + 101, big + 103}}, big+107)
	if id&barrierID == 0 {
		t.Fatalf("ID %x is not that of a barrier", id)
	}
	settled := func(snap snapshot) bool {
		s.settle(snap)
		return s.settled([]*source.Tx{{ID: id}}, snap)[0]
	}
	at := func(xmax uint64, xip ...uint64) snapshot {
		for i := range xip {
			xip[i] += big
		}
		return snapshot{xmin: xmax, xmax: big + xmax, xip: xip}
	}
	if settled(at(105, 101, 103)) {
		t.Error("settled at once")
	}
	if settled(at(110, 103, 105)) {
		t.Error("settled with 103 and 105 in progress")
	}
	s.delivered(103)
	if settled(at(110, 103, 105)) {
		t.Error("settled with 105 in progress")
	}
	if settled(at(110, 103, 109, 105)) {
		t.Error("settled with 105 in progress")
	}
	s.idle([]uint32{105})
	if !settled(at(110, 103, 109)) {
		t.Error("not settled although 103 was delivered and 105 is idle")
	}
	if len(s.barriers) != 0 {
		t.Errorf("%d barriers are kept", len(s.barriers))
	}
}

func TestSettler_BarrierOfAQuietServerSettlesAtOnce(t *testing.T) {
	var s settler
	id := s.barrier(mustSnapshot(t, "100:100:"), 100)
	snap := mustSnapshot(t, "101:101:")
	s.settle(snap)
	got := s.settled([]*source.Tx{{ID: id}, {}, {ID: 100}, {ID: 101}}, snap)
	if d := cmp.Diff([]bool{true, true, true, false}, got); d != "" {
		t.Error(d)
	}
}
