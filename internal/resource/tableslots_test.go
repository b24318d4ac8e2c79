package resource

import (
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// TestPlaces_OneTableLeavesSomeToOthers: loads of a table that somebody has locked take half of
// the places, whatever resources they are of, and the error of one more names the table.
func TestPlaces_OneTableLeavesSomeToOthers(t *testing.T) {
	o := SourceOptions{Readers: 16, Acquire: time.Millisecond}.withDefaults()
	u := &sourceState{name: "s", opts: o, loadPermits: make(chan struct{}, o.Readers),
		bypass: make(chan struct{}, o.bypass())}
	a, b, c := u.lane("a"), u.lane("b"), u.lane("c")
	if u.lane("a") != a {
		t.Error("a table has two lanes")
	}
	with := &revision{lanes: []*lane{b, c}}
	both := lanesOf(&revision{lanes: []*lane{a, b}}, with)
	if len(both) != 3 || both[0] != a || both[1] != b || both[2] != c {
		t.Errorf("the lanes of two forms are %v", both)
	}
	var held []func()
	for i := range 8 {
		lanes := []*lane{a}
		if i%2 == 0 { // of a resource that embeds rows of it
			lanes = both
		}
		release, err := u.place(t.Context(), lanes)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	_, err := u.place(t.Context(), []*lane{a})
	if source.ClassOf(err) != source.Busy || !strings.Contains(err.Error(), "8 readers of table a") {
		t.Errorf("a ninth load: %v", err)
	}
	if len(b.loads) != 4 || len(u.loadPermits) != 8 {
		t.Errorf("%d of b, %d of all are taken", len(b.loads), len(u.loadPermits))
	}
	for range 4 {
		release, err := u.place(t.Context(), []*lane{b})
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, release)
	}
	for _, release := range held {
		release()
	}
	if n := len(a.loads) + len(b.loads) + len(c.loads) + len(u.loadPermits); n != 0 {
		t.Errorf("%d places are taken after all", n)
	}
}

// TestPlaces_OfOneTableAreAll: where there is no other table nobody has to be left something.
func TestPlaces_OfOneTableAreAll(t *testing.T) {
	o := SourceOptions{Readers: 4, Acquire: time.Millisecond}.withDefaults()
	u := &sourceState{opts: o, loadPermits: make(chan struct{}, o.Readers)}
	for range 4 {
		if _, err := u.place(t.Context(), []*lane{u.lane("a")}); err != nil {
			t.Fatal(err)
		}
	}
}
