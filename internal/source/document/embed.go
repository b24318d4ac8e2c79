package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// engine returns p: a source.Plan that is made of a Plan has it.
func (p *Plan) engine() *Plan { return p }

// engineOf returns what a plan of a relation is made of.
func engineOf(plan any) (*Plan, error) {
	if of, ok := plan.(interface{ engine() *Plan }); ok {
		return of.engine(), nil
	}
	return nil, &source.Error{Class: source.Invalid,
		Message: "rows of another kind of source cannot be embedded"}
}

// Base returns the table whose rows the documents are; nil for a view or a query.
func (p *Plan) Base() *source.Table {
	if t := p.Root.Table; p.Query == nil && !t.View {
		return &t.Table
	}
	return nil
}

// Unique reports whether no two rows of Base can have the same values in columns.
func (p *Plan) Unique(columns []string) bool {
	t := p.Root.Table
	return slices.Equal(t.Key, columns) || t.Unique != nil && t.Unique(columns)
}

// A related is what a node has whose rows a query embeds in those of another.
type related struct {
	plan     *Plan
	query    *query.Query
	inner    bool     // rows that have none are left out
	one      bool     // there is one row, or none
	flat     bool     // its members are members of the parent
	up       []Column // of the parent, which On, or From of via, is equal to
	upAt     []int    // places of up among the items of the parent
	via      *via
	cond     string    // of the query, beside which rows are whose; "": none
	args     []any     // of cond, where they are its own
	reads    *reads    // of the whole answer
	linkRows *linkRows // of rows of a link, which are not shown
}

// linkRows is what a node has besides whose rows, those of a link, say only where they lead.
type linkRows struct {
	embedded *Node // of the embedded rows
	at       []int // places, among the items, of where they lead
}

// reads is what was read for one answer of what is embedded in it.
type reads struct {
	left    int // how many more rows the answer may have
	linked  int // rows of links, so far
	reached map[source.Reached]struct{}
}

// A via is the table between a node and its parent.
type via struct {
	node     *Node // which only names columns
	plan     *Plan
	from, to []Column
}

// A projection makes the nodes of one query.
type projection struct {
	d       *Dialect
	aliases int
	reads   reads
}

// node returns a node like the root of p that reads what q selects, and the columns of the
// key and the order.
func (s *projection) node(p *Plan, q *query.Query) (*Node, error) {
	root := p.Root
	n := &Node{Name: root.Name, Alias: fmt.Sprintf("t%d", s.aliases), Table: root.Table,
		Spec: root.Spec, KeyCols: root.KeyCols, IDCols: root.IDCols}
	s.aliases++
	fields := make([]row.Field, 0, len(q.Select))
	for i := range q.Select {
		m := &q.Select[i]
		if m.Embed != nil {
			f, err := s.embed(n, m)
			if err != nil {
				return nil, err
			}
			if !m.Embed.Spread {
				fields = append(fields, f)
				continue
			}
			n.spreads = true
			fields = append(fields, f.Shape.Fields...)
			continue
		}
		at := slices.Index(root.Fields, p.cols[m.Column])
		f := root.Shape.Fields[at]
		it := Item{Column: root.Fields[at], Kind: f.Kind}
		if m.Made() {
			it.Make = m.Make
		}
		fields = append(fields, m.Field(f))
		n.Fields = append(n.Fields, root.Fields[at])
		n.Items = append(n.Items, it)
	}
	n.Shape = row.NewShape(fields)
	for i := range q.Select {
		if e := q.Select[i].Embed; e != nil && e.Link != nil && e.Link.Observed && !e.Inner {
			if err := s.addLinkRows(n, e); err != nil {
				return nil, err
			}
		}
	}
	n.Key = n.place(n.KeyCols, true)
	for _, o := range q.Order {
		if o.Path == "" && o.Of == nil {
			n.place([]Column{p.cols[o.Column]}, false)
		}
	}
	for _, kid := range n.Kids {
		kid.upAt = n.place(kid.up, false)
	}
	n.arrange(s.d.Nested)
	return n, nil
}

