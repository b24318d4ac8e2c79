package feed

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// PostgreSQL puts no change of a definition into the change stream, nor TRUNCATE of
// one partition. They are found in the catalogue: every version of a row there has
// the number of the transaction that made it (xmin), so a sum over the rows that
// documents stand on changes whenever one of them does. It is asked for together
// with each fence, and a fence counts only when the sum is the one that the handler
// has been told of.

// The kinds of what a stamp is of.
const (
	stampClass   = "c" // a table, view or composite type with its columns, indexes, rules...
	stampLeaf    = "l" // a partition: its files and its place
	stampType    = "t"
	stampProc    = "p"
	stampName    = "n" // the names of everything, for columns that hold OIDs as names
	stampPublish = "u" // the publication
)

// nameTypes are the types whose values are written as names of other things
// (regclass and its like, aclitem) and their arrays.
const nameTypes = `24, 2202, 2203, 2204, 2205, 2206, 4089, 4096, 3734, 3769, 4191, 1033,
	1008, 2207, 2208, 2209, 2210, 2211, 4090, 4097, 3735, 3770, 4192, 1034`

// closureSQL gives everything that the tables of $1, and what $2, $3 and $4 name
// (owner, kind and OID), are made of: partitions, types, and what those are made of.
const closureSQL = `WITH RECURSIVE closure (owner, kind, oid) AS (
	SELECT n.nspname || '.' || c.relname, '` + stampClass + `', c.oid
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname || '.' || c.relname = ANY ($1)
	UNION SELECT * FROM unnest($2::text[], $3::text[], $4::oid[])
	UNION SELECT x.owner, y.kind, y.oid FROM closure x, LATERAL (
		SELECT '` + stampLeaf + `' AS kind, inhrelid AS oid FROM pg_inherits
			WHERE x.kind IN ('` + stampClass + `', '` + stampLeaf + `') AND inhparent = x.oid
		UNION ALL SELECT '` + stampType + `', atttypid FROM pg_attribute
			WHERE x.kind = '` + stampClass + `' AND attrelid = x.oid AND attnum > 0
			AND NOT attisdropped
		UNION ALL SELECT v.kind, v.oid FROM pg_type t, LATERAL (VALUES
			('` + stampType + `', t.typbasetype), ('` + stampType + `', t.typelem),
			('` + stampClass + `', t.typrelid),
			('` + stampType + `', (SELECT rngsubtype FROM pg_range WHERE rngtypid = t.oid))
			) v (kind, oid) WHERE x.kind = '` + stampType + `' AND t.oid = x.oid
		UNION ALL SELECT '` + stampName + `', 0
			WHERE x.kind = '` + stampType + `' AND x.oid IN (` + nameTypes + `)
	) y WHERE y.oid >= 16384 OR y.kind = '` + stampName + `'
		OR y.kind = '` + stampType + `' AND y.oid IN (` + nameTypes + `))
	SELECT owner, kind, oid FROM closure ORDER BY owner, kind, oid`

// stampRow is one part of stampSQL: a hash of each row's version.
func stampRow(kind, oid, from string) string {
	return fmt.Sprintf("SELECT '%s', %s, hashtextextended(x.xmin::text, %d) FROM %s",
		kind, oid, len(from), from)
}

// stampNames are the parts for the names of everything that is not PostgreSQL's own.
func stampNames() (parts []string) {
	for _, name := range [][2]string{
		{"relname || relnamespace", "pg_class"}, {"typname || typnamespace", "pg_type"},
		{"proname || pronamespace", "pg_proc"}, {"oprname || oprnamespace", "pg_operator"},
		{"collname || collnamespace", "pg_collation"}, {"cfgname || cfgnamespace", "pg_ts_config"},
		{"dictname || dictnamespace", "pg_ts_dict"}, {"nspname", "pg_namespace"},
		{"rolname", "pg_roles"},
	} {
		parts = append(parts, fmt.Sprintf("SELECT '%s', 0::oid, hashtextextended(%s || ' ' || oid,"+
			" %d) FROM %s WHERE oid >= %d",
			stampName, name[0], len(name[1]), name[1], catalog.FirstUserOID))
	}
	return parts
}

