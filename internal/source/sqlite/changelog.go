package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// The change log is a table that triggers fill, so that the commits of other
// programs are told row by row. The triggers use nothing that an old SQLite
// lacks: the values of the watched columns are SQL literals joined by commas.
//
// Each row has a nonce, by which a process that starts again finds out whether
// the log goes on from the row that was its last, or whether the file has been
// given back from a copy and written differently since.
//
// A row deleted by REPLACE fires no trigger unless the program has asked for
// recursive triggers. A BEFORE trigger therefore logs every row that shares a
// unique value with the new one, whether or not it will be replaced.
const (
	logTable = "hotrow_changes"
	logKeeps = 100_000 // rows; the log trims itself
)

// createLog makes the table, and the trigger that keeps it short.
var createLog = []string{
	"CREATE TABLE IF NOT EXISTS hotrow_changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, " +
		"tbl TEXT NOT NULL, op TEXT NOT NULL, old TEXT, new TEXT, " +
		"nonce BLOB DEFAULT (randomblob(8)))",
	fmt.Sprintf("CREATE TRIGGER IF NOT EXISTS hotrow_changes_trim AFTER INSERT ON hotrow_changes "+
		"WHEN NEW.seq %% 1000 = 0 BEGIN DELETE FROM hotrow_changes WHERE seq <= NEW.seq - %d; END",
		logKeeps),
	// So that there is a row by whose nonce the log is known again.
	"INSERT INTO hotrow_changes (tbl, op) SELECT '', 'B' " +
		"WHERE NOT EXISTS (SELECT 1 FROM hotrow_changes)",
}

// A changeLog reads the log for a feed.
type changeLog struct {
	ready  bool   // the log and all triggers are there
	there  bool   // the log is
	reason string // why they cannot be; "" when they can
	tables map[string]*loggedTable
	last   int64 // seq of the last row read
	looked int64 // rows that were read
}

// A loggedTable is a watched table, with the columns whose values are logged.
type loggedTable struct {
	t       *table
	columns []string
}

// prepare says what the log must hold for tables.
func (l *changeLog) prepare(k *catalogue, tables []source.Watched) {
	l.ready, l.there, l.reason = false, k.logs, ""
	l.tables = make(map[string]*loggedTable, len(tables))
	for _, w := range tables {
		t := k.named[w.Table]
		switch {
		case t == nil:
			l.reason = fmt.Sprintf("there is no table %s", w.Table)
		case t.View || t.opaque:
			l.reason = fmt.Sprintf("table %s has a unique index on an expression or with a "+
				"collation of its own: triggers cannot tell what REPLACE deletes", w.Table)
		default:
			cols := union(t.Key, w.Columns)
			slices.Sort(cols)
			l.tables[w.Table] = &loggedTable{t: t, columns: cols}
		}
	}
}

// installed reports whether the log and every trigger are as they must be. Where there is no
// log c is not asked: it would read the schema for that, of which the writer may have no need.
func (l *changeLog) installed(ctx context.Context, c *conn) (bool, error) {
	if l.reason != "" || !l.there {
		return false, nil
	}
	have, err := objects(ctx, c)
	return err == nil && l.complete(have), err
}

// complete reports whether have has the log and every trigger: by it the doctor says what the
// feed does.
func (l *changeLog) complete(have map[string]string) bool {
	return l.reason == "" && have[logTable] != "" && len(l.missing(have)) == 0
}

// missing returns the triggers that have lacks, or has otherwise, by the names of the tables.
func (l *changeLog) missing(have map[string]string) (list []trigger) {
	for _, name := range slices.Sorted(maps.Keys(l.tables)) {
		for _, tr := range l.tables[name].triggers() {
			if have[tr.name] != tr.create {
				list = append(list, tr)
			}
		}
	}
	return list
}

