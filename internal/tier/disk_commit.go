package tier

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/internal/row"
)

// A diskOp is a put, or with no document a drop.
type diskOp struct {
	doc   *row.Document
	token token
}

// A batch is what one commit takes to disk. Of one slot only the last counts,
// and the batch is committed as a whole, so their order is not kept.
type batch struct {
	ops    map[string]diskOp
	bytes  uint64 // of the documents, which stay in memory until then
	urgent bool   // a history has changed: it does not wait for puts and drops

	// Set when the batch is closed: what is written of histories, by key.
	histories map[string][]byte
	marks     map[*DiskSource]Mark
}

func newBatch() *batch { return &batch{ops: make(map[string]diskOp)} }

// add puts op in the place of an earlier one.
func (b *batch) add(slot string, op diskOp) {
	b.bytes -= b.ops[slot].size(slot)
	b.bytes += op.size(slot)
	b.ops[slot] = op
}

// operationBytes is what a put takes besides its document and slot: a place of a map, a document
// without its text.
const operationBytes = 176

// size returns the memory that a put takes while it waits.
func (o diskOp) size(slot string) uint64 {
	if o.doc == nil {
		return 0
	}
	return uint64(len(slot) + o.doc.Size() + operationBytes)
}

// drops returns b with every put made a drop: an old copy goes, none comes.
func (b *batch) drops() *batch {
	c := *b
	c.ops, c.bytes = make(map[string]diskOp, len(b.ops)), 0
	for slot := range b.ops {
		c.ops[slot] = diskOp{}
	}
	return &c
}

// commits takes the queue to disk until Close.
func (d *Disk) commits() {
	defer close(d.done)
	tick := time.NewTicker(d.opts.FlushEvery)
	defer tick.Stop()
	for {
		var asked chan error
		due := true
		select {
		case <-d.stop:
			d.end()
			return
		case <-d.kick:
		case asked = <-d.syncs:
		case now := <-tick.C:
			due = d.due(now)
		}
		var err error
		if due {
			err = d.flush()
		}
		if asked != nil {
			asked <- err
		}
	}
}

// idlePositions is how many flush intervals a position alone waits: an idle
// cache need not be synced every second.
const idlePositions = 10

// due reports whether there is anything that need not wait longer.
func (d *Disk) due(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open.ops) > 0 || d.open.urgent ||
		now.Sub(d.totals.committed) >= idlePositions*d.opts.FlushEvery
}

// Sync returns when every Put, Drop and DropAll that has returned is on disk: a
// crash does not undo it.
func (d *Disk) Sync() error {
	asked := make(chan error, 1)
	select {
	case d.syncs <- asked:
		return <-asked
	case <-d.done:
		return ErrDiskOff
	}
}

// Close commits what waits and closes the file.
func (d *Disk) Close() error {
	d.closeOnce.Do(func() { close(d.stop) })
	<-d.done
	d.discards.Wait()
	return d.closeErr
}

// end is the last thing that commits does.
func (d *Disk) end() {
	err := d.flush()
	d.mu.Lock()
	off := d.state == diskOff
	d.state = diskClosed
	d.open, d.closing = newBatch(), nil
	d.counts = diskCounts{}
	d.goOn()
	d.mu.Unlock()
	if off {
		return // the file has been closed and logged
	}
	d.closeErr = errors.Join(err, d.file.close())
}

// flush commits the open batch.
func (d *Disk) flush() error {
	b := d.seal()
	if b == nil {
		return d.offError()
	}
	begin := time.Now()
	after, err := d.commit(b)
	if noSpace(err) {
		// Read-only for a while, but what was dropped must go.
		b = b.drops()
		d.mu.Lock()
		known := time.Now().Before(d.putsFrom) // the batch was filled before it was
		d.closing, d.putsFrom = b, time.Now().Add(fullPause)
		d.goOn()
		d.mu.Unlock()
		if !known {
			d.log.Warn("the disk is full: nothing is put into the cache on disk for a minute",
				"err", err)
		}
		after, err = d.commit(b)
	}
	if err != nil {
		d.fail(err)
		return fmt.Errorf("commit to the cache on disk: %w", err)
	}
	d.committed(b, after, time.Since(begin))
	return nil
}

// commit commits a batch, unless the file is given up meanwhile: then bbolt may
// wait for ever, see diskFile.begin.
func (d *Disk) commit(b *batch) (commitResult, error) {
	type outcome struct {
		after commitResult
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		after, err := d.file.commit(b, d.run)
		done <- outcome{after, err}
	}()
	select {
	case o := <-done:
		return o.after, o.err
	case <-d.off:
		return commitResult{}, ErrDiskOff
	}
}

