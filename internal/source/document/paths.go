package document

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A path is a source.Path with what reads it.
type path struct {
	source.Path
	steps []pathStep
}

// A pathStep is one table of a path: on are the columns that rows are found by, to those
// that lead to the next step, and node reads them; nil of the last step.
type pathStep struct {
	on, to []Column
	node   *Node
}

// Paths returns the paths by which documents depend on rows; nil: they do not by paths.
func (p *Plan) Paths() []source.Path {
	var list []source.Path
	for _, x := range p.paths {
		list = append(list, x.Path)
	}
	return list
}

// pathsOf compiles what a Spec says of its dependencies as paths.
func (c *compiler) pathsOf(what string, spec *source.Spec, key *keyOf) error {
	for i := range spec.Depends {
		d := &spec.Depends[i]
		var x *path
		var err error
		if d.Path == nil {
			x, err = c.shortPath(d, key)
		} else if x, err = c.path(what, d.Path, spec, key); err != nil {
			err = fmt.Errorf("path %s: %w", d.Path, err)
		}
		if err != nil {
			return fmt.Errorf("depends: %w", err)
		}
		c.paths = append(c.paths, x)
		for _, s := range x.Steps {
			if !slices.ContainsFunc(c.deps, func(d source.Dep) bool { return d.Table == s.Table }) {
				c.deps = append(c.deps, source.Dep{Table: s.Table})
			}
		}
	}
	return nil
}

// shortPath returns a dependency by the key itself, or by nothing, as a path.
func (c *compiler) shortPath(d *source.Dep, key *keyOf) (*path, error) {
	t, err := c.Table(d.Table)
	if err != nil {
		return nil, err
	}
	dep, err := c.dependency(t, *d, key)
	if err != nil {
		return nil, err
	}
	step := source.Step{Table: dep.Table, On: dep.Columns, KnowsOld: t.ReportsOld, Named: true}
	if len(dep.Columns) == 0 && len(d.Columns) > 0 {
		step.On, step.Named, step.Why = d.Columns, false, spelledWhy(t, d.Columns)
	}
	x := &path{steps: make([]pathStep, 1)}
	x.Steps, x.Text = []source.Step{step}, "any row of "+d.Table
	if len(d.Columns) > 0 {
		x.Text = (&source.DepPath{Hops: []source.Hop{{Table: d.Table, Out: d.Columns}}}).String()
	}
	for i := range key.parts {
		x.Parts = append(x.Parts, i)
	}
	return x, nil
}

func spelledWhy(t *Table, columns []string) string {
	return fmt.Sprintf("equal values of %s.%s may be spelled differently, or changes do not tell"+
		" them", t.ID(), strings.Join(columns, ", "))
}

// path compiles one path: from the key on, the other way round than it is written.
func (c *compiler) path(
	what string, d *source.DepPath, spec *source.Spec, key *keyOf,
) (*path, error) {
	x := &path{}
	x.Text = d.String()
	var ends []string
	var err error
	if x.Parts, ends, err = d.Ends(Names(key.cols)); err != nil {
		return nil, err
	}
	up, upTable := make([]Column, len(x.Parts)), "the key"
	for i, part := range x.Parts {
		up[i] = key.cols[part]
	}
	for i := len(d.Hops) - 1; i >= 0; i-- {
		h := &d.Hops[i]
		t, err := c.pathTable(what, h.Table, spec)
		if err != nil {
			return nil, err
		}
		out := h.Out
		if out == nil {
			out = ends
		}
		s := pathStep{}
		if s.on, err = c.columns(t, out); err != nil {
			return nil, err
		}
		step := source.Step{Table: t.ID(), On: Names(s.on), KnowsOld: t.ReportsOld}
		if step.Named, err = comparable(t, s.on, upTable, up); err != nil {
			return nil, err
		}
		if len(x.steps) == 0 && !key.read { // else the key is as a row writes it
			for _, part := range x.Parts {
				step.Named = step.Named && !key.parts[part].Wide
			}
		}
		if !step.Named {
			step.Why = spelledWhy(t, step.On)
		}
		if h.In != nil {
			if s.to, err = c.columns(t, h.In); err != nil {
				return nil, err
			}
			s.reader(t)
		}
		x.steps, x.Steps = append(x.steps, s), append(x.Steps, step)
		up, upTable = s.to, t.ID()
	}
	return x, nil
}