// objects returns the definitions of what belongs to hotrow in the schema.
func objects(ctx context.Context, c *conn) (map[string]string, error) {
	have := make(map[string]string)
	err := c.query(ctx, `SELECT name, sql FROM main.sqlite_schema
		WHERE name LIKE 'hotrow\_%' ESCAPE '\'`, nil, func(v []any) error {
		name, _ := v[0].(string)
		have[name], _ = v[1].(string)
		return nil
	})
	return have, err
}

// reset looks again what there is, and goes to the end of the log.
func (l *changeLog) reset(ctx context.Context, w *writer, tables []source.Watched) error {
	l.prepare(w.known, tables)
	ready, err := l.installed(ctx, w.c)
	if err != nil {
		return err
	}
	if ready {
		if l.last, err = lastLogged(ctx, w.c); err != nil {
			return err
		}
	}
	l.ready = ready
	return nil
}

// lastLogged returns the number of the last row that the log ever had.
func lastLogged(ctx context.Context, c *conn) (int64, error) {
	return c.integer(ctx, "SELECT seq FROM sqlite_sequence WHERE name = 'hotrow_changes'")
}

// read returns what other programs have logged since the last read, between the
// spans in own, which are in order; nil when that is nothing. A hole in the log, or
// more than it keeps, is "everything".
func (l *changeLog) read(ctx context.Context, w *writer, own []span) (*source.Tx, error) {
	last, err := lastLogged(ctx, w.c)
	switch {
	case err != nil:
		return nil, err
	case last == l.last:
		return nil, nil
	}
	foreign := span{l.last + 1, last}.without(own)
	want := int64(0)
	for _, s := range foreign {
		want += s.last - s.first + 1
	}
	if last < l.last || want > logKeeps {
		l.last = last
		return &source.Tx{All: true}, nil
	}
	var batch source.Batch
	rows := int64(0)
	for _, s := range foreign {
		err := w.c.query(ctx, `SELECT seq, tbl, op, old, new FROM hotrow_changes
			WHERE seq >= ? AND seq <= ? ORDER BY seq`, []any{s.first, s.last}, func(v []any) error {
			rows++
			l.add(&batch, v)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	hole := rows != want
	l.last, l.looked = last, l.looked+rows
	tx := &source.Tx{All: hole}
	if batch.Take(tx); hole {
		tx.Changes, tx.Tables = nil, nil
	}
	if !tx.All && len(tx.Changes) == 0 && len(tx.Tables) == 0 {
		return nil, nil
	}
	return tx, nil
}

// after appends s to list, which is in order, and makes one of two that adjoin. A number that
// s has again was not committed before: something was undone within the transaction.
func (s span) after(list []span) []span {
	if s.last == 0 {
		return list
	}
	for len(list) > 0 && list[len(list)-1].first >= s.first {
		list = list[:len(list)-1]
	}
	if n := len(list); n > 0 && list[n-1].last+1 >= s.first {
		list[n-1].last = s.last
		return list
	}
	return append(list, s)
}

// without returns the parts of s that none of own has, in order, as own is. What is of before
// s does not count: the log may have been read up to its end in another way.
func (s span) without(own []span) (parts []span) {
	next := s.first
	from, _ := slices.BinarySearchFunc(own, next, func(o span, at int64) int {
		return cmp.Compare(o.last, at)
	})
	for _, o := range own[from:] {
		if o.first > s.last {
			break
		}
		if o.first > next {
			parts = append(parts, span{next, o.first - 1})
		}
		next = o.last + 1
	}
	if next <= s.last {
		parts = append(parts, span{next, s.last})
	}
	return parts
}

// add adds one row of the log to batch.
func (l *changeLog) add(batch *source.Batch, v []any) {
	name, _ := v[1].(string)
	op, _ := v[2].(string)
	lt := l.tables[name]
	if lt == nil {
		return
	}
	c := source.Change{Table: name}
	ok := true
	switch op {
	case "I":
		c.Op = source.Insert
		c.New, ok = lt.tuple(v[4])
	case "D":
		c.Op = source.Delete
		c.Old, ok = lt.tuple(v[3])
	default:
		var ok2 bool
		c.Op = source.Update
		c.Old, ok = lt.tuple(v[3])
		c.New, ok2 = lt.tuple(v[4])
		ok = ok && ok2
	}
	if !ok {
		batch.Table(name)
		return
	}
	batch.Add(c)
}

// tuple reads the logged values of a row.
func (lt *loggedTable) tuple(v any) (source.Tuple, bool) {
	text, _ := v.(string)
	values, ok := parseLiterals(text)
	if !ok || len(values) != len(lt.columns) {
		return nil, false
	}
	out := make(source.Tuple, len(values))
	for i, name := range lt.columns {
		col, known := lt.t.column(name)
		if !known {
			return nil, false
		}
		if out[i], ok = cellOf(col, values[i]); !ok {
			return nil, false
		}
	}
	return out, true
}

// A trigger is one trigger of the log, with the text that the schema keeps.
type trigger struct{ name, create string }

// triggers returns the triggers of a table.
func (lt *loggedTable) triggers() []trigger {
	t := quote(lt.t.Name)
	// No what has a "_", or those of a table "t" and of a "t_WHAT" could be one.
	name := func(what string) string { return "hotrow_" + lt.t.Name + "_" + what }
	insert := func(op, older, newer string) string {
		return fmt.Sprintf("INSERT INTO hotrow_changes (tbl, op, old, new) "+
			"VALUES (%s, '%s', %s, %s)", literal(lt.t.Name), op, older, newer)
	}
	older, newer := lt.values("OLD"), lt.values("NEW")
	define := func(what, when, body string) trigger {
		return trigger{name(what), fmt.Sprintf("CREATE TRIGGER %s %s BEGIN %s; END",
			quote(name(what)), when, body)}
	}
	out := []trigger{
		define("insert", "AFTER INSERT ON "+t, insert("I", "NULL", newer)),
		define("update", "AFTER UPDATE ON "+t, insert("U", older, newer)),
		define("delete", "AFTER DELETE ON "+t, insert("D", older, "NULL")),
	}
	if same, changed := lt.conflicts(); same != "" {
		body := fmt.Sprintf("INSERT INTO hotrow_changes (tbl, op, old) SELECT %s, 'D', %s "+
			"FROM %s AS x WHERE %s", literal(lt.t.Name), lt.values("x"), t, same)
		out = append(out,
			define("replace", "BEFORE INSERT ON "+t, body),
			define("displace", "BEFORE UPDATE ON "+t+" WHEN "+changed, body))
	}
	return out
}

// values writes the expression of a row's logged values.
func (lt *loggedTable) values(of string) string {
	if len(lt.columns) == 0 {
		return "''"
	}
	parts := make([]string, len(lt.columns))
	for i, c := range lt.columns {
		parts[i] = "quote(" + of + "." + quote(c) + ")"
	}
	return strings.Join(parts, " || ',' || ")
}

// conflicts writes the conditions that a row x has a unique value of the new
// row, and that an update changes such a value.
func (lt *loggedTable) conflicts() (same, changed string) {
	var sames, changes []string
	add := func(columns []string) {
		var and []string
		for _, c := range columns {
			and = append(and, "x."+c+" = NEW."+c)
			changes = append(changes, "NEW."+c+" IS NOT OLD."+c)
		}
		sames = append(sames, "("+strings.Join(and, " AND ")+")")
	}
	if name := lt.t.rowidName(); !lt.t.withoutRowID && name != "" {
		add([]string{name})
	}
	for _, ix := range lt.t.unique {
		cols := make([]string, len(ix.columns))
		for i, c := range ix.columns {
			cols[i] = quote(c)
		}
		if len(cols) != 1 || ix.columns[0] != lt.t.rowid {
			add(cols)
		}
	}
	return strings.Join(sames, " OR "), strings.Join(changes, " OR ")
}
