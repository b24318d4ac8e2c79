package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// serverFacts are what the choice of a feed depends on, apart from the tables.
type serverFacts struct {
	version         int // 150018
	standby         bool
	walLevel        string
	user, database  string
	replication     bool // the user may use replication connections
	create          bool // the user may create publications and schemas
	slots, maxSlots int
	senders, maxSnd int
	idle            []idleSlot // slots that no connection uses, where all are taken
}

const serverFactsSQL = `SELECT
	current_setting('server_version_num')::int, pg_is_in_recovery(),
	current_setting('wal_level'), current_user::text, current_database()::text,
	(SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user),
	has_database_privilege(current_database(), 'CREATE'),
	(SELECT count(*)::int FROM pg_replication_slots),
	current_setting('max_replication_slots')::int,
	(SELECT count(*)::int FROM pg_stat_replication),
	current_setting('max_wal_senders')::int`

func readServerFacts(ctx context.Context, conn *pgx.Conn) (*serverFacts, error) {
	var f serverFacts
	err := conn.QueryRow(ctx, serverFactsSQL).Scan(&f.version, &f.standby, &f.walLevel,
		&f.user, &f.database, &f.replication, &f.create, &f.slots, &f.maxSlots,
		&f.senders, &f.maxSnd)
	if err == nil && f.slots >= f.maxSlots {
		f.idle, err = readIdleSlots(ctx, conn)
	}
	return &f, err
}

// tableFacts are what the catalogue says about a watched table.
type tableFacts struct {
	ID          string
	Schema      string
	Name        string
	Kind        string // pg_class.relkind
	Persistence string // pg_class.relpersistence
	Identity    string // pg_class.relreplident
	RLS         bool
	Owner       bool // the user may alter it
	Select      bool
	Parent      bool             // other tables inherit from it, and it is not partitioned
	Leaves      []string         // of a partitioned table: their replica identities
	Key         []string         // primary key columns
	IdentityKey []string         // columns of the replica identity's index
	Types       map[string]int64 // column: its type, of a domain the one below
	Casts       []string         // columns whose cast to text may differ from their output
	Unique      []uniqueIndex    // on columns that are not null
	Triggers    []triggerFacts

	watched []string // the columns that make keys
	direct  []string // see source.Watched
}

// A uniqueIndex can be a replica identity.
type uniqueIndex struct {
	Name    string
	Columns []string
}

// triggerFacts describe one trigger of a table.
type triggerFacts struct {
	Name     string
	Function string // schema.name
	Enabled  string // pg_trigger.tgenabled
	Type     int    // pg_trigger.tgtype
	Partial  bool   // it has a WHEN or an UPDATE OF
	Source   string // of hotrow's own functions
	Notifies bool   // its function notifies a channel named after the table
}

// tableFactsSQL gives a JSON object for each table of $1; $2 is the prefix of the
// channels of triggers that are not ours. Of an index only the key counts: the log has
// no old values of what it includes.
const tableFactsSQL = `SELECT jsonb_build_object(
	'ID', n.nspname || '.' || c.relname, 'Schema', n.nspname, 'Name', c.relname,
	'Kind', c.relkind, 'Persistence', c.relpersistence, 'Identity', c.relreplident,
	'RLS', c.relrowsecurity, 'Owner', pg_has_role(c.relowner, 'USAGE'),
	'Select', has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'),
	'Parent', c.relkind <> 'p' AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = c.oid),
	'Leaves', ARRAY(SELECT DISTINCT l.relreplident FROM pg_partition_tree(c.oid) t
		JOIN pg_class l ON l.oid = t.relid WHERE t.isleaf AND c.relkind = 'p'),
	'Key', ARRAY(SELECT a.attname FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k(n, o),
		pg_attribute a WHERE i.indrelid = c.oid AND i.indisprimary
		AND a.attrelid = c.oid AND a.attnum = k.n AND k.o <= i.indnkeyatts ORDER BY k.o),
	'IdentityKey', ARRAY(SELECT a.attname FROM pg_index i,
		unnest(i.indkey) WITH ORDINALITY k(n, o), pg_attribute a
		WHERE i.indrelid = c.oid AND i.indisreplident
		AND a.attrelid = c.oid AND a.attnum = k.n AND k.o <= i.indnkeyatts ORDER BY k.o),
	'Types', (SELECT jsonb_object_agg(a.attname, b.oid::int8) FROM pg_attribute a,
		LATERAL (WITH RECURSIVE d AS (
			SELECT oid, typtype, typbasetype FROM pg_type WHERE oid = a.atttypid
			UNION ALL SELECT t.oid, t.typtype, t.typbasetype
			FROM d JOIN pg_type t ON t.oid = d.typbasetype WHERE d.typtype = 'd')
			SELECT oid FROM d WHERE typtype <> 'd') b
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
	'Casts', ARRAY(SELECT a.attname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
		JOIN pg_cast k ON k.castsource = COALESCE(NULLIF(t.typbasetype, 0), t.oid)
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		AND k.casttarget = 'text'::regtype AND k.castmethod = 'f' AND k.oid >= 16384),
	'Unique', (SELECT jsonb_agg(jsonb_build_object('Name', x.relname, 'Columns',
			ARRAY(SELECT a.attname FROM unnest(i.indkey) WITH ORDINALITY k(n, o), pg_attribute a
				WHERE a.attrelid = c.oid AND a.attnum = k.n AND k.o <= i.indnkeyatts))
			ORDER BY i.indnkeyatts, x.relname)
		FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
		WHERE i.indrelid = c.oid AND i.indisunique AND i.indimmediate AND i.indisvalid
		AND i.indpred IS NULL AND i.indexprs IS NULL AND NOT EXISTS (
			SELECT FROM unnest(i.indkey) WITH ORDINALITY k(n, o), pg_attribute a
			WHERE a.attrelid = c.oid AND a.attnum = k.n AND k.o <= i.indnkeyatts
			AND NOT a.attnotnull)),
	'Triggers', (SELECT jsonb_agg(jsonb_build_object('Name', g.tgname,
			'Function', fn.nspname || '.' || p.proname, 'Enabled', g.tgenabled,
			'Type', g.tgtype, 'Partial', g.tgqual IS NOT NULL OR cardinality(g.tgattr) > 0,
			'Source', CASE WHEN fn.nspname = 'hotrow' THEN p.prosrc END,
			'Notifies', p.prosrc ILIKE '%notify%'
				AND strpos(p.prosrc, $2 || '_' || c.relname) > 0))
		FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
		JOIN pg_namespace fn ON fn.oid = p.pronamespace
		WHERE g.tgrelid = c.oid AND NOT g.tgisinternal))
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname || '.' || c.relname = ANY ($1) AND c.relkind IN ('r', 'p', 'f', 'v', 'm')`

