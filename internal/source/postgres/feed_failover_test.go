package postgres

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
)

// keepsSlots reports whether standbys of a server can keep logical slots.
func keepsSlots(t *testing.T, server *dbtest.Server) bool {
	t.Helper()
	n, err := strconv.Atoi(server.Exec("SHOW server_version_num"))
	if err != nil {
		t.Fatal(err)
	}
	return n >= 170000
}

// has reports whether the slot has the property failover.
func (s *slotStand) has() string {
	s.t.Helper()
	return s.server.Exec("SELECT failover FROM pg_replication_slots WHERE slot_name = '" +
		slotOfTest + "'")
}

// A slot that is made again has what somebody gave it; a new one, and one that the feed
// goes on from, have what the configuration says.
func TestPostgres_SlotKeepsFailover(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, bounded)
	s := newSlotStandIn(t, server)
	if !keepsSlots(t, server) {
		src := sourceOf(t, s.url)
		src.Slot, src.SlotFailover = slotOfTest, true
		_, _, err := openFeed(t.Context(), src, source.FeedLogical, feedTables)
		if err == nil || !strings.Contains(err.Error(), "feed.failover cannot be had") {
			t.Errorf("a server without the property: %v", err)
		}
		return
	}
	s.exec("SELECT pg_create_logical_replication_slot('" + slotOfTest +
		"', 'pgoutput', false, false, true)")
	s.start(false) // begins anew: nothing is kept
	if s.has() != "t" {
		t.Error("a slot that was made again has lost the property")
	}
	s.halt()
	s.exec("SELECT pg_drop_replication_slot('" + slotOfTest + "')")
	s.start(false)
	if s.has() != "f" {
		t.Error("a new slot has the property unasked")
	}
	s.fence()
	s.commit()
	s.halt()
	s.keep = true
	s.start(false)
	if s.rec.goesOn() != 1 || s.has() != "t" {
		t.Errorf("went on %d times, the slot has the property: %s", s.rec.goesOn(), s.has())
	}
	s.halt()
	s.exec("SELECT pg_drop_replication_slot('" + slotOfTest + "')")
	s.start(false)
	if s.has() != "t" {
		t.Error("a new slot lacks the property")
	}
}

// Doctor says what a standby lacks to take over with the slot; what it says mends it.
func TestPostgres_DoctorOfAStandby(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, bounded)
	s := newSlotStandIn(t, server)
	s.keep = keepsSlots(t, server)
	s.start(false)
	standby := server.Standby(t, nil)
	src := sourceOf(t, strings.Replace(s.url, server.Address(), standby.Address(), 1))
	src.Slot = slotOfTest
	ask := func() (bad []string, by []string) {
		t.Helper()
		findings, err := doctor(t.Context(), src, source.FeedAuto, feedTables)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Level == source.LevelError {
				bad, by = append(bad, f.Text), append(by, f.ByHand...)
			}
		}
		return bad, by
	}
	bad, by := ask()
	if !s.keep {
		if len(bad) > 0 {
			t.Errorf("before version 17: %q", bad)
		}
		return
	}
	all := strings.Join(bad, "; ")
	for _, what := range []string{"sync_replication_slots", "hot_standby_feedback",
		"primary_slot_name", "primary_conninfo", "no copy of slot"} {
		if !strings.Contains(all, what) {
			t.Errorf("nothing about %s: %s", what, all)
		}
	}
	for _, sql := range by {
		where := standby
		if strings.Contains(sql, "pg_create_physical") {
			where = server
		}
		_, port, _ := strings.Cut(server.Address(), ":")
		where.Exec(strings.Replace(sql, "'... dbname", "'host=127.0.0.1 user=postgres port="+port+
			" dbname", 1))
	}
	await(t, "the slot on the standby", func() bool {
		s.exec("UPDATE dept SET loc = loc || 'x' WHERE deptno = 10")
		s.fence()
		s.commit()
		server.Exec("SELECT pg_log_standby_snapshot()")
		bad, _ = ask()
		return len(bad) == 0
	})
	s.stop()
	standby.Promote()
	if got := standby.Exec("SELECT slot_name, failover FROM pg_replication_slots"); got !=
		slotOfTest+"|t" {
		t.Errorf("after the promotion: %s", got)
	}
}
