package clicks

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/source"
)

// click_cursor has two rows for each writer: where its sums are complete, under
// its number, and where its rows are, under its number and rowsCursor.
const (
	sumsCursor = 0
	rowsCursor = 64
)

// Cursors reads the rows of click_cursor that clicklog.Open needs: where sums are
// complete, which is where reading begins, and where rows are.
func Cursors(ctx context.Context, s source.Store) (sums, rows []clicklog.Cursor, err error) {
	all, err := cursors(ctx, s)
	for _, c := range all {
		if c.Writer < rowsCursor {
			sums = append(sums, c)
			continue
		}
		c.Writer -= rowsCursor
		rows = append(rows, c)
	}
	return sums, rows, err
}

// cursors reads all rows of click_cursor.
func cursors(ctx context.Context, s source.Store) ([]clicklog.Cursor, error) {
	var list []clicklog.Cursor
	err := s.Query(ctx, "SELECT node, writer, dir, seq FROM click_cursor", nil,
		func(r source.StoreRow) error {
			c := clicklog.Cursor{Node: int(r.Int(0)), Writer: int(r.Int(1)),
				Seq: clicklog.Seq(r.Int(3))}
			copy(c.Dir[:], r.Bytes(2))
			list = append(list, c)
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
	_, err := d.store.Tx(ctx, func(tx source.StoreTx) error {
		return tx.Bulk(ctx, &source.Bulk{
			Table: "click_cursor", Columns: []string{"node", "writer", "dir", "seq"},
			Key: []string{"node", "writer"}, Rows: 2 * len(mine),
			Row: func(i int, into []any) {
				c := &mine[i/2]
				into[0], into[1], into[2], into[3] = int64(c.Node),
					int64(c.Writer+i%2*rowsCursor), c.Dir[:], int64(c.Seq)
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
	there := make(map[[2]int]clicklog.Cursor)
	for _, c := range list {
		there[[2]int{c.Node, c.Writer}] = c
	}
	d.sumsTo, d.rowsTo = make(fronts), make(fronts)
	nodes := make(map[int]bool)
	for _, want := range d.click.Cursors() {
		nodes[want.Node] = true
		sums, rows := there[[2]int{want.Node, want.Writer}],
			there[[2]int{want.Node, want.Writer + rowsCursor}]
		if sums.Dir != want.Dir || rows.Dir != want.Dir {
			return fmt.Errorf("writer %d of node %d of the click log: %w", want.Writer, want.Node,
				errTaken)
		}
		if sums.Seq < want.Seq {
			// What the database has lost and the log still has is sent again.
			d.log.Warn("the database has less than the click log was told: clicks are lost",
				"node", want.Node, "writer", want.Writer)
		}
		rows.Writer = want.Writer
		d.sumsTo.move(sums)
		d.rowsTo.move(rows)
		d.click.Release(sums)
	}
	d.alone = true
	for _, c := range list {
		d.alone = d.alone && nodes[c.Node]
	}
	d.rewind()
	return nil
}
