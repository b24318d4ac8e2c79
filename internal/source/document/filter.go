package document

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// Filters are how a database writes the conditions of a query. An expr is a column, a mark
// a placeholder.
type Filters struct {
	// NullsHigh says that the database sorts NULL above every value; else below.
	NullsHigh bool

	// NullsClause says that ORDER BY takes NULLS FIRST and NULLS LAST.
	NullsClause bool

	// Mark returns the placeholder, of this number, of a value that is compared with col;
	// of a text that is a pattern if pattern, of an array of such if many.
	Mark func(col Column, number int, pattern, many bool) string

	// Array returns what the placeholder of an array is bound as. nil: there are none,
	// and several values are compared one by one.
	Array func(values []any) any

	// Distinct returns the condition that an expr is not a value, or is NULL.
	Distinct func(expr, mark string) string

	// Truth returns the condition that a boolean is true, or false, and not NULL.
	Truth func(expr string, is bool) string

	// Like returns the condition that a text matches a pattern, in any case if fold. In a
	// pattern % and _ stand for any text and any character, and a backslash takes the
	// meaning from what follows it. mark makes the placeholder of an argument.
	Like func(n *Node, col Column, pattern string, fold bool, mark func(arg any) string) string

	// Moment returns the condition that a column compares so with a text, where the database
	// stores times as texts in several spellings; false: it does not store times so. IsDistinct
	// and In are asked for as Eq. mark makes the placeholder of an argument. nil: there are none.
	Moment func(n *Node, col Column, op query.Op, text string, mark func(arg any) string) (
		cond string, ok bool)

	// Native returns the condition of a native operator. mark makes the placeholder of an
	// argument of a type of the database. nil: it has no such operators.
	Native func(n *Node, col Column, t *query.Term, mark func(arg any, typ string) string) string

	// Within returns the values that a path leads to in a JSON column as a column: texts of any
	// character, or JSON.
	Within func(col Column, path query.Path) Column

	// NamesIndexes says that CREATE INDEX needs no name, and finds one that is free.
	NamesIndexes bool

	// Indexes returns the indexes in which rows of n's table are looked up.
	Indexes func(ctx context.Context, c Conn, n *Node) ([]query.Index, error)

	// Limit is how long a query may take that no index answers and that is run all the same;
	// 0: as long as any statement. AtOnce returns such a statement in a form that finds all of
	// its rows before it gives the first: where nothing else can be ended in time. nil: itself.
	Limit  time.Duration
	AtOnce func(sql string) string

	// Count runs a statement that counts, or, if planned, returns how many rows the planner
	// expects of it.
	Count func(ctx context.Context, c Conn, sql string, args []any, planned bool) (int64, error)
}

// A where writes the conditions of one query.
type where struct {
	n    *Node
	d    *Dialect
	cols []Column // of the query's table, by their places
	args []any
}

// column returns a column, or what is within it as one.
func (w *where) column(at int, path query.Path) Column {
	if path == "" {
		return w.cols[at]
	}
	return w.d.Filters.Within(w.cols[at], path)
}

// mark adds an argument and returns its placeholder.
func (w *where) mark(col Column, arg any) string {
	w.args = append(w.args, arg)
	return w.d.Filters.Mark(col, len(w.args), false, false)
}

// limit returns the LIMIT of so many rows. It is an argument where it can be: a statement
// without any is sent to MySQL as text, and answered as text, which has less digits.
func (w *where) limit(rows int) string {
	if w.d.Numbered {
		return fmt.Sprintf(" LIMIT %d", rows)
	}
	w.args = append(w.args, int64(rows))
	return " LIMIT ?"
}

// terms returns the condition that all of terms hold; "" for none.
func (w *where) terms(terms []query.Term, op string) (string, error) {
	conds := make([]string, len(terms))
	for i := range terms {
		var err error
		if conds[i], err = w.term(&terms[i]); err != nil {
			return "", err
		}
	}
	return strings.Join(conds, op), nil
}