// noSpace reports whether err says that the disk is full.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// seal closes the open batch, with the histories as they are now; nil when there
// is nothing to commit.
func (d *Disk) seal() *batch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != diskRunning {
		return nil
	}
	b := d.open
	b.histories = make(map[string][]byte)
	b.marks = make(map[*DiskSource]Mark)
	for name, s := range d.sources {
		if s.dirty {
			s.dirty = false
			b.histories[sourceKey+name] = s.appendState(nil)
			b.marks[s] = s.applied
		}
	}
	for id, s := range d.spaces {
		if s.dirty {
			s.dirty = false
			b.histories[spaceKey(id)] = s.appendState(nil)
		}
	}
	d.totals.committed = time.Now()
	if len(b.ops) == 0 && len(b.histories) == 0 {
		b.urgent = false
		return nil
	}
	d.closing, d.open = b, newBatch()
	return b
}

// committed publishes a commit.
func (d *Disk) committed(b *batch, after commitResult, took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != diskRunning {
		return // it was given up meanwhile, and the file is gone
	}
	d.closing = nil
	d.goOn()
	d.counts = after.counts
	d.totals.evicted += after.evicted
	d.totals.batches++
	d.totals.commitTime += took
	for s, m := range b.marks {
		s.committed = m
	}
}

// offError is ErrDiskOff with the reason when the tier is off.
func (d *Disk) offError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == diskOff {
		return ErrDiskOff
	}
	return nil
}

// fail gives the file up.
func (d *Disk) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.abandon(err)
}

// abandon turns the tier off and takes the file out of the way: a broken one is
// kept under another name, one that cannot be written is removed, which needs
// no space. Until it is gone it is as it was at its last commit, and that is a
// state that can be trusted from its position on. d.mu is held.
func (d *Disk) abandon(err error) {
	if d.state != diskRunning {
		return
	}
	d.state = diskOff
	close(d.off)
	d.open, d.closing = newBatch(), nil
	d.goOn()
	d.counts = diskCounts{}
	broken := errors.Is(err, errBroken)
	if broken {
		d.quarantines.Add(1)
	}
	d.log.Error("the cache on disk has failed and is off until hotrow is started again", "err", err)
	d.discards.Go(func() {
		if gone := d.file.discard(broken); gone != nil {
			d.log.Error("the file of the cache on disk is still there: remove it by hand",
				"err", gone)
		}
	})
}

// DiskStats is a snapshot of what a Disk counts besides Stats.
type DiskStats struct {
	On          bool
	Waiting     int           // puts and drops that are not committed
	WaitBytes   uint64        // that their documents take
	Full        bool          // nothing is put for a while: there was no space
	Batches     uint64        // commits
	CommitTime  time.Duration // of all of them, the syncs included
	CommitAge   time.Duration // since the queue was last found empty or committed
	Refused     uint64        // puts that found too much waiting, or a full disk
	CRCFailures uint64        // records that were broken
	Quarantines uint64        // files that were broken
	FileBytes   uint64
	FreeBytes   uint64 // of FileBytes, those of pages not in use
}

// DiskStats returns a snapshot.
func (d *Disk) DiskStats() DiskStats {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := DiskStats{
		On: d.state == diskRunning, Waiting: len(d.open.ops), WaitBytes: d.waitingBytes(),
		Full:       time.Now().Before(d.putsFrom),
		Batches:    d.totals.batches,
		CommitTime: d.totals.commitTime, CommitAge: time.Since(d.totals.committed),
		Refused: d.totals.refused, CRCFailures: d.crcFailures.Load(),
		Quarantines: d.quarantines.Load(),
		FileBytes:   d.counts.file, FreeBytes: d.counts.free,
	}
	if d.closing != nil {
		s.Waiting += len(d.closing.ops)
	}
	return s
}

// Stats returns a snapshot of what has been committed: Sync before it counts
// what waits, too. Its bytes are those of records and of their places in the
// index; pages that are not full come on top (DiskStats.FileBytes).
func (d *Disk) Stats() Stats {
	hits, misses := d.lookups.sum()
	d.mu.Lock()
	defer d.mu.Unlock()
	rows, absences := d.counts.of[rowClass], d.counts.of[absenceClass]
	return Stats{
		Entries: rows.entries + absences.entries, Negative: absences.entries,
		Bytes: rows.bytes + absences.bytes, MaxBytes: uint64(max(d.opts.MaxBytes, 0)),
		Hits: hits, Misses: misses, Evictions: d.totals.evicted,
	}
}
