package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// What statements of users mean the catalogue says, of which every version of a row has the
// number of the transaction that made it: see package feed for the tables that are followed.
// Here it is all of the users' objects, for any of them may take the place of another by its
// name. Temporary tables are left out: only their own session finds them.

// stampParts are what the sum is made of: a table, its rows, and what identifies one.
var stampParts = [][3]string{
	{"pg_class", "x.oid >= {user} AND x.relpersistence <> 't' AND x.relkind <> 't'", "x.oid"},
	{"pg_attribute", "x.attrelid >= {user} AND x.attnum > 0 AND EXISTS (SELECT FROM" +
		" pg_catalog.pg_class c WHERE c.oid = x.attrelid AND c.relpersistence <> 't'" +
		" AND c.relkind IN ('r', 'p', 'v', 'm', 'f'))", "x.attrelid::int8 * 2048 + x.attnum"},
	{"pg_index", "x.indexrelid >= {user}", "x.indexrelid"},
	{"pg_attrdef", "true", "x.oid"}, {"pg_constraint", "x.oid >= {user}", "x.oid"},
	{"pg_trigger", "NOT x.tgisinternal", "x.oid"}, {"pg_policy", "true", "x.oid"},
	{"pg_rewrite", "x.oid >= {user}", "x.oid"}, {"pg_inherits", "true", "x.inhrelid"},
	{"pg_namespace", "x.nspname !~ '^pg_(toast_)?temp_'", "x.oid"},
	{"pg_proc", "x.oid >= {user}", "x.oid"}, {"pg_operator", "x.oid >= {user}", "x.oid"},
	{"pg_cast", "x.oid >= {user}", "x.oid"}, {"pg_collation", "x.oid >= {user}", "x.oid"},
	{"pg_type", "x.oid >= {user} AND x.typrelid = 0 AND x.typelem = 0", "x.oid"},
	{"pg_enum", "true", "x.oid"},
	{"pg_auth_members", "true", "(x.roleid::int8 << 32) | x.member::int8"},
}

// sqlStamp reads a Stamp. A role's row is compared as it is shown: its version is not.
var sqlStamp = func() string {
	parts := []string{`SELECT pg_catalog.hashtextextended(r::text, 1)
		FROM pg_catalog.pg_roles r WHERE r.rolname !~ '^pg_'`}
	for i, p := range stampParts {
		rows := strings.ReplaceAll(p[1], "{user}", fmt.Sprint(catalog.FirstUserOID))
		parts = append(parts, fmt.Sprintf("SELECT pg_catalog.hashtextextended((%s)::text || ' ' ||"+
			" x.xmin::text, %d) FROM pg_catalog.%s x WHERE %s", p[2], i+2, p[0], rows))
	}
	return "SELECT coalesce(sum(h), 0)::text,\n" +
		"	coalesce(pg_catalog.pg_conf_load_time()::text, ''),\n" +
		"	(extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::int8" +
		" - 946684800000000, pg_catalog.current_database()::text\n" +
		"	FROM (" + strings.Join(parts, "\n	UNION ALL ") + ") s (h)"
}()

// sqlRelations reads everything that has a name among tables. Code of users is found by what
// defaults, constraints and indexes depend on: what is PostgreSQL's own is not noted there.
const sqlRelations = `WITH code AS (
		SELECT DISTINCT coalesce(a.adrelid, k.conrelid, i.indrelid) AS rel
		FROM pg_catalog.pg_depend d
		LEFT JOIN pg_catalog.pg_attrdef a ON d.classid = 'pg_catalog.pg_attrdef'::regclass
			AND a.oid = d.objid
		LEFT JOIN pg_catalog.pg_constraint k ON d.classid = 'pg_catalog.pg_constraint'::regclass
			AND k.oid = d.objid
		LEFT JOIN pg_catalog.pg_index i ON d.classid = 'pg_catalog.pg_class'::regclass
			AND i.indexrelid = d.objid
		WHERE d.refobjid >= 16384 AND d.refclassid IN ('pg_catalog.pg_proc'::regclass,
			'pg_catalog.pg_operator'::regclass, 'pg_catalog.pg_opclass'::regclass))
	SELECT c.oid, n.nspname::text, c.relname::text,
		c.relkind = 'r' AND c.relpersistence = 'p' AND NOT c.relrowsecurity
			AND NOT c.relispartition AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h
				WHERE h.inhrelid = c.oid OR h.inhparent = c.oid),
		NOT c.relhasrules AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
				WHERE t.tgrelid = c.oid AND NOT t.tgisinternal)
			AND NOT EXISTS (SELECT FROM code WHERE rel = c.oid)
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a
				JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
				WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
				AND t.oid >= 16384 AND t.typtype <> 'e'),
		ARRAY(SELECT f.conrelid FROM pg_catalog.pg_constraint f WHERE f.contype = 'f'
			AND f.confrelid = c.oid AND (f.confdeltype IN ('c', 'n', 'd')
				OR f.confupdtype IN ('c', 'n', 'd')))
	FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
	WHERE c.oid >= 16384 AND c.relpersistence <> 't' AND n.nspname !~ '^pg_'`

const sqlRelationColumns = `SELECT a.attrelid, a.attname::text, a.atttypid
	FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
	WHERE c.oid >= 16384 AND c.relkind = 'r' AND c.relpersistence = 'p' AND a.attnum > 0
		AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum`

