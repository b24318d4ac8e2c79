package query

import "slices"

// Indexed reports whether the database can find the rows that the query asks for by one of
// indexes without reading those of others: a condition of equality, or a native operator that
// it has, is on the first column of one, in each branch where one of several must hold; or
// filters and order follow one. An
// index must have all of these rows. A column that is Free needs no index.
func (q *Query) Indexed(indexes []Index) bool {
	return q.Free() || q.Table.equality(q.Where, indexes) ||
		slices.ContainsFunc(indexes, q.followed)
}

// Free reports whether the query needs no index: an equality is of a column that is Free, or
// all that it asks about and is ordered by is of such.
func (q *Query) Free() bool {
	t := q.Table
	if t.equality(q.Where, nil) {
		return true
	}
	ordered := slices.IndexFunc(q.Order, func(o Order) bool {
		return o.Of != nil || !t.Columns[o.Column].Free
	})
	free := len(q.Where) > 0 || !q.isTail(0)
	for i := range q.Where {
		free = free && t.isFree(&q.Where[i])
	}
	return free && (ordered < 0 || ordered > 0 && q.isTail(ordered))
}

// isFree reports whether a term is about columns alone that are Free.
func (t *Table) isFree(term *Term) bool {
	if term.Op < And {
		return t.Columns[term.Column].Free
	}
	return !slices.ContainsFunc(term.Terms, func(one Term) bool { return !t.isFree(&one) })
}

// Range returns the conditions by which the values of a column lie in a range.
func (q *Query) Range(column string) []Term {
	var terms []Term
	for _, t := range q.Where {
		if t.Op >= Gt && t.Op <= Lte && !t.Not && t.Quant == One && t.Path == "" &&
			q.Table.Columns[t.Column].Name == column {
			terms = append(terms, t)
		}
	}
	return terms
}

// Equality reports whether a condition of equality is on the first column of one of indexes,
// in each branch where one of several must hold.
func (q *Query) Equality(indexes []Index) bool { return q.Table.equality(q.Where, indexes) }

// equality reports whether terms, which all hold, have an equality on the first column of
// an index.
func (t *Table) equality(terms []Term, indexes []Index) bool {
	for i := range terms {
		term := &terms[i]
		switch {
		case term.Op == Or && !term.Not:
			if !slices.ContainsFunc(term.Terms, func(branch Term) bool {
				some := []Term{branch}
				if branch.Op == And && !branch.Not {
					some = branch.Terms
				}
				return !t.equality(some, indexes)
			}) {
				return true
			}
		case term.Op.Native():
			if !term.Not && term.Path == "" && slices.ContainsFunc(indexes, func(x Index) bool {
				return x.Columns[0] == t.Columns[term.Column].Name &&
					slices.Contains(x.Ops, term.Op) && x.Has(t, terms)
			}) {
				return true
			}
		case term.isEquality():
			name := t.Columns[term.Column].Name
			if t.Columns[term.Column].Free || slices.ContainsFunc(indexes, func(x Index) bool {
				return x.Columns[0] == name && x.Ops == nil && x.Has(t, terms)
			}) {
				return true
			}
		}
	}
	return false
}

// isEquality reports whether a term is an equality of one column, with a value or some.
func (t *Term) isEquality() bool {
	if t.Path != "" {
		return false // no index of the column finds what is within
	}
	switch t.Op {
	case Eq, In, Is:
		return !t.Not
	case IsDistinct:
		return t.Not
	}
	return false
}

// followed reports whether rows come in the wanted order from an index, and all that is
// asked about them is in it.
func (q *Query) followed(x Index) bool {
	if x.Ops != nil || !x.Has(q.Table, q.Where) {
		return false
	}
	index := x.Columns
	asks, bounded := false, false
	for i := range q.Where {
		t := &q.Where[i]
		if q.Table.isFree(t) ||
			slices.ContainsFunc(x.Where, func(c Condition) bool { return t.is(q.Table, c) }) {
			continue
		}
		if !t.isEquality() && (t.Not || t.Path != "" || t.Op < Gt || t.Op > Lte) {
			return false // rows that it leaves out may be any number
		}
		name := q.Table.Columns[t.Column].Name
		if !slices.Contains(index, name) {
			return false
		}
		asks, bounded = true, bounded || name == index[0]
	}
	if asks && !bounded {
		return false
	}
	for i, o := range q.Order {
		if i >= len(index) { // the key behind it tells apart what is equal in all of it
			break
		}
		if !o.isPlain() {
			return false
		}
		usual, col := q.Table.usual(o), &q.Table.Columns[o.Column]
		if col.Name != index[i] || col.Unsorted || o.Desc != q.Order[0].Desc &&
			!q.isTail(i) || o.NullsFirst != usual.NullsFirst {
			return q.isTail(i) && i > 0
		}
	}
	return true
}

// isTail reports whether the order from i on is what completes it: the key.
func (q *Query) isTail(i int) bool {
	return len(q.Order)-i <= len(q.Table.Key) && !slices.ContainsFunc(q.Order[i:],
		func(o Order) bool { return !o.isPlain() || !slices.Contains(q.Table.Key, o.Column) })
}

// mentions reports whether a comparison is of a column that is so.
func (q *Query) mentions(so func(column int) bool) (found bool) {
	q.mentionsTerm(func(t *Term) { found = found || so(t.Column) })
	return found
}

// mentionsTerm calls each for every comparison.
func (q *Query) mentionsTerm(each func(*Term)) {
	var in func(terms []Term)
	in = func(terms []Term) {
		for i := range terms {
			if terms[i].Op >= And {
				in(terms[i].Terms)
			} else {
				each(&terms[i])
			}
		}
	}
	in(q.Where)
}

// WantedNative returns the column and the method of an index by which a native operator would
// find rows; false: there is none such.
func (q *Query) WantedNative() (column, method string, ok bool) {
	for i := range q.Where {
		t := &q.Where[i]
		if !t.Op.Native() || t.Not || t.Path != "" {
			continue
		}
		c := &q.Table.Columns[t.Column]
		switch c.Content {
		case Span, Spans:
			return c.Name, "gist", true
		case Elements, Lexemes:
			return c.Name, "gin", true
		case Tree:
			if t.Op == Cs {
				return c.Name, "gin", true
			}
		}
	}
	return "", "", false
}

// Wanted returns the columns of an index by which the query would be Indexed: those of
// equalities, then those of the order, or else of the first comparison. There is one at
// least.
func (q *Query) Wanted() []string {
	var names []string
	add := func(column int) {
		if name := q.Table.Columns[column].Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range q.Where {
		if t := &q.Where[i]; t.Op < And && t.isEquality() {
			add(t.Column)
		}
	}
	for i, o := range q.Order {
		if o.Of == nil && !q.isTail(i) {
			add(o.Column)
		}
	}
	if len(names) == 0 {
		q.mentions(func(column int) bool { add(column); return true })
	}
	if len(names) == 0 {
		for _, o := range q.Order {
			if o.Of == nil {
				add(o.Column)
			}
		}
	}
	return names
}