// term returns the condition of one term, which binds as closely as a comparison.
func (w *where) term(t *query.Term) (cond string, err error) {
	switch {
	case t.Op == query.Is && t.Not && t.Values[0] == "null" &&
		w.column(t.Column, t.Path).Compares():
		// So it is in partial indexes. What is no single value may be neither.
		return w.d.Column(w.n, w.column(t.Column, t.Path)) + " IS NOT NULL", nil
	case t.Op == query.And:
		cond, err = w.terms(t.Terms, " AND ")
	case t.Op == query.Or:
		cond, err = w.terms(t.Terms, " OR ")
	default:
		cond, err = w.comparison(t)
	}
	switch {
	case t.Not:
		return "NOT (" + cond + ")", err
	case t.Op == query.Or || t.Op == query.And:
		return "(" + cond + ")", err
	}
	return cond, err
}

// comparison returns the condition of a comparison without its Not.
func (w *where) comparison(t *query.Term) (string, error) {
	col := w.column(t.Column, t.Path)
	expr := w.d.compared(w.n, col)
	switch t.Op {
	case query.Is:
		expr = w.d.Column(w.n, col)
		if t.Values[0] == "null" {
			return expr + " IS NULL", nil
		}
		return w.d.Filters.Truth(expr, t.Values[0] == "true"), nil
	case query.Like, query.ILike:
		return w.like(t, col), nil
	case query.In:
		return w.in(t, col, expr)
	}
	if t.Op.Native() {
		return w.d.Filters.Native(w.n, col, t, func(arg any, typ string) string {
			w.args = append(w.args, arg)
			return fmt.Sprintf("$%d::%s", len(w.args), typ)
		}), nil
	}
	return w.compare(t, col, expr)
}

// signs are the comparisons as SQL has them.
var signs = map[query.Op]string{query.Eq: "=", query.Neq: "<>", query.Gt: ">", query.Gte: ">=",
	query.Lt: "<", query.Lte: "<="}

// compare returns the condition of a comparison by a sign, or by whether it is distinct.
func (w *where) compare(t *query.Term, col Column, expr string) (string, error) {
	if conds, ok := w.moments(t, col); ok {
		if t.Op == query.IsDistinct {
			return "(" + expr + " IS NULL OR NOT (" + conds[0] + "))", nil
		}
		return joined(t, conds), nil
	}
	args := make([]any, len(t.Values))
	for i, v := range t.Values {
		var err error
		if args[i], err = col.Operand(v); err == nil {
			continue
		}
		if errors.As(err, new(*source.Error)) { // nobody knows what is meant
			return "", err
		}
		if t.Quant == query.One {
			switch t.Op { // no row has it
			case query.Eq:
				return w.never(col, expr), nil
			case query.Neq:
				return expr + " " + w.d.sign(col, nil, "=") + " " + expr, nil
			case query.IsDistinct:
				return "1 = 1", nil
			}
		}
		return "", &source.Error{Class: source.Invalid, Code: query.CodeOperand,
			Message: fmt.Sprintf("%s: %v", col.Info().Name, err)}
	}
	f, sign := &w.d.Filters, w.d.sign(col, nil, signs[t.Op])
	switch {
	case t.Op == query.IsDistinct:
		return w.distinct(col, expr, args[0]), nil
	case t.Quant == query.One:
		return expr + " " + sign + " " + w.mark(col, args[0]), nil
	case f.Array != nil:
		w.args = append(w.args, f.Array(args))
		return expr + " " + sign + " " + Quantifier(t) +
			f.Mark(col, len(w.args), false, true) + ")", nil
	}
	conds := make([]string, len(args))
	for i, arg := range args {
		conds[i] = expr + " " + sign + " " + w.mark(col, arg)
	}
	return joined(t, conds), nil
}

// moments returns the conditions that a column of times compares so with each value of t;
// false: it is none.
func (w *where) moments(t *query.Term, col Column) ([]string, bool) {
	if w.d.Filters.Moment == nil {
		return nil, false
	}
	conds := make([]string, len(t.Values))
	for i, v := range t.Values {
		var ok bool
		conds[i], ok = w.d.Filters.Moment(w.n, col, t.Op, v, func(arg any) string {
			return w.mark(col, arg)
		})
		if !ok {
			return nil, false
		}
	}
	return conds, true
}

// never returns a condition that holds for no row: it is NULL where expr is.
func (w *where) never(col Column, expr string) string {
	return expr + " " + w.d.sign(col, nil, "<>") + " " + expr
}

