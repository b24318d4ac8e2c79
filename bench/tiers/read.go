package tiers

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/hotrow/hotrow/bench/load"
)

// A ReadOrder says what is read, how fast and for how long.
type ReadOrder struct {
	Keys     load.Keys
	Rate     float64 // reads a second, an open loop; 0: a closed loop
	Duration time.Duration
	Readers  int   // goroutines; 0: one for each processor
	Reads    int64 // that end it before its time; 0: none
	Seed     uint64
}

// A ReadResult is what reading has given. Latencies are those of documents that
// came from the disk, each from its own beginning: whoever waits here for a read to
// be due waits in a timer, which is late by more than a read takes.
type ReadResult struct {
	Reads, Memory, Missing, Wrong uint64
	Rate                          float64
	MajorFaults                   int64
	Disk                          load.Summary
}

// A reader is one of the goroutines that read.
type reader struct {
	memory, missing, wrong uint64
	disk                   load.Histogram
	head                   []byte
}

// readMany reads what an order says.
func (t *tiers) readMany(ctx context.Context, o ReadOrder) (*ReadResult, error) {
	if o.Readers == 0 {
		o.Readers = runtime.GOMAXPROCS(0)
	}
	readers := make([]reader, o.Readers)
	errs := make([]error, o.Readers)
	faults, began := ownUse().majorFaults, time.Now()
	var all sync.WaitGroup
	for i := range readers {
		all.Go(func() { errs[i] = readers[i].run(ctx, t, o, i, began) })
	}
	all.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r := &ReadResult{MajorFaults: ownUse().majorFaults - faults}
	var disk load.Histogram
	for i := range readers {
		one := &readers[i]
		r.Memory += one.memory
		r.Missing += one.missing
		r.Wrong += one.wrong
		disk.Add(&one.disk)
	}
	r.Disk = disk.Summary()
	r.Reads = r.Memory + r.Missing + disk.Count()
	r.Rate = float64(r.Reads) / took.Seconds()
	return r, nil
}

// checkedEvery is of how many reads one is compared with what was written.
const checkedEvery = 64

// run is reader i.
func (r *reader) run(ctx context.Context, t *tiers, o ReadOrder, i int, began time.Time) error {
	next, err := o.Keys.Draw(o.Seed, i, o.Readers)
	if err != nil {
		return err
	}
	share := (o.Reads + int64(o.Readers) - 1) / int64(o.Readers)
	for n := int64(0); o.Reads == 0 || n < share; n++ {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		due := time.Since(began)
		if o.Rate > 0 {
			due = time.Duration((float64(n)*float64(o.Readers) + float64(i)) / o.Rate * 1e9)
		}
		if due >= o.Duration {
			return nil
		}
		if early := due - time.Since(began); early > 0 {
			time.Sleep(early)
		}
		r.one(t, next(), n%checkedEvery == 0)
	}
	return nil
}

// one reads one document.
func (r *reader) one(t *tiers, n int64, check bool) {
	began := time.Now()
	doc, from := t.read(n)
	switch from {
	case fromNowhere:
		r.missing++
		return
	case fromMemory:
		r.memory++
	case fromDisk:
		r.disk.Record(time.Since(began))
	}
	if check {
		r.head = appendTiersHead(r.head[:0], n)
		if len(doc.Body()) != tiersBody || !bytes.HasPrefix(doc.Body(), r.head) {
			r.wrong++
		}
	}
}
