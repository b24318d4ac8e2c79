package clicks

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
)

// click_cursor has two rows for each writer: where its sums are complete, and where
// its rows are. Their column writer has the number of the writer, with the bit
// rowsCursor put in between for the second one: there were 64 numbers once.
const (
	sumsCursor = 0
	rowsCursor = 64
)

// columnOf returns what the column writer has for a cursor of a writer.
func columnOf(writer, which int) int {
	low := writer % rowsCursor
	return (writer-low)*2 + which + low
}

// writerOf is the reverse of columnOf.
func writerOf(column int) (writer, which int) {
	low, which := column%rowsCursor, column&rowsCursor
	return (column-which-low)/2 + low, which
}

// A place is a row of click_cursor.
type place struct {
	clicklog.Cursor
	which int
}

// Cursors reads the rows of click_cursor that clicklog.Open needs: where sums are
// complete, which is where reading begins, and where rows are.
func Cursors(ctx context.Context, s source.Store) (sums, rows []clicklog.Cursor, err error) {
	all, err := cursors(ctx, s)
	for _, p := range all {
		if p.which == sumsCursor {
			sums = append(sums, p.Cursor)
		} else {
			rows = append(rows, p.Cursor)
		}
	}
	return sums, rows, err
}

// cursors reads all rows of click_cursor.
func cursors(ctx context.Context, s source.Store) ([]place, error) {
	var list []place
	err := s.Query(ctx, "SELECT node, writer, dir, seq FROM click_cursor", nil,
		func(r source.StoreRow) error {
			writer, which := writerOf(int(r.Int(1)))
			p := place{clicklog.Cursor{Node: int(r.Int(0)), Writer: writer,
				Seq: clicklog.Seq(r.Int(3))}, which}
			copy(p.Dir[:], r.Bytes(2))
			list = append(list, p)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read the cursors of the click log: %w", err)
	}
	return list, nil
}

// claim makes sure that the database has cursors of each stream of the log, and
// learns where they are.
func (d *Drainer) claim(ctx context.Context) error {
	mine := d.click.Cursors()
	slices.SortFunc(mine, func(a, b clicklog.Cursor) int { // others begin at the same time
		return order(int64(a.Node)<<32|int64(a.Writer), int64(b.Node)<<32|int64(b.Writer))
	})
	_, err := d.store.Tx(ctx, func(tx source.StoreTx) error {
		return tx.Bulk(ctx, &source.Bulk{
			Table: "click_cursor", Columns: []string{"node", "writer", "dir", "seq"},
			Key: []string{"node", "writer"}, Rows: 2 * len(mine),
			Row: func(i int, into []any) {
				c := &mine[i/2]
				into[0], into[1], into[2], into[3] = int64(c.Node),
					int64(columnOf(c.Writer, i%2*rowsCursor)), c.Dir[:], int64(c.Seq)
			},
		})
	})
	if err != nil {
		return fmt.Errorf("claim the writers of the click log: %w", err)
	}
	return d.seek(ctx)
}

// seek learns where the database's cursors are, and puts the reader there.
func (d *Drainer) seek(ctx context.Context) error {
	list, err := cursors(ctx, d.store)
	if err != nil {
		return err
	}
	there := make(map[[3]int]clicklog.Cursor)
	for _, p := range list {
		there[[3]int{p.Node, p.Writer, p.which}] = p.Cursor
	}
	d.sumsTo, d.rowsTo = make(fronts), make(fronts)
	nodes := make(map[int]bool)
	for _, want := range d.click.Cursors() {
		nodes[want.Node] = true
		sums, rows := there[[3]int{want.Node, want.Writer, sumsCursor}],
			there[[3]int{want.Node, want.Writer, rowsCursor}]
		if sums.Dir != want.Dir || rows.Dir != want.Dir {
			return fmt.Errorf("writer %d of node %d of the click log: %w", want.Writer, want.Node,
				ErrTaken)
		}
		if sums.Seq < want.Seq {
			// What the database has lost and the log still has is sent again.
			d.log.Warn("the database has less than the click log was told: clicks are lost",
				"node", want.Node, "writer", want.Writer)
		}
		d.sumsTo.move(sums)
		d.rowsTo.move(rows)
		d.click.Release(sums)
	}
	d.alone, d.others = true, make(fronts)
	for _, p := range list {
		d.alone = d.alone && nodes[p.Node]
		if p.which == sumsCursor && p.Dir != d.click.ID() {
			d.others.move(p.Cursor)
		}
	}
	d.rewind()
	return nil
}

// noticeOthers finds out whether another process writes sums of clicks by now, under any
// number: what this one remembers of sketches is not all that they have then.
func (d *Drainer) noticeOthers(ctx context.Context, tx source.StoreTx) error {
	if !d.alone {
		return nil
	}
	id := d.click.ID()
	err := tx.Query(ctx, "SELECT node, writer, seq FROM click_cursor WHERE dir <> ?",
		[]any{id[:]}, func(r source.StoreRow) error {
			writer, which := writerOf(int(r.Int(1)))
			was, known := d.others[[2]int{int(r.Int(0)), writer}]
			if which == sumsCursor && (!known || was != clicklog.Seq(r.Int(2))) {
				d.alone = false
			}
			return nil
		})
	if err != nil {
		return fmt.Errorf("look for other processes: %w", err)
	}
	return nil
}
