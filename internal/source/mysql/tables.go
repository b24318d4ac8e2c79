package mysql

import (
	"context"
	"fmt"
	"strings"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A table is one table as resources see it: with the columns that this user may read.
type table struct {
	catalog.Table // without Cols and Indexes
	cols          []column
}

// A column is one column of a table, or of a query's answer.
type column struct {
	catalog.Column
	within string // the expression of what is meant within the column; "": the column
}

// Catalog reads the tables of the database that the URL names. Those of other
// databases can be resources too, called DATABASE.TABLE in the configuration.
func (s *Source) Catalog(ctx context.Context) (*source.Catalog, error) {
	tables, v, err := s.tables(ctx, catalog.Name{Schema: s.cfg.DBName})
	if err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	c := &source.Catalog{Server: v.product(), Tables: make([]source.Table, len(tables))}
	for i, t := range tables {
		c.Tables[i] = t.listed()
	}
	return c, nil
}

// listed returns the table as the catalogue of all databases has it. Nothing keeps that: its
// columns are copies.
func (t *table) listed() source.Table {
	out := t.Table.Table
	out.Columns = make([]source.Column, len(t.cols))
	for i := range t.cols {
		out.Columns[i] = t.cols[i].Column.Column
	}
	return out
}

// product returns the server's product and version, for people.
func (v *server) product() string {
	number, _, _ := strings.Cut(v.version, "-")
	if v.mariadb {
		return "MariaDB " + number
	}
	return "MySQL " + number
}

// tables reads those of the tables that are there, with the columns that this user may read.
// A name without a table stands for all of its database.
func (s *Source) tables(ctx context.Context, names ...catalog.Name) ([]*table, server, error) {
	ctx, cancel := s.begin(ctx, catalog.Queries(names...)+1)
	defer cancel()
	var found []*catalog.Table
	var v server
	err := s.read(ctx, func(ctx context.Context, c *conn) (err error) {
		if v, err = c.server(); err != nil {
			return err
		}
		found, err = s.catalog(c, v).Tables(ctx, names...)
		return err
	})
	if err != nil {
		return nil, v, err
	}
	tables := make([]*table, len(found))
	for i, f := range found {
		t := &table{Table: *f, cols: make([]column, 0, len(f.Cols))}
		for _, c := range f.Cols {
			if c.Readable {
				c.Volatile = volatile(&c, f.Cols)
				t.cols = append(t.cols, column{Column: c})
			}
		}
		t.Cols, t.Indexes = nil, nil // of indexes whoever needs them asks as they are then
		tables[i] = t
	}
	return tables, v, nil
}

// catalog returns the reader of the catalogue on a connection.
func (s *Source) catalog(c *conn, v server) *catalog.Reader {
	return &catalog.Reader{Conn: c, Home: s.cfg.DBName, MariaDB: v.mariadb}
}
