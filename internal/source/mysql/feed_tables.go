package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
)

// A tableName names a table as the binary log does.
type tableName struct{ schema, name string }

func (n tableName) String() string { return n.schema + "." + n.name }

// A tableDef is one table as the catalogue has it.
type tableDef struct {
	tableName
	id      string   // as source.Table.ID gives it; "" when nobody watches it
	watched []string // columns
	columns []columnDef
	key     []int // of the primary key, as indexes of columns
	engine  string
	kind    string // "BASE TABLE", "VIEW"

	onDelete []string // IDs of watched tables whose rows a cascade may change
	onUpdate []cascade
}

// definitions are all tables that the feed needs to know: those that are watched,
// and those from which cascades reach them.
type definitions struct {
	tables map[tableName]*tableDef
	names  []string // of tables whose definition matters, those that are not there included

	// blind are the watched tables that a cascade may reach from tables which
	// the user may not see: any table that is not known may be one.
	blind []string

	// They hold from the end of the ddls-th change of definitions until the next,
	// provided that none stands in the log before end: they were read in between.
	ddls uint64
	end  source.Position
}

// namesOf returns what table an ID may mean: one of the connection's database, or
// one with its database in front.
func namesOf(id, database string) []tableName {
	names := []tableName{{database, id}}
	if schema, name, dotted := strings.Cut(id, "."); dotted {
		names = append(names, tableName{schema, name})
	}
	return names
}

// readDefinitions reads the tables that tables name, and the cascades that lead
// to them.
func readDefinitions(
	ctx context.Context, c *conn, database string, tables []source.Watched,
) (*definitions, error) {
	d := &definitions{tables: make(map[tableName]*tableDef)}
	for _, w := range tables {
		for _, name := range namesOf(w.Table, database) {
			d.names = appendNew(d.names, name.name)
			err := d.readTable(ctx, c, name, &w)
			if err != nil {
				return nil, fmt.Errorf("read the definition of %s: %w", w.Table, err)
			}
		}
	}
	if err := d.readCascades(ctx, c); err != nil {
		return nil, fmt.Errorf("read foreign keys: %w", err)
	}
	for _, t := range d.tables {
		if err := t.readColumns(ctx, c); err != nil {
			return nil, fmt.Errorf("read the columns of %s: %w", t.tableName, err)
		}
		t.resolve()
	}
	return d, nil
}

// readTable adds the watched table called name, if it is there.
func (d *definitions) readTable(
	ctx context.Context, c *conn, name tableName, w *source.Watched,
) error {
	return c.query(ctx, "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_TYPE"+
		" FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		[]any{name.schema, name.name}, func(v []any) error {
			if asText(v[0]) == name.schema && asText(v[1]) == name.name {
				d.tables[name] = &tableDef{tableName: name, id: w.Table, watched: w.Columns,
					engine: asText(v[2]), kind: asText(v[3])}
			}
			return nil // the catalogue takes letters of both cases to be equal
		})
}

// readColumns reads the columns of a table and its primary key.
func (t *tableDef) readColumns(ctx context.Context, c *conn) error {
	args := []any{t.schema, t.name}
	err := c.query(ctx, `SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME
		FROM information_schema.COLUMNS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`, args,
		func(v []any) error {
			def := columnDef{column: column{typ: strings.ToLower(asText(v[1])),
				charset: asText(v[3])}, length: lengthOf(asText(v[2]))}
			def.Name, def.Native = asText(v[0]), asText(v[2])
			def.settle()
			t.columns = append(t.columns, def)
			return nil
		})
	if err != nil {
		return err
	}
	return c.query(ctx, `SELECT COLUMN_NAME FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND INDEX_NAME = 'PRIMARY'
		ORDER BY SEQ_IN_INDEX`, args, func(v []any) error {
		if i := t.column(asText(v[0])); i >= 0 {
			t.key = append(t.key, i)
		}
		return nil
	})
}

// column returns the index of the column called name, or -1.
func (t *tableDef) column(name string) int {
	return slices.IndexFunc(t.columns, func(c columnDef) bool { return c.Name == name })
}
