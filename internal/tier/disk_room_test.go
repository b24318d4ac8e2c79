package tier_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/tier"
	"github.com/hotrow/hotrow/internal/tier/tiertest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// newRoomy opens a disk that commits for nothing but because much waits.
func newRoomy(t *testing.T) *tier.Disk {
	t.Helper()
	d := openDiskWith(t, tier.DiskOptions{Path: filepath.Join(t.TempDir(), "cache.db"), MaxBytes: 32 << 20,
		Batch: 1 << 20, FlushEvery: time.Hour})
	d.NoSync()
	return d
}

// TestDisk_TakesAllFromWhoWaits: several times as much as may wait, and nothing is refused.
func TestDisk_TakesAllFromWhoWaits(t *testing.T) {
	d := newRoomy(t)
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(time.Minute))
	defer cancel()
	const size, puts = 1500, 12_000
	if total := uint64(size * puts); total < 4*d.PendingLimit() {
		t.Fatalf("%d bytes are no test of a limit of %d", total, d.PendingLimit())
	}
	most := uint64(0)
	for i := 0; i < puts; {
		room, err := d.Room(ctx, 2*size)
		if err != nil || room < d.PendingLimit()/2 {
			t.Fatalf("after %d puts there is room for %d bytes: %v", i, room, err)
		}
		for ; room > 2*size && i < puts; i++ {
			d.Put(ref(fmt.Sprint(i)), tiertest.Document(size, 1))
			room -= 2 * size
		}
		most = max(most, d.DiskStats().WaitBytes)
	}
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	st, disk := d.Stats(), d.DiskStats()
	if st.Entries != puts || disk.Refused != 0 || disk.WaitBytes != 0 || most > d.PendingLimit() {
		t.Errorf("%d of %d are there, %d were refused, %d bytes wait, %d did, at most %d may", st.Entries,
			puts, disk.Refused, disk.WaitBytes, most, d.PendingLimit())
	}
}

// TestDisk_SlowerThanPuts: who does not wait is refused, and that is counted; no more waits than
// may, who waits does so until the disk goes on, and no old copy comes back.
func TestDisk_SlowerThanPuts(t *testing.T) {
	d := newRoomy(t)
	d.Put(ref("0"), tiertest.Document(100, 1))
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	release, err := d.HoldCommits()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { release() }()
	const size, puts = 4000, 2000
	for i := range puts {
		d.Put(ref(fmt.Sprint(puts-1-i)), tiertest.Document(size, 2))
	}
	disk := d.DiskStats()
	if disk.Refused == 0 || disk.WaitBytes > d.PendingLimit() {
		t.Errorf("%d were refused, %d bytes wait of at most %d", disk.Refused, disk.WaitBytes, d.PendingLimit())
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := d.Room(short, size); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a disk that does not go on has room: %v", err)
	}
	if got, ok := d.Get(ref("0")); ok {
		t.Errorf("what a refused put was to replace is handed out: %d bytes", len(got.Body()))
	}
	release()
	release = func() {}
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit(time.Minute))
	defer cancel()
	if room, err := d.Room(ctx, size); err != nil || room < size {
		t.Errorf("the disk goes on, and has room for %d bytes: %v", room, err)
	}
	if err := d.Sync(); err != nil {
		t.Fatal(err)
	}
	if n, refused := d.Stats().Entries, d.DiskStats().Refused; n+refused != puts {
		t.Errorf("of %d puts %d are there and %d were refused", puts, n, refused)
	}
}

// TestDisk_RoomForNothing: nobody waits for what never comes.
func TestDisk_RoomForNothing(t *testing.T) {
	d := newRoomy(t)
	if room, err := d.Room(t.Context(), d.PendingLimit()+1); room != 0 || err != nil {
		t.Errorf("for a document that is too large: %d, %v", room, err)
	}
	release, err := d.HoldCommits()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		d.Put(ref(fmt.Sprint(i)), tiertest.Document(4000, 1))
	}
	waiting := make(chan error, 1)
	go func() {
		room, err := d.Room(t.Context(), 1)
		if room != 0 {
			err = fmt.Errorf("room for %d bytes", room)
		}
		waiting <- err
	}()
	release()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Log("the disk had gone on before it was closed:", err)
	}
	if room, err := d.Room(t.Context(), 1); room != 0 || err != nil {
		t.Errorf("when it is closed: %d, %v", room, err)
	}
}
