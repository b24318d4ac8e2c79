package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// codecOrdinal reads the number that the statement for many keys gives each row.
var codecOrdinal = codec{oid: pgtype.Int8OID, kind: row.Int}

// A plan is one resource, compiled. It never changes. It implements source.Plan.
type plan struct {
	src     *Source
	name    string
	root    *node
	query   string // of a query resource, its parameters numbered; else ""
	keys    row.KeyType
	loose   row.KeyType // keys, however long: a longer text is no error, it is no row
	types   []string    // of the key's parts, as SQL writes them
	parts   []*column   // of the key; of a query, columns that only have the type
	keyRead bool        // the key is among what is read
	deps    []source.Dep

	one, many   string // read one document, and those of arrays of keys
	first, next string // read the first documents, and those after a key
	probe       string // reads the key's parameters and no table
}

// A node is one level of a document: a table or a query.
type node struct {
	name     string // for people
	alias    string // in statements
	from     string // its item of FROM, without the alias
	table    *table
	spec     *source.Spec
	shape    *row.Shape
	fields   []*column // of each member; nil for documents
	items    []item    // what is read, in order: the members, then what only keys need
	keyCols  []*column
	key      []int     // places of keyCols among items
	on       []*column // that hold the parent's key
	idCols   []*column // that name a row: its primary key, or else its key
	tells    bool      // Loaded.Children names its rows
	reported []int     // places of idCols, if so
	kids     []*node   // those of the items
}

// An item is one column that is read, or the documents of a child table.
type item struct {
	expr  string
	codec codec
	kid   *node
}

// A compiler turns one Spec into a plan.
type compiler struct {
	src     *Source
	ctx     context.Context
	aliases int
	deps    []source.Dep

	views, procs, results []uint32 // what is read besides tables: see definition
}

// Compile checks spec against the catalogue and prepares its statements.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	for try := 0; ; try++ {
		c := &compiler{src: s, ctx: ctx}
		p, err := c.plan(spec)
		if err == nil {
			// A table may change between the catalogue and the statement.
			if err = p.prepare(ctx); source.ClassOf(err) == source.Missing && try < 2 {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("resource %s: %w", spec.Name, err)
		}
		s.defs.put(spec.Name, c.definition())
		return p, nil
	}
}

// plan compiles a table resource or a query resource.
func (c *compiler) plan(spec *source.Spec) (*plan, error) {
	p := &plan{src: c.src, name: spec.Name}
	if (spec.Table == "") == (spec.Query == "") {
		return nil, fmt.Errorf("give it a table or a query, one of the two")
	}
	var err error
	if spec.Query != "" {
		err = c.queryPlan(p, spec)
	} else {
		err = c.tablePlan(p, spec)
	}
	if err != nil {
		return nil, err
	}
	p.deps = c.deps
	p.loose = slices.Clone(p.keys)
	for i := range p.loose {
		p.loose[i].MaxLen = 0
	}
	p.build()
	return p, nil
}

// tablePlan compiles a table resource.
func (c *compiler) tablePlan(p *plan, spec *source.Spec) error {
	n, err := c.node(spec)
	if err == nil {
		err = c.rootDeps(n)
	}
	if err == nil {
		err = c.fill(n, true)
	}
	if err != nil {
		return err
	}
	p.root, p.keyRead, p.parts = n, true, n.keyCols
	for _, col := range n.keyCols {
		p.types = append(p.types, col.base)
		p.keys = append(p.keys, col.keyPart(col.Name, col.maxLen))
	}
	return nil
}

// node returns one table of a document, not yet filled.
func (c *compiler) node(spec *source.Spec) (*node, error) {
	t, err := c.lookup(spec.Table)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(t, spec); err != nil {
		return nil, err
	}
	n := &node{name: t.ID(), table: t, spec: spec, alias: c.alias()}
	n.from = pgx.Identifier{t.Schema, t.Name}.Sanitize()
	if t.inherited { // rows of its heirs would change without a word about this table
		n.from = "ONLY " + n.from
	}
	key := spec.Key
	if len(key) == 0 {
		key = t.Key
	}
	if n.keyCols, err = t.keyColumns(key); err != nil {
		return nil, err
	}
	id := t.Key
	if len(id) == 0 {
		id = key
	}
	if n.idCols, err = t.keyColumns(id); err != nil {
		return nil, err
	}
	return n, nil
}

// fill gives n its members and its children.
func (c *compiler) fill(n *node, root bool) error {
	if err := n.members(); err != nil {
		return err
	}
	for i := range n.spec.Embeds {
		if err := c.embed(n, &n.spec.Embeds[i], root); err != nil {
			return fmt.Errorf("embed %s: %w", n.spec.Embeds[i].Name, err)
		}
	}
	if err := n.distinct(); err != nil {
		return err
	}
	n.key = n.places(n.keyCols)
	if n.tells {
		n.reported = n.places(n.idCols)
	}
	n.shape = row.NewShape(n.shape.Fields)
	return nil
}

