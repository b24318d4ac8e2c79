package mysql

import (
	"context"
	"fmt"
	"iter"
	"maps"
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
	wanted := make(map[tableName]*source.Watched, len(tables))
	for i := range tables {
		for _, name := range namesOf(tables[i].Table, database) {
			if wanted[name] == nil {
				d.names = append(d.names, name.name)
			}
			wanted[name] = &tables[i]
		}
	}
	if err := d.readTables(ctx, c, wanted); err != nil {
		return nil, fmt.Errorf("read the tables that are followed: %w", err)
	}
	if err := d.readCascades(ctx, c); err != nil {
		return nil, fmt.Errorf("read foreign keys: %w", err)
	}
	if err := d.readColumns(ctx, c); err != nil {
		return nil, fmt.Errorf("read the columns of the tables that are followed: %w", err)
	}
	for _, t := range d.tables {
		t.resolve()
	}
	return d, nil
}

// askTogether is of how many tables of one database the catalogue is asked in one
// statement for all of its tables. For fewer it is asked one by one: the database may
// have many more.
const askTogether = 16

// ofTables runs a query of the catalogue, which begins with sql and ends with order, for
// tables. Its first two columns are the database and the table. fn is called with rows of
// other tables too.
func ofTables(
	ctx context.Context, c *conn, tables iter.Seq[tableName], sql, order string,
	fn func(name tableName, v []any),
) error {
	schemas := make(map[string][]string)
	for t := range tables {
		schemas[t.schema] = append(schemas[t.schema], t.name)
	}
	each := func(v []any) error {
		fn(tableName{asText(v[0]), asText(v[1])}, v[2:])
		return nil
	}
	for schema, names := range schemas {
		if len(names) >= askTogether {
			err := c.query(ctx, sql+" WHERE TABLE_SCHEMA = ? "+order, []any{schema}, each)
			if err != nil {
				return err
			}
			continue
		}
		for _, name := range names {
			err := c.query(ctx, sql+" WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? "+order,
				[]any{schema, name}, each)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readTables adds the tables that are wanted, if they are there. (The catalogue takes
// letters of both cases to be equal.)
func (d *definitions) readTables(
	ctx context.Context, c *conn, wanted map[tableName]*source.Watched,
) error {
	return ofTables(ctx, c, maps.Keys(wanted), `SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, TABLE_TYPE
		FROM information_schema.TABLES`, "", func(name tableName, v []any) {
		if w := wanted[name]; w != nil {
			d.tables[name] = &tableDef{tableName: name, id: w.Table, watched: w.Columns,
				engine: asText(v[0]), kind: asText(v[1])}
		}
	})
}

// readColumns reads the columns of the tables and their primary keys.
func (d *definitions) readColumns(ctx context.Context, c *conn) error {
	err := ofTables(ctx, c, maps.Keys(d.tables), `SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME,
		DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME FROM information_schema.COLUMNS`,
		"ORDER BY TABLE_NAME, ORDINAL_POSITION", func(name tableName, v []any) {
			t := d.tables[name]
			if t == nil {
				return
			}
			def := columnDef{column: column{typ: strings.ToLower(asText(v[1])),
				charset: asText(v[3])}, length: lengthOf(asText(v[2]))}
			def.Name, def.Native = asText(v[0]), asText(v[2])
			def.settle()
			t.columns = append(t.columns, def)
		})
	if err != nil {
		return err
	}
	return ofTables(ctx, c, maps.Keys(d.tables), `SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME,
		COLUMN_NAME FROM information_schema.STATISTICS`, "ORDER BY TABLE_NAME, SEQ_IN_INDEX",
		func(name tableName, v []any) {
			t := d.tables[name]
			if t == nil || asText(v[0]) != "PRIMARY" {
				return
			}
			if i := t.column(asText(v[1])); i >= 0 {
				t.key = append(t.key, i)
			}
		})
}

// column returns the index of the column called name, or -1.
func (t *tableDef) column(name string) int {
	return slices.IndexFunc(t.columns, func(c columnDef) bool { return c.Name == name })
}
