package clicks

import (
	"context"
	"errors"
	"fmt"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// A batch is some records of the log on their way into the database. Their rows
// are written at once; what they add to the sums is written with them or, when
// there are many, with those of the batches after it (Drainer.due): the rows of
// sums that a hundred thousand clicks touch are hardly more than those of ten
// thousand. So each stream has two cursors, and each is moved by the transaction
// that it belongs to: rows are complete up to one, sums up to the other, which is
// never ahead. Between them lies what is in the log still and is only counted
// when it is read again after a crash.
type batch struct {
	d      *Drainer
	raw    clicklog.Batch
	clicks []click
	months map[string][]*click // whose rows are to be written
	named  []*word             // whose ids this transaction has found out

	// twice are seqs that the database has already, with the same row: a cursor
	// was lost. They are not counted again, nor are conflicts: other rows.
	twice, conflicts map[clicklog.Seq]bool
}

// errMoved says that the database's cursor is not where this process has left it.
var errMoved = errors.New("the cursor of the click log has been moved by another process")

// rawColumns are those of a month's table.
var rawColumns = []string{"seq", "link_id", "at", "kind", "ip", "country", "visitor", "agent_id",
	"ref_id", "path"}

// sort splits the clicks whose rows are not written by month.
func (b *batch) sort() {
	clear(b.months)
	month, from := "", int64(0)
	for i := range b.clicks {
		c := &b.clicks[i]
		if c.seq < b.d.rowsTo.at(c.seq) || b.d.left[c.seq] {
			continue
		}
		if day := DayOf(c.at); month == "" || day != from {
			month, from = monthOf(c.at), day
		}
		b.months[month] = append(b.months[month], c)
	}
}

// write writes the rows of the batch in one transaction, and with sums also what
// it and those before it add to them. With compare, rows that are there already
// are looked for first.
func (b *batch) write(ctx context.Context, compare, sums bool) error {
	_, err := b.d.store.Tx(ctx, func(tx source.StoreTx) error {
		b.forget()
		if err := b.moveCursors(ctx, tx, sums); err != nil {
			return err
		}
		if compare {
			if err := b.dropKnown(ctx, tx); err != nil {
				return err
			}
		}
		if err := b.writeRows(ctx, tx); err != nil || !sums {
			return err
		}
		return b.d.writeSums(ctx, tx)
	})
	if err != nil {
		b.forget()
		return err
	}
	b.named = b.named[:0]
	return nil
}

// moveCursors is the first step, so that nobody else drains the same streams
// meanwhile.
func (b *batch) moveCursors(ctx context.Context, tx source.StoreTx, sums bool) error {
	for _, m := range b.raw.Moves {
		from := b.d.rowsTo.at(m.To.Seq)
		if m.To.Seq <= from {
			continue
		}
		if err := moveCursor(ctx, tx, m.To, rowsCursor, from); err != nil {
			return err
		}
	}
	if !sums {
		return nil
	}
	for _, to := range b.d.pending.cursors() {
		if err := moveCursor(ctx, tx, to, sumsCursor, b.d.sumsTo.at(to.Seq)); err != nil {
			return err
		}
	}
	return nil
}

// moveCursor moves one cursor from where it must be.
func moveCursor(
	ctx context.Context, tx source.StoreTx, to clicklog.Cursor, which int, from clicklog.Seq,
) error {
	n, err := tx.Exec(ctx, "UPDATE click_cursor SET seq = ? WHERE node = ? AND writer = ?"+
		" AND dir = ? AND seq = ?", int64(to.Seq), to.Node, columnOf(to.Writer, which), to.Dir[:],
		int64(from))
	if err == nil && n != 1 {
		err = errMoved
	}
	return err
}

// writeRows writes the dictionaries and the raw rows.
func (b *batch) writeRows(ctx context.Context, tx source.StoreTx) error {
	if err := b.nameAgents(ctx, tx); err != nil {
		return fmt.Errorf("user agents: %w", err)
	}
	if err := b.nameReferrers(ctx, tx); err != nil {
		return fmt.Errorf("referrers: %w", err)
	}
	for month, list := range b.months {
		if len(list) == 0 {
			continue
		}
		err := tx.Bulk(ctx, &source.Bulk{
			Table: schema.MonthTable(month), Columns: rawColumns, Rows: len(list),
			Row: func(i int, into []any) { list[i].row(into) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// row sets the values of rawColumns.
func (c *click) row(into []any) {
	into[0], into[1], into[2], into[3] = int64(c.seq), c.link, c.at, int64(c.kind)
	if c.ip != nil {
		into[4] = c.ip
	}
	if c.country != Nowhere {
		into[5] = c.country
	}
	if c.visitor != 0 {
		into[6] = int64(c.visitor)
	}
	into[7] = c.agent.id
	if c.ref != nil {
		into[8] = c.ref.id
	}
	if c.path != "" {
		into[9] = c.path
	}
}
