package tier_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

func TestDisk(t *testing.T) {
	tiertest.Run(t, func(t *testing.T) tier.Tier {
		d := openDisk(t, filepath.Join(t.TempDir(), "cache.db"), 2<<20)
		d.NoSync()
		return paced{settled{d}}
	})
}

// TestDisk_Behind is the suite without waiting for commits: what is asked for is
// at times in the queue, at times being committed, at times on disk.
func TestDisk_Behind(t *testing.T) {
	tiertest.RunFinal(t, func(t *testing.T) tier.Tier {
		return settled{openDisk(t, filepath.Join(t.TempDir(), "cache.db"), 16<<20)}
	})
}

// settled is a Disk that commits before it counts.
type settled struct{ *tier.Disk }

func (s settled) Stats() tier.Stats {
	_ = s.Sync() // after Close it has nothing to commit
	return s.Disk.Stats()
}

// paced is one that also commits before too much waits: then puts are refused.
type paced struct{ settled }

func (p paced) Put(ref tier.Ref, d *row.Document) {
	if p.Disk.Put(ref, d); p.DiskStats().Waiting >= 500 || len(d.Body()) > 100<<10 {
		_ = p.Sync()
	}
}

func openDisk(t testing.TB, path string, maxBytes int64) *tier.Disk {
	t.Helper()
	return openDiskWith(t, tier.DiskOptions{Path: path, MaxBytes: maxBytes,
		FlushEvery: 10 * time.Millisecond})
}

func openDiskWith(t testing.TB, o tier.DiskOptions) *tier.Disk {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	d, err := tier.OpenDisk(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return d
}
