package catalog

// The queries of the catalogue. For {which} stands the condition that says which tables.
const (
	// ours leaves the system's tables, hotrow's own and partitions out.
	ours = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
		AND n.nspname <> 'hotrow' AND c.relname !~ '^hotrow_'
		AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND {which}`

	sqlTables = `SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text,
			c.relpersistence::text, c.relrowsecurity, c.relreplident::text,
			c.relkind <> 'p' AND EXISTS (SELECT FROM pg_catalog.pg_inherits
				WHERE inhparent = c.oid),
			CASE c.relkind WHEN 'p' THEN ARRAY(SELECT DISTINCT l.relreplident::text
				FROM pg_catalog.pg_partition_tree(c.oid) t
				JOIN pg_catalog.pg_class l ON l.oid = t.relid
				WHERE t.isleaf AND l.relkind <> 'f')
				ELSE '{}' END,
			CASE c.relkind WHEN 'p' THEN ARRAY(SELECT unnest(ARRAY[ln.nspname::text,
					l.relname::text, l.relkind::text, l.relpersistence::text])
				FROM pg_catalog.pg_partition_tree(c.oid) t
				JOIN pg_catalog.pg_class l ON l.oid = t.relid
				JOIN pg_catalog.pg_namespace ln ON ln.oid = l.relnamespace
				WHERE t.isleaf AND (l.relkind = 'f' OR l.relpersistence <> 'p')
				ORDER BY l.oid)
				ELSE '{}' END,
			EXISTS (SELECT FROM pg_catalog.pg_subscription_rel WHERE srrelid = c.oid),
			COALESCE(n.nspname = pg_catalog.current_schema(), false),
			COALESCE(d.description, ''), pg_catalog.pg_has_role(c.relowner, 'USAGE'),
			pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
			pg_catalog.has_any_column_privilege(c.oid, 'SELECT')
		FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_catalog.pg_description d ON d.objoid = c.oid
			AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0
		WHERE ` + ours + ` ORDER BY n.nspname, c.relname`

	sqlColumns = TypeWith + `SELECT ` + TypeColumns + `, a.attrelid, a.attnum,
			a.attname::text, a.attnotnull, a.atthasdef, a.attgenerated::text,
			a.attidentity::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.atttypmod,
			COALESCE(NOT co.collisdeterministic, false), COALESCE(d.description, ''),
			pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
			bt.oid = ANY (ARRAY(SELECT k.castsource FROM pg_catalog.pg_cast k
				WHERE k.casttarget = 'text'::regtype AND k.castmethod = 'f' AND k.oid >= 16384))
		FROM pg_catalog.pg_attribute a
		JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace ` + TypeJoins + `
		LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
		LEFT JOIN pg_catalog.pg_description d ON d.objoid = a.attrelid
			AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = a.attnum
		WHERE a.attnum > 0 AND NOT a.attisdropped AND ` + ours + `
		ORDER BY a.attrelid, a.attnum`

	// Columns that an index only includes are not part of what is unique, and the log has
	// no old values of them.
	sqlIndexes = `SELECT i.indrelid, x.relname::text, i.indisprimary, i.indisreplident,
			i.indimmediate, k.names, k.filled
		FROM pg_catalog.pg_index i
		JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
		JOIN pg_catalog.pg_class c ON c.oid = i.indrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace, LATERAL (
			SELECT array_agg(a.attname::text ORDER BY k.n) AS names,
				bool_and(a.attnotnull) AS filled
			FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(num, n)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.num
			WHERE k.n <= i.indnkeyatts) k
		WHERE i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
			AND ` + ours + ` ORDER BY i.indrelid, i.indisprimary DESC, i.indexrelid`

	sqlForeign = `SELECT f.conrelid, rn.nspname || '.' || r.relname, (
			SELECT array_agg(a.attname::text ORDER BY k.n)
			FROM unnest(f.conkey) WITH ORDINALITY AS k(num, n)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.num), (
			SELECT array_agg(a.attname::text ORDER BY k.n)
			FROM unnest(f.confkey) WITH ORDINALITY AS k(num, n)
			JOIN pg_catalog.pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.num),
			f.conname::text
		FROM pg_catalog.pg_constraint f
		JOIN pg_catalog.pg_class c ON c.oid = f.conrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_class r ON r.oid = f.confrelid
		JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
		WHERE f.contype = 'f' AND f.conparentid = 0 AND ` + ours + `
		ORDER BY f.conrelid, f.conname`

	// sqlOperators finds the operators of types that extensions and users have made: those by
	// which an index orders, or at least tells apart, values of one, <>, LIKE and those of regular
	// expressions.
	sqlOperators = `WITH own AS (
			SELECT o.opcintype AS typ, s.amopopr AS op FROM pg_catalog.pg_opclass o
			JOIN pg_catalog.pg_am m ON m.oid = o.opcmethod AND m.amname IN ('btree', 'hash')
			JOIN pg_catalog.pg_amop s ON s.amopfamily = o.opcfamily AND s.amoppurpose = 's'
				AND s.amoplefttype = o.opcintype AND s.amoprighttype = o.opcintype
			WHERE o.opcdefault AND o.opcintype >= 16384)
		SELECT w.typ, p.oprname::text, n.nspname::text FROM (
			SELECT typ, op FROM own
			UNION SELECT own.typ, e.oprnegate FROM own
				JOIN pg_catalog.pg_operator e ON e.oid = own.op AND e.oprname = '='
			UNION SELECT l.oprleft, l.oid FROM pg_catalog.pg_operator l
				WHERE l.oprname IN ('~~', '~~*', '~', '~*') AND l.oprright = 'text'::regtype
				AND l.oprleft IN (SELECT typ FROM own)) w
		JOIN pg_catalog.pg_operator p ON p.oid = w.op
		JOIN pg_catalog.pg_namespace n ON n.oid = p.oprnamespace`

	// {prefix} is that of the channels of triggers that are not hotrow's.
	sqlTriggers = `SELECT g.tgrelid, g.tgname::text, fn.nspname || '.' || p.proname,
			g.tgenabled::text, g.tgtype::int, g.tgqual IS NOT NULL OR cardinality(g.tgattr) > 0,
			CASE WHEN fn.nspname = 'hotrow' THEN p.prosrc ELSE '' END,
			p.prosrc ILIKE '%notify%' AND strpos(p.prosrc, {prefix} || '_' || c.relname) > 0
		FROM pg_catalog.pg_trigger g
		JOIN pg_catalog.pg_class c ON c.oid = g.tgrelid
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid
		JOIN pg_catalog.pg_namespace fn ON fn.oid = p.pronamespace
		WHERE NOT g.tgisinternal AND ` + ours + ` ORDER BY g.tgrelid, g.tgname`
)
