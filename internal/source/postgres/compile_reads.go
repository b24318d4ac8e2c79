package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
	"github.com/hotrow/hotrow/internal/source/postgres/feed"
)

// What a query reads is found in its parse tree, which PostgreSQL keeps for a
// view (pg_rewrite.ev_action): a temporary view is made of the query in a
// transaction that is rolled back. The tree names every relation and function
// by its OID, before any planning, which leaves out tables that it can do
// without for the moment. Constants in it are bytes in decimal and names have
// their blanks escaped, so neither can look like one of these.
var (
	treeRelation = regexp.MustCompile(`:relid (\d+)`)
	treeFunction = regexp.MustCompile(`:(?:funcid|opfuncid|aggfnoid|winfnoid) (\d+)`)
	treeClock    = regexp.MustCompile(`\{SQLVALUEFUNCTION :op [0-8] `)
	treeUser     = regexp.MustCompile(`\{SQLVALUEFUNCTION :op (?:9|1\d) `)
	treeLock     = regexp.MustCompile(`\{ROWMARKCLAUSE `)
	treeSample   = regexp.MustCompile(`\{TABLESAMPLECLAUSE `)
)

// presentText finds literals that are the present to a type of dates or times: 'now' and
// 'today 10:00'. Where the text is made one, the tree has the time at which it was
// parsed, which is as any other; so it is looked for in the query itself, and treeTime
// finds whether there is a constant, or a conversion, of such a type (or of an array or a
// range of them).
var (
	presentText = regexp.MustCompile(`(?i)(?:'|\$\w*\$)[\s\d:.,+\-{}()\[\]"]*` +
		`(?:now|today|tomorrow|yesterday)\b[\w\s:.,+\-/{}()\[\]"]*(?:'|\$\w*\$)`)
	treeTime = regexp.MustCompile(`\{(?:CONST :consttype|COERCEVIAIO :arg .* :resulttype) ` +
		`(?:1082|1083|1114|1184|1266|1115|1182|1183|1185|1270|3908|3910|3912) `)
)

// firstUserOID is the first OID that is not of PostgreSQL's own making
// (FirstNormalObjectId).
const firstUserOID = catalog.FirstUserOID

// A reading finds the tables behind a query or a view.
type reading struct {
	tx     pgx.Tx
	seen   map[uint32]bool
	tables []uint32 // those that hold rows
	views  []uint32 // those on the way, but for one that was made for this
	procs  []uint32 // users' functions
	own    uint32   // that view
	clock  string   // a literal of the query that may stand for the present
}

// readsOfView returns the tables behind a view.
func (c *compiler) readsOfView(view uint32) ([]*document.Table, error) {
	return c.reads(func(ctx context.Context, r *reading) error { return r.view(ctx, view) })
}

// readsOfQuery returns the tables behind a query without parameters.
func (c *compiler) readsOfQuery(sql string) ([]*document.Table, error) {
	return c.reads(func(ctx context.Context, r *reading) error {
		if _, err := r.tx.Exec(ctx, "CREATE TEMPORARY VIEW hotrow_query AS "+sql); err != nil {
			return needTemp(err)
		}
		var view uint32
		err := r.tx.QueryRow(ctx, "SELECT 'pg_temp.hotrow_query'::regclass::oid").Scan(&view)
		if err != nil {
			return err
		}
		r.own, r.clock = view, presentText.FindString(sql)
		return r.view(ctx, view)
	})
}

// needTemp explains why the user or the server cannot make a temporary view.
func needTemp(err error) error {
	switch feed.SQLState(err) {
	case "42601": // it was no syntax error until it had to be a SELECT
		return fmt.Errorf("a query is one SELECT: %w", err)
	case "42501", "25006":
	default:
		return err
	}
	e, ok := classify(err).(*source.Error)
	if !ok {
		return err
	}
	e.Hint = "to see which tables a query reads hotrow makes a temporary view of it, and rolls" +
		" it back: GRANT TEMPORARY ON DATABASE, and not on a standby"
	return e
}

// reads runs find in a transaction that is rolled back.
func (c *compiler) reads(
	find func(context.Context, *reading) error,
) ([]*document.Table, error) {
	ctx, cancel := c.src.begin(c.ctx, 2)
	defer cancel()
	var oids []uint32
	err := c.src.readPrimary(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadWrite})
		if err != nil {
			return needTemp(err)
		}
		r := &reading{tx: tx, seen: make(map[uint32]bool)}
		err = find(ctx, r)
		oids = r.tables
		c.views, c.procs = append(c.views, r.views...), append(c.procs, r.procs...)
		if e := tx.Rollback(ctx); err == nil {
			err = e
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(oids) == 0 {
		return nil, nil
	}
	tables, _, err := c.src.tables(c.ctx, oids)
	out := make([]*document.Table, len(tables))
	for i, t := range tables {
		out[i] = t.document()
	}
	return out, err
}

