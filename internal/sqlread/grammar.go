package sqlread

// This file reads a statement, but for its condition, which is in where.go:
//
//	stmt  := SELECT item {, item} FROM [schema.]table [[AS] alias] [WHERE or]
//	         [ORDER BY col [ASC|DESC] [NULLS FIRST|LAST] {, ...}]
//	         [LIMIT v] [OFFSET v [ROW|ROWS]] [FETCH FIRST|NEXT v ROW|ROWS ONLY] [;]
//	item  := * | q.* | col [[AS] a] | v [[AS] a] | count(*) [[AS] a]
//	col   := [q.]name
//
// LIMIT, or FETCH in its place, and OFFSET may stand in either order.

// statement reads the whole text.
func (r *reader) statement() bool {
	if len(r.text) > maxText {
		return r.refuse(TooLong)
	}
	if !r.next() || !r.first() || !r.selectList() {
		return false
	}
	switch {
	case r.tok.kind == end, r.isMark(";"):
		return r.refuse(NoTable)
	case !r.is("from"):
		return r.unexpected()
	}
	if !r.take() || !r.table() || !r.qualified() || !r.where() || !r.orderBy() || !r.window() {
		return false
	}
	if r.isMark(";") {
		if !r.next() {
			return false
		}
		if r.tok.kind != end {
			return r.refuse(Several)
		}
	}
	if r.tok.kind != end {
		return r.unexpected()
	}
	return true
}

// first takes SELECT.
func (r *reader) first() bool {
	if r.is("select") {
		return r.take()
	}
	switch r.tok.kind {
	case end:
		return r.refuse(Empty)
	case word:
		switch why := r.tok.word.why; why {
		case Write, Transaction, Session, With:
			return r.refuse(why)
		}
	case mark:
		if r.isMark(";") {
			return r.refuse(Empty)
		}
	}
	return r.refuse(NotASelect)
}

func (r *reader) selectList() bool {
	for {
		if len(r.s.Items) == maxItems {
			return r.refuse(TooMany)
		}
		if !r.item() {
			return false
		}
		if !r.isMark(",") {
			return true
		}
		if !r.take() {
			return false
		}
	}
}

func (r *reader) item() bool {
	switch {
	case r.isOp("*"):
		r.s.Star = true
		r.s.Items = append(r.s.Items, AllColumns)
		return r.take()
	case r.isValue():
		r.s.Items = append(r.s.Items, NoItem)
		if _, ok := r.value(); !ok {
			return false
		}
		return r.label()
	}
	counts := r.is("count")
	name, ok := r.name()
	if !ok {
		return false
	}
	var qualifier Name
	switch {
	case counts && r.isMark("("):
		r.s.Items = append(r.s.Items, NoItem)
		if !r.countAll() {
			return false
		}
		return r.label()
	case r.isMark("."):
		if !r.take() {
			return false
		}
		qualifier = name
		if r.isOp("*") {
			r.s.Star = true
			r.s.Items = append(r.s.Items, AllColumns)
			r.s.Columns = append(r.s.Columns, Column{Qualifier: qualifier})
			return r.take()
		}
		if name, ok = r.name(); !ok {
			return false
		}
	}
	r.s.Items = append(r.s.Items, len(r.s.Columns))
	r.s.Columns = append(r.s.Columns, Column{qualifier, name})
	return r.label()
}

// countAll takes the brackets of count(*).
func (r *reader) countAll() bool {
	if r.s.Count = true; !r.take() {
		return false
	}
	if !r.isOp("*") {
		return r.refuse(Function)
	}
	return r.take() && r.expectMark(")")
}

// label takes the name that an item has in the answer, if it is given one.
func (r *reader) label() bool {
	switch {
	case r.is("as"):
		if !r.take() {
			return false
		}
	case r.tok.kind != quoted && (r.tok.kind != word || r.tok.word.class != free):
		return true
	}
	name, ok := r.name()
	r.s.labels = append(r.s.labels, name)
	return ok
}

func (r *reader) table() bool {
	if r.isMark("(") {
		return r.refuse(Subselect)
	}
	name, ok := r.name()
	if !ok {
		return false
	}
	if r.isMark(".") {
		if !r.take() {
			return false
		}
		r.s.Schema = name
		if name, ok = r.name(); !ok {
			return false
		}
	}
	r.s.Table = name
	switch {
	case r.is("as"):
		if !r.take() {
			return false
		}
	case r.tok.kind != quoted && (r.tok.kind != word || r.tok.word.class == kept):
		return r.endOfTable()
	}
	if r.s.Alias, ok = r.name(); !ok {
		return false
	}
	return r.endOfTable()
}

