package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// A table is one table of the catalogue, with what source.Table does not say.
type table struct {
	source.Table
	oid         uint32
	kind        string
	persistence string
	rls         bool
	readable    bool
	identity    string // pg_class.relreplident
	inherited   bool   // tables that are not its partitions inherit from it
	aside       []catalog.Leaf
	cols        []column
	unique      [][]string // columns of its unique indexes; the primary key first
}

// A column is one column of a table.
type column struct {
	source.Column
	valueType
	num    int16
	maxLen int        // of a text, in characters; 0: no bound
	path   query.Path // what is meant is within the column
}

// column returns the column called name.
func (t *table) column(name string) (*column, bool) {
	for i := range t.cols {
		if t.cols[i].Name == name {
			return &t.cols[i], true
		}
	}
	return nil, false
}

// Catalog reads which tables there are.
func (s *Source) Catalog(ctx context.Context) (*source.Catalog, error) {
	tables, server, err := s.tables(ctx, nil)
	if err != nil {
		return nil, err
	}
	c := &source.Catalog{Server: server, Tables: make([]source.Table, len(tables))}
	for i, t := range tables {
		c.Tables[i] = t.listed()
	}
	return c, nil
}

// listed returns the table as the catalogue of all databases has it. Nothing keeps that: its
// columns are copies.
func (t *table) listed() source.Table {
	out := t.Table
	out.Columns = make([]source.Column, len(t.cols))
	for i := range t.cols {
		out.Columns[i] = t.cols[i].Column
	}
	return out
}

// tables reads the tables with these OIDs, or all when oids is nil.
func (s *Source) tables(ctx context.Context, oids []uint32) ([]*table, string, error) {
	ctx, cancel := s.begin(ctx, 2)
	defer cancel()
	var found []*catalog.Table
	var server string
	err := s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		server = "PostgreSQL " + conn.PgConn().ParameterStatus("server_version")
		found, err = catalog.Tables(ctx, conn, catalog.Which{OIDs: oids})
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the catalogue: %w", err)
	}
	tables := make([]*table, len(found))
	for i, t := range found {
		tables[i] = tableOf(t)
	}
	return tables, server, nil
}

// tableOf returns a table with the columns that this user may read.
func tableOf(from *catalog.Table) *table {
	t := &table{
		Table: from.Table, oid: from.OID, kind: from.Kind, persistence: from.Persistence,
		rls: from.RLS, readable: from.Usage && from.Select, identity: from.Identity,
		inherited: from.Parent, aside: from.Aside,
	}
	t.cols = make([]column, 0, len(from.Cols))
	for i := range from.Cols {
		f := &from.Cols[i]
		if !f.Select {
			continue
		}
		c := column{Column: f.Column, valueType: valueTypeOf(&f.Type), num: f.Num, maxLen: f.MaxLen}
		c.wide = c.wide || f.WideCollation
		c.Kind, c.Bits, c.Wide = c.kind, c.bits, c.wide
		c.Folds = c.folds && !f.WideCollation
		c.Content, c.Elem = contentOf(&f.Type)
		t.cols = append(t.cols, c)
	}
	for _, x := range from.Indexes {
		t.unique = append(t.unique, x.Columns)
	}
	t.Refused = t.refusal()
	return t
}

// refusal says why the table cannot be a resource by itself, or "".
func (t *table) refusal() string {
	if why := t.unfollowed(); why != "" {
		return why
	}
	switch {
	case !t.readable:
		return "no SELECT privilege"
	case t.rls:
		return "row-level security"
	case t.View:
		return "a view: its key and the tables that it depends on must be configured"
	case len(t.Key) == 0:
		return "no primary key"
	}
	for _, k := range t.Key {
		col, ok := t.column(k)
		switch {
		case !ok:
			return "no SELECT privilege on the key column " + k
		case !col.canBeKey():
			return fmt.Sprintf("its key column %s is %s, which no path can name", k, col.Native)
		}
	}
	if t.inherited { // the feed of the whole source would refuse it
		return "other tables inherit from it: use declarative partitions"
	}
	return ""
}

// canBeKey reports whether values of the column have a text that can name a row.
func (c *column) canBeKey() bool {
	if c.record {
		return false
	}
	switch c.kind {
	case row.JSON, row.Array, row.Rows, row.Null:
		return false
	}
	return true
}

// unfollowed says why changes of the table, or of a part of it, are in no write-ahead log,
// or "".
func (t *table) unfollowed() string {
	what, why := catalog.Unlogged(t.kind, t.persistence)
	if what == "" && len(t.aside) > 0 {
		l := &t.aside[0]
		what, why = catalog.Unlogged(l.Kind, l.Persistence)
		what = "partitioned, and its partition " + l.Schema + "." + l.Name + " is " + what
	}
	if what == "" {
		return ""
	}
	return what + ": " + why
}

// isUnique reports whether no two rows can have the same values in columns.
func (t *table) isUnique(columns []string) bool {
	for _, u := range t.unique {
		covered := true
		for _, c := range u {
			covered = covered && slices.Contains(columns, c)
		}
		if covered {
			return true
		}
	}
	return false
}
