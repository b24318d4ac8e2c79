package document

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// maxLevels bounds how deep documents are embedded in one another.
const maxLevels = 8

// A Schema is what the compiler asks a database.
type Schema interface {
	// Table returns the table that a Spec means. The error of one that is not
	// there names the nearest.
	Table(name string) (*Table, error)

	// Allowed refuses a table whose documents could not be kept fresh, or that
	// this user may not read.
	Allowed(t *Table, spec *source.Spec) error

	// Followed refuses a table behind a view or a query whose changes no feed
	// tells. what reads it.
	Followed(what string, t *Table, spec *source.Spec) error

	// Behind returns the tables whose rows a view shows.
	Behind(view *Table) ([]*Table, error)

	// Scan finds the parameters of a query. It refuses what is no SELECT.
	Scan(query string) (*Query, error)

	// Describe fills in Columns of q and, where the database knows the types of
	// parameters, Parts.
	Describe(q *Query) error

	// Reads returns the tables that a query reads.
	Reads(q *Query) ([]*Table, error)
}

// A compiler turns one Spec into a Plan.
type compiler struct {
	Schema
	dialect *Dialect
	aliases int
	deps    []source.Dep
	paths   []*path

	byItself string // of the Plan
}

// Compile checks spec against the schema.
func Compile(db Database, d *Dialect, s Schema, spec *source.Spec) (*Plan, error) {
	if (spec.Table == "") == (spec.Query == "") {
		return nil, fmt.Errorf("give it a table or a query, one of the two")
	}
	c := &compiler{Schema: s, dialect: d}
	p := &Plan{Name: spec.Name, Dialect: d, db: db}
	compile := c.tablePlan
	if spec.Query != "" {
		compile = c.queryPlan
	}
	if err := compile(p, spec); err != nil {
		return nil, err
	}
	p.deps, p.paths, p.byItself = c.deps, c.paths, c.byItself
	p.unbounded = slices.Clone(p.keys)
	for i := range p.unbounded {
		p.unbounded[i].MaxLen = 0
	}
	p.depth = len(p.Nodes())
	if err := p.describe(spec); err != nil {
		return nil, err
	}
	if d.Nested == nil {
		p.prepare()
	}
	return p, nil
}

// tablePlan compiles a table resource.
func (c *compiler) tablePlan(p *Plan, spec *source.Spec) error {
	n, err := c.node(spec)
	if err == nil {
		err = c.rootDeps(n)
	}
	if err == nil {
		err = c.fill(n, 1)
	}
	if err != nil {
		return err
	}
	p.Root, p.KeyRead, p.Parts = n, true, n.KeyCols
	for _, col := range n.KeyCols {
		p.keys = append(p.keys, col.KeyPart())
	}
	return nil
}

// node returns one table of a document, not yet filled.
func (c *compiler) node(spec *source.Spec) (*Node, error) {
	t, err := c.Table(spec.Table)
	if err != nil {
		return nil, err
	}
	if err := c.Allowed(t, spec); err != nil {
		return nil, err
	}
	n := &Node{Name: t.ID(), Table: t, Spec: spec, Alias: c.alias()}
	key := spec.Key
	if len(key) == 0 {
		key = t.Key
	}
	if n.KeyCols, err = c.keyColumns(t, key); err != nil {
		return nil, err
	}
	id := t.Key
	if len(id) == 0 {
		id = key
	}
	n.IDCols, err = c.keyColumns(t, id)
	c.depends(t, n.KeyCols...)
	return n, err
}

// depends notes columns that documents depend on, if their values change by themselves.
func (c *compiler) depends(t *Table, cols ...Column) {
	if c.byItself == "" {
		c.byItself = t.ByItself
	}
	for _, col := range cols {
		if why := col.Info().Volatile; why != "" && c.byItself == "" {
			c.byItself = fmt.Sprintf("the column %s of %s is made when it is read, and %s",
				col.Info().Name, t.ID(), why)
		}
	}
}

// alias returns a new alias of a table.
func (c *compiler) alias() string {
	c.aliases++
	return fmt.Sprintf("t%d", c.aliases-1)
}

// fill gives n, which is at this level, its members and its children.
func (c *compiler) fill(n *Node, level int) error {
	if err := c.members(n); err != nil {
		return err
	}
	for i := range n.Spec.Embeds {
		if err := c.embed(n, &n.Spec.Embeds[i], level); err != nil {
			return fmt.Errorf("embed %s: %w", n.Spec.Embeds[i].Name, err)
		}
	}
	if err := n.distinct(); err != nil {
		return err
	}
	n.Key = n.place(n.KeyCols, true)
	n.keyNames, n.onNames = Names(n.KeyCols), Names(n.On)
	if c.dialect.Nested == nil {
		n.OnAt = n.place(n.On, false)
	}
	if n.namesRows {
		n.IDAt = n.place(n.IDCols, true)
	}
	n.Shape = row.NewShape(n.Shape.Fields)
	n.arrange(c.dialect.Nested)
	return nil
}

