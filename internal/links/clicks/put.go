package clicks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
)

// put writes a batch. After an error the drainer has been rewound: the next one
// begins where the sums in the database end.
func (d *Drainer) put(ctx context.Context, b *batch) error {
	if err := d.ensureMonths(ctx, b); err != nil {
		d.rewind()
		return err
	}
	d.writing.Store(true)
	defer d.writing.Store(false)
	compare := d.compare
	sums := !compare && d.due(len(b.clicks))
	if sums {
		d.pending.add(b)
	}
	d.beginCommit()
	err := b.write(ctx, compare, sums)
	if err != nil && sums && errors.Is(err, errMoved) && d.arrived(ctx) {
		err = nil // it was committed, and the answer lost
	}
	if err != nil {
		d.endCommit(nil)
		return d.repair(ctx, b, err)
	}
	for _, m := range b.raw.Moves {
		d.rowsTo.move(m.To)
	}
	if compare {
		d.compared(b)
	}
	d.poisoned = 0
	if !sums {
		d.endCommit(nil)
		d.pending.add(b)
		return nil
	}
	d.endCommit(d.pending.sums)
	d.summed()
	return nil
}

// beginCommit and endCommit enclose what changes the database and the tail: who
// reads both sees by the version that he may have read them apart.
func (d *Drainer) beginCommit() {
	d.tail.mu.Lock()
	d.tail.commit++
	d.tail.mu.Unlock()
}

// endCommit takes out of the tail what was committed; nil: nothing was.
func (d *Drainer) endCommit(s *sums) {
	d.tail.mu.Lock()
	if s != nil {
		d.tail.remove(s)
	}
	d.tail.commit++
	d.tail.mu.Unlock()
}

// arrived reports whether the database's cursors are where the sums that were to
// be written end.
func (d *Drainer) arrived(ctx context.Context) bool {
	list, err := cursors(ctx, d.store)
	if err != nil {
		return false
	}
	for _, want := range d.pending.ends {
		if !slices.Contains(list, place{want, sumsCursor}) {
			return false
		}
	}
	return true
}

// compared takes note of clicks that the database had already.
func (d *Drainer) compared(b *batch) {
	d.compare = false
	d.counts.replays.Add(1)
	d.counts.twice.Add(uint64(len(b.twice)))
	d.counts.conflicts.Add(uint64(len(b.conflicts)))
	d.log.Warn("the database had clicks of the log already", "clicks", len(b.twice),
		"different", len(b.conflicts))
	d.tail.mu.Lock()
	defer d.tail.mu.Unlock()
	for i := range b.clicks {
		if c := &b.clicks[i]; b.twice[c.seq] {
			d.tail.removeClick(c)
		}
	}
}

// mostPoison is how many clicks in a row may be refused: beyond it something else
// is wrong with the database, and nothing is left out.
const mostPoison = 3

// repair decides what to do differently after a transaction has failed. A row
// that the database has already: look first. A row that it refuses: halve the
// batch until the click is found, which is left out and counted. nil: try again
// at once.
func (d *Drainer) repair(ctx context.Context, b *batch, cause error) error {
	d.rewind()
	cause = fmt.Errorf("write %d clicks: %w", len(b.clicks), cause)
	class := source.ClassOf(cause)
	switch {
	case errors.Is(cause, errMoved):
		if err := d.seek(ctx); err != nil {
			return err
		}
	case class == source.Conflict && !d.compare:
		d.compare = true
		return nil
	case class == source.Invalid || class == source.TooLarge:
		if len(b.clicks) > 1 {
			d.limit = max(1, len(b.clicks)/2)
			return nil
		}
		if len(b.clicks) == 1 && d.poisoned < mostPoison {
			d.leave(&b.clicks[0], cause)
			return nil
		}
	case class == source.Missing:
		d.months = make(map[string]bool) // somebody has dropped a table
	}
	return cause
}

// leave leaves a click out.
func (d *Drainer) leave(c *click, cause error) {
	d.log.Error("the database refuses a click: it is left out", "seq", uint64(c.seq),
		"link", c.link, "err", cause)
	d.poisoned++
	d.left[c.seq] = true
	d.counts.poison.Add(1)
	d.tail.mu.Lock()
	defer d.tail.mu.Unlock()
	d.tail.removeClick(c)
}

// understand turns the records of a batch into clicks, and counts those that have
// not been counted.
func (d *Drainer) understand(b *batch) {
	d.counting.Lock()
	defer d.counting.Unlock()
	d.meaning.Lock()
	b.clicks, b.twice, b.conflicts = b.clicks[:0], nil, nil
	for i := range b.raw.Records {
		b.clicks = append(b.clicks, click{})
		d.meanings.read(&b.raw.Records[i], &b.clicks[i])
	}
	d.meaning.Unlock()
	b.sort()
	d.count(b.clicks, b.raw.Moves)
	for _, m := range b.raw.Moves {
		d.backlog.Seek(clicklog.Cursor{Node: m.To.Node, Writer: m.To.Writer, Dir: m.To.Dir,
			Seq: d.live.fronts.at(m.To.Seq)})
	}
}

// count adds clicks to the tail and to the live events, but for those that were
// counted before. d.counting is held.
func (d *Drainer) count(list []click, moves []clicklog.Move) {
	d.tail.mu.Lock()
	defer d.tail.mu.Unlock()
	d.live.mu.Lock()
	defer d.live.mu.Unlock()
	before := d.live.next
	for i := range list {
		if c := &list[i]; c.seq >= d.live.fronts.at(c.seq) {
			d.tail.add(c)
			d.live.publish(c.event())
		}
	}
	for _, m := range moves {
		d.live.fronts.move(m.To)
	}
	if d.live.next != before {
		d.live.published()
	}
}
