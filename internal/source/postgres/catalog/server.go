package catalog

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Server is what the choice of a feed depends on, apart from the tables.
type Server struct {
	Version             int // 150018
	Standby             bool
	WALLevel            string
	User, Database      string
	Replication         bool // the user may use replication connections
	Create              bool // the user may create publications and schemas
	Slots, MaxSlots     int
	Senders, MaxSenders int
	Idle                []IdleSlot // slots that no connection uses, where all are taken
}

const sqlServer = `SELECT
	current_setting('server_version_num')::int, pg_is_in_recovery(),
	current_setting('wal_level'), current_user::text, current_database()::text,
	(SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user),
	has_database_privilege(current_database(), 'CREATE'),
	(SELECT count(*)::int FROM pg_replication_slots),
	current_setting('max_replication_slots')::int,
	(SELECT count(*)::int FROM pg_stat_replication),
	current_setting('max_wal_senders')::int`

// ReadServer asks the server.
func ReadServer(ctx context.Context, conn *pgx.Conn) (*Server, error) {
	var f Server
	err := conn.QueryRow(ctx, sqlServer).Scan(&f.Version, &f.Standby, &f.WALLevel,
		&f.User, &f.Database, &f.Replication, &f.Create, &f.Slots, &f.MaxSlots,
		&f.Senders, &f.MaxSenders)
	if err == nil && f.Slots >= f.MaxSlots {
		f.Idle, err = readIdleSlots(ctx, conn)
	}
	return &f, err
}

// An IdleSlot is a replication slot that no connection uses.
type IdleSlot struct {
	Name, Kind, Keeps string
	Since             string // "": the server does not tell this role
}

// sqlIdleSlots has no time: PostgreSQL notes since when a slot is idle from version 17 on.
const sqlIdleSlots = `SELECT s.slot_name::text,
	s.slot_type || coalesce(' of database ' || s.database, ''),
	coalesce(pg_size_pretty(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
		THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, s.restart_lsn)), ''),
	coalesce(left(to_jsonb(s)->>'inactive_since', 19), '')
	FROM pg_replication_slots s WHERE NOT s.active ORDER BY s.restart_lsn NULLS FIRST, 1`

// sqlKeptSince gives the time at which the oldest file of the log that a slot keeps was
// written last: its slot is idle since then, or has been behind since. It takes the role
// pg_monitor.
const sqlKeptSince = `SELECT s.slot_name::text,
	to_char(l.modification, 'YYYY-MM-DD HH24:MI:SS')
	FROM pg_replication_slots s JOIN pg_ls_waldir() l ON l.name = pg_walfile_name(s.restart_lsn)
	WHERE NOT s.active AND NOT pg_is_in_recovery()`

// readIdleSlots returns the slots that nobody uses, the one that is furthest behind first.
func readIdleSlots(ctx context.Context, conn *pgx.Conn) ([]IdleSlot, error) {
	rows, err := conn.Query(ctx, sqlIdleSlots)
	if err != nil {
		return nil, err
	}
	var out []IdleSlot
	var s IdleSlot
	_, err = pgx.ForEachRow(rows, []any{&s.Name, &s.Kind, &s.Keeps, &s.Since}, func() error {
		out = append(out, s)
		return nil
	})
	if err != nil || len(out) == 0 {
		return out, err
	}
	rows, err = conn.Query(ctx, sqlKeptSince)
	var name, since string
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&name, &since}, func() error {
			for i := range out {
				if out[i].Name == name && out[i].Since == "" {
					out[i].Since = since
				}
			}
			return nil
		})
	}
	if errors.As(err, new(*pgconn.PgError)) { // not for this role: the times are left out
		err = nil
	}
	return out, err
}

// A Publication is a publication, which may not be there.
type Publication struct {
	Exists, Owner, All, ViaRoot bool
	Operations                  bool // publishes every kind of change
	Comment                     string
	Tables                      []string
	Partial                     []string // tables with a row filter or a column list
}

const sqlPublication = `SELECT pg_has_role(p.pubowner, 'USAGE'), p.puballtables, p.pubviaroot,
	p.pubinsert AND p.pubupdate AND p.pubdelete AND p.pubtruncate,
	coalesce(obj_description(p.oid, 'pg_publication'), ''),
	ARRAY(SELECT t.schemaname || '.' || t.tablename FROM pg_publication_tables t
		WHERE t.pubname = p.pubname),
	ARRAY(SELECT n.nspname || '.' || c.relname FROM pg_publication_rel r
		JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE r.prpubid = p.oid AND (to_jsonb(r) ->> 'prqual' IS NOT NULL
			OR to_jsonb(r) ->> 'prattrs' IS NOT NULL))
	FROM pg_publication p WHERE p.pubname = $1`

// ReadPublication asks for the publication called name.
func ReadPublication(
	ctx context.Context, conn *pgx.Conn, name string,
) (*Publication, error) {
	rows, err := conn.Query(ctx, sqlPublication, name)
	if err != nil {
		return nil, err
	}
	f, err := pgx.CollectOneRow(rows, func(r pgx.CollectableRow) (*Publication, error) {
		f := &Publication{Exists: true}
		return f, r.Scan(&f.Owner, &f.All, &f.ViaRoot, &f.Operations, &f.Comment,
			&f.Tables, &f.Partial)
	})
	if err == pgx.ErrNoRows {
		return &Publication{}, nil
	}
	return f, err
}
