package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
)

// A query is the query of a resource on its way to a plan.
type query struct {
	spec  *source.Spec
	text  *source.Template
	key   []string // the parts of the key, in order
	types []valueType
}

// queryPlan compiles a query resource.
func (c *compiler) queryPlan(p *plan, spec *source.Spec) error {
	q := &query{spec: spec}
	var err error
	if q.text, err = scanQuery(spec.Query); err != nil {
		return err
	}
	if q.key, err = q.keyNames(); err != nil {
		return err
	}
	p.query = q.with(func(i int) string { return fmt.Sprintf("$%d", i+1) })
	params, columns, err := c.describe(p.query)
	if err != nil {
		return err
	}
	q.types = params
	for i, t := range params {
		p.types = append(p.types, t.base)
		p.parts = append(p.parts, &column{Column: source.Column{Name: q.key[i]}, valueType: t})
		p.keys = append(p.keys, t.keyPart(q.key[i], 0))
	}
	n := &node{name: "the query", alias: c.alias(), spec: spec, table: &table{cols: columns}}
	p.root = n
	p.keyRead = q.readsKey(n)
	if err := c.queryDeps(p, q); err != nil {
		return err
	}
	if len(spec.Embeds) > 0 && !p.keyRead {
		return fmt.Errorf("to embed documents the query must return its key: %s",
			strings.Join(q.key, ", "))
	}
	return c.fill(n, true)
}

// keyNames returns the names of the key's parts: those that are configured, or
// the parameters in the order of their first use. Each must be used, and no
// other.
func (q *query) keyNames() ([]string, error) {
	var used []string
	for _, name := range q.text.Params {
		if !slices.Contains(used, name) {
			used = append(used, name)
		}
	}
	if len(used) == 0 {
		return nil, fmt.Errorf("the query has no parameter: say WHERE column = :key")
	}
	key := q.spec.Key
	if len(key) == 0 || len(key) == 1 && len(used) == 1 && used[0] == "key" {
		if len(key) == 0 {
			key = used
		}
		return key, nil
	}
	for _, name := range used {
		if !slices.Contains(key, name) {
			return nil, fmt.Errorf("the query has the parameter :%s, which is not in its key (%s)",
				name, strings.Join(key, ", "))
		}
	}
	for _, name := range key {
		if !slices.Contains(used, name) {
			return nil, fmt.Errorf("the query does not use :%s, which is in its key", name)
		}
	}
	return key, nil
}

// with returns the query with each parameter replaced by what give returns for
// its place in the key.
func (q *query) with(give func(i int) string) string {
	return q.text.With(func(name string) string {
		return give(max(0, slices.Index(q.key, name))) // :key is the one part there is
	})
}

// queryWith returns the query of p with its parameters replaced.
func (p *plan) queryWith(exprs []string) string {
	text, err := scanQuery(p.root.spec.Query)
	if err != nil { // it was scanned before
		return p.query
	}
	names := make([]string, len(p.keys))
	for i := range p.keys {
		names[i] = p.keys[i].Column
	}
	q := &query{text: text, key: names}
	return q.with(func(i int) string { return exprs[i] })
}

// describe asks the server for the types of a query's parameters and columns.
func (c *compiler) describe(sql string) (params []valueType, columns []column, err error) {
	ctx, cancel := c.src.begin(c.ctx, 2)
	defer cancel()
	err = c.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		d, err := conn.PgConn().Prepare(ctx, "", sql, nil)
		if err != nil {
			return err
		}
		oids := slices.Clone(d.ParamOIDs)
		for _, f := range d.Fields {
			oids = append(oids, f.DataTypeOID)
		}
		c.results = append(c.results, oids...)
		types, err := typesOf(ctx, conn, oids)
		if err != nil {
			return err
		}
		params = types[:len(d.ParamOIDs)]
		columns, err = queryColumns(d.Fields, types[len(d.ParamOIDs):])
		return err
	})
	return params, columns, err
}

// queryColumns names the columns of a query, which become members.
func queryColumns(fields []pgconn.FieldDescription, types []valueType) ([]column, error) {
	if len(fields) == 0 {
		return nil, fmt.Errorf("the query returns nothing: it must be one SELECT")
	}
	columns := make([]column, len(fields))
	for i, f := range fields {
		if f.Name == "?column?" {
			return nil, fmt.Errorf("column %d of the query has no name: give it one with AS", i+1)
		}
		t := types[i]
		columns[i] = column{valueType: t, num: int16(i + 1), Column: source.Column{
			Name: f.Name, Kind: t.kind, Native: t.name, Bits: t.bits, Wide: t.wide,
		}}
		for _, other := range columns[:i] {
			if other.Name == f.Name {
				return nil, fmt.Errorf("two columns of the query are called %q: rename one "+
					"with AS", f.Name)
			}
		}
	}
	return columns, nil
}

// typesOf describes types, in order.
func typesOf(ctx context.Context, conn *pgx.Conn, oids []uint32) ([]valueType, error) {
	rows, err := conn.Query(ctx, typeWith+"SELECT "+typeColumns+
		" FROM unnest($1::oid[]) WITH ORDINALITY AS a(atttypid, n)"+typeJoins+"ORDER BY a.n", oids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types := make([]valueType, 0, len(oids))
	for rows.Next() {
		var t typeRow
		if err := rows.Scan(t.targets()...); err != nil {
			return nil, err
		}
		types = append(types, t.valueType())
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(types) != len(oids) {
		return nil, fmt.Errorf("the server knows %d of the query's %d types", len(types), len(oids))
	}
	return types, nil
}

// readsKey reports whether the query returns its key, and sets the key's
// columns of n if so. Otherwise a document's key is the one that was asked for.
func (q *query) readsKey(n *node) bool {
	cols := make([]*column, len(q.key))
	for i, name := range q.key {
		col, ok := n.table.column(name)
		if !ok || col.kind != q.types[i].kind {
			return false
		}
		cols[i] = col
	}
	n.keyCols = cols
	return true
}
