package tier_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// small mounts a file system of n bytes.
func small(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", n)); err != nil {
		t.Skipf("a file system can be mounted by root only: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestDisk_FullDiskStopsPutsAndStillDrops: what was dropped must not come back,
// whether the disk has space or not.
func TestDisk_FullDiskStopsPutsAndStillDrops(t *testing.T) {
	path := filepath.Join(small(t, 4<<20), "cache.db")
	var log bytes.Buffer
	d, err := trusted(t, tier.DiskOptions{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	s := d.Source("main")
	s.Begin(at(1))
	d.Put(ref("kept"), tiertest.Document(100, 1))
	d.Put(ref("dropped"), tiertest.Document(100, 1))
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(filepath.Dir(path), "filler")
	if err := os.WriteFile(filler, make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the file system is not full")
	}
	d.Drop(ref("dropped"))
	for i := range 200 {
		d.Put(ref(fmt.Sprint(i)), tiertest.Document(3000, 1))
	}
	err = d.Sync()
	if _, ok := d.Get(ref("dropped")); ok {
		t.Error("what was dropped is handed out")
	}
	d.Put(ref("later"), tiertest.Document(100, 1))
	if _, ok := d.Get(ref("later")); ok {
		t.Error("a full disk takes puts")
	}
	if room, err := d.Room(t.Context(), 100); room != 0 || err != nil {
		t.Errorf("a full disk has room for %d bytes: %v", room, err)
	}
	on := d.DiskStats().On
	if on && !d.DiskStats().Full {
		t.Error("a full disk is not said to be full")
	}
	t.Logf("Sync: %v, on: %v\n%s", err, on, log.String())
	if strings.Count(log.String(), "the disk is full") != 1 {
		t.Error("that the disk is full is not logged once")
	}
	if on != (err == nil) {
		t.Errorf("the tier is on: %v, Sync says: %v", on, err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	again, err := trusted(t, tier.DiskOptions{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if _, ok := again.Get(ref("dropped")); ok {
		t.Error("what was dropped has come back")
	}
	if _, ok := again.Get(ref("kept")); ok != on {
		t.Errorf("what was kept is there: %v, the tier was on: %v", ok, on)
	}
}
