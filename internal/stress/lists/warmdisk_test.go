package lists

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// warmRows are more than may wait for the disk of warmOnDisk.
const warmRows = 12_000

// warmOnDisk warms a table with a memory that holds little of it, while another is written, and
// then looks for every row: the disk has what memory has not.
func warmOnDisk(t *testing.T, src source.Source, mode source.FeedMode) {
	ctx := t.Context()
	exec := func(sql string) {
		t.Helper()
		if err := src.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE many (id int PRIMARY KEY, v text NOT NULL)")
	exec("CREATE TABLE side (id int PRIMARY KEY, v int NOT NULL)")
	exec("INSERT INTO side VALUES (1, 0)")
	for first := 0; first < warmRows; first += 1000 {
		var values []string
		for i := first; i < first+1000; i++ {
			values = append(values, fmt.Sprintf("(%d, '%s')", i, strings.Repeat(fmt.Sprint(i%10), 900+i%97*10)))
		}
		exec("INSERT INTO many VALUES " + strings.Join(values, ", "))
	}
	many := testbed.Spec("many")
	many.Warm = new(resource.Warm)
	s := testbed.Over(t, src, testbed.Plan{Specs: []resource.Spec{many, testbed.Spec("side")}, Mode: mode,
		Memory: 1 << 20, Disk: true, DiskMax: 64 << 20})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = src.Exec(context.Background(), fmt.Sprintf("UPDATE side SET v = %d", i))
			}
		}
	})
	r := s.Resource("many")
	waittest.Until(t, "warm", func() bool { return r.Stats().Warm.Rounds > 0 })
	close(stop)
	wg.Wait()
	s.Quiet()
	for i := range warmRows {
		if kept, err := r.Kept(row.Key(fmt.Sprint(i))); err != nil || !kept {
			t.Fatalf("row %d is neither in memory nor on disk: %v", i, err)
		}
	}
	for i := range warmRows { // a fence that is late on a busy machine has the database asked
		if _, err := r.Get(ctx, row.Key(fmt.Sprint(i)), resource.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Recalled(); n < warmRows/2 {
		t.Errorf("only %d of %d rows come from the disk: a part of the test has done nothing", n, warmRows)
	}
}

func TestStress_WarmOnDisk(t *testing.T) {
	warmOnDisk(t, testbed.OpenPostgres(t, dbtest.Postgres(t)), source.FeedLogical)
}

func TestStressMariaDB_WarmOnDisk(t *testing.T) {
	warmOnDisk(t, testbed.OpenMariaDB(t, dbtest.MariaDB(t)), source.FeedBinlog)
}
