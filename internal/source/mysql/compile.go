package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// maxLevels bounds how deep documents are embedded in one another.
const maxLevels = 8

// A compiler turns one Spec into a plan.
type compiler struct {
	src    *Source
	ctx    context.Context
	server server
	deps   []source.Dep
}

// Compile checks spec against the catalogue.
func (s *Source) Compile(ctx context.Context, spec *source.Spec) (source.Plan, error) {
	c := &compiler{src: s, ctx: ctx}
	p, err := c.plan(spec)
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", spec.Name, err)
	}
	return p, nil
}

// plan compiles a table resource or a query resource.
func (c *compiler) plan(spec *source.Spec) (*plan, error) {
	if (spec.Table == "") == (spec.Query == "") {
		return nil, fmt.Errorf("give it a table or a query, one of the two")
	}
	p := &plan{src: c.src, name: spec.Name}
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
	p.insert = c.server.mariadb
	return p, nil
}

// tablePlan compiles a table resource.
func (c *compiler) tablePlan(p *plan, spec *source.Spec) error {
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
	p.root, p.keyRead, p.parts = n, true, n.keyCols
	for _, col := range n.keyCols {
		p.keys = append(p.keys, col.KeyPart())
	}
	return nil
}

// node returns one table of a document, not yet filled.
func (c *compiler) node(spec *source.Spec) (*node, error) {
	t, err := c.lookup(spec.Table)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(t); err != nil {
		return nil, err
	}
	n := &node{name: t.ID(), table: t, spec: spec, from: quoteTable(t.Schema, t.Name)}
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
	n.idCols, err = t.keyColumns(id)
	return n, err
}

// fill gives n, which is at this level, its members and its children.
func (c *compiler) fill(n *node, level int) error {
	if err := n.members(); err != nil {
		return err
	}
	for i := range n.spec.Embeds {
		if err := c.embed(n, &n.spec.Embeds[i], level); err != nil {
			return fmt.Errorf("embed %s: %w", n.spec.Embeds[i].Name, err)
		}
	}
	if err := n.distinct(); err != nil {
		return err
	}
	n.key, n.onAt = n.place(n.keyCols), n.place(n.on)
	if n.tells {
		n.idAt = n.place(n.idCols)
	}
	n.shape = row.NewShape(n.shape.Fields)
	return nil
}

// distinct refuses two members of one name.
func (n *node) distinct() error {
	seen := make(map[string]string, len(n.shape.Fields))
	for _, f := range n.shape.Fields {
		if other, taken := seen[f.Name]; taken {
			return fmt.Errorf("%s: two members are called %q (%s and %s): give one another name",
				n.name, f.Name, other, f.Column)
		}
		seen[f.Name] = f.Column
	}
	return nil
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
		f, listed := n.fieldSpec(col)
		key := slices.Contains(n.keyCols, col)
		secret := n.spec.Hide && source.IsSecret(col.Name) && !key
		if f.Hide || !listed && (n.spec.Only || secret || col.Hidden && !key) {
			continue
		}
		if f.Name == "" {
			f.Name = col.Name
		}
		n.shape.Fields = append(n.shape.Fields, row.Field{
			Name: f.Name, Column: col.Name, Kind: col.Kind,
			Key: key, OmitNull: f.OmitNull, RFC3339: f.RFC3339,
		})
		n.fields = append(n.fields, col)
		n.at = append(n.at, len(n.items))
		n.items = append(n.items, col)
	}
	return nil
}

// fieldSpec returns what the Spec says of a column, whose name the server takes
// in any case.
func (n *node) fieldSpec(col *column) (source.FieldSpec, bool) {
	for name, f := range n.spec.Fields {
		if strings.EqualFold(name, col.Name) {
			return f, true
		}
	}
	return source.FieldSpec{}, false
}

// embed compiles a child table into n.
func (c *compiler) embed(n *node, e *source.Embed, level int) error {
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
	if kid.on, err = kid.parentColumns(n, e.On); err != nil {
		return err
	}
	kid.exact = true
	for i, col := range kid.on {
		key := n.keyCols[i]
		kid.exact = kid.exact && col.KeyPart().Kind == key.KeyPart().Kind && !col.Wide && !key.Wide
	}
	if err := c.childDeps(kid, level == 1); err != nil {
		return err
	}
	if err := c.fill(kid, level+1); err != nil {
		return err
	}
	if err := kid.orderBy(e.Order); err != nil {
		return err
	}
	kid.member = len(n.fields)
	n.shape.Fields = append(n.shape.Fields, row.Field{
		Name: e.Name, Kind: row.Rows, Shape: kid.shape,
	})
	n.fields = append(n.fields, nil)
	n.at = append(n.at, -1)
	n.kids = append(n.kids, kid)
	return nil
}

// orderBy sets the order of rows within their parent. A column may be followed
// by "desc". The key comes last, so that the order is always the same.
func (n *node) orderBy(order []string) error {
	var named []*column
	for _, o := range order {
		name, direction, _ := strings.Cut(strings.TrimSpace(o), " ")
		col, ok := n.table.column(name)
		if !ok {
			return n.table.noColumn(name)
		}
		switch strings.ToLower(strings.TrimSpace(direction)) {
		case "", "asc":
			direction = ""
		case "desc":
			direction = " DESC"
		default:
			return fmt.Errorf("order %q: want a column, or a column and desc", o)
		}
		n.order = append(n.order, quote(col.Name)+direction)
		named = append(named, col)
	}
	for _, col := range n.keyCols {
		if !slices.Contains(named, col) {
			n.order = append(n.order, quote(col.Name))
		}
	}
	return nil
}