// pathTable returns a table of a path, whose changes a feed must tell.
func (c *compiler) pathTable(what, name string, spec *source.Spec) (*Table, error) {
	t, err := c.Table(name)
	if err != nil {
		return nil, err
	}
	if t.View {
		return nil, fmt.Errorf("%s is a view, whose rows no feed tells: name the tables behind it",
			t.ID())
	}
	return t, c.Followed(what, t, spec)
}

// reader prepares s to be read.
func (s *pathStep) reader(t *Table) {
	s.node = &Node{Name: t.ID(), Table: t, Alias: "p"}
	s.node.OnAt = s.node.place(s.to, false)
	s.node.arrange(nil)
}

// comparable reports whether values of columns that are equal to values of others have the
// same texts, which changes tell. Its error names columns that cannot be compared.
func comparable(t *Table, cols []Column, otherTable string, others []Column) (bool, error) {
	named := true
	n := &Node{Table: t}
	for i, col := range cols {
		a, b := col.KeyPart(), others[i].KeyPart()
		if groupOf(col) != groupOf(others[i]) && groupOf(col) != 0 && groupOf(others[i]) != 0 {
			return false, fmt.Errorf("%s.%s is %s, but %s of %s is %s: they cannot be compared",
				t.ID(), col.Info().Name, col.Info().Native, others[i].Info().Name, otherTable,
				others[i].Info().Native)
		}
		same := a.Kind == b.Kind || integer(a.Kind) && integer(b.Kind)
		named = named && same && oneText(a.Kind) && n.describe(col, "").Classed &&
			(otherTable == "the key" || n.describe(others[i], "").Classed)
	}
	return named, nil
}

// groupOf returns which columns can be compared with col: those of the same group, and
// those of group 0, of which the type says nothing.
func groupOf(col Column) int {
	switch kind := col.Info().Kind; kind {
	case row.Null:
		return 0
	case row.Int, row.Uint, row.Float, row.Float32, row.Decimal, row.Bool:
		return 1
	case row.Date, row.Datetime, row.DatetimeTZ:
		return 2
	default:
		return int(kind) + 3
	}
}

func integer(k row.Kind) bool { return k == row.Int || k == row.Uint }

// oneText reports whether equal values of a kind have the same text in every column that is
// of this kind: a time may have more digits in one than in another.
func oneText(k row.Kind) bool { return integer(k) || k == row.Text || k == row.UUID }

// LeadAll follows the paths from each key of loaded on, on c, which sees one state of the
// database.
func (p *Plan) LeadAll(ctx context.Context, c Conn, loaded []source.Loaded) (err error) {
	for i := 0; i < len(loaded) && p.paths != nil && err == nil; i++ {
		key := loaded[i].Asked
		if loaded[i].Found() { // as the row writes it
			key = loaded[i].Key
		}
		loaded[i].Led, err = p.lead(ctx, c, key)
	}
	return err
}

// lead follows the paths from one canonical key on.
func (p *Plan) lead(ctx context.Context, c Conn, key row.Key) (list []source.Led, err error) {
	parts, ok := row.SplitKey(key, len(p.Parts))
	if !ok {
		return nil, nil
	}
	for i, x := range p.paths {
		ends := make([]string, len(x.Parts))
		for j, part := range x.Parts {
			ends[j] = parts[part]
		}
		values := []row.Key{row.JoinKey(ends...)}
		for s := 0; s+1 < len(x.steps) && x.Steps[s].Named && x.Steps[s+1].Named; s++ {
			room := source.MaxLed - len(list)
			values, err = p.leadOn(ctx, c, &x.steps[s], values, room)
			if errors.Is(err, errTooMany) {
				list = append(list, source.Led{Path: i, Step: s + 1, Over: true})
				break
			}
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				list = append(list, source.Led{Path: i, Step: s + 1, By: v})
			}
		}
	}
	return list, nil
}

// errTooMany says that a path leads to more values than there is room for.
var errTooMany = errors.New("a path leads to too many rows")