// distinct returns the condition that a column is not a value, or is NULL. IS DISTINCT FROM
// takes no operator but the = that it finds.
func (w *where) distinct(col Column, expr string, arg any) string {
	mark := w.mark(col, arg)
	if sign := w.d.sign(col, nil, "<>"); sign != "<>" {
		return "(" + expr + " " + sign + " " + mark + " OR " + expr + " IS NULL)"
	}
	return w.d.Filters.Distinct(expr, mark)
}

// Quantifier returns ANY or ALL with the parenthesis behind it.
func Quantifier(t *query.Term) string {
	if t.Quant == query.All {
		return "ALL("
	}
	return "ANY("
}

// joined returns the condition that one, or each, of conds holds.
func joined(t *query.Term, conds []string) string {
	switch {
	case t.Quant == query.All && len(conds) == 0:
		return "1 = 1"
	case len(conds) == 0:
		return "1 = 0"
	case t.Quant == query.All:
		return "(" + strings.Join(conds, " AND ") + ")"
	}
	return "(" + strings.Join(conds, " OR ") + ")"
}

// in returns the condition that a column is one of several values.
func (w *where) in(t *query.Term, col Column, expr string) (string, error) {
	if conds, ok := w.moments(t, col); ok && len(conds) > 0 {
		return joined(t, conds), nil
	}
	args := make([]any, 0, len(t.Values))
	for _, v := range t.Values {
		arg, err := col.Operand(v)
		if err == nil { // else no row has it
			args = append(args, arg)
		} else if errors.As(err, new(*source.Error)) {
			return "", err
		}
	}
	f := &w.d.Filters
	switch {
	case len(t.Values) == 0:
		return "1 = 0", nil
	case len(args) == 0:
		return w.never(col, expr), nil
	case f.Array != nil:
		w.args = append(w.args, f.Array(args))
		return expr + " " + w.d.sign(col, nil, "=") + " ANY(" +
			f.Mark(col, len(w.args), false, true) + ")", nil
	}
	marks := make([]string, len(args))
	for i, arg := range args {
		marks[i] = w.mark(col, arg)
	}
	return expr + " IN (" + strings.Join(marks, ", ") + ")", nil
}

// like returns the condition that a text matches patterns.
func (w *where) like(t *query.Term, col Column) string {
	f := &w.d.Filters
	fold := t.Op == query.ILike
	if f.Array != nil && t.Quant != query.One {
		args := make([]any, len(t.Values))
		for i, v := range t.Values {
			args[i] = v
		}
		return f.Like(w.n, col, "", fold, func(any) string {
			w.args = append(w.args, f.Array(args))
			return Quantifier(t) + f.Mark(col, len(w.args), true, true) + ")"
		})
	}
	conds := make([]string, len(t.Values))
	for i, v := range t.Values {
		conds[i] = f.Like(w.n, col, v, fold, func(arg any) string {
			w.args = append(w.args, arg)
			return f.Mark(col, len(w.args), true, false)
		})
	}
	if t.Quant == query.One {
		return conds[0]
	}
	return joined(t, conds)
}

// after returns the condition that a row follows the one with the values that q.After has:
// it is equal in some first columns of the order and follows in the next.
func (w *where) after(q *query.Query) (string, error) {
	args := make([]any, len(q.After))
	for i, v := range q.After {
		col := w.cols[q.Order[i].Column]
		var err error
		if args[i], err = col.Operand(v.Text); err != nil && !v.Null {
			return "", &source.Error{Class: source.Invalid, Code: query.CodeOperand,
				Message: fmt.Sprintf("after: %s: %v", col.Info().Name, err)}
		}
	}
	return w.behind(q, args), nil
}

// behind is after with what the values are bound as. Where rows cannot be compared the
// condition on the first column alone is there for the index.
func (w *where) behind(q *query.Query, args []any) string {
	oneWay := w.oneWay(q)
	if oneWay && (w.d.RowValues && w.alike(q) || len(args) == 1) {
		return w.rowAfter(q, args)
	}
	first := ""
	if oneWay {
		col := w.cols[q.Order[0].Column]
		first = w.d.passed(w.n, col) + " " + w.d.sign(col, nil, signOf(q.Order[0])+"=") + " " +
			w.mark(col, args[0]) + " AND "
	}
	var either []string
	for i := range q.Order {
		if q.After[i].Null && !q.Order[i].NullsFirst {
			continue // nothing follows
		}
		all := make([]string, 0, i+1)
		for j := range i {
			all = append(all, w.equals(q, j, args[j]))
		}
		all = append(all, w.follows(q, i, args[i]))
		either = append(either, "("+strings.Join(all, " AND ")+")")
	}
	if len(either) == 0 {
		return "1 = 0"
	}
	return first + "(" + strings.Join(either, " OR ") + ")"
}