// readTableFacts returns the facts of those of the tables that are there, in
// their order.
func readTableFacts(
	ctx context.Context, conn *pgx.Conn, tables []source.Watched, prefix string,
) ([]*tableFacts, error) {
	names := make([]string, len(tables))
	for i, w := range tables {
		names[i] = w.Table
	}
	var b pgx.Batch
	b.Queue(sqlNoJIT)
	b.Queue(tableFactsSQL, names, prefix)
	answers := conn.SendBatch(ctx, &b)
	var texts [][]byte
	_, err := answers.Exec()
	if err == nil {
		rows, _ := answers.Query() // its error is that of rows, too
		texts, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
	}
	if err = errors.Join(err, answers.Close()); err != nil {
		return nil, err
	}
	found := make(map[string]*tableFacts)
	for _, b := range texts {
		t := new(tableFacts)
		if err := json.Unmarshal(b, t); err != nil {
			return nil, fmt.Errorf("read the catalogue: %w", err)
		}
		found[t.ID] = t
	}
	var out []*tableFacts
	for _, w := range tables {
		if t := found[w.Table]; t != nil {
			t.watched, t.direct = w.Columns, w.Direct
			out = append(out, t)
		}
	}
	return out, nil
}

// odd reports whether the change stream may write a watched column in another
// way than loads read it: they cast types that hotrow does not know to text, by
// a function of the type's own. Such a table is followed as a whole.
func (t *tableFacts) odd() bool {
	return slices.ContainsFunc(t.watched, func(c string) bool {
		return slices.Contains(t.Casts, c)
	})
}

// sql returns the table's name for SQL.
func (t *tableFacts) sql() string { return quoteName(t.Schema, t.Name) }

// identified reports whether rows that change can be named in the log. Where
// they cannot, PostgreSQL refuses to update and delete them once published.
func (t *tableFacts) identified() bool {
	switch t.Identity {
	case "d":
		return len(t.Key) > 0
	case "i":
		return len(t.IdentityKey) > 0
	}
	return t.Identity == "f"
}

// even reports whether all partitions say the same of rows that change as the
// table does: its description in the stream speaks for all of them.
func (t *tableFacts) even() bool {
	if t.Kind != "p" {
		return true
	}
	other := func(identity string) bool { return identity != t.Identity }
	return t.Identity != "i" && !slices.ContainsFunc(t.Leaves, other)
}

// unknown returns the watched columns whose old values the log does not have.
func (t *tableFacts) unknown() []string {
	known := t.Key
	switch t.Identity {
	case "f":
		return nil
	case "i":
		known = t.IdentityKey
	}
	var out []string
	for _, c := range t.watched {
		if !slices.Contains(known, c) {
			out = append(out, c)
		}
	}
	return out
}

// publicationFacts describe a publication.
type publicationFacts struct {
	exists, owner, all, viaRoot bool
	operations                  bool // publishes every kind of change
	comment                     string
	tables                      []string
	partial                     []string // tables with a row filter or a column list
}

const publicationSQL = `SELECT pg_has_role(p.pubowner, 'USAGE'), p.puballtables, p.pubviaroot,
	p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
	coalesce(obj_description(p.oid, 'pg_publication'), ''),
	ARRAY(SELECT t.schemaname || '.' || t.tablename FROM pg_publication_tables t
		WHERE t.pubname = p.pubname),
	ARRAY(SELECT n.nspname || '.' || c.relname FROM pg_publication_rel r
		JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE r.prpubid = p.oid AND (to_jsonb(r) ->> 'prqual' IS NOT NULL
			OR to_jsonb(r) ->> 'prattrs' IS NOT NULL))
	FROM pg_publication p WHERE p.pubname = $1`

func readPublication(
	ctx context.Context, conn *pgx.Conn, name string,
) (*publicationFacts, error) {
	rows, err := conn.Query(ctx, publicationSQL, name)
	if err != nil {
		return nil, err
	}
	f, err := pgx.CollectOneRow(rows, func(r pgx.CollectableRow) (*publicationFacts, error) {
		f := &publicationFacts{exists: true}
		return f, r.Scan(&f.owner, &f.all, &f.viaRoot, &f.operations, &f.comment,
			&f.tables, &f.partial)
	})
	if err == pgx.ErrNoRows {
		return &publicationFacts{}, nil
	}
	return f, err
}