// arrange notes where items are in an answer, and by what it has what is embedded; nil: it
// has not.
func (n *Node) arrange(nested *Nested) {
	n.nested, n.places = nested, make([]int, len(n.Items))
	at := 0
	for i := range n.Items {
		if n.places[i] = at; n.Items[i].Kid != nil && nested == nil {
			n.places[i] = -1
			continue
		}
		at++
	}
}

// embed adds the node of an embedded query to n, and returns its member.
func (s *projection) embed(n *Node, m *query.Member) (f row.Field, err error) {
	e := m.Embed
	of, err := engineOf(e.Plan)
	if err != nil {
		return f, err
	}
	kid, err := s.node(of, e.Query)
	if err != nil {
		return f, err
	}
	r := &related{plan: of, query: e.Query, inner: e.Inner, one: e.One, flat: e.Spread,
		reads: &s.reads}
	if r.up, err = n.Table.named(e.From); err != nil {
		return f, err
	}
	if kid.On, err = kid.Table.named(e.To); err != nil {
		return f, err
	}
	if e.Link != nil {
		if r.via, err = s.link(e.Link); err != nil {
			return f, err
		}
		if s.d.BindAsParent {
			r.via.node.bind = r.up
		}
	}
	kid.related = r
	if s.d.BindAsParent {
		kid.bind = r.up
	}
	kid.Exact = r.via == nil
	for i, col := range kid.On {
		part, up := col.KeyPart(), r.up[i%len(r.up)].KeyPart()
		kid.Exact = kid.Exact && part.Kind == up.Kind && !part.Wide && !up.Wide
	}
	if s.d.Nested == nil {
		kid.OnAt = kid.place(kid.On, false)
	}
	kid.arrange(s.d.Nested)
	f = row.Field{Name: m.Name, Kind: row.Rows, Shape: kid.Shape}
	if e.One {
		f.Kind = row.Row
	}
	kid.Member = len(n.Fields)
	n.Fields, n.Kids = append(n.Fields, nil), append(n.Kids, kid)
	n.Items = append(n.Items, Item{Kid: kid, Kind: f.Kind})
	return f, nil
}

// addLinkRows adds to n the node of the rows of a link by which a query embeds others in it: it is
// no member.
func (s *projection) addLinkRows(n *Node, e *query.Embed) error {
	far := n.Kids[slices.IndexFunc(n.Kids, func(kid *Node) bool { return kid.query == e.Query })]
	of := far.via.plan
	q := &query.Query{Table: of.table, Limit: query.AllRows}
	kid, err := s.node(of, q)
	if err != nil {
		return err
	}
	kid.On, kid.Exact = far.via.from, true
	kid.related = &related{plan: of, query: q, up: far.up, reads: &s.reads,
		linkRows: &linkRows{embedded: far, at: kid.place(far.via.to, true)}}
	if s.d.Nested == nil {
		kid.OnAt = kid.place(kid.On, false)
	}
	kid.arrange(s.d.Nested)
	if s.d.BindAsParent {
		kid.bind = far.up
	}
	kid.Member = len(n.Items)
	n.Kids, n.Items = append(n.Kids, kid), append(n.Items, Item{Kid: kid, Kind: row.Rows})
	return nil
}

// link returns the table between two nodes.
func (s *projection) link(l *query.Link) (*via, error) {
	plan, err := engineOf(l.Plan)
	if err != nil {
		return nil, err
	}
	t := plan.Root.Table
	v := &via{plan: plan, node: &Node{Name: plan.Root.Name, Table: t,
		Alias: fmt.Sprintf("t%d", s.aliases)}}
	s.aliases++
	if v.from, err = t.named(l.From); err != nil {
		return nil, err
	}
	v.node.On = v.from
	v.to, err = t.named(l.To)
	return v, err
}

