package source

// BulkRows is how many rows of one table a transaction may change before they
// are counted as the whole table: a bound on the work and the memory that one
// transaction can cost (freshness rule 5).
const BulkRows = 10_000

// A Batch collects the changes of one transaction for a feed, and turns more
// than BulkRows of one table into the table. The zero Batch is ready to use.
type Batch struct {
	changes []Change
	counts  map[string]int
	tables  []string
}

// Add adds one change.
func (b *Batch) Add(c Change) {
	if b.counts == nil {
		b.counts = make(map[string]int)
	}
	n := b.counts[c.Table]
	switch {
	case n < 0: // already the whole table
		return
	case n == BulkRows:
		b.Table(c.Table)
		return
	}
	b.counts[c.Table] = n + 1
	b.changes = append(b.changes, c)
}

// Table adds a table that changed as a whole.
func (b *Batch) Table(table string) {
	if b.counts == nil {
		b.counts = make(map[string]int)
	}
	n := b.counts[table]
	if n < 0 {
		return
	}
	b.counts[table] = -1
	b.tables = append(b.tables, table)
	if n == 0 {
		return
	}
	kept := b.changes[:0]
	for _, c := range b.changes {
		if c.Table != table {
			kept = append(kept, c)
		}
	}
	clear(b.changes[len(kept):])
	b.changes = kept
}

// Empty reports whether nothing was added.
func (b *Batch) Empty() bool { return len(b.changes) == 0 && len(b.tables) == 0 }

// Take fills tx with what was added and makes b empty.
func (b *Batch) Take(tx *Tx) {
	tx.Changes, tx.Tables = b.changes, b.tables
	*b = Batch{}
}
