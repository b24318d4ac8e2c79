package clicklog

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hotrow/hotrow/internal/waittest"
)

// smallDisk mounts a file system of n bytes.
func smallDisk(t *testing.T, n int) string {
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

// TestLog_FullDiskDropsAndCounts: no store may find a page without a block, which
// would be the end of the process.
func TestLog_FullDiskDropsAndCounts(t *testing.T) {
	dir := smallDisk(t, 1<<20)
	o := small(filepath.Join(dir, "log"))
	o.Keep = 64 << 20
	l := open(t, o)
	w, r := l.Writer(0), l.NewReader(nil)
	stored, failed := 0, uint64(0)
	for start := time.Now(); failed < 100 || l.Stats().Full == ""; {
		if waittest.Late(time.Since(start), 20*time.Second) {
			t.Fatal("the disk is never full")
		}
		if seq, ok := w.Append(click(stored)); seq != 0 {
			stored++
		} else if !ok {
			t.Fatal("refused")
		} else {
			failed++
			time.Sleep(100 * time.Microsecond)
		}
	}
	if st := l.Stats(); st.Dropped != failed {
		t.Errorf("counted %d of %d dropped", st.Dropped, failed)
	}
	times, bad := readAll(t, r)
	wantRange(t, times, 0, stored)
	if bad != 0 || stored < 1000 {
		t.Errorf("%d stored, %d bad", stored, bad)
	}
	for _, c := range r.Places() {
		l.Release(c)
	}
	mustAppend(t, w, stored)
}

// TestLog_OpensOnAFullDisk: a process that cannot record must still redirect.
func TestLog_OpensOnAFullDisk(t *testing.T) {
	dir := smallDisk(t, 256<<10)
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 220<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, small(filepath.Join(dir, "log")))
	if seq, ok := l.Writer(0).Append(click(0)); seq != 0 || !ok {
		t.Errorf("appended %d, %v", seq, ok)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l.Writer(0), 0)
}

// faults returns how many page faults this thread has had.
func faults(t *testing.T) int64 {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		t.Fatal(err)
	}
	return int64(u.Minflt + u.Majflt)
}

// TestAppend_FindsItsPagesTouched: a page fault takes the locks of the file system
// and waits for its journal; so a loop must have next to none, also while what
// lies behind it is synced each second. A process that writes as fast as the
// database takes it stays behind the provisioner.
func TestAppend_FindsItsPagesTouched(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	l := open(t, Options{Dir: t.TempDir(), Loops: 1, Segment: 1 << 20, Keep: 64 << 20})
	w := l.Writer(0)
	mustAppend(t, w, 0)
	r := typical()
	pages, had, most := 0, int64(0), time.Duration(0)
	for start := time.Now(); time.Since(start) < 2500*time.Millisecond; time.Sleep(2 * time.Millisecond) {
		before, began, at := faults(t), time.Now(), w.pos
		for range 60 {
			w.Append(r)
		}
		most = max(most, time.Since(began))
		had += faults(t) - before
		pages += int(w.pos-at) / pageSize
		for _, c := range l.Tips() {
			l.Release(c)
		}
	}
	t.Logf("%d pages written, %d page faults, 60 appends in %v at most", pages, had, most)
	if st := l.Stats(); st.Dropped > 0 {
		t.Errorf("%d dropped", st.Dropped)
	}
	if had > int64(pages)/4 {
		t.Errorf("%d page faults for %d pages: the pages ahead are not touched", had, pages)
	}
}

// TestSync_LeavesTheWritersPageAlone: what was synced is not written to again.
func TestSync_LeavesTheWritersPageAlone(t *testing.T) {
	o := small(t.TempDir())
	l := open(t, o)
	w := l.Writer(0)
	mustAppend(t, w, 0)
	s := l.find(0, 0)
	if err := l.syncStream(s, false); err != nil {
		t.Fatal(err)
	}
	if s.synced == 0 || w.floor.Load()%pageSize != 0 || w.floor.Load() < s.synced {
		t.Fatalf("synced up to %d, the floor is %d", s.synced, w.floor.Load())
	}
	if seq := mustAppend(t, w, 1); seq.bytes() != w.floor.Load() {
		t.Errorf("the next record is at %d, the floor %d", seq.bytes(), w.floor.Load())
	}
	times, bad := readAll(t, l.NewReader(nil))
	wantRange(t, times, 0, 2)
	if bad != 0 {
		t.Errorf("the rest of the page counts as %d bad records", bad)
	}
}

func TestCommit_WaitsForTheDisk(t *testing.T) {
	o := small(t.TempDir())
	o.Sync = SyncAlways
	l := open(t, o)
	w := l.Writer(0)
	for i := range 1000 { // more than a segment
		mustAppend(t, w, i)
	}
	w.Commit()
	if w.committed != w.pos {
		t.Errorf("committed up to %d of %d", w.committed, w.pos)
	}
	if seq, ok := l.Shared().Append(click(1)); seq == 0 || !ok {
		t.Error("not appended")
	}
	if st := l.Stats(); st.Faults > 0 {
		t.Errorf("%+v", st)
	}
}

// TestTouch_ChangesNothing: both ways of touching leave every byte as it is, also
// where the last page is not whole.
func TestTouch_ChangesNothing(t *testing.T) {
	for name, touch := range map[string]func([]byte, uint64, uint64) error{
		"as a whole": touchRange, "each": touchEach,
	} {
		s, err := create(filepath.Join(t.TempDir(), "x.seg"), 4*pageSize)
		if err != nil {
			t.Fatal(err)
		}
		copy(s.mem[pageSize-2:], "clicks")
		if err := touch(s.mem, 0, 3*pageSize-100); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := string(s.mem[pageSize-2 : pageSize+4]); got != "clicks" {
			t.Errorf("%s: %q", name, got)
		}
		s.unmap()
		if err := s.file.Close(); err != nil {
			t.Error(err)
		}
	}
}
