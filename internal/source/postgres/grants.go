package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// sqlGrants reads the rights of a role on the tables that it may name. A role that this user
// may not become has none: nothing could be written as it.
const sqlGrants = `SELECT n.nspname || '.' || c.relname, a.attname::text,
		pg_catalog.has_column_privilege(r.oid, c.oid, a.attnum, 'SELECT'),
		pg_catalog.has_column_privilege(r.oid, c.oid, a.attnum, 'INSERT'),
		pg_catalog.has_column_privilege(r.oid, c.oid, a.attnum, 'UPDATE'),
		pg_catalog.has_table_privilege(r.oid, c.oid, 'DELETE'),
		c.relrowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls
			AND (c.relforcerowsecurity OR NOT pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE'))
	FROM pg_catalog.pg_roles r, pg_catalog.pg_class c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	WHERE r.rolname = $1 AND pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
		AND c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
		AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE')
		AND (pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT, INSERT, UPDATE')
			OR pg_catalog.has_table_privilege(r.oid, c.oid, 'DELETE'))`

// Grants implements source.Granter. Each statement is a transaction of its own: the functions
// about rights answer as of its beginning, whatever a snapshot shows.
func (s *Source) Grants(
	ctx context.Context, roles []string,
) (all map[string]*source.Grants, err error) {
	ctx, cancel := s.begin(ctx, len(roles))
	defer cancel()
	err = s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		all = make(map[string]*source.Grants, len(roles))
		for _, role := range roles {
			if all[role], err = readGrants(ctx, conn, role); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

// readGrants reads the rights of one role.
func readGrants(ctx context.Context, conn *pgx.Conn, role string) (*source.Grants, error) {
	g := &source.Grants{Tables: make(map[string]*source.TableGrants)}
	rows, err := conn.Query(ctx, sqlGrants, role)
	if err != nil {
		return nil, err
	}
	var table, column string
	var selects, inserts, updates, deletes, policies bool
	to := []any{&table, &column, &selects, &inserts, &updates, &deletes, &policies}
	_, err = pgx.ForEachRow(rows, to, func() error {
		t := g.Tables[table]
		if t == nil {
			t = &source.TableGrants{Select: make(map[string]bool), Insert: make(map[string]bool),
				Update: make(map[string]bool), Delete: deletes, Policies: policies}
			g.Tables[table] = t
		}
		t.Columns++
		for _, may := range []struct {
			columns map[string]bool
			is      bool
		}{{t.Select, selects}, {t.Insert, inserts}, {t.Update, updates}} {
			if may.is {
				may.columns[column] = true
			}
		}
		return nil
	})
	return g, err
}