// A stampQuery is a statement in the making that reads the stamps.
type stampQuery struct {
	parts []string
	args  []any
}

// arg adds a parameter and returns its place.
func (q *stampQuery) arg(v any) string {
	q.args = append(q.args, v)
	return "$" + strconv.Itoa(len(q.args))
}

// row adds a part of one kind: the hash of each row of from.
func (q *stampQuery) row(kind, oid, from string) {
	q.parts = append(q.parts, stampRow(kind, oid, from))
}

// stampSQL gives kind, OID and a hash for each row of the catalogue that what m names
// stands on, and the statement's parameters. It is asked 20 times a second, and every
// table that it names costs, so there is no part for what m has none of.
func (m *stamps) stampSQL() (sql string, args []any) {
	q := new(stampQuery)
	classes := "= ANY (" + q.arg(m.classes) + ")"
	q.row(stampClass, "attrelid", "pg_attribute x WHERE attrelid "+classes+" AND attnum > 0")
	q.row(stampClass, "indrelid", "pg_index x WHERE indrelid "+classes+
		" AND (indisunique OR indisreplident)")
	q.row(stampClass, "inhparent", "pg_inherits x WHERE inhparent "+classes)
	q.row(stampClass, "polrelid", "pg_policy x WHERE polrelid "+classes)
	q.parts = append(q.parts, "SELECT '"+stampClass+"', x.oid, hashtextextended(x.xmin::text"+
		" || ' ' || n.xmin::text, 0) FROM pg_class x JOIN pg_namespace n"+
		" ON n.oid = x.relnamespace WHERE x.oid "+classes)
	if len(m.missing) > 0 { // it has no OID yet
		q.parts = append(q.parts, "SELECT '"+stampClass+"', x.oid, hashtextextended(x.oid::text,"+
			" 0) FROM pg_class x JOIN pg_namespace n ON n.oid = x.relnamespace"+
			" WHERE n.nspname || '.' || x.relname = ANY ("+q.arg(m.missing)+")")
	}
	if len(m.leaves) > 0 {
		q.row(stampLeaf, "x.oid", "pg_class x WHERE x.oid = ANY ("+q.arg(m.leaves)+")")
	}
	if len(m.types) > 0 {
		types := "= ANY (" + q.arg(m.types) + ")"
		q.row(stampType, "x.oid", "pg_type x WHERE x.oid "+types)
		q.row(stampType, "enumtypid", "pg_enum x WHERE enumtypid "+types)
	}
	if len(m.views) > 0 {
		views := q.arg(m.views)
		q.row(stampClass, "ev_class", "pg_rewrite x WHERE ev_class = ANY ("+views+")")
		q.parts = append(q.parts, "SELECT '"+stampClass+"', v,"+
			" coalesce(pg_table_is_visible(v)::int, -1)::int8 FROM unnest("+views+"::oid[]) v")
	}
	if len(m.procs) > 0 { // what a function calls cannot be seen
		q.row(stampProc, "x.oid", "pg_proc x WHERE x.oid = ANY ("+q.arg(m.procs)+")")
		q.row(stampProc, "0::oid", "pg_proc x WHERE x.oid >= "+strconv.Itoa(catalog.FirstUserOID))
	}
	if m.names {
		q.parts = append(q.parts, stampNames()...)
	}
	if m.publication == "" {
		q.row(stampClass, "tgrelid", "pg_trigger x WHERE tgrelid "+classes+
			" AND NOT tgisinternal")
		q.row(stampClass, "srrelid", "pg_subscription_rel x WHERE srrelid "+classes)
	} else {
		q.row(stampPublish, "0::oid", "pg_publication x WHERE pubname = "+q.arg(m.publication))
		q.row(stampClass, "prrelid", "pg_publication_rel x WHERE prrelid "+classes)
		if m.server >= 15 {
			q.row(stampPublish, "0::oid", "pg_publication_namespace x")
		}
	}
	return strings.Join(q.parts, "\n\tUNION ALL "), q.args
}