// distinct refuses two members of one name.
func (n *Node) distinct() error {
	seen := make(map[string]string, len(n.Shape.Fields))
	for _, f := range n.Shape.Fields {
		if other, taken := seen[f.Name]; taken {
			return fmt.Errorf("%s: two members are called %q (%s and %s): give one another name",
				n.Name, f.Name, other, f.Column)
		}
		seen[f.Name] = f.Column
	}
	return nil
}

// members makes the Shape of n from its columns, as its Spec says.
func (c *compiler) members(n *Node) error {
	usual := len(n.Table.Cols)
	if n.Spec.Only {
		usual = min(usual, len(n.Spec.Fields)+len(n.KeyCols))
	}
	n.Shape = &row.Shape{Fields: make([]row.Field, 0, usual)}
	n.Fields = make([]Column, 0, usual)
	n.Items = make([]Item, 0, usual)
	for name := range n.Spec.Fields {
		if _, err := c.column(n.Table, name); err != nil {
			return err
		}
	}
	for _, col := range n.Table.Cols {
		name := col.Info().Name
		spec, listed := c.fieldSpec(n, col)
		key := slices.Contains(n.KeyCols, col)
		f, shown := col.Field(key && !spec.RFC3339)
		secret := n.Spec.Hide && source.IsSecret(name) && !key
		if spec.Hide || !listed && (n.Spec.Only || secret || !shown && !key) {
			continue
		}
		if f.Name = spec.Name; f.Name == "" {
			f.Name = name
		}
		f.Column, f.Key, f.OmitNull, f.RFC3339 = name, key, spec.OmitNull, spec.RFC3339
		f.NotNull, f.Generated = col.Info().NotNull, col.Info().Generated
		f.Default = col.Info().Default || col.Auto()
		f.Bits, f.MaxLen = col.KeyPart().Bits, col.KeyPart().MaxLen
		f.Required, f.Parent = spec.Required, slices.Contains(n.On, col)
		n.Shape.Fields = append(n.Shape.Fields, f)
		n.Fields = append(n.Fields, col)
		c.depends(n.Table, col)
		n.Items = append(n.Items, Item{Column: col, Kind: f.Kind})
	}
	return nil
}

// fieldSpec returns what the Spec says of a column.
func (c *compiler) fieldSpec(n *Node, col Column) (source.FieldSpec, bool) {
	if f, ok := n.Spec.Fields[col.Info().Name]; ok || !c.dialect.Fold {
		return f, ok
	}
	for name, f := range n.Spec.Fields {
		if strings.EqualFold(name, col.Info().Name) {
			return f, true
		}
	}
	return source.FieldSpec{}, false
}

// embed compiles a child table into n.
func (c *compiler) embed(n *Node, e *source.Embed, level int) error {
	if e.Spec == nil || e.Spec.Table == "" {
		return fmt.Errorf("only a table can be embedded")
	}
	if level > maxLevels {
		return fmt.Errorf("documents are embedded at most %d levels deep", maxLevels)
	}
	kid, err := c.node(e.Spec)
	if err != nil {
		return err
	}
	if kid.On, err = c.parentColumns(kid, n, e.On); err != nil {
		return err
	}
	c.depends(kid.Table, kid.On...)
	if c.dialect.BindAsParent {
		kid.bind = n.KeyCols
	}
	kid.bound = c.dialect.Enforces && slices.ContainsFunc(kid.Table.Foreign,
		func(f source.ForeignKey) bool {
			return f.Table == n.Table.ID() && slices.Equal(f.Columns, Names(kid.On))
		})
	kid.Exact = true
	for i, col := range kid.On {
		part, key := col.KeyPart(), n.KeyCols[i].KeyPart()
		kid.Exact = kid.Exact && part.Kind == key.Kind && !part.Wide && !key.Wide
	}
	if err := c.childDeps(kid, level == 1); err != nil {
		return err
	}
	if err := c.fill(kid, level+1); err != nil {
		return err
	}
	if err := c.orderBy(kid, e.Order); err != nil {
		return err
	}
	kid.Member, kid.Merge = len(n.Fields), e.Merge
	n.Shape.Fields = append(n.Shape.Fields, row.Field{
		Name: e.Name, Kind: row.Rows, Shape: kid.Shape,
	})
	n.Fields = append(n.Fields, nil)
	n.Items = append(n.Items, Item{Kid: kid})
	n.Kids = append(n.Kids, kid)
	return nil
}

// orderBy sets the order of rows within their parent. A column may be followed by
// "desc". The key comes last, so that the order is always the same.
func (c *compiler) orderBy(n *Node, order []string) error {
	var named []Column
	for _, o := range order {
		name, direction, _ := strings.Cut(strings.TrimSpace(o), " ")
		col, err := c.column(n.Table, name)
		if err != nil {
			return err
		}
		direction = strings.ToLower(strings.TrimSpace(direction))
		if direction != "" && direction != "asc" && direction != "desc" {
			return fmt.Errorf("order %q: want a column, or a column and desc", o)
		}
		n.Order = append(n.Order, Order{Column: col, Desc: direction == "desc"})
		c.depends(n.Table, col)
		named = append(named, col)
	}
	for _, col := range n.KeyCols {
		if !slices.Contains(named, col) {
			n.Order = append(n.Order, Order{Column: col})
		}
	}
	return nil
}
