package binlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-mysql-org/go-mysql/replication"
	driver "github.com/go-sql-driver/mysql"

	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// maxLate is how many bytes of rows are kept to be read later.
const maxLate = 64 << 10

// lateRows are rows of a transaction that came when nobody knew the columns of their
// table: its definition had just changed, or that of another one, or was changed before the
// feed's beginning. Without a row that it has locked, a transaction could be proven only by
// a later one, which may never come.
type lateRows struct {
	event   *replication.RowsEvent // as far as its header
	at      int                    // where in data the rows begin
	data    []byte
	watched bool // the table is
	whole   bool // the catalogue has shown all columns of the table before
}

// keepLate keeps the rows of an event whose columns are not known now: of a transaction the first
// ones, or the first ones of a table that is watched, since another may have no key. data is the
// library's.
func (r *reader) keepLate(e *replication.RowsEvent, at int, data []byte) {
	name := nameOf(e)
	watched := r.watched[name] != ""
	if !watched && !r.mayReach(e) || len(data) > maxLate {
		return
	}
	if l := r.group.late; l != nil && (l.watched || !watched) {
		return
	}
	r.group.late = &lateRows{event: e, at: at, data: bytes.Clone(data), watched: watched,
		whole: r.whole[name]}
}

// mayReach reports whether rows of a table that is not watched count as a change of those that
// are: see reader.rows.
func (r *reader) mayReach(e *replication.RowsEvent) bool {
	switch {
	case e.Type() == replication.EnumRowsEventTypeInsert:
		return false
	case !r.holds():
		return true
	}
	return len(r.defs.unobservable) > 0 || r.defs.tables[nameOf(e)] != nil
}

// readLate finds out which rows a transaction has locked. It asks for the definition as it
// is now: if that is not the one of the rows, somebody has changed it since, and had to wait
// for the transaction to be visible. Then proven is true.
func (f *Feed) readLate(
	ctx context.Context, c Conn, l *lateRows,
) (locks []lockRow, proven bool, err error) {
	v, err := serverOf(c)
	if err != nil {
		return nil, false, err
	}
	name := nameOf(l.event)
	found, err := f.src.catalog(c, v).Tables(ctx, name)
	if err != nil {
		return nil, false, fmt.Errorf("read the definition of %s: %w", name, err)
	}
	if len(found) == 0 {
		err := c.Query(ctx, "SELECT 1 FROM "+catalog.QuoteTable(name.Schema, name.Table)+" LIMIT 0",
			nil, func([]any) error { return nil })
		var e *driver.MySQLError
		return nil, errors.As(err, &e) && e.Number == errNoTable, nil
	}
	t := (&definitions{tables: make(map[catalog.Name]*tableDef)}).add(found[0])
	if shown := len(t.Cols); shown != int(l.event.ColumnCount) {
		// A user may be shown fewer columns than there are, and never more.
		return nil, l.whole || shown > int(l.event.ColumnCount), nil
	}
	l.event.Rows, l.event.SkippedColumns = nil, nil // if it was read before
	if err := l.event.DecodeData(l.at, l.data); err != nil {
		return nil, false, nil // which says nothing of the definition
	}
	g := &group{}
	step := 1
	if l.event.Type() == replication.EnumRowsEventTypeUpdate {
		step = 2
	}
	for i := step - 1; i < len(l.event.Rows); i += step {
		g.lock(t, l.event.Rows[i], l.event.SkippedColumns[i], l.event.Type())
	}
	return g.locks, false, nil
}
