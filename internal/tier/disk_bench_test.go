//go:build unix

package tier_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
)

// millionOnDisk returns a Disk with a million documents, and its options.
func millionOnDisk(b *testing.B) (*tier.Disk, tier.DiskOptions) {
	o := tier.DiskOptions{Path: filepath.Join(b.TempDir(), "cache.db"), MaxBytes: 20 << 30,
		FlushEvery: time.Hour}
	d := openDiskWith(b, o)
	for i := range 1_000_000 {
		d.Put(ref(strconv.Itoa(i)), tiertest.Document(benchBody, uint64(i)))
		if i%10_000 == 9_999 {
			syncDisk(b, d)
		}
	}
	s := d.DiskStats()
	b.Logf("the file has %d MB of which %d are free", s.FileBytes/1e6, s.FreeBytes/1e6)
	return d, o
}

func syncDisk(b *testing.B, d *tier.Disk) {
	b.Helper()
	if err := d.Sync(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkDisk_Million reads, writes and opens a Disk of a million documents,
// which it fills once: a minute of writing.
func BenchmarkDisk_Million(b *testing.B) {
	d, o := millionOnDisk(b)
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("get/procs=%d", procs), func(b *testing.B) {
			inParallel(b, procs, func(seed uint64) func() {
				k := newKeyer("uniform", 1_000_000, seed)
				return func() {
					if _, ok := d.Get(k.owned()); !ok {
						b.Error("a document is missing")
					}
				}
			})
		})
	}
	b.Run("batch=10000/puts", func(b *testing.B) {
		benchBatch(b, d, func(ref tier.Ref) { d.Put(ref, tiertest.Document(benchBody, 1)) })
	})
	b.Run("batch=10000/drops", func(b *testing.B) { benchBatch(b, d, d.Drop) })
	b.Run("open", func(b *testing.B) {
		if err := d.Close(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			again, err := tier.OpenDisk(o)
			if err != nil {
				b.Fatal(err)
			}
			if err := again.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// benchBatch does 10,000 of something to random keys and waits for the disk.
func benchBatch(b *testing.B, d *tier.Disk, do func(tier.Ref)) {
	r := rand.New(rand.NewPCG(1, 9))
	for b.Loop() {
		for range 10_000 {
			do(tier.Ref{Resource: 1, Key: row.Key(strconv.Itoa(r.IntN(1_000_000)))})
		}
		syncDisk(b, d)
	}
}