// spread returns the values of the members of a row of n whose items are read, those of
// what is spread in it among them.
func (n *Node) spread(read row.Values) row.Values {
	values := make(row.Values, 0, len(n.Shape.Fields))
	for i := range n.Fields {
		kid := n.Items[i].Kid
		switch {
		case kid == nil || !kid.flat:
			values = append(values, read[i])
		case read[i].IsNull():
			values = append(values, make(row.Values, len(kid.Shape.Fields))...)
		default:
			values = append(values, read[i].Rows()[0]...)
		}
	}
	return values
}

// named returns the columns with these names.
func (t *Table) named(names []string) ([]Column, error) {
	cols := make([]Column, len(names))
	for i, name := range names {
		var ok bool
		if cols[i], ok = t.column(name, true); !ok { // a foreign key of SQLite has any case
			return nil, &source.Error{Class: source.Missing, Message: fmt.Sprintf(
				"column %s of %s, by which rows are related, cannot be read", name, t.ID())}
		}
	}
	return cols, nil
}

// embeds reports whether a query embeds rows in those of n.
func (n *Node) embeds() bool { return len(n.Kids) > 0 && n.Kids[0].related != nil }

// conditions returns the condition of a query on the rows of w.n: its filters, and that
// there are rows of what must not be missing.
func (w *where) conditions(q *query.Query) ([]string, error) {
	var conds []string
	for i := range q.Where {
		cond, err := w.term(&q.Where[i])
		if err != nil {
			return nil, err
		}
		conds = append(conds, cond)
	}
	for _, kid := range w.n.Kids {
		if kid.related == nil || !kid.inner {
			continue
		}
		cond, err := w.within(kid)
		if err != nil {
			return nil, err
		}
		conds = append(conds, cond)
	}
	return conds, nil
}

// within returns the condition that a row of w.n has rows of kid. Names of columns within
// a subquery are those of its own table.
func (w *where) within(kid *Node) (string, error) {
	sub := &where{n: kid, d: w.d, cols: kid.plan.cols, args: w.args}
	conds, err := sub.conditions(kid.query)
	if err != nil {
		return "", err
	}
	w.args = sub.args
	cond := strings.Join(conds, " AND ")
	if v := kid.via; v != nil {
		cond = w.d.among(v.node, v.to, kid, kid.On, cond)
		return w.d.among(w.n, kid.up, v.node, v.from, cond), nil
	}
	return w.d.among(w.n, kid.up, kid, kid.On, cond), nil
}

// lookedUp returns the expression that reads what rows of w.n are ordered by in the one row that is
// embedded in each. Names within are those of its own table, but for those that say whose.
func (w *where) lookedUp(o query.Order) string {
	kid := w.n.Kids[slices.IndexFunc(w.n.Kids, func(kid *Node) bool {
		return kid.related != nil && kid.query == o.Of.Query
	})]
	same := make([]string, len(kid.On))
	from := kid.Table.From + " AS looked_up"
	if w.d.Aliased {
		from = kid.aliased(w.d, kid.Table.From)
	}
	for i, col := range kid.On {
		up := w.d.compared(w.n, kid.up[i])
		if !w.d.Aliased {
			up = w.n.Table.From + "." + w.d.Quote(kid.up[i].Info().Name)
		}
		same[i] = w.d.compared(kid, col) + " " + w.d.sign(col, kid.up[i], "=") + " " + up
	}
	return "(SELECT " + w.d.ordered(kid, kid.plan.cols[o.Column]) + " FROM " + from + " WHERE " +
		strings.Join(same, " AND ") + " LIMIT 1)"
}

// subselect reads columns of the rows of n for which a condition holds; "": of all.
func (d *Dialect) subselect(n *Node, cols []Column, cond string) string {
	sql := "SELECT " + strings.Join(d.columns(n, cols), ", ") + " FROM " +
		n.aliased(d, n.Table.From)
	if cond != "" {
		sql += " WHERE " + cond
	}
	return sql
}

// columns returns columns as they are compared.
func (d *Dialect) columns(n *Node, cols []Column) []string {
	exprs := make([]string, len(cols))
	for i, col := range cols {
		exprs[i] = d.compared(n, col)
	}
	return exprs
}

