package postgres

// The queries of the catalogue. Each takes the OIDs of tables, or NULL for all.
const (
	// notOurs keeps the system's tables and hotrow's own out.
	notOurs = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
		AND n.nspname <> 'hotrow' AND c.relname !~ '^hotrow_'`

	sqlTables = `SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text,
			c.relpersistence::text, c.relrowsecurity, c.relreplident::text,
			c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits
				WHERE inhparent = c.oid), c.reltuples,
			COALESCE(n.nspname = pg_catalog.current_schema(), false),
			COALESCE(d.description, ''),
			pg_catalog.has_schema_privilege(n.oid, 'USAGE')
				AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
		FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid
			AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0
		WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND ` + notOurs + `
			AND ($1::oid[] IS NULL OR c.oid = ANY($1))
		ORDER BY n.nspname, c.relname`

	sqlColumns = typeWith + `SELECT ` + typeColumns + `, a.attrelid, a.attnum,
			a.attname::text, a.attnotnull, a.atthasdef, a.attgenerated::text,
			a.attidentity::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypmod,
			COALESCE(NOT co.collisdeterministic, false), COALESCE(d.description, '')
		FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ` + typeJoins + `
		LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
		LEFT JOIN pg_catalog.pg_description d ON d.objoid = a.attrelid
			AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = a.attnum
		WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND NOT c.relispartition AND ` + notOurs + `
			AND ($1::oid[] IS NULL OR a.attrelid = ANY($1))
			AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')
		ORDER BY a.attrelid, a.attnum`

	// Columns that an index only includes are not part of what is unique.
	sqlUnique = `SELECT i.indrelid, i.indisprimary, (
			SELECT array_agg(a.attname::text ORDER BY k.n)
			FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
			WHERE k.n <= i.indnkeyatts)
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
			AND NOT c.relispartition AND ` + notOurs + `
			AND ($1::oid[] IS NULL OR i.indrelid = ANY($1))
		ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid`

	sqlForeign = `SELECT f.conrelid, rn.nspname || '.' || r.relname, (
			SELECT array_agg(a.attname::text ORDER BY k.n)
			FROM unnest(f.conkey) WITH ORDINALITY AS k(num, n)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.num), (
			SELECT array_agg(a.attname::text ORDER BY k.n)
			FROM unnest(f.confkey) WITH ORDINALITY AS k(num, n)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.num)
		FROM pg_catalog.pg_constraint f
		JOIN pg_catalog.pg_class c ON c.oid = f.conrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_class r ON r.oid = f.confrelid
		JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
		WHERE f.contype = 'f' AND f.conparentid = 0 AND NOT c.relispartition AND ` + notOurs + `
			AND ($1::oid[] IS NULL OR f.conrelid = ANY($1))
		ORDER BY f.conrelid, f.conname`
)
