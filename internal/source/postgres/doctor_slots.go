package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
)

// An idleSlot is a replication slot that no connection uses.
type idleSlot struct {
	name, kind, keeps string
	since             string // "": the server does not tell this role
}

// idleSlotsSQL has no time: PostgreSQL notes since when a slot is idle from version 17 on.
const idleSlotsSQL = `SELECT s.slot_name::text,
	s.slot_type || coalesce(' of database ' || s.database, ''),
	coalesce(pg_size_pretty(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
		THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, s.restart_lsn)), ''),
	coalesce(left(to_jsonb(s)->>'inactive_since', 19), '')
	FROM pg_replication_slots s WHERE NOT s.active ORDER BY s.restart_lsn NULLS FIRST, 1`

// keptSinceSQL gives the time at which the oldest file of the log that a slot keeps was
// written last: its slot is idle since then, or has been behind since. It takes the role
// pg_monitor.
const keptSinceSQL = `SELECT s.slot_name::text,
	to_char(l.modification, 'YYYY-MM-DD HH24:MI:SS')
	FROM pg_replication_slots s JOIN pg_ls_waldir() l ON l.name = pg_walfile_name(s.restart_lsn)
	WHERE NOT s.active AND NOT pg_is_in_recovery()`

// readIdleSlots returns the slots that nobody uses, the one that is furthest behind first.
func readIdleSlots(ctx context.Context, conn *pgx.Conn) ([]idleSlot, error) {
	rows, err := conn.Query(ctx, idleSlotsSQL)
	if err != nil {
		return nil, err
	}
	var out []idleSlot
	var s idleSlot
	_, err = pgx.ForEachRow(rows, []any{&s.name, &s.kind, &s.keeps, &s.since}, func() error {
		out = append(out, s)
		return nil
	})
	if err != nil || len(out) == 0 {
		return out, err
	}
	rows, err = conn.Query(ctx, keptSinceSQL)
	var name, since string
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&name, &since}, func() error {
			for i := range out {
				if out[i].name == name && out[i].since == "" {
					out[i].since = since
				}
			}
			return nil
		})
	}
	if sqlState(err) != "" { // not for this role: the times are left out
		err = nil
	}
	return out, err
}

// describe says whose the slot is, how much it keeps and since when.
func (s *idleSlot) describe() string {
	text := s.name + " (" + s.kind
	if s.keeps != "" {
		text += ", keeps " + s.keeps + " of log"
	}
	if s.since != "" {
		text += ", inactive since about " + s.since
	}
	return text + ")"
}

// checkSlots is about how many slots there may be.
func (s *serverFacts) checkSlots() []source.Finding {
	if s.slots < s.maxSlots {
		return nil
	}
	f := source.Finding{
		Level: source.LevelError,
		Text: fmt.Sprintf("all %d replication slots are taken (max_replication_slots = %d)",
			s.slots, s.maxSlots),
		Why: "each hotrow needs one slot while it runs; a connection uses every one of them," +
			" so raise the number and restart PostgreSQL",
		ByHand: []string{fmt.Sprintf("ALTER SYSTEM SET max_replication_slots = %d", s.maxSlots+10)},
	}
	if len(s.idle) == 0 {
		return []source.Finding{f}
	}
	idle := make([]string, len(s.idle))
	var drops []string
	for i := range s.idle {
		idle[i] = s.idle[i].describe()
		drops = append(drops, "SELECT pg_drop_replication_slot("+quoteText(s.idle[i].name)+")")
	}
	f.Why = "each hotrow needs one slot while it runs. No connection uses " +
		strings.Join(idle, ", ") + ":\ndrop one whose owner is gone for good, or raise the number" +
		" and restart PostgreSQL"
	f.ByHand = append(drops, f.ByHand...)
	return []source.Finding{f}
}