// leadOn returns the values, each once, to which the rows lead that are found by some
// values, and errTooMany if there are more than room.
func (p *Plan) leadOn(
	ctx context.Context, c Conn, s *pathStep, values []row.Key, room int,
) ([]row.Key, error) {
	var next []row.Key
	seen := make(map[row.Key]bool)
	values = slices.DeleteFunc(slices.Clone(values), func(k row.Key) bool { return !s.can(k) })
	each := func(r Row) error {
		key, null, err := s.value(r)
		if err != nil || null || seen[key] { // NULL is equal to nothing
			return err
		}
		seen[key] = true
		if next = append(next, key); len(next) > room {
			return errTooMany
		}
		return nil
	}
	per := max(1, chunk/len(s.on))
	for some := range slices.Chunk(values, per) {
		err := p.query(ctx, c, s, some, room, each)
		if p.Dialect.noSuchText(err) { // one of them, but which?
			for i := range some {
				err = p.query(ctx, c, s, some[i:i+1], room, each)
				if err != nil && !p.Dialect.noSuchText(err) {
					return nil, err
				}
			}
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return next, nil
}

// can reports whether columns that rows are found by can have a value.
func (s *pathStep) can(k row.Key) bool {
	parts, ok := row.SplitKey(k, len(s.on))
	for i := 0; ok && i < len(parts); i++ {
		part := s.on[i].KeyPart()
		_, err := part.Parse(parts[i])
		ok = err == nil
	}
	if ok {
		_, ok = KeyArgs(s.on, k)
	}
	return ok
}

// value returns what a row leads to, and whether that is NULL. A value that has no text of a
// key stands for too many.
func (s *pathStep) value(r Row) (k row.Key, null bool, err error) {
	parts := make([]string, len(s.to))
	for i, item := range s.node.OnAt {
		cell, ok, err := r.Cell(s.node.places[item], s.to[i])
		switch {
		case err != nil:
			return "", false, s.node.reshaped(err)
		case cell.Null:
			return "", true, nil
		case !ok:
			return "", false, errTooMany
		}
		parts[i] = cell.Text
	}
	if k = row.JoinKey(parts...); len(k) > row.MaxKey {
		return "", false, errTooMany
	}
	return k, false, nil
}

// query runs the statement of leadOn for some values.
func (p *Plan) query(
	ctx context.Context, c Conn, s *pathStep, values []row.Key, room int, each func(Row) error,
) error {
	sql, args, ok := p.leadSQL(s, values, room)
	if !ok {
		return nil
	}
	st := Statement{SQL: sql, Node: s.node, Keys: len(values)}
	return c.Query(ctx, &st, args, each)
}

// leadSQL returns the statement that reads to what rows lead that have one of values.
func (p *Plan) leadSQL(s *pathStep, values []row.Key, room int) (string, []any, bool) {
	d, n := p.Dialect, s.node
	if d.Match == nil { // one parameter each: few statements
		for last := values[len(values)-1]; len(values) < width(len(values)); {
			values = append(values[:len(values):len(values)], last)
		}
	}
	cond, args, ok := d.match(n, s.on, values, 0)
	return fmt.Sprintf("%s WHERE %s LIMIT %d", s.selectTo(d), cond, room+1), args, ok
}

// selectTo returns the beginning of a SELECT of what rows lead to.
func (s *pathStep) selectTo(d *Dialect) string {
	return "SELECT DISTINCT " + strings.Join(s.node.Reads(d), ", ") + " FROM " +
		s.node.aliased(d, s.node.Table.From)
}

// PathSQL returns the statements of LeadAll, for people.
func (p *Plan) PathSQL() (list []string) {
	for _, x := range p.paths {
		for i := range x.steps {
			s := &x.steps[i]
			if s.node == nil || !x.Steps[i].Named || !x.Steps[i+1].Named {
				break
			}
			list = append(list, s.selectTo(p.Dialect)+" WHERE "+p.Dialect.personal(s.node, s.on))
		}
	}
	return list
}

// personal is the condition that columns are those of one key, for people.
func (d *Dialect) personal(n *Node, cols []Column) string {
	parts := make([]string, len(cols))
	for i, col := range cols {
		parts[i] = d.compared(n, col) + " " + d.sign(col, nil, "=") + " "
		if d.Numbered {
			parts[i] += fmt.Sprintf("$%d", i+1)
		} else {
			parts[i] += "?"
		}
	}
	return strings.Join(parts, " AND ")
}