const sqlRelationKeys = `SELECT i.indrelid, k.names, i.indisprimary
	FROM pg_catalog.pg_index i, LATERAL (
		SELECT array_agg(a.attname::text) AS names, bool_and(a.attnotnull) AS filled
		FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
		JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
		WHERE k.n <= i.indnkeyatts) k
	WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
		AND i.indexprs IS NULL AND k.filled AND i.indrelid >= 16384
	ORDER BY i.indisprimary DESC, i.indexrelid`

// sqlUserNames finds what runs code of users by its name. A type of theirs may be read by code
// of theirs, too.
const sqlUserNames = `SELECT proname::text FROM pg_catalog.pg_proc WHERE oid >= 16384
	UNION SELECT typname::text FROM pg_catalog.pg_type WHERE oid >= 16384 AND typrelid = 0
		AND typtype <> 'e' AND typelem = 0
	UNION SELECT relname::text FROM pg_catalog.pg_class WHERE oid >= 16384
		AND (relkind IN ('v', 'm', 'f') OR relrowsecurity)`

// sqlUserOperators reports whether an operator or cast of users is written in anything but C.
const sqlUserOperators = `SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p
	JOIN pg_catalog.pg_language l ON l.oid = p.prolang
	WHERE l.lanname NOT IN ('c', 'internal') AND p.oid >= 16384 AND (
		p.oid IN (SELECT oprcode FROM pg_catalog.pg_operator WHERE oid >= 16384)
		OR p.oid IN (SELECT castfunc FROM pg_catalog.pg_cast WHERE oid >= 16384)))`

// sqlRedefined reports whether users have redefined how values of PostgreSQL's types compare.
const sqlRedefined = `SELECT EXISTS (SELECT FROM pg_catalog.pg_operator WHERE oid >= 16384
		AND oprleft < 16384 AND oprright < 16384
		AND oprname IN ('=', '<>', '<', '<=', '>', '>=', '~~', '~~*', '!~~', '!~~*'))
	OR EXISTS (SELECT FROM pg_catalog.pg_cast WHERE oid >= 16384
		AND castsource < 16384 AND casttarget < 16384)`

// Stamp implements source.Definer.
func (s *Source) Stamp(ctx context.Context) (st source.Stamp, err error) {
	err = s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return scanStamp(conn.QueryRow(ctx, sqlStamp), &st)
	})
	return st, err
}

// Alive implements source.Definer. The process may be another session's by now.
func (s *Source) Alive(ctx context.Context, pid uint32) (alive bool, err error) {
	err = s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_catalog.pg_stat_activity"+
			" WHERE pid = $1)", int32(pid)).Scan(&alive)
	})
	return alive, err
}

func scanStamp(r pgx.Row, st *source.Stamp) error {
	return r.Scan(&st.Sum, &st.Loaded, &st.Server, &st.Database)
}

// Definitions implements source.Definer.
func (s *Source) Definitions(ctx context.Context) (d *source.Definitions, err error) {
	err = s.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		o := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, conn, o, func(tx pgx.Tx) (err error) {
			d, err = readDefinitions(ctx, tx)
			return err
		})
	})
	return d, err
}

func readDefinitions(ctx context.Context, tx pgx.Tx) (*source.Definitions, error) {
	d := new(source.Definitions)
	byOID := make(map[uint32]int)
	if _, err := tx.Exec(ctx, catalog.SetNoJIT); err != nil {
		return nil, err
	}
	if err := scanStamp(tx.QueryRow(ctx, sqlStamp), &d.Stamp); err != nil {
		return nil, err
	}
	read := func(sql string, to []any, each func() error) error {
		rows, err := tx.Query(ctx, sql)
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, to, each)
		return err
	}
	var r source.Relation
	err := read(sqlRelations, []any{&r.OID, &r.Schema, &r.Name, &r.Rows, &r.Plain, &r.Reaches},
		func() error {
			byOID[r.OID] = len(d.Relations)
			r.Plain = r.Plain && r.Rows
			d.Relations = append(d.Relations, r)
			r.Reaches = nil
			return nil
		})
	if err != nil {
		return nil, err
	}
	if err := readParts(read, d, byOID); err != nil {
		return nil, err
	}
	var name string
	err = read(sqlUserNames, []any{&name}, func() error {
		d.Names = append(d.Names, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := tx.QueryRow(ctx, sqlRedefined).Scan(&d.Redefined); err != nil {
		return nil, err
	}
	return d, tx.QueryRow(ctx, sqlUserOperators).Scan(&d.Operators)
}

// readParts reads the columns and keys of relations, whose places byOID has.
func readParts(
	read func(sql string, to []any, each func() error) error, d *source.Definitions,
	byOID map[uint32]int,
) error {
	var oid uint32
	var c source.RelationColumn
	err := read(sqlRelationColumns, []any{&oid, &c.Name, &c.Type}, func() error {
		if i, ok := byOID[oid]; ok {
			d.Relations[i].Columns = append(d.Relations[i].Columns, c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	var columns []string
	var primary bool
	return read(sqlRelationKeys, []any{&oid, &columns, &primary}, func() error {
		if i, ok := byOID[oid]; ok {
			d.Relations[i].Unique = append(d.Relations[i].Unique, columns)
			d.Relations[i].Keyed = d.Relations[i].Keyed || primary
		}
		columns = nil
		return nil
	})
}
