package resource

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// A reload that fails leaves nothing behind: no revision, no goroutine, no memory, nothing of the
// disk's, and what is served goes on from memory.
func TestSet_FailedReloadsLeaveNothing(t *testing.T) {
	disk, err := tier.OpenDisk(tier.DiskOptions{Path: filepath.Join(t.TempDir(), "cache.db"),
		MaxBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = disk.Close() }()
	h := newHouse(t, func(o *SetOptions) { o.Lists, o.Disk = 64<<20, disk })
	h.hit("emp", "7782")
	h.keepList("dept", 5)
	bad := append(houseSpecs(), Spec{Source: "main",
		Table: &source.Spec{Name: "none", Table: "none"}})
	fail := func() {
		if err := h.set.Reload(t.Context(), bad); err == nil {
			t.Fatal("a table that is not there was reloaded")
		}
	}
	used := func() (goroutines int, heap uint64) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	fail() // what is made once
	routines, heap := used()
	for range 20 {
		fail()
	}
	h.until(func() bool { now, _ := used(); return now <= routines })
	if _, now := used(); now > heap+4<<20 {
		t.Errorf("%d KiB of heap after 20 failures, %d before", now>>10, heap>>10)
	}
	if err := h.set.Check(); err != nil {
		t.Error(err)
	}
	h.hit("emp", "7782")
	if a := h.list("dept", 5, Options{}); a.Origin != HitMemory {
		t.Errorf("a list is answered as %v after a reload that has failed", a.Origin)
	}
}
