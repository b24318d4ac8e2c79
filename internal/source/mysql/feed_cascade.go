package mysql

import (
	"context"
	"maps"
	"slices"
)

// A cascade is what the change of some columns of a table does to others.
//
// InnoDB carries ON DELETE and ON UPDATE out itself, below what writes the
// binary log: the rows of the child that it deletes or changes are not there.
// So a change of the parent counts as one of the whole child.
type cascade struct {
	names   []string // columns of the parent
	columns []int    // the same as indexes; nil: not all are there
	tables  []string // IDs of watched tables
}

// resolve finds the columns of the table's cascades.
func (t *tableDef) resolve() {
	for i := range t.onUpdate {
		u := &t.onUpdate[i]
		for _, name := range u.names {
			c := t.column(name)
			if c < 0 {
				u.columns = nil
				break
			}
			u.columns = append(u.columns, c)
		}
	}
}

// An edge is one foreign key with an action.
type edge struct {
	child, parent      tableName
	constraint         string
	columns            []string // of the parent
	onDelete, onUpdate bool
}

// readCascades reads the foreign keys by which a change may reach watched
// tables, over any number of tables in between, and adds those tables.
func (d *definitions) readCascades(ctx context.Context, c *conn) error {
	edges, err := d.readEdges(ctx, c)
	if err != nil {
		return err
	}
	reach := d.reach(edges)
	for i := range edges {
		d.cascade(&edges[i], reach)
	}
	unseen := make(map[tableName]bool)
	for name := range reach {
		if t := d.tables[name]; t == nil || t.id == "" {
			unseen[name] = true
		}
	}
	err = ofTables(ctx, c, maps.Keys(maps.Clone(unseen)),
		"SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES", "",
		func(name tableName, _ []any) { delete(unseen, name) })
	for name := range unseen {
		d.blind = appendNew(d.blind, reach[name]...)
	}
	return err
}

// appendNew appends what list does not have.
func appendNew(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// reach returns for each table that is a parent which watched tables its changes
// may reach.
func (d *definitions) reach(edges []edge) map[tableName][]string {
	reach := make(map[tableName][]string)
	var visit func(child tableName, ids []string)
	visit = func(child tableName, ids []string) {
		for _, e := range edges {
			if e.child != child {
				continue
			}
			before := len(reach[e.parent])
			reach[e.parent] = appendNew(reach[e.parent], ids...)
			if more := reach[e.parent][before:]; len(more) > 0 {
				visit(e.parent, slices.Clone(more))
			}
		}
	}
	for name, t := range d.tables {
		visit(name, []string{t.id})
	}
	return reach
}

// cascade notes at the parent of e what a change of it reaches by way of e.
func (d *definitions) cascade(e *edge, reach map[tableName][]string) {
	tables := slices.Clone(reach[e.child])
	if child := d.tables[e.child]; child != nil && child.id != "" {
		tables = appendNew(tables, child.id)
	}
	if len(tables) == 0 {
		return
	}
	parent := d.tables[e.parent]
	if parent == nil {
		parent = &tableDef{tableName: e.parent}
		d.tables[e.parent] = parent
	}
	d.names = appendNew(d.names, e.parent.name, e.child.name)
	if e.onDelete {
		parent.onDelete = appendNew(parent.onDelete, tables...)
	}
	if e.onUpdate {
		parent.onUpdate = append(parent.onUpdate, cascade{names: e.columns, tables: tables})
	}
}

// readEdges reads the foreign keys of the watched tables' databases, and of those
// that these refer to.
func (d *definitions) readEdges(ctx context.Context, c *conn) ([]edge, error) {
	var edges []edge
	var schemas []string
	for name := range d.tables {
		schemas = appendNew(schemas, name.schema)
	}
	for i := 0; i < len(schemas); i++ {
		more, err := readEdgesOf(ctx, c, schemas[i])
		if err != nil {
			return nil, err
		}
		for _, e := range more {
			schemas = appendNew(schemas, e.parent.schema)
		}
		edges = append(edges, more...)
	}
	return edges, nil
}

// readEdgesOf reads the foreign keys of one database. Their actions are shown to
// who may do more with the table than read it: others take them to have some.
func readEdgesOf(ctx context.Context, c *conn, schema string) ([]edge, error) {
	type rule struct{ onDelete, onUpdate bool }
	type constraint struct{ table, name string }
	rules := make(map[constraint]rule)
	acts := func(v any) bool {
		s := asText(v)
		return s != "RESTRICT" && s != "NO ACTION"
	}
	err := c.query(ctx, `SELECT TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE, UPDATE_RULE
		FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = ?`,
		[]any{schema}, func(v []any) error {
			rules[constraint{asText(v[0]), asText(v[1])}] = rule{acts(v[2]), acts(v[3])}
			return nil
		})
	if err != nil {
		return nil, err
	}
	var edges []edge
	err = c.query(ctx, `SELECT TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_SCHEMA,
		REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = ? AND REFERENCED_TABLE_NAME IS NOT NULL
		ORDER BY TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION`,
		[]any{schema}, func(v []any) error {
			e := edge{child: tableName{schema, asText(v[0])}, constraint: asText(v[1]),
				parent: tableName{asText(v[2]), asText(v[3])}}
			if n := len(edges) - 1; n >= 0 && edges[n].child == e.child &&
				edges[n].constraint == e.constraint {
				edges[n].columns = append(edges[n].columns, asText(v[4]))
				return nil
			}
			r, known := rules[constraint{e.child.name, e.constraint}]
			e.onDelete, e.onUpdate = r.onDelete || !known, r.onUpdate || !known
			e.columns = []string{asText(v[4])}
			edges = append(edges, e)
			return nil
		})
	return slices.DeleteFunc(edges, func(e edge) bool { return !e.onDelete && !e.onUpdate }), err
}