// signOf returns how a value that follows another in an order compares with it.
func signOf(o query.Order) string {
	if o.Desc {
		return "<"
	}
	return ">"
}

// oneWay reports whether all of an order goes in one direction and nothing in it is null.
func (w *where) oneWay(q *query.Query) bool {
	for i, o := range q.Order {
		if o.Desc != q.Order[0].Desc || !q.Table.Columns[o.Column].NotNull || q.After[i].Null {
			return false
		}
	}
	return true
}

// alike reports whether one operator compares all columns of an order: a comparison of rows
// has one.
func (w *where) alike(q *query.Query) bool {
	sign := signOf(q.Order[0])
	one := w.d.sign(w.cols[q.Order[0].Column], nil, sign)
	for _, o := range q.Order {
		if w.d.sign(w.cols[o.Column], nil, sign) != one {
			return false
		}
	}
	return true
}

// rowAfter is after as a comparison of rows, which an index can answer.
func (w *where) rowAfter(q *query.Query, args []any) string {
	exprs, marks := make([]string, len(args)), make([]string, len(args))
	for i, o := range q.Order {
		exprs[i] = w.d.passed(w.n, w.cols[o.Column])
		marks[i] = w.mark(w.cols[o.Column], args[i])
	}
	sign := " " + w.d.sign(w.cols[q.Order[0].Column], nil, signOf(q.Order[0])) + " "
	if len(args) == 1 {
		return exprs[0] + sign + marks[0]
	}
	return "(" + strings.Join(exprs, ", ") + ")" + sign + "(" + strings.Join(marks, ", ") + ")"
}

// equals returns the condition that a row has the value of the cursor in a column of the
// order.
func (w *where) equals(q *query.Query, i int, arg any) string {
	col := w.cols[q.Order[i].Column]
	if q.After[i].Null {
		return w.d.ordered(w.n, col) + " IS NULL"
	}
	return w.d.passed(w.n, col) + " " + w.d.sign(col, nil, "=") + " " + w.mark(col, arg)
}

// follows returns the condition that a row follows the cursor in a column of the order.
func (w *where) follows(q *query.Query, i int, arg any) string {
	o := q.Order[i]
	col := w.cols[o.Column]
	expr := w.d.ordered(w.n, col)
	if q.After[i].Null { // nulls come first
		return expr + " IS NOT NULL"
	}
	cond := w.d.passed(w.n, col) + " " + w.d.sign(col, nil, signOf(o)) + " " + w.mark(col, arg)
	if !q.Table.Columns[o.Column].NotNull && !o.NullsFirst {
		cond = "(" + cond + " OR " + expr + " IS NULL)"
	}
	return cond
}

// ordered returns the expression by which rows are ordered.
func (d *Dialect) ordered(n *Node, col Column) string {
	if d.Ordered != nil {
		return d.Ordered(n, col)
	}
	return d.Column(n, col)
}

// passed returns the expression that is compared with the cursor's value in the order.
func (d *Dialect) passed(n *Node, col Column) string {
	if d.Compared != nil {
		return d.Compared(n, col)
	}
	return d.ordered(n, col)
}

// orderBy returns the ORDER BY of a query.
func (w *where) orderBy(q *query.Query) string {
	by := make([]string, 0, len(q.Order))
	f := &w.d.Filters
	for _, o := range q.Order {
		var expr string
		if o.Of != nil {
			expr = w.lookedUp(o)
		} else {
			expr = w.d.ordered(w.n, w.column(o.Column, o.Path))
		}
		item := expr
		if o.Desc {
			item += " DESC"
		}
		usual := o.Desc == f.NullsHigh
		switch {
		case q.Table.Filled(o) || o.NullsFirst == usual:
		case f.NullsClause && o.NullsFirst:
			item += " NULLS FIRST"
		case f.NullsClause:
			item += " NULLS LAST"
		case o.NullsFirst:
			item = expr + " IS NULL DESC, " + item
		default:
			item = expr + " IS NULL, " + item
		}
		by = append(by, item)
	}
	return " ORDER BY " + strings.Join(by, ", ")
}
