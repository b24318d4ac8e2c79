package logical

import (
	"fmt"
	"slices"
	"time"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// An assembler turns the messages of pgoutput into transactions of changes. It
// does no I/O. Messages of tables that nobody watches are counted out at once.
type assembler struct {
	watched   map[string]source.Watched // by table
	relations map[uint32]*relation
	types     map[uint32]uint32 // domains: the built-in type below
	coarse    map[string]bool   // tables that are followed as a whole: feed.Table.Coarse

	begun   bool // between Begin and Commit
	xid     uint32
	batch   source.Batch
	rows    map[*relation]int // of this transaction
	changed []string          // tables whose definition this transaction shows changed
	again   bool              // a table was described again since this was last reset
}

// A relation is a table as the last relation message described it.
type relation struct {
	table   string // its ID; "" when nobody watches it
	message relationMessage
	columns []watchedColumn
	missing bool // it lacks a watched column

	// values are the columns of the set that are not among columns, as it was when it
	// was looked at last.
	set    *source.ColumnSet
	names  []string
	values []watchedColumn
	types  map[uint32]uint32 // the assembler's
}

// A watchedColumn is a column whose values make keys.
type watchedColumn struct {
	name  string
	index int
	oid   uint32
	key   bool // part of the replica identity
}

func newAssembler(tables []source.Watched) *assembler {
	a := &assembler{
		relations: make(map[uint32]*relation),
		types:     make(map[uint32]uint32),
		rows:      make(map[*relation]int),
	}
	a.watch(tables)
	return a
}

// watch makes tables those that are watched. It is called between transactions.
func (a *assembler) watch(tables []source.Watched) {
	a.watched = make(map[string]source.Watched, len(tables))
	for _, w := range tables {
		a.watched[w.Table] = w
	}
	for id, r := range a.relations {
		a.relations[id] = a.described(r.message)
	}
}

// A commit is what an assembler returns at the end of a transaction.
type commit struct {
	tx      *source.Tx // without changes when it touched nothing that is watched
	changed []string   // tables whose definition is not what it was
}

// add takes the next message. It returns the transaction that m ends, or nil.
// Nothing of m is kept.
func (a *assembler) add(m message) (*commit, error) {
	switch m := m.(type) {
	case beginMessage:
		if a.begun {
			return nil, fmt.Errorf("%w: a transaction within a transaction", errPgoutput)
		}
		a.begun, a.xid = true, m.xid
		return nil, nil
	case commitMessage:
		if !a.begun {
			return nil, fmt.Errorf("%w: the end of no transaction", errPgoutput)
		}
		return a.commit(m), nil
	case typeMessage:
		a.types[m.id] = 0
		if m.schema == "" {
			a.types[m.id] = feed.Builtin[m.name]
		}
	case relationMessage:
		a.describe(m)
	case insertMessage:
		return nil, a.change(m.relation, source.Insert, 0, nil, m.new)
	case updateMessage:
		return nil, a.change(m.relation, source.Update, m.oldKind, m.old, m.new)
	case deleteMessage:
		return nil, a.change(m.relation, source.Delete, m.oldKind, m.old, nil)
	case truncateMessage:
		for _, id := range m.relations {
			r, err := a.relation(id)
			if err != nil {
				return nil, err
			}
			if r.table != "" {
				a.batch.Table(r.table)
			}
		}
	}
	return nil, nil
}

// postgresEpoch is 2000-01-01 UTC in microseconds since 1970.
const postgresEpoch = 946_684_800_000_000

func (a *assembler) commit(m commitMessage) *commit {
	c := &commit{
		tx: &source.Tx{
			ID:   uint64(a.xid),
			Mark: uint64(a.xid),
			Pos:  source.Position(m.end),
			Time: time.UnixMicro(m.time + postgresEpoch),
		},
		changed: a.changed,
	}
	a.batch.Take(c.tx)
	a.begun, a.changed = false, nil
	clear(a.rows)
	return c
}

func (a *assembler) relation(id uint32) (*relation, error) {
	r := a.relations[id]
	if r == nil {
		return nil, fmt.Errorf("%w: relation %d was not described", errPgoutput, id)
	}
	return r, nil
}

// describe notes a table's definition. The server sends it before the table's
// first row, and again after whatever may have changed it.
func (a *assembler) describe(m relationMessage) {
	r := a.described(m)
	// The first description may already be of a table that has changed since it
	// was last looked at.
	a.again = true
	if before := a.relations[m.id]; before != nil {
		a.differ(before, r)
	}
	a.relations[m.id] = r
}

// described returns a table as a message describes it.
func (a *assembler) described(m relationMessage) *relation {
	r := &relation{message: m, table: m.schema + "." + m.name}
	w, watched := a.watched[r.table]
	if !watched {
		r.table = ""
	}
	r.set, r.types = w.Values, a.types
	for _, name := range w.Columns {
		c, ok := r.column(name)
		if !ok {
			r.missing = true
			continue
		}
		r.columns = append(r.columns, c)
	}
	return r
}

// differ notes the tables that are not what they were.
func (a *assembler) differ(before, now *relation) {
	if before.message.schema == now.message.schema &&
		before.message.name == now.message.name &&
		before.message.identity == now.message.identity &&
		slices.Equal(before.message.columns, now.message.columns) {
		return
	}
	for _, table := range []string{before.table, now.table} {
		if table != "" && !slices.Contains(a.changed, table) {
			a.changed = append(a.changed, table)
			a.batch.Table(table)
		}
	}
}

// change adds one row. Where its keys cannot be known the whole table counts.
func (a *assembler) change(
	id uint32, op source.ChangeOp, oldKind byte, oldFields, newFields []field,
) error {
	r, err := a.relation(id)
	if err != nil || r.table == "" {
		return err
	}
	if !a.begun {
		return fmt.Errorf("%w: a change outside of a transaction", errPgoutput)
	}
	want := len(r.message.columns)
	if oldFields != nil && len(oldFields) != want || newFields != nil && len(newFields) != want {
		return fmt.Errorf("%w: a row of %s has not %d columns", errPgoutput, r.table, want)
	}
	// Beyond the bound nothing but the table's name is kept: do not build it.
	if a.rows[r]++; a.rows[r] > source.BulkRows || r.missing || a.coarse[r.table] {
		a.batch.Table(r.table)
		return nil
	}
	c := source.Change{Table: r.table, Op: op}
	ok, okOld := true, true
	if op != source.Delete {
		c.New, ok = r.tuple(newFields, oldFields, oldKind, false)
	}
	switch {
	case oldKind != 0:
		c.Old, okOld = r.tuple(oldFields, nil, oldKind, oldKind == 'K')
	case op == source.Update:
		// No old row is sent when its identity has not changed, so that much of
		// it is known from the new one.
		c.Old, okOld = r.tuple(newFields, nil, 0, true)
	}
	if !ok || !okOld {
		a.batch.Table(r.table)
		return nil
	}
	a.batch.Add(c)
	return nil
}

// column returns a column of the table.
func (r *relation) column(name string) (watchedColumn, bool) {
	i := slices.IndexFunc(r.message.columns, func(c relationColumn) bool { return c.name == name })
	if i < 0 {
		return watchedColumn{}, false
	}
	c := r.message.columns[i]
	oid := c.oid
	if base, ok := r.types[oid]; ok {
		oid = base
	}
	return watchedColumn{name, i, oid, c.key}, true
}

// more returns the columns by whose values lists are told apart now, without those that
// are watched anyway.
func (r *relation) more() []watchedColumn {
	names := r.set.Load()
	if slices.Equal(names, r.names) {
		return r.values
	}
	r.names, r.values = names, nil
	for _, name := range names {
		c, ok := r.column(name)
		if ok && !slices.Contains(r.columns, c) {
			r.values = append(r.values, c)
		}
	}
	return r.values
}

// tuple returns what fields say of the watched columns, or of those within the
// replica identity, and what they say of those that lists are told apart by. It reports
// false when a value of the former cannot be known.
func (r *relation) tuple(
	fields, old []field, oldKind byte, identity bool,
) (source.Tuple, bool) {
	more := r.more()
	t := make(source.Tuple, 0, len(r.columns)+len(more))
	for i := range r.columns {
		if c := &r.columns[i]; !identity || c.key {
			cell, ok := c.cell(fields, old, oldKind, identity)
			if !ok {
				return nil, false
			}
			t = append(t, cell)
		}
	}
	for i := range more {
		if c := &more[i]; !identity || c.key {
			if cell, ok := c.cell(fields, old, oldKind, identity); ok {
				t = append(t, cell)
			}
		}
	}
	return t, true
}

// cell returns what fields say of a column. A large value that an update left alone is not
// sent again: it is looked up in old, where old has it.
func (c *watchedColumn) cell(
	fields, old []field, oldKind byte, identity bool,
) (source.Cell, bool) {
	f := fields[c.index]
	if f.kind == 'u' && old != nil && (oldKind == 'O' || c.key) {
		f = old[c.index]
	}
	switch f.kind {
	case 'n':
		// No identity has nulls: a partition has another one.
		return source.Cell{Column: c.name, Null: true}, !identity || oldKind != 'K'
	case 't':
		text, ok := feed.KeyText(c.oid, string(f.text))
		return source.Cell{Column: c.name, Text: text}, ok
	}
	return source.Cell{}, false
}