// tuple returns columns as one value.
func (d *Dialect) tuple(n *Node, cols []Column) string {
	if len(cols) == 1 {
		return d.compared(n, cols[0])
	}
	return "(" + strings.Join(d.columns(n, cols), ", ") + ")"
}

// narrow writes the conditions of what is embedded in n, where parameters are numbered
// behind args, which it returns with theirs.
func (d *Dialect) narrow(n *Node, args []any) ([]any, error) {
	for _, kid := range n.Kids {
		w := &where{n: kid, d: d, cols: kid.plan.cols}
		if d.Numbered {
			w.args = args
		}
		conds, err := w.conditions(kid.query)
		if err != nil {
			return nil, err
		}
		if kid.cond = strings.Join(conds, " AND "); d.Numbered {
			args = w.args
		} else {
			kid.args = w.args
		}
		if args, err = d.narrow(kid, args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// most returns how many rows of so many parents are read at most: one more than there may
// be, where the query says nothing.
func (r *related) most(parents int) int {
	switch {
	case r.linkRows != nil:
		return min(query.MaxLinks*parents, query.MaxLinked) + 1
	case r.query.Limit == query.AllRows:
		return query.MaxEmbedded + 1
	}
	return r.query.Limit
}

// behind returns what follows the condition that rows of n, which a query embeds, are those
// of so many parents: its other conditions, the order, the limit.
func (n *Node) behind(d *Dialect, parents int) string {
	if n.linkRows != nil {
		return fmt.Sprintf(" LIMIT %d", n.most(parents))
	}
	sql := ""
	if n.cond != "" {
		sql = " AND " + n.cond
	}
	if !n.one {
		w := &where{n: n, d: d, cols: n.plan.cols}
		sql += w.orderBy(n.query) + fmt.Sprintf(" LIMIT %d", n.most(parents))
	}
	return sql
}

// of returns the condition that rows of n, which a query embeds, are those of the row of
// parent that the same statement reads.
func (n *Node) of(d *Dialect, parent *Node) string {
	if v := n.via; v != nil {
		return d.among(n, n.On, v.node, v.to, d.equal(v.node, v.from, parent, n.up))
	}
	return d.equal(n, n.On, parent, n.up)
}

// afresh has rows embedded in n counted from the beginning.
func (n *Node) afresh() {
	if n.embeds() {
		*n.Kids[0].reads = reads{left: query.MaxEmbedded}
	}
}

// seek notes by what rows of n, which a query embeds, were looked for.
func (n *Node) seek(by row.Key) {
	if n.linkRows == nil { // else those that they lead to were, too
		n.reach(source.Reached{Of: n.query, As: source.ReachedBy, By: by})
	}
}

// lead notes where a row of a link leads.
func (n *Node) lead(to row.Key) {
	n.reach(source.Reached{Of: n.linkRows.embedded.query, As: source.ReachedTo, By: to})
}

// reach notes a way to embedded rows.
func (n *Node) reach(at source.Reached) {
	if n.reads.reached == nil {
		n.reads.reached = make(map[source.Reached]struct{})
	}
	n.reads.reached[at] = struct{}{}
}

// reachedRows returns what was noted of rows embedded in n, at any level, since afresh.
func (n *Node) reachedRows() []source.Reached {
	if !n.embeds() {
		return nil
	}
	return slices.Collect(maps.Keys(n.Kids[0].reads.reached))
}

// take counts rows of n that have been read for one parent, and refuses more than an answer
// may have. Of rows of a link it notes that there may be more.
func (n *Node) take(rows int) error {
	switch {
	case n.related == nil:
		return nil
	case n.linkRows != nil:
		if n.reads.linked += rows; rows > query.MaxLinks || n.reads.linked > query.MaxLinked {
			n.lead("")
		}
		return nil
	}
	if n.reads.left -= rows; n.reads.left < 0 {
		return &source.Error{Class: source.TooLarge, Message: fmt.Sprintf(
			"more than %d rows are embedded", query.MaxEmbedded),
			Hint: "ask for fewer: limit=, and MEMBER.limit= of what is embedded"}
	}
	return nil
}