// view adds what a view reads.
func (r *reading) view(ctx context.Context, view uint32) error {
	r.seen[view] = true
	if view != r.own {
		r.views = append(r.views, view)
	}
	var tree string
	err := r.tx.QueryRow(ctx, `SELECT ev_action::text FROM pg_catalog.pg_rewrite
		WHERE ev_class = $1 AND rulename = '_RETURN'`, view).Scan(&tree)
	if err != nil {
		return err
	}
	if treeClock.MatchString(tree) {
		return fmt.Errorf("the result changes with the time of day (CURRENT_DATE and its like):" +
			" no table says when")
	}
	if view == r.own && r.clock != "" && treeTime.MatchString(tree) {
		return fmt.Errorf("the result changes with the time of day (%s): no table says when",
			r.clock)
	}
	if treeUser.MatchString(tree) {
		return fmt.Errorf("the result depends on the session (CURRENT_USER and its like):" +
			" no table says when it changes")
	}
	if treeLock.MatchString(tree) {
		return fmt.Errorf("it locks rows (FOR UPDATE, FOR SHARE), and reads may lock none")
	}
	if treeSample.MatchString(tree) {
		return fmt.Errorf("the result of TABLESAMPLE changes without a change of the table")
	}
	procs := treeOIDs(treeFunction, tree)
	for _, oid := range procs {
		if oid >= firstUserOID {
			r.procs = append(r.procs, oid)
		}
	}
	if err := r.functions(ctx, procs); err != nil {
		return err
	}
	return r.relations(ctx, treeOIDs(treeRelation, tree))
}

// treeOIDs returns the OIDs that the expression finds, once each.
func treeOIDs(find *regexp.Regexp, tree string) []uint32 {
	var oids []uint32
	for _, m := range find.FindAllStringSubmatch(tree, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 32); err == nil && n != 0 {
			oids = append(oids, uint32(n))
		}
	}
	slices.Sort(oids)
	return slices.Compact(oids)
}

// A relationRead is one relation that a query names.
type relationRead struct {
	oid, root    uint32 // root: the partitioned table that it is a part of, or itself
	schema, name string
	kind         string
	heirs        []uint32 // tables that inherit from it
}

// relations adds tables, and what is behind those that are views.
func (r *reading) relations(ctx context.Context, oids []uint32) error {
	rows, err := r.tx.Query(ctx, `SELECT c.oid, CASE WHEN c.relispartition
				THEN pg_catalog.pg_partition_root(c.oid)::oid ELSE c.oid END,
			n.nspname::text, c.relname::text, c.relkind::text, CASE WHEN c.relkind = 'r'
				THEN ARRAY(SELECT inhrelid FROM pg_catalog.pg_inherits WHERE inhparent = c.oid)
				ELSE '{}' END
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = ANY($1)`, oids)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (t relationRead, err error) {
		err = row.Scan(&t.oid, &t.root, &t.schema, &t.name, &t.kind, &t.heirs)
		return t, err
	})
	if err != nil {
		return err
	}
	for _, t := range found {
		if r.seen[t.oid] {
			continue
		}
		if err := r.relation(ctx, &t); err != nil {
			return err
		}
	}
	return nil
}

// relation adds one relation.
func (r *reading) relation(ctx context.Context, t *relationRead) error {
	if t.schema == "pg_catalog" || t.schema == "information_schema" {
		return fmt.Errorf("it reads %s.%s, whose changes no feed follows", t.schema, t.name)
	}
	switch t.kind {
	case catalog.KindView:
		return r.view(ctx, t.oid)
	case catalog.KindTable, catalog.KindPartitioned, catalog.KindMaterial, catalog.KindForeign:
		r.seen[t.oid] = true
		r.tables = append(r.tables, t.root)
		if len(t.heirs) > 0 {
			return r.relations(ctx, t.heirs)
		}
		return nil
	}
	return fmt.Errorf("it reads %s.%s, which is not a table", t.schema, t.name)
}

// clocks are functions of PostgreSQL that are "stable" within a transaction,
// and whose results nevertheless change without a change of any table, or that
// read tables which their arguments name.
var clocks = []string{
	"now", "transaction_timestamp", "statement_timestamp", "txid_current",
	"txid_current_if_assigned", "txid_current_snapshot", "pg_current_xact_id",
	"pg_current_xact_id_if_assigned", "pg_current_snapshot", "table_to_xml",
	"table_to_xml_and_xmlschema", "schema_to_xml", "schema_to_xml_and_xmlschema",
	"database_to_xml", "database_to_xml_and_xmlschema",
}

// told finds more of them by their names: what reads the catalogue, statistics or the
// session's state.
var told = regexp.MustCompile(`^(?:pg_|has_|inet_|to_reg|txid_|current_|` +
	`(?:obj|col|shobj)_description$|row_security_active$)`)

// pure are functions that told finds, and whose results depend on their arguments alone.
var pure = []string{"pg_typeof", "pg_collation_for"}

// changes reports whether the result of a function of PostgreSQL, which is not immutable,
// changes without a change of any table.
func changes(name string) bool {
	return slices.Contains(clocks, name) || told.MatchString(name) && !slices.Contains(pure, name)
}

// ageOfNow is age(timestamptz) and age(timestamp): from today's midnight.
var ageOfNow = []uint32{1386, 2059}

// functions refuses functions whose results can change while the tables do not.
func (r *reading) functions(ctx context.Context, oids []uint32) error {
	rows, err := r.tx.Query(ctx, `SELECT p.oid, p.proname::text, p.provolatile::text,
			l.lanname::text
		FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
		WHERE p.oid = ANY($1) AND p.provolatile <> 'i'`, oids)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var oid uint32
		var name, volatility, language string
		if err := rows.Scan(&oid, &name, &volatility, &language); err != nil {
			return err
		}
		users := oid >= firstUserOID
		switch {
		case volatility == "v", !users && changes(name), slices.Contains(ageOfNow, oid):
			return fmt.Errorf("it calls %s(), whose result changes without a change of any "+
				"table", name)
		case users && language != "c" && language != "internal":
			return fmt.Errorf("it calls %s(), which may read tables that cannot be seen from here:"+
				" write it out, or declare it IMMUTABLE if it reads none", name)
		}
	}
	return rows.Err()
}
