package mysql

import (
	"context"
	"strings"

	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// A schemaCache is what the catalogue has said while resources were compiled together: it is
// asked once of a table that many of them read.
type schemaCache struct {
	src      *Source
	ctx      context.Context
	tables   map[catalog.Name][]*table
	routines map[string]bool // the stored functions; nil: not read yet
}

// look reads the tables that these names mean, all together. One that is not there as it is
// spelled is looked up by itself later: a server may take both cases to be equas.
func (s *schemaCache) look(ids []string) error {
	if len(ids) < 2 {
		return nil
	}
	var names []catalog.Name
	for _, id := range ids {
		names = append(names, catalog.Names(id, s.src.cfg.DBName)...)
	}
	found, _, err := s.src.tables(s.ctx, names...)
	if err != nil {
		return err
	}
	folded := make(map[string]bool, len(found))
	for _, t := range found {
		s.tables[t.Named()] = []*table{t}
		folded[strings.ToLower(t.Named().String())] = true
	}
	for _, n := range names {
		if !folded[strings.ToLower(n.String())] {
			s.tables[n] = nil
		}
	}
	return nil
}

// named returns the tables that the server finds by a name.
func (s *schemaCache) named(name catalog.Name) ([]*table, error) {
	found, known := s.tables[name]
	if known {
		return found, nil
	}
	found, _, err := s.src.tables(s.ctx, name)
	if err == nil {
		s.tables[name] = found
	}
	return found, err
}

// isRoutine reports whether there is a stored function of this name, in lower case:
// "database.function".
func (s *schemaCache) isRoutine(name string) (bool, error) {
	if s.routines != nil {
		return s.routines[name], nil
	}
	routines := make(map[string]bool)
	ctx, cancel := s.src.begin(s.ctx, 1)
	defer cancel()
	err := s.src.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, `SELECT LOWER(CONCAT(ROUTINE_SCHEMA, '.', ROUTINE_NAME))
			FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = 'FUNCTION'`, nil,
			func(v []any) error {
				routines[catalog.AsText(v[0])] = true
				return nil
			})
	})
	if err != nil {
		return false, err
	}
	s.routines = routines
	return routines[name], nil
}
