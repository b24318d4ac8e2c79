package feed

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// Facts are everything that decides which feed can work.
type Facts struct {
	Server      *catalog.Server
	Tables      []*Table
	Publication *catalog.Publication
	Names       Names
	Reads       bool // Server is a standby that is to be followed

	byID map[string]*Table // Tables, of facts that were read
}

// Table returns the facts about a table; nil: it is not there.
func (f *Facts) Table(id string) *Table { return f.byID[id] }

// A Table is a watched table.
type Table struct {
	*catalog.Table
	Watched []string // the columns that make keys
	Direct  []string // see source.Watched
	Old     bool     // the same
}

// Names are the names that a feed uses on the server.
type Names struct {
	Publication string // of the logical feed
	Prefix      string // of the channels of triggers that are not ours
}

// ReadFacts reads the facts about those of the tables that are there.
func ReadFacts(
	ctx context.Context, conn *pgx.Conn, tables []source.Watched, names Names,
) (*Facts, error) {
	f := &Facts{Names: names}
	var err error
	if f.Server, err = catalog.ReadServer(ctx, conn); err != nil {
		return nil, err
	}
	if f.Tables, err = ReadTables(ctx, conn, tables, names.Prefix); err != nil {
		return nil, err
	}
	f.byID = make(map[string]*Table, len(f.Tables))
	for _, t := range f.Tables {
		f.byID[t.ID()] = t
	}
	f.Publication, err = catalog.ReadPublication(ctx, conn, names.Publication)
	return f, err
}

// ReadTables returns the facts of those of the tables that are there, in their
// order.
func ReadTables(
	ctx context.Context, conn *pgx.Conn, tables []source.Watched, prefix string,
) ([]*Table, error) {
	found, err := catalog.Tables(ctx, conn, catalog.Which{
		Names: watchedIDs(tables), Triggers: true, Prefix: prefix,
	})
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*catalog.Table)
	for _, t := range found {
		byID[t.ID()] = t
	}
	var out []*Table
	for _, w := range tables {
		if t := byID[w.Table]; t != nil {
			out = append(out, &Table{t, w.Columns, w.Direct, w.Old})
		}
	}
	return out, nil
}

// Types returns the type of each column, of a domain the one below.
func (t *Table) Types() map[string]uint32 {
	types := make(map[string]uint32, len(t.Cols))
	for _, c := range t.Cols {
		types[c.Name] = c.Type.OID
	}
	return types
}

// Coarse reports whether the change stream may write a watched column in another
// way than loads read it: they cast types that hotrow does not know to text, by
// a function of the type's own. Such a table is followed as a whole.
func (t *Table) Coarse() bool {
	return slices.ContainsFunc(t.Cols, func(c catalog.Column) bool {
		return c.Casts && slices.Contains(t.Watched, c.Name)
	})
}

// Identified reports whether rows that change can be named in the log. Where
// they cannot, PostgreSQL refuses to update and delete them once published.
func (t *Table) Identified() bool {
	switch t.Identity {
	case "d":
		return len(t.Key) > 0 && !slices.ContainsFunc(t.Indexes, func(x catalog.Index) bool {
			return x.Primary && !x.Immediate // DEFERRABLE
		})
	case "i":
		return len(t.IdentityKey()) > 0
	}
	return t.Identity == "f"
}

// Even reports whether all partitions say the same of rows that change as the
// table does: its description in the stream speaks for all of them.
func (t *Table) Even() bool {
	if t.Kind != "p" {
		return true
	}
	other := func(identity string) bool { return identity != t.Identity }
	return t.Identity != "i" && !slices.ContainsFunc(t.Leaves, other)
}

// Unknown returns the watched columns whose old values the log does not have.
func (t *Table) Unknown() []string {
	known := t.Key
	switch t.Identity {
	case "f":
		return nil
	case "i":
		known = t.IdentityKey()
	}
	var out []string
	for _, c := range t.Watched {
		if !slices.Contains(known, c) {
			out = append(out, c)
		}
	}
	return out
}
