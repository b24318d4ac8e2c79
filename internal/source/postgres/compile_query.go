package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// Scan implements document.Schema.
func (c *compiler) Scan(query string) (*document.Query, error) {
	text, err := scanQuery(query)
	if err != nil {
		return nil, err
	}
	return &document.Query{Template: text}, nil
}

// Describe implements document.Schema. A part of the key that a column which holds it
// compares by more than its bytes is compared so, whatever its own type says: a collation
// is none of a type.
func (c *compiler) Describe(q *document.Query) error {
	params, columns, err := c.describe(q.With(numbered))
	if err != nil {
		return err
	}
	q.Columns = documentColumns(columns)
	parts := make([]column, len(params))
	for i, t := range params {
		parts[i] = column{Column: source.Column{Name: q.Key[i], Kind: t.kind, Native: t.name},
			valueType: t}
	}
	for i := range q.Spec.Depends {
		for part := range parts {
			table, name, ok := q.Spec.Depends[i].Holds(q.Key, part)
			if !ok {
				continue
			}
			t, err := c.lookup(table)
			if err != nil {
				return fmt.Errorf("depends: %w", err)
			}
			if col, ok := t.column(name); ok { // else the engine says so
				parts[part].wide = parts[part].wide || col.wide
			}
		}
	}
	q.Parts = documentColumns(parts)
	return nil
}

// numbered returns the parameter of a part of the key.
func numbered(part int) string { return fmt.Sprintf("$%d", part+1) }

// describe asks the server for the types of a query's parameters and columns.
func (c *compiler) describe(sql string) (params []valueType, columns []column, err error) {
	ctx, cancel := c.src.begin(c.ctx, 2)
	defer cancel()
	err = c.src.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
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
	rows, err := conn.Query(ctx, catalog.TypeWith+"SELECT "+catalog.TypeColumns+
		" FROM unnest($1::oid[]) WITH ORDINALITY AS a(atttypid, n)"+catalog.TypeJoins+
		"ORDER BY a.n", oids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	types := make([]valueType, 0, len(oids))
	for rows.Next() {
		var t catalog.Type
		if err := rows.Scan(t.Targets()...); err != nil {
			return nil, err
		}
		types = append(types, valueTypeOf(&t))
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(types) != len(oids) {
		return nil, fmt.Errorf("the server knows %d of the query's %d types", len(types), len(oids))
	}
	return types, nil
}