// prepare makes the statements that read the sum of all stamps: 0, and not NULL, when
// none of the objects is there.
func (m *stamps) prepare() {
	sql, args := m.stampSQL()
	m.sum = "SELECT coalesce(sum(h), 0)::text FROM (" + sql + ") s (kind, oid, h)"
	m.args = args
	m.fence = fmt.Sprintf("SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"+
		" ELSE pg_current_wal_insert_lsn() END)::text, pg_current_snapshot()::text,"+
		" CASE WHEN pg_current_snapshot()::text IS DISTINCT FROM $%d THEN (%s) END",
		len(args)+1, m.sum)
}

// A stamps is what a fence compares: the objects, and the sum of their stamps.
type stamps struct {
	classes, leaves, types, procs, views []uint32

	missing     []string // the tables that are not there, as Table.ID gives them
	names       bool
	publication string // "": triggers tell of changes
	server      int    // its major version
	version     int    // of the definitions

	total string

	// sum is the statement that reads total, with its parameters args. fence is that of a
	// fence: it reads the end of the log, which no visible change is behind, the
	// transactions that are visible, and the sum unless nothing has become visible since
	// what one more parameter says.
	sum, fence string
	args       []any
}

// fenceArgs are the parameters of fence; last is the snapshot that the sum was read at.
func (m *stamps) fenceArgs(last *string) []any { return append(slices.Clip(m.args), last) }

// add notes one object of a closure.
func (m *stamps) add(o object) {
	switch o.kind {
	case stampClass:
		m.classes = append(m.classes, o.oid)
	case stampLeaf:
		m.leaves = append(m.leaves, o.oid)
	case stampType:
		m.types = append(m.types, o.oid)
	case stampProc:
		m.procs = append(m.procs, o.oid)
	case stampName:
		m.names = true
	}
}

// An object is one thing that documents stand on.
type object struct {
	kind string
	oid  uint32
}

// serverVersion returns the server's major version.
func serverVersion(conn *pgx.Conn) int {
	text := conn.PgConn().ParameterStatus("server_version")
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return 0
	}
	return n
}

// readClosure returns what each of the tables and definitions is made of.
func readClosure(
	ctx context.Context, tx pgx.Tx, tables []string, defs map[string]Definition,
) (map[string][]object, error) {
	var owners, kinds []string
	var oids []uint32
	add := func(name, kind string, list []uint32) {
		for _, oid := range list {
			owners, kinds, oids = append(owners, defOwner+name), append(kinds, kind),
				append(oids, oid)
		}
	}
	for name, d := range defs {
		add(name, stampClass, d.Views)
		add(name, stampProc, d.Procs)
		add(name, stampType, d.Types)
	}
	rows, err := tx.Query(ctx, closureSQL, tables, owners, kinds, oids)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]object)
	var owner string
	var o object
	_, err = pgx.ForEachRow(rows, []any{&owner, &o.kind, &o.oid}, func() error {
		out[owner] = append(out[owner], o)
		return nil
	})
	return out, err
}

// defOwner distinguishes resources from tables among owners.
const defOwner = "resource "

// readStamps returns the stamp of each object of m.
func readStamps(ctx context.Context, tx pgx.Tx, m *stamps) (map[object]string, error) {
	sql, args := m.stampSQL()
	rows, err := tx.Query(ctx, "SELECT kind, oid, sum(h)::text FROM ("+sql+
		") s (kind, oid, h) GROUP BY kind, oid", args...)
	if err != nil {
		return nil, err
	}
	out := make(map[object]string)
	var o object
	var sum string
	_, err = pgx.ForEachRow(rows, []any{&o.kind, &o.oid, &sum}, func() error {
		out[o] = sum
		return nil
	})
	return out, err
}