// distinct refuses two members of one name.
func (n *node) distinct() error {
	names := make(map[string]string, len(n.shape.Fields))
	for _, f := range n.shape.Fields {
		if other, taken := names[f.Name]; taken {
			return fmt.Errorf("%s: two members are called %q (%s and %s): give one another name",
				n.name, f.Name, other, f.Column)
		}
		names[f.Name] = f.Column
	}
	return nil
}

// alias returns a new table alias.
func (c *compiler) alias() string {
	c.aliases++
	return fmt.Sprintf("t%d", c.aliases-1)
}

// members makes the Shape of n from its columns, as its Spec says.
func (n *node) members() error {
	n.shape = new(row.Shape)
	for name := range n.spec.Fields {
		if _, ok := n.table.column(name); !ok {
			return n.table.noColumn(name)
		}
	}
	for i := range n.table.cols {
		col := &n.table.cols[i]
		f, listed := n.spec.Fields[col.Name]
		secret := n.spec.Hide && !listed && source.IsSecret(col.Name) &&
			!slices.Contains(n.keyCols, col)
		if f.Hide || n.spec.Only && !listed || secret {
			continue
		}
		if f.Name == "" {
			f.Name = col.Name
		}
		n.shape.Fields = append(n.shape.Fields, row.Field{
			Name: f.Name, Column: col.Name, Kind: col.kind, Elem: col.elem,
			Key: slices.Contains(n.keyCols, col), OmitNull: f.OmitNull, RFC3339: f.RFC3339,
		})
		n.fields = append(n.fields, col)
		n.items = append(n.items, item{expr: n.read(col), codec: col.codec})
	}
	return nil
}

// embed compiles a child table into n.
func (c *compiler) embed(n *node, e *source.Embed, root bool) error {
	if e.Spec == nil || e.Spec.Table == "" {
		return fmt.Errorf("only a table can be embedded")
	}
	kid, err := c.node(e.Spec)
	if err != nil {
		return err
	}
	if kid.on, err = kid.parentColumns(n, e.On); err != nil {
		return err
	}
	if err := c.childDeps(kid, n, root); err != nil {
		return err
	}
	if err := c.fill(kid, false); err != nil {
		return err
	}
	order := e.Order
	for _, col := range kid.keyCols { // so that the order is always the same
		if !slices.Contains(order, col.Name) {
			order = append(order[:len(order):len(order)], col.Name)
		}
	}
	expr, err := kid.subquery(n, order)
	if err != nil {
		return err
	}
	n.shape.Fields = append(n.shape.Fields, row.Field{
		Name: e.Name, Kind: row.Rows, Shape: kid.shape,
	})
	n.fields = append(n.fields, nil)
	// What only keys need follows the members: see places.
	n.items = append(n.items, item{expr: expr, kid: kid})
	n.kids = append(n.kids, kid)
	return nil
}

// places returns where the columns are among the items, adding those that are
// not. It is called when all members are there.
func (n *node) places(cols []*column) []int {
	at := make([]int, len(cols))
	for i, col := range cols {
		expr := n.read(col)
		at[i] = slices.IndexFunc(n.items, func(it item) bool { return it.expr == expr })
		if at[i] < 0 {
			at[i] = len(n.items)
			n.items = append(n.items, item{expr: expr, codec: col.codec})
		}
	}
	return at
}

// read returns the expression that reads a column of n.
func (n *node) read(col *column) string {
	return strings.Replace(col.read, "%s", n.col(col), 1)
}

// col returns a column of n as statements name it.
func (n *node) col(col *column) string {
	return n.alias + "." + pgx.Identifier{col.Name}.Sanitize()
}

// reads returns the expressions of the items, separated by commas.
func (n *node) reads() string {
	exprs := make([]string, len(n.items))
	for i := range n.items {
		exprs[i] = n.items[i].expr
	}
	return strings.Join(exprs, ", ")
}

// subquery returns the expression that reads the rows of n within parent.
func (n *node) subquery(parent *node, order []string) (string, error) {
	by := make([]string, len(order))
	for i, name := range order {
		col, ok := n.table.column(name)
		if !ok {
			return "", n.table.noColumn(name)
		}
		by[i] = n.col(col)
	}
	same := make([]string, len(n.on))
	for i, col := range n.on {
		same[i] = n.col(col) + " = " + parent.col(parent.keyCols[i])
	}
	return fmt.Sprintf("ARRAY(SELECT ROW(%s) FROM %s AS %s WHERE %s ORDER BY %s)",
		n.reads(), n.from, n.alias, strings.Join(same, " AND "), strings.Join(by, ", ")), nil
}
