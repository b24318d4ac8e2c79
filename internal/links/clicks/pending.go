package clicks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
)

// sumsEvery is how long sums may wait for more of the same rows. Until then the
// clicks are in the tail.
const sumsEvery = time.Second

// Bounds of what waits: so many clicks are written as soon as they come, because
// there are few; so many, or so many rows of sums, wait no longer. On SQLite one
// transaction keeps all other writers waiting, and the feed.
const (
	fewClicks  = 1000
	manyClicks = 200_000
	manyRows   = 100_000
	sqliteRows = 10_000
)

// pending is what rows that are written add to the sums that are not.
type pending struct {
	sums  *sums
	ends  map[[2]int]clicklog.Cursor // where each stream's sums end with it
	since time.Time                  // when sums were last written
}

// add adds a batch, but for clicks that are counted already or never will be.
func (p *pending) add(b *batch) {
	for i := range b.clicks {
		c := &b.clicks[i]
		if !b.twice[c.seq] && !b.conflicts[c.seq] && !b.d.left[c.seq] {
			p.sums.add(c)
		}
	}
	for _, m := range b.raw.Moves {
		p.ends[[2]int{m.To.Node, m.To.Writer}] = m.To
	}
}

// cursors returns the ends in the order of their numbers.
func (p *pending) cursors() []clicklog.Cursor {
	list := make([]clicklog.Cursor, 0, len(p.ends))
	for _, c := range p.ends {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b clicklog.Cursor) int {
		return order(int64(a.Seq), int64(b.Seq))
	})
	return list
}

// reset forgets what waits.
func (p *pending) reset() {
	p.sums.reset()
	clear(p.ends)
}

// due reports whether the sums are to be written with the next n clicks.
func (d *Drainer) due(n int) bool {
	most := manyRows
	if d.store.Dialect() == source.DialectSQLite {
		most = sqliteRows
	}
	all := d.pending.sums.total + n
	return all <= fewClicks || all >= manyClicks || d.pending.sums.rows() >= most ||
		d.limit < d.opts.Batch || time.Since(d.pending.since) >= sumsEvery
}

// writeSums writes everything that is counted.
func (d *Drainer) writeSums(ctx context.Context, tx source.StoreTx) error {
	if err := d.noticeOthers(ctx, tx); err != nil {
		return err
	}
	w := &sumWriter{d: d, tx: tx, sums: d.pending.sums}
	if err := w.addTimes(ctx); err != nil {
		return fmt.Errorf("sums by time: %w", err)
	}
	if err := w.addDims(ctx); err != nil {
		return fmt.Errorf("dimensions: %w", err)
	}
	if err := w.addLinks(ctx); err != nil {
		return fmt.Errorf("sums of links: %w", err)
	}
	return nil
}

// summed remembers that the sums that waited are in the database.
func (d *Drainer) summed() {
	s := d.pending.sums
	for k := range s.times {
		if sk, ok := d.sketches.get(k); ok {
			sk.dirty = false
		}
	}
	for _, c := range d.pending.ends {
		d.sumsTo.move(c)
		d.click.Release(c)
	}
	d.counts.summed.Add(uint64(s.total))
	d.pending.reset()
	d.pending.since = time.Now()
	clear(d.left)
}

// rewind goes back to where the sums are complete: a transaction has failed. Rows
// behind it that are written are not written again.
func (d *Drainer) rewind() {
	d.pending.reset()
	for k, seq := range d.sumsTo {
		d.reader.Seek(clicklog.Cursor{Node: k[0], Writer: k[1], Dir: d.click.ID(), Seq: seq})
	}
}