// endOfTable refuses what makes another thing of a table that was read.
func (r *reader) endOfTable() bool {
	switch {
	case r.isMark(","), r.tok.kind == word && r.tok.word.why == Join:
		return r.refuse(Join)
	case r.isMark("("), r.isOp("*"):
		return r.refuse(TableForm)
	}
	return true
}

// qualified refuses columns of the select list that are not the table's.
func (r *reader) qualified() bool {
	for i := range r.s.Columns {
		if !r.mayQualify(r.s.Columns[i].Qualifier) {
			return r.refuse(Qualifier)
		}
	}
	return true
}

// mayQualify reports whether q may stand before a column.
func (r *reader) mayQualify(q Name) bool {
	table := r.s.Alias
	if table.IsEmpty() {
		table = r.s.Table
	}
	return q.IsEmpty() || q.equal(table)
}

// column reads [q.]name behind FROM, and returns its place in Columns.
func (r *reader) column() (place int, ok bool) {
	var c Column
	if c.Name, ok = r.name(); !ok {
		return -1, false
	}
	if r.isMark(".") {
		if !r.take() {
			return -1, false
		}
		if c.Qualifier = c.Name; !r.mayQualify(c.Qualifier) {
			return -1, r.refuse(Qualifier)
		}
		if c.Name, ok = r.name(); !ok {
			return -1, false
		}
	}
	r.s.Columns = append(r.s.Columns, c)
	return len(r.s.Columns) - 1, true
}

func (r *reader) orderBy() bool {
	if !r.is("order") {
		return true
	}
	if !r.take() || !r.expect("by") {
		return false
	}
	for n := 1; ; n++ {
		if n > maxOrders {
			return r.refuse(TooMany)
		}
		if !r.order() {
			return false
		}
		if !r.isMark(",") {
			return true
		}
		if !r.take() {
			return false
		}
	}
}

// order reads one column to order by, or one label: a name without qualifier is first looked for
// among the labels.
func (r *reader) order() bool {
	place, ok := r.column()
	if !ok {
		return false
	}
	if c := r.s.Columns[place]; c.Qualifier.IsEmpty() {
		for _, label := range r.s.labels {
			if label.equal(c.Name) {
				r.s.Columns, place = r.s.Columns[:place], -1
				break
			}
		}
	}
	r.s.Order = append(r.s.Order, place)
	if (r.is("asc") || r.is("desc")) && !r.take() {
		return false
	}
	if !r.is("nulls") {
		return true
	}
	if !r.take() {
		return false
	}
	if !r.is("first") && !r.is("last") {
		return r.unexpected()
	}
	return r.take()
}

// window reads LIMIT, FETCH and OFFSET.
func (r *reader) window() bool {
	for {
		ok := true
		switch {
		case r.is("limit") && r.s.Limit < 0:
			if !r.take() {
				return false
			}
			r.s.Limit, ok = r.value()
		case r.is("fetch") && r.s.Limit < 0:
			ok = r.fetch()
		case r.is("offset") && r.s.Offset < 0:
			ok = r.offset()
		default:
			return true
		}
		if !ok {
			return false
		}
	}
}

func (r *reader) fetch() bool {
	if !r.take() {
		return false
	}
	if !r.is("first") && !r.is("next") {
		return r.unexpected()
	}
	if !r.take() {
		return false
	}
	var ok bool
	if r.s.Limit, ok = r.value(); !ok {
		return false
	}
	switch {
	case !r.s.Values[r.s.Limit].isPlain(), !r.is("row") && !r.is("rows"):
		return r.unexpected()
	case !r.take():
		return false
	case r.is("with"):
		return r.refuse(WithTies)
	}
	return r.expect("only")
}

func (r *reader) offset() bool {
	if !r.take() {
		return false
	}
	var ok bool
	if r.s.Offset, ok = r.value(); !ok {
		return false
	}
	if !r.is("row") && !r.is("rows") {
		return true
	}
	if !r.s.Values[r.s.Offset].isPlain() {
		return r.unexpected()
	}
	return r.take()
}
