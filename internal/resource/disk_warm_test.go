package resource

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/tier"
)

// TestWarm_TheDiskTakesWhatMemoryHasNoRoomFor: every row is answered without the database,
// though memory holds few of them, and all of them are more than may wait for the disk.
func TestWarm_TheDiskTakesWhatMemoryHasNoRoomFor(t *testing.T) {
	d, err := tier.OpenDisk(tier.DiskOptions{Path: filepath.Join(t.TempDir(), "cache.db"),
		MaxBytes: 64 << 20, FlushEvery: time.Hour}) // commits for nothing but because much waits
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	const rows = 12_000
	h := newHouse(t, func(o *SetOptions) {
		o.Memory, o.Disk = tier.NewMemory(1<<20), d
		sql := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 99 + %d)"+
			" INSERT INTO dept SELECT i, 'D', hex(randomblob(500 + 2000 * (i %% 97 = 0))) FROM n", rows)
		if err := o.Sources[0].Source.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		o.Resources[0].Warm = new(Warm)
	})
	h.warmed("dept", 1)
	st := d.DiskStats()
	if st.Refused != 0 {
		t.Errorf("%d documents were refused: %+v", st.Refused, st)
	}
	missing, fromDisk := 0, 0
	for i := range rows {
		kept, err := h.resource("dept").Kept(row.Key(fmt.Sprint(100 + i)))
		if err != nil {
			t.Fatal(err)
		}
		if !kept {
			missing++
		}
	}
	for i := range rows { // a fence that is late on a busy machine has the database asked
		if _, from := h.get("dept", fmt.Sprint(100+i), Options{}); from == HitDisk {
			fromDisk++
		}
	}
	if missing > 0 || fromDisk < rows/2 {
		t.Errorf("of %d rows %d are nowhere, %d come from the disk", rows, missing, fromDisk)
	}
}
