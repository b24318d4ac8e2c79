package document

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// describe makes the table that queries of p are about. Columns that no member shows are
// unknown to them. They are there all the same: those of the key for the order, the others since
// statements of SQL may name them.
func (p *Plan) describe(spec *source.Spec) error {
	if p.Query != nil {
		return nil
	}
	p.unguarded = spec.Unguarded
	n := p.Root
	t := query.Table{Name: n.Table.ID(), NullsHigh: p.Dialect.Filters.NullsHigh,
		Native: p.Dialect.Filters.Native != nil, Columns: make([]query.Column, 0, len(n.Fields))}
	p.cols = make([]Column, 0, len(n.Fields))
	for i, col := range n.Fields {
		if col == nil {
			t.Embeds = true
			continue
		}
		c := n.describe(col, n.Shape.Fields[i].Name)
		ordered := p.Dialect.Ordered
		c.Unsorted = ordered != nil && ordered(n, col) != p.Dialect.Column(n, col) &&
			!slices.Contains(n.KeyCols, col) // a list is in the order of its key
		t.Columns = append(t.Columns, c)
		p.cols = append(p.cols, col)
	}
	for _, col := range n.KeyCols {
		at := slices.Index(p.cols, col)
		if at < 0 {
			at = len(p.cols)
			t.Columns, p.cols = append(t.Columns, n.describe(col, "")), append(p.cols, col)
		}
		t.Columns[at].NotNull = true // rows whose key is NULL are in no list
		t.Key = append(t.Key, at)
	}
	for _, col := range n.Table.Cols {
		if !slices.Contains(p.cols, col) {
			t.Columns, p.cols = append(t.Columns, n.describe(col, "")), append(p.cols, col)
		}
	}
	p.table = query.NewTable(t)
	for _, name := range spec.Filters {
		at, err := p.table.Find(name)
		if err != nil {
			return fmt.Errorf("lists.filters: %w", err)
		}
		p.table.Columns[at].Free = true
	}
	return nil
}

// describe returns a column as queries know it. Of a floating-point number, as of what is
// equal to other texts and does not fold, a change does not tell whether a filter finds it;
// nor does every feed tell a column that the database computes, unless it is of the key.
func (n *Node) describe(col Column, member string) query.Column {
	info, part := col.Info(), col.KeyPart()
	c := query.Column{Name: info.Name, Member: member, Part: part, NotNull: info.NotNull,
		Compares: col.Compares(), Matches: col.Matches(), Bool: info.Kind == row.Bool,
		JSON:    info.Kind == row.JSON,
		Content: info.Content, Elem: info.Elem}
	switch part.Kind {
	case row.Bool, row.Int, row.Uint, row.Text, row.UUID, row.Bytes, row.Date, row.Time,
		row.Datetime, row.DatetimeTZ:
		key := slices.Contains(n.KeyCols, col)
		spelled := part.Kind == row.Text && info.Kind != row.Text && !key // see Filters.Moment
		plain := !part.Wide && !part.Zone && part.MaxBytes == 0 && !spelled
		told := col.InTuple() && (!info.Generated || key)
		c.Classed = plain && told && col.CanBeKey()
		c.Folded = part.Wide && info.Folds && part.MaxBytes == 0 && told && col.CanBeKey() &&
			!spelled
	}
	return c
}

// Table returns what queries may ask about; nil where there are no lists.
func (p *Plan) Table() *query.Table { return p.table }

// A Selection is the statement of one query, and what reads its answer.
type Selection struct {
	Statement
	Args  []any
	query *query.Query
	order []int // places of the order's columns among the items that are read
	cond  string
	conds []any // the arguments of cond
}

// Select reads the rows that q asks for.
func (p *Plan) Select(ctx context.Context, q *query.Query) (*source.Selected, error) {
	s, err := p.Selection(q)
	if err != nil {
		return nil, fmt.Errorf("select %s: %w", p.Name, err)
	}
	statements, snapshot := 3, q.Count != query.CountNone
	if p.Dialect.Nested == nil {
		statements += p.depth + 4*len(q.Embeds())
		snapshot = snapshot || len(s.Node.Kids) > 0
	}
	ctx, cancel := p.db.Begin(ctx, statements)
	defer cancel()
	if limit := p.Dialect.Filters.Limit; p.unguarded && limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	var out *source.Selected
	var refused *query.Error
	err = p.db.Read(ctx, snapshot, func(ctx context.Context, c Conn) (err error) {
		if refused, err = p.Admit(ctx, c, s); err != nil {
			return err
		}
		run := *s
		if at := p.Dialect.Filters.AtOnce; refused != nil && at != nil {
			run.SQL = at(s.SQL)
		}
		out, err = p.selectOn(ctx, c, &run)
		return err
	})
	if refused != nil && gaveUp(ctx, err) {
		refused.Message = "the query was given up: " + refused.Message
		err = refused
	}
	if err != nil {
		return nil, fmt.Errorf("select %s: %w", p.Name, err)
	}
	return out, nil
}

