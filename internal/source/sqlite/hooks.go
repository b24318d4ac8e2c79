package sqlite

import (
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	driverpkg "modernc.org/sqlite"

	"github.com/hotrow/hotrow/internal/source"
)

// The operations that the pre-update hook tells (sqlite.org/c3ref); all others are updates.
const (
	hookDelete = 9
	hookInsert = 18
)

// A watchList is the columns of each table whose values make keys, and those that lists
// are told apart by. It is replaced as a whole when a plan or a feed adds to it.
type watchList struct {
	columns map[string][]string
	values  map[string]*source.ColumnSet // of the feed that was opened last
}

// addColumns adds columns of a table whose values changes carry.
func (l *watchList) addColumns(table string, columns []string) {
	l.columns[table] = union(l.columns[table], columns)
}

// addPlan adds the columns that a plan needs of changes.
func (l *watchList) addPlan(p *plan) {
	for _, d := range p.Deps() {
		l.addColumns(d.Table, union(d.Columns, d.Identity))
	}
	for _, path := range p.Paths() {
		for _, step := range path.Steps {
			l.addColumns(step.Table, step.On)
		}
	}
}

// watchMore replaces the watch list with a copy to which more was added.
func (s *Source) watchMore(add func(*watchList)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.watch.Load()
	next := &watchList{maps.Clone(old.columns), maps.Clone(old.values)}
	if next.columns == nil {
		next.columns = make(map[string][]string)
	}
	if next.values == nil {
		next.values = make(map[string]*source.ColumnSet)
	}
	add(next)
	s.watch.Store(next)
}

// more returns the columns of a table that lists are told apart by, without those that
// are watched anyway.
func (l *watchList) more(table string, watched []string) (names []string) {
	for _, name := range l.values[table].Load() {
		if !slices.Contains(watched, name) {
			names = append(names, name)
		}
	}
	return names
}

// union returns the strings of a followed by those of b that a lacks.
func union(a, b []string) []string {
	out := append([]string(nil), a...)
next:
	for _, s := range b {
		for _, have := range out {
			if have == s {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// A collector gathers the changes of the transaction under way. SQLite calls
// it while a statement of the writing connection runs, so the writer's turn
// guards it.
type collector struct {
	w      *writer
	batch  source.Batch
	logged span // of the change log's rows that the transaction has made
	old    []any
	new    []any

	committed bool // a commit has begun, and was not undone

	// coarse says that tables whose columns nobody watches are told as a whole:
	// hotrow's own, which get many rows (see Tx in store.go).
	coarse bool
}

// A span is a run of numbers of the change log; last 0: none.
type span struct{ first, last int64 }

// reset forgets what was collected.
func (k *collector) reset() {
	k.batch, k.logged = source.Batch{}, span{}
	k.w.ddl, k.committed, k.coarse = false, false, false
}

// take returns what was collected since it was called last, for the next change of the
// transaction to begin with nothing.
func (k *collector) take() (*source.Tx, span) {
	tx, own := &source.Tx{}, k.logged
	k.batch.Take(tx)
	k.logged = span{}
	return tx, own
}

// committing is called when a transaction is about to be committed.
func (k *collector) committing() int32 {
	k.committed = true
	return 0
}

// rolledBack is called when a transaction is undone. ROLLBACK TO a savepoint
// does not call it: the changes kept are then more than happened, which only
// drops copies that were right.
func (k *collector) rolledBack() { k.reset() }

// preUpdate is called for every row before it changes. No panic leaves it: it would end the
// statement half way, whose locks nobody could release then.
func (k *collector) preUpdate(d driverpkg.SQLitePreUpdateData) {
	defer func() {
		if v := recover(); v != nil {
			k.w.s.log.Error("a change cannot be read: all of its table counts as changed",
				"table", d.TableName, "panic", v, "stack", string(debug.Stack()))
			k.batch.Table(d.TableName)
		}
	}()
	if d.DatabaseName != "main" {
		return // a temporary table, which no resource reads
	}
	if d.TableName == logTable && d.Op == hookInsert {
		if k.logged.first == 0 {
			k.logged.first = d.NewRowID
		}
		k.logged.last = d.NewRowID
		return
	}
	if isInternal(d.TableName) {
		return
	}
	t, ok := k.w.known.named[d.TableName]
	if !ok || d.Count() != len(t.columns) {
		// The transaction itself has made or altered the table.
		k.batch.Table(d.TableName)
		return
	}
	watch := k.w.s.watch.Load()
	watched := watch.columns[d.TableName]
	if len(watched) == 0 && k.coarse {
		k.batch.Table(d.TableName)
		return
	}
	if len(watched) == 0 {
		watched = t.Key
	}
	c := source.Change{Table: d.TableName, Op: opOf(d.Op)}
	more := watch.more(d.TableName, watched)
	if c.Old, c.New, ok = k.tuples(&d, t, watched, more); !ok {
		k.batch.Table(d.TableName)
		return
	}
	k.batch.Add(c)
}

// tuples reads the watched columns of the row, and more if they have texts, old and new.
func (k *collector) tuples(
	d *driverpkg.SQLitePreUpdateData, t *table, watched, more []string,
) (older, newer source.Tuple, ok bool) {
	n := max(t.reach(watched), t.reach(more))
	if n > 0 && t.columns[0].virtual {
		return nil, nil, false // the driver reads the columns in order, and cannot read that one
	}
	if cap(k.old) < n {
		k.old, k.new = make([]any, n), make([]any, n)
	}
	if d.Op != hookInsert {
		if d.Old(k.old[:n]...) != nil {
			return nil, nil, false
		}
		if older, ok = t.tuple(k.old[:n], watched, more); !ok {
			return nil, nil, false
		}
	}
	if d.Op != hookDelete {
		if d.New(k.new[:n]...) != nil {
			return nil, nil, false
		}
		if newer, ok = t.tuple(k.new[:n], watched, more); !ok {
			return nil, nil, false
		}
	}
	return older, newer, true
}

// opOf translates the hook's operation.
func opOf(op int32) source.ChangeOp {
	switch op {
	case hookInsert:
		return source.Insert
	case hookDelete:
		return source.Delete
	}
	return source.Update
}

// changesOf returns the changes of tx for Write.Touch. A table that changed as
// a whole is a change that knows no column.
func changesOf(tx *source.Tx) []source.Change {
	out := append([]source.Change(nil), tx.Changes...)
	for _, t := range tx.Tables {
		out = append(out, source.Change{
			Table: t, Op: source.Update, Old: source.Tuple{}, New: source.Tuple{},
		})
	}
	return out
}

// isInternal reports whether a table is SQLite's or hotrow's own.
func isInternal(name string) bool {
	n := strings.ToLower(name)
	return strings.HasPrefix(n, "sqlite_") || strings.HasPrefix(n, "hotrow_")
}
