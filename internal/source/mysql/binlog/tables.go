package binlog

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A tableDef is one table as the feed follows it.
type tableDef struct {
	*catalog.Table
	id      string   // as source.Table.ID gives it; "" when nobody watches it
	watched []string // columns
	values  *source.ColumnSet
	key     []int // of the primary key, as indexes of Cols

	onDelete []string // IDs of watched tables whose rows a cascade may change
	onUpdate []cascade
}

// definitions are all tables that the feed needs to know: those that are watched,
// and those from which cascades reach them.
type definitions struct {
	tables map[catalog.Name]*tableDef
	names  []string  // of tables whose definition matters, those that are not there included
	index  nameIndex // of names

	// unobservable are the watched tables that a cascade may reach from tables which
	// the user may not see: any table that is not known may be one, and any that is
	// known may be what a foreign key of one refers to.
	unobservable []string

	of *[]source.Watched // the tables of the feed that they were read for

	// They hold from the end of the ddls-th change of definitions until the next,
	// provided that none stands in the log before end: they were read in between.
	ddls uint64
	end  source.Position
}

// readDefinitions reads the tables that tables name, and the cascades that lead
// to them.
func readDefinitions(
	ctx context.Context, r *catalog.Reader, tables []source.Watched,
) (*definitions, error) {
	d := &definitions{tables: make(map[catalog.Name]*tableDef), index: make(nameIndex)}
	wanted := make(map[catalog.Name]*source.Watched, len(tables))
	var names []catalog.Name
	for i := range tables {
		for _, name := range catalog.Names(tables[i].Table, r.Home) {
			if wanted[name] == nil {
				d.names = append(d.names, name.Table)
				names = append(names, name)
			}
			wanted[name] = &tables[i]
		}
	}
	found, err := r.Tables(ctx, names...)
	if err != nil {
		return nil, fmt.Errorf("read the tables that are followed: %w", err)
	}
	for _, t := range found {
		if w := wanted[t.Named()]; w != nil {
			def := d.add(t)
			def.id, def.watched, def.values = w.Table, w.Columns, w.Values
		}
	}
	if err := d.readCascades(ctx, r); err != nil {
		return nil, fmt.Errorf("read foreign keys: %w", err)
	}
	for _, name := range d.names {
		d.index.add(catalog.Name{Table: name})
	}
	return d, nil
}

// add adds a table that was found.
func (d *definitions) add(t *catalog.Table) *tableDef {
	t.Foreign = nil // cascades are read by themselves
	def := &tableDef{Table: t}
	for _, name := range t.Key {
		if i := t.Index(name); i >= 0 {
			def.key = append(def.key, i)
		}
	}
	d.tables[t.Named()] = def
	return def
}