// Selection writes the statement of q.
func (p *Plan) Selection(q *query.Query) (*Selection, error) {
	if p.table == nil {
		return nil, p.NoList()
	}
	d := p.Dialect
	n := p.Root
	if q.Select != nil {
		var err error
		if n, err = (&projection{d: d}).node(p, q); err != nil {
			return nil, err
		}
	}
	s := &Selection{query: q, Statement: Statement{Node: n}}
	for _, o := range q.Order {
		s.order = append(s.order, slices.IndexFunc(n.Items, func(it Item) bool {
			return o.Path == "" && o.Of == nil && it.Column == p.cols[o.Column]
		}))
	}
	w := &where{n: n, d: d, cols: p.cols}
	conds := n.present(d)
	filters, err := w.conditions(q)
	if err != nil {
		return nil, err
	}
	conds = append(conds, filters...)
	s.cond, s.conds = strings.Join(conds, " AND "), slices.Clone(w.args)
	if q.After != nil {
		cond, err := w.after(q)
		if err != nil {
			return nil, err
		}
		conds = append(conds, cond)
	}
	if n.embeds() {
		if w.args, err = d.narrow(n, w.args); err != nil {
			return nil, err
		}
	}
	s.SQL = n.selectList(d) + whereAll(conds) + w.orderBy(q) + w.limit(q.Limit+1)
	if q.Offset > 0 && q.Offset <= query.MaxOffset { // beyond it the count alone is wanted
		s.SQL += fmt.Sprintf(" OFFSET %d", q.Offset)
	}
	s.Args = w.args
	return s, nil
}

// whereAll returns the WHERE that all of these conditions hold; "" for none.
func whereAll(conds []string) string {
	if len(conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conds, " AND ")
}

// present returns the conditions that a row's values can be a key.
func (n *Node) present(d *Dialect) []string {
	var conds []string
	for _, col := range n.KeyCols {
		switch {
		case d.Present != nil:
			if present := d.Present(n, col); present != "" {
				conds = append(conds, present)
			}
		case !col.Info().NotNull:
			conds = append(conds, d.Column(n, col)+" IS NOT NULL")
		}
	}
	return conds
}

// selectOn runs a Selection that is admitted on c.
func (p *Plan) selectOn(ctx context.Context, c Conn, s *Selection) (*source.Selected, error) {
	s.Node.afresh()
	var all []*record
	var some records
	var last []query.Value
	err := c.Query(ctx, &s.Statement, s.Args, func(row Row) error {
		r, err := s.Node.record(row, &some)
		if all = append(all, r); len(all) == s.query.Limit {
			last = s.cells(row)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &source.Selected{Shape: s.Node.Shape, Total: -1}
	limit := s.query.Limit
	if len(all) > limit {
		out.Beyond, all = all[limit].key, all[:limit]
		out.More = true
	}
	if err := p.fill(ctx, c, s.Node, all); err != nil {
		return nil, err
	}
	for _, r := range all {
		out.Rows = append(out.Rows, source.Loaded{Asked: r.key, Key: r.key,
			Values: s.Node.values(r.read), Children: r.children})
	}
	if out.More {
		out.Last = last
	}
	out.Reached = s.Node.reachedRows()
	out.Total, err = p.total(ctx, c, s)
	return out, err
}

// cells returns what a cursor needs of a row; nil where a value has no text that says it
// exactly.
func (s *Selection) cells(r Row) []query.Value {
	values := make([]query.Value, len(s.order))
	for i, at := range s.order {
		if at < 0 { // it is within another
			return nil
		}
		cell, ok, err := r.Cell(s.Node.places[at], s.Node.Items[at].Column)
		if err != nil || !ok || !s.exact(i, cell.Text, cell.Null) {
			return nil
		}
		values[i] = query.Value{Text: cell.Text, Null: cell.Null}
	}
	return values
}

// exact reports whether a text is one that a cursor gives back as it is.
func (s *Selection) exact(i int, text string, null bool) bool {
	if null {
		return true
	}
	canonical, err := s.query.Table.Columns[s.query.Order[i].Column].Part.Parse(text)
	return err == nil && canonical == text
}

// countAll is up to how many rows an estimated count is exact.
const countAll = 10_000

// total returns how many rows the filters find; -1 if nobody asks.
func (p *Plan) total(ctx context.Context, c Conn, s *Selection) (int64, error) {
	f := &p.Dialect.Filters
	from := " FROM " + s.Node.aliased(p.Dialect, s.Node.Table.From)
	if s.cond != "" {
		from += " WHERE " + s.cond
	}
	switch s.query.Count {
	case query.CountExact:
		return f.Count(ctx, c, "SELECT count(*)"+from, s.conds, false)
	case query.CountPlanned:
		return f.Count(ctx, c, "SELECT 1"+from, s.conds, true)
	case query.CountEstimated:
		some := fmt.Sprintf("SELECT count(*) FROM (SELECT 1%s LIMIT %d) AS few", from, countAll+1)
		n, err := f.Count(ctx, c, some, s.conds, false)
		if err != nil || n <= countAll {
			return n, err
		}
		planned, err := f.Count(ctx, c, "SELECT 1"+from, s.conds, true)
		return max(planned, n), err
	}
	return -1, nil
}
