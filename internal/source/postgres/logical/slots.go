package logical

import (
	"fmt"
	"strings"

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
