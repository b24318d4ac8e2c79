package resource

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/tier"
)

// newDiskHouse is a house whose memory keeps nothing, so that the disk answers.
func newDiskHouse(t *testing.T, path string, change func(*SetOptions)) *house {
	t.Helper()
	d, err := tier.OpenDisk(tier.DiskOptions{Path: path, MaxBytes: 16 << 20,
		FlushEvery: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return newHouse(t, func(o *SetOptions) {
		o.Memory, o.Disk = tier.NewMemory(0), d
		if change != nil {
			change(o)
		}
	})
}

func TestDisk_AnswersWhatMemoryForgot(t *testing.T) {
	h := newDiskHouse(t, filepath.Join(t.TempDir(), "cache.db"), nil)
	want, from := h.get("dept", "10", Options{})
	if from != Stored {
		t.Fatalf("the first read comes from %v", from)
	}
	for range 3 {
		got, from := h.get("dept", "10", Options{})
		if got != want || from != HitDisk {
			t.Errorf("read again: %s from %v, want %s from %v", got, from, want, HitDisk)
		}
	}
	if got, from := h.get("dept", "77", Options{}); got != "" || from != Stored {
		t.Errorf("no row: %q from %v", got, from)
	}
	if got, from := h.get("dept", "77", Options{}); got != "" || from != HitDisk {
		t.Errorf("no row, again: %q from %v", got, from)
	}
	if _, from := h.get("dept", "10", Options{NoCache: true}); from != Requested {
		t.Errorf("a read of the database comes from %v", from)
	}
	s := h.resource("dept").Stats()
	if !s.Disk || s.FromDisk != 4 {
		t.Errorf("Stats: disk %v, recalled %d, want true and 4", s.Disk, s.FromDisk)
	}
}

// TestDisk_IsDroppedByChanges of every kind.
func TestDisk_IsDroppedByChanges(t *testing.T) {
	tests := map[string]func(h *house){
		"a write": func(h *house) {
			h.write("dept", Write{Op: source.OpMerge, Key: "10"}, `{"dname":"NEW"}`)
		},
		"another program": func(h *house) { h.exec(`UPDATE dept SET dname = 'NEW' WHERE deptno = 10`) },
		"an operator": func(h *house) {
			h.exec(`UPDATE dept SET dname = 'NEW' WHERE deptno = 10`)
			k := row.Key("10")
			if err := h.resource("dept").Invalidate(&k); err != nil {
				h.t.Error(err)
			}
		},
		"an operator, all": func(h *house) {
			h.exec(`UPDATE dept SET dname = 'NEW' WHERE deptno = 10`)
			if err := h.resource("dept").Invalidate(nil); err != nil {
				h.t.Error(err)
			}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			h := newDiskHouse(t, filepath.Join(t.TempDir(), "cache.db"), nil)
			h.get("dept", "10", Options{})
			if _, from := h.get("dept", "10", Options{}); from != HitDisk {
				t.Fatalf("read from %v", from)
			}
			change(h)
			h.until(func() bool {
				got, _ := h.get("dept", "10", Options{})
				return strings.Contains(got, "NEW")
			})
			h.until(func() bool {
				got, from := h.get("dept", "10", Options{})
				if !strings.Contains(got, "NEW") {
					t.Fatalf("after the new document the old one: %s from %v", got, from)
				}
				return from == HitDisk
			})
		})
	}
}

// TestDisk_RestartTrustsNothingWithoutResume: where no feed can resume, what an
// earlier process left is out of reach, changed or not.
func TestDisk_RestartTrustsNothingWithoutResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache.db")
	t.Run("first", func(t *testing.T) {
		h := newDiskHouse(t, path, nil)
		h.get("dept", "10", Options{})
	})
	t.Run("second", func(t *testing.T) {
		h := newDiskHouse(t, path, nil)
		if _, from := h.get("dept", "10", Options{}); from != Stored {
			t.Errorf("the first read after a restart comes from %v", from)
		}
		if _, from := h.get("dept", "10", Options{}); from != HitDisk {
			t.Errorf("the second comes from %v", from)
		}
	})
}

func TestDisk_ReloadBeginsAnew(t *testing.T) {
	h := newDiskHouse(t, filepath.Join(t.TempDir(), "cache.db"), nil)
	h.get("dept", "10", Options{})
	specs := houseSpecs()
	for i := range specs {
		specs[i].MaxLimit = 7 // the documents stay what they are
	}
	if err := h.set.Reload(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	h.ready()
	if _, from := h.get("dept", "10", Options{}); from != Stored {
		t.Errorf("the first read after a reload comes from %v", from)
	}
	if _, from := h.get("dept", "10", Options{}); from != HitDisk {
		t.Errorf("the second comes from %v", from)
	}
}

// TestDisk_LeavesOutWhatTheFeedCannotDrop there.
func TestDisk_LeavesOutWhatTheFeedCannotDrop(t *testing.T) {
	h := newDiskHouse(t, filepath.Join(t.TempDir(), "cache.db"), func(o *SetOptions) {
		for i := range o.Resources {
			switch o.Resources[i].Table.Name {
			case "emp":
				o.Resources[i].TTL = time.Hour
			case "city":
				o.Resources[i].Pass = true
			}
		}
	})
	for name, want := range map[string]bool{
		"dept": true, "emp": false, "city": false, "person": false, // whose key has several spellings
	} {
		if got := h.resource(name).Stats().Disk; got != want {
			t.Errorf("%s is kept on disk: %v, want %v", name, got, want)
		}
	}
}

// TestDisk_ReadersNeverGoBack reads while documents change through hotrow: from
// the return of a write on, nobody reads what was before it, and in the end
// every key is what the database has.
func TestDisk_ReadersNeverGoBack(t *testing.T) {
	h := newDiskHouse(t, filepath.Join(t.TempDir(), "cache.db"), nil)
	const keys, writes = 8, 60
	var written [keys]atomic.Int64
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for k := range keys {
		h.exec(fmt.Sprintf(`INSERT INTO emp VALUES (%d, 'n', 0, NULL)`, k))
		writers.Go(func() {
			for i := int64(1); i <= writes; i++ {
				h.write("emp", Write{Op: source.OpMerge, Key: row.Key(fmt.Sprint(k))},
					fmt.Sprintf(`{"sal":%d}`, i))
				written[k].Store(i)
			}
		})
		readers.Go(func() {
			for !done.Load() {
				floor := written[k].Load()
				if got := salary(h, k); got < floor {
					t.Errorf("key %d: %d was written, then %d read", k, floor, got)
					return
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
	for k := range keys {
		if got := salary(h, k); got != writes {
			t.Errorf("key %d: %d in the end, want %d", k, got, writes)
		}
	}
	if s := h.resource("emp").Stats(); s.FromDisk == 0 {
		t.Error("the disk has answered nothing: nothing was tested")
	}
}

// salary returns what a reader is told of an employee.
func salary(h *house, k int) int64 {
	body, _ := h.get("emp", fmt.Sprint(k), Options{})
	var n int64
	_, text, _ := strings.Cut(body, `"sal":`)
	if _, err := fmt.Sscanf(text, "%d", &n); err != nil {
		h.t.Errorf("%s: %v", body, err)
	}
	return n
}
