package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
)

// Bounds of what Classes returns.
const (
	maxProduct = 32 // classes made of several columns
	maxClasses = 64
)

// A Class is the rows of the query's table whose Columns have these values, which are as
// row.Fold makes them in the columns that are Folded. A row that has another text in one of
// those, for which there is no such, is in every class.
type Class struct {
	Columns []string // names of columns, in their order in the table
	Values  []Value
	Folded  []string // some of Columns
}

// Classes returns classes of rows that bound what can change the answer: a change of a row
// that is in none of them, neither before nor after, changes nothing. nil stands for the
// whole table.
func (q *Query) Classes() []Class {
	pins := q.Table.pinned(q.Where)
	if len(pins) == 0 || len(pins) > maxClasses {
		return nil
	}
	classes := make([]Class, len(pins))
	for i, pin := range pins {
		c := &classes[i]
		for _, column := range slices.Sorted(maps.Keys(pin)) {
			c.Columns = append(c.Columns, q.Table.Columns[column].Name)
			c.Values = append(c.Values, pin[column])
			if q.Table.Columns[column].Folded {
				c.Folded = append(c.Folded, q.Table.Columns[column].Name)
			}
		}
	}
	slices.SortFunc(classes, compareClasses)
	return slices.CompactFunc(classes, func(a, b Class) bool { return compareClasses(a, b) == 0 })
}

func compareClasses(a, b Class) int {
	if c := slices.Compare(a.Columns, b.Columns); c != 0 {
		return c
	}
	return slices.CompareFunc(a.Values, b.Values, func(a, b Value) int {
		switch {
		case a.Null == b.Null:
			return strings.Compare(a.Text, b.Text)
		case a.Null:
			return -1
		}
		return 1
	})
}

// A pin gives columns, by their places, one value each.
type pin map[int]Value

// pinned returns pins of which every row that the terms find agrees with one; nil when
// there are none, or too many.
func (t *Table) pinned(terms []Term) []pin {
	sets := make(map[int][]Value)
	for i := range terms {
		values := t.equals(&terms[i])
		column := terms[i].Column
		if old, ok := sets[column]; values != nil && (!ok || len(values) < len(old)) {
			sets[column] = values
		}
	}
	if len(sets) == 0 {
		return t.pinnedByOr(terms)
	}
	// Columns with few values first: those that would make too many classes are left out.
	columns := slices.SortedFunc(maps.Keys(sets), func(a, b int) int {
		if d := len(sets[a]) - len(sets[b]); d != 0 {
			return d
		}
		return a - b
	})
	pins := []pin{{}}
	for i, column := range columns {
		if i > 0 && len(pins)*len(sets[column]) > maxProduct {
			break
		}
		var more []pin
		for _, p := range pins {
			for _, v := range sets[column] {
				next := maps.Clone(p)
				next[column] = v
				more = append(more, next)
			}
		}
		pins = more
	}
	return pins
}

// pinnedByOr returns the pins of a group of which one condition must hold.
func (t *Table) pinnedByOr(terms []Term) []pin {
	var best []pin
	for i := range terms {
		if terms[i].Op != Or || terms[i].Not {
			continue
		}
		var all []pin
		for _, branch := range terms[i].Terms {
			some := []Term{branch}
			if branch.Op == And && !branch.Not {
				some = branch.Terms
			}
			pins := t.pinned(some)
			if all = append(all, pins...); pins == nil {
				all = nil
				break
			}
		}
		if all != nil && (best == nil || len(all) < len(best)) {
			best = all
		}
	}
	return best
}

// equals returns the values that a term restricts its column to; nil when it does not, or
// when they make no classes.
func (t *Table) equals(term *Term) []Value {
	if term.Op >= And || term.Path != "" {
		return nil
	}
	column := &t.Columns[term.Column]
	if !column.Classed && !column.Folded {
		return nil
	}
	switch {
	case term.Op == Is && !term.Not && term.Values[0] == "null":
		return []Value{{Null: true}}
	case term.Op == Is && term.Not:
		return nil
	case term.Op == Is, term.Op == IsDistinct && term.Not,
		term.Quant == One && (term.Op == Eq || term.Op == In && !term.Not):
		var values []Value
		for _, v := range term.Values {
			if term.Op == Is {
				v = column.truth(v)
			}
			if column.Folded {
				var ok bool
				if v, ok = row.Fold(v); !ok {
					return nil
				}
			}
			values = append(values, Value{Text: v})
		}
		return values
	}
	return nil
}

// Blurred returns the columns that the filters restrict to values, but that make no classes:
// a change does not tell them, or values that are equal may be spelled differently.
func (q *Query) Blurred() []string {
	var names []string
	q.mentionsTerm(func(t *Term) {
		c := &q.Table.Columns[t.Column]
		classed := c.Classed || c.Folded && q.Table.equals(t) != nil
		if t.isEquality() && !classed && !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	})
	return names
}
