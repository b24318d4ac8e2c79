package logical

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// sqlStandbySettings are what a standby needs to keep slots of its primary. What the role
// may not see is not there.
const sqlStandbySettings = `SELECT name, setting FROM pg_settings WHERE name IN
	('server_version_num', 'sync_replication_slots', 'hot_standby_feedback',
		'primary_slot_name', 'primary_conninfo')`

// sqlStandbySlots finds the slots of feeds that a standby has, and whether they survive
// its promotion: a copy that is temporary goes with it.
const sqlStandbySlots = `SELECT s.slot_name::text,
	coalesce((to_jsonb(s)->>'synced')::bool, false) AND NOT s.temporary,
	coalesce(to_jsonb(s)->>'invalidation_reason', '') FROM pg_replication_slots s
	WHERE s.plugin = 'pgoutput' AND s.database = current_database() ORDER BY 1`

// CheckStandby returns what keeps a standby from taking over with the slot that feed.slot
// names ("": with those of any feed), and how to mend it.
func CheckStandby(ctx context.Context, conn *pgx.Conn, slot string) ([]source.Finding, error) {
	settings := make(map[string]string)
	var name, value string
	rows, err := conn.Query(ctx, sqlStandbySettings)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
			settings[name] = value
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	out := []source.Finding{{Level: source.LevelInfo,
		Text: "the server is a standby: this is about what it takes over with",
		Why:  "changes are followed on the primary; hotrow's URL leads there, or names both"}}
	if _, can := settings["sync_replication_slots"]; !can {
		return append(out, source.Finding{Level: source.LevelInfo,
			Text: "PostgreSQL keeps slots on standbys from version 17 on",
			Why:  "after a promotion hotrow's feed begins anew: its memory is loaded again"}), nil
	}
	out = append(out, checkStandbySettings(settings)...)
	if rows, err = conn.Query(ctx, sqlStandbySlots); err != nil {
		return nil, err
	}
	found, kept, why := false, false, ""
	_, err = pgx.ForEachRow(rows, []any{&name, &kept, &why}, func() error {
		if slot == "" || slot == name {
			out, found = append(out, standbySlot(name, kept, why)), true
		}
		return nil
	})
	if err == nil && !found {
		out = append(out, noStandbySlot(slot))
	}
	return out, err
}

// checkStandbySettings is about the settings without which no slot is copied.
func checkStandbySettings(has map[string]string) []source.Finding {
	var out []source.Finding
	lacks := func(text, why string, byHand ...string) {
		out = append(out, source.Finding{Level: source.LevelError, Text: text, Why: why,
			ByHand: append(byHand, "SELECT pg_reload_conf()")})
	}
	for _, name := range []string{"sync_replication_slots", "hot_standby_feedback"} {
		if has[name] != "on" {
			lacks(name+" is off on this standby", "it copies no slot of the primary",
				"ALTER SYSTEM SET "+name+" = on")
		}
	}
	if has["primary_slot_name"] == "" {
		lacks("primary_slot_name is empty on this standby", "it copies no slot of the primary."+
			" The first statement is for the primary, the others are for the standby",
			"SELECT pg_create_physical_replication_slot('standby1')",
			"ALTER SYSTEM SET primary_slot_name = 'standby1'")
	}
	info, visible := has["primary_conninfo"]
	switch {
	case !visible:
		out = append(out, source.Finding{Level: source.LevelInfo,
			Text: "this role may not see primary_conninfo, which must name a database (dbname=)",
			Why:  "GRANT pg_read_all_settings TO the role shows it"})
	case !namesDatabase(info):
		lacks("primary_conninfo names no database (dbname=)", "it copies no slot of the primary:"+
			" add dbname to what is there",
			"ALTER SYSTEM SET primary_conninfo = '... dbname=postgres'")
	}
	return out
}

// namesDatabase reports whether a connection string has a database.
func namesDatabase(info string) bool {
	cfg, err := pgx.ParseConfig(info)
	if strings.Contains(info, "://") {
		return err == nil && cfg.Database != ""
	}
	return strings.Contains(strings.ReplaceAll(info, " ", ""), "dbname=")
}

// standbySlot tells of one slot on a standby. why says that it is lost; "": it is not.
func standbySlot(name string, kept bool, why string) source.Finding {
	switch {
	case why != "":
		return source.Finding{Level: source.LevelError,
			Text: "slot " + name + " is lost on this standby: " + why,
			Why:  "the standby drops it and copies it again once the primary's slot is in order",
			ByHand: []string{
				"SELECT pg_drop_replication_slot(" + catalog.QuoteText(name) + ")"}}
	case !kept:
		return source.Finding{Level: source.LevelError,
			Text: "slot " + name + " would be gone after a promotion: its copy is temporary yet",
			Why: "it becomes a lasting one when the feed has confirmed more than the standby" +
				" needs to begin:\nsee that hotrow runs, and ask again; on a database that nobody" +
				" writes to this helps on the primary",
			ByHand: []string{"SELECT pg_log_standby_snapshot()"}}
	}
	return source.Finding{Text: "slot " + name + " is synced: this standby would take over with it"}
}

// noStandbySlot says that there is nothing to take over with.
func noStandbySlot(slot string) source.Finding {
	what, set := "no slot of a feed", "feed.slot and feed.failover: true"
	if slot != "" {
		what, set = "no copy of slot "+slot, "feed.failover: true"
	}
	return source.Finding{Level: source.LevelError, Text: "this standby has " + what,
		Why: fmt.Sprintf("after a promotion the feed begins anew. The primary's slot must have"+
			" the property failover: %s\nin hotrow's configuration sets it", set)}
}
