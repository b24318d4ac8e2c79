package logical

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/postgres/catalog"
)

// describeSlot says whose the slot is, how much it keeps and since when.
func describeSlot(s *catalog.IdleSlot) string {
	text := s.Name + " (" + s.Kind
	if s.Keeps != "" {
		text += ", keeps " + s.Keeps + " of log"
	}
	if s.Since != "" {
		text += ", inactive since about " + s.Since
	}
	return text + ")"
}

// checkSlots is about how many slots there may be.
func checkSlots(s *catalog.Server) []source.Finding {
	if s.Slots < s.MaxSlots {
		return nil
	}
	f := source.Finding{
		Level: source.LevelError,
		Text: fmt.Sprintf("all %d replication slots are taken (max_replication_slots = %d)",
			s.Slots, s.MaxSlots),
		Why: "each hotrow needs one slot while it runs; a connection uses every one of them," +
			" so raise the number and restart PostgreSQL",
		ByHand: []string{fmt.Sprintf("ALTER SYSTEM SET max_replication_slots = %d", s.MaxSlots+10)},
	}
	if len(s.Idle) == 0 {
		return []source.Finding{f}
	}
	idle := make([]string, len(s.Idle))
	var drops []string
	for i := range s.Idle {
		idle[i] = describeSlot(&s.Idle[i])
		drops = append(drops,
			"SELECT pg_drop_replication_slot("+catalog.QuoteText(s.Idle[i].Name)+")")
	}
	f.Why = "each hotrow needs one slot while it runs. No connection uses " +
		strings.Join(idle, ", ") + ":\ndrop one whose owner is gone for good, or raise the number" +
		" and restart PostgreSQL"
	f.ByHand = append(drops, f.ByHand...)
	return []source.Finding{f}
}

// sqlLasting finds slots that outlive the connection which made them: the one called $1,
// and those that a feed could have left. Temporary ones go by themselves.
const sqlLasting = `SELECT s.slot_name::text, coalesce(s.active_pid, 0),
	coalesce(pg_size_pretty(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
		THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, s.restart_lsn)),
		'0 bytes') FROM pg_replication_slots s WHERE s.plugin = 'pgoutput' AND NOT s.temporary
		AND s.database = current_database() AND (s.slot_name = $1 OR NOT s.active) ORDER BY 1`

// ReadSlots tells of slots that stay when hotrow goes: the one called name, which
// feed.slot names ("": none), and those that nobody uses.
func ReadSlots(ctx context.Context, conn *pgx.Conn, name string) ([]source.Finding, error) {
	rows, err := conn.Query(ctx, sqlLasting, name)
	if err != nil {
		return nil, err
	}
	var out []source.Finding
	var slot, keeps string
	var pid int
	_, err = pgx.ForEachRow(rows, []any{&slot, &pid, &keeps}, func() error {
		out = append(out, lastingSlot(slot, keeps, pid, slot == name))
		return nil
	})
	return out, err
}

// lastingSlot tells of one slot, which is ours when feed.slot names it. pid is the process
// that uses it, 0 for none.
func lastingSlot(slot, keeps string, pid int, ours bool) source.Finding {
	drop := []string{"SELECT pg_drop_replication_slot(" + catalog.QuoteText(slot) + ")"}
	switch {
	case !ours:
		return source.Finding{
			Level: source.LevelInfo, RemoveByHand: drop,
			Text: "no connection uses slot " + slot + ", which keeps " + keeps + " of log",
			Why: "a hotrow with feed.slot: " + slot + " is stopped or gone, or the slot is" +
				" another program's",
		}
	case pid != 0:
		return source.Finding{Remove: drop, Text: fmt.Sprintf(
			"slot %s keeps %s of log and is in use by process %d of the server", slot, keeps, pid)}
	}
	return source.Finding{Remove: drop,
		Text: "slot " + slot + " keeps " + keeps + " of log for the next start"}
}
