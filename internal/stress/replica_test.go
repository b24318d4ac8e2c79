package stress

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A replicaStand is hotrow over a server that is made a replica of another.
type replicaStand struct {
	*stand
	primary, replica *dbtest.MariaDBServer
	n                int // of the values that rows have had
}

// TestMariaDB_OfAReplica: a replica whose own log lacks what it applies is read each time,
// from the moment on at which it is made one, by whatever connection; one whose log has it
// is kept.
func TestMariaDB_OfAReplica(t *testing.T) {
	t.Parallel()
	off := dbtest.MariaOrMySQL("log-slave-updates", "log-replica-updates")
	primary := dbtest.NewMariaDB(t, nil)
	r := dbtest.NewMariaDB(t, map[string]string{"server-id": "2", off: "OFF"})
	primary.Exec("CREATE DATABASE shop; CREATE TABLE shop.x (id int PRIMARY KEY, v varchar(20));" +
		" INSERT INTO shop.x VALUES (1, 'old')")
	primary.Feeds(r, "")
	primary.AwaitReplica(r)
	r.StopReplication()
	at := strings.Replace(r.URL(), "/mysql", "/shop", 1)
	s := &replicaStand{stand: newStandOver(t, testbed.OpenMariaDB(t, at), plan{Mode: source.FeedAuto,
		Specs: []resource.Spec{testbed.Spec("x")}}), primary: primary, replica: r}
	waittest.Until(t, "a hit while nothing is applied", s.hit)
	for _, channel := range []string{"", "other"} {
		r.Exec(dbtest.MariaOrMySQL("RESET SLAVE ALL", "RESET REPLICA ALL"))
		primary.Feeds(r, channel)
		s.readsEachTime()
		found, err := s.Src.Doctor(t.Context(), source.FeedAuto, nil)
		if err != nil || !slices.ContainsFunc(found, func(f source.Finding) bool {
			return f.Level == source.LevelError && strings.Contains(f.Text, "updates is OFF")
		}) {
			t.Errorf("the doctor does not name the setting: %v, %v", found, err)
		}
		r.StopReplication()
		waittest.Until(t, "a hit once nothing is applied", s.hit)
	}
	r.Exec(dbtest.MariaOrMySQL("START ALL SLAVES", "START REPLICA"))
	r.Restart(dbtest.Fast)
	s.readsEachTime() // it is a replica again, by itself
	r.Set(map[string]string{off: "ON"})
	r.Restart(dbtest.Fast)
	waittest.Until(t, "a hit of a replica with a log of what it applies", s.hit)
	s.write()
	waittest.Until(t, "the change in memory", func() bool { now, from := s.row(); return s.is(now) && from })
	r.Set(map[string]string{"binlog-ignore-db": "shop"})
	r.Restart(dbtest.Fast)
	s.readsEachTime() // it logs what it applies, but for this database
	r.Set(map[string]string{"binlog-ignore-db": "another"})
	r.Restart(dbtest.Fast)
	waittest.Until(t, "a hit of a replica that logs the database again", s.hit)
	r.StopReplication()
	r.Exec(dbtest.MariaOrMySQL("SET GLOBAL slave_run_triggers_for_rbr = YES", "DO 0"))
	if dbtest.MariaOrMySQL("x", "") == "x" {
		s.triggers()
	}
}

// triggers: what triggers of the replica make of what it applies.
func (s *replicaStand) triggers() {
	s.T.Helper()
	s.replica.Exec("SET sql_log_bin = 0; CREATE TABLE shop.log (v varchar(20));" +
		" CREATE TRIGGER shop.tr AFTER UPDATE ON shop.x FOR EACH ROW INSERT INTO shop.log VALUES (NEW.v)")
	waittest.Until(s.T, "a hit before replication goes on", s.hit)
	s.replica.Exec("START ALL SLAVES")
	s.readsEachTime()
}

// row returns what is answered for the row, and whether memory has it.
func (s *replicaStand) row() (string, bool) {
	s.T.Helper()
	a, err := s.Resource("x").Get(context.Background(), "1",
		resource.Options{Format: row.FormatJSON})
	if err != nil {
		return err.Error(), false
	}
	return string(a.Doc.Body()), a.Origin == resource.HitMemory
}

func (s *replicaStand) hit() bool { _, hit := s.row(); return hit }

// write changes the row on the primary, and waits until the replica has applied that.
func (s *replicaStand) write() {
	s.T.Helper()
	s.n++
	s.primary.Exec(fmt.Sprintf("UPDATE shop.x SET v = 'new%d'", s.n))
	s.primary.AwaitReplica(s.replica)
}

func (s *replicaStand) is(body string) bool {
	return strings.Contains(body, fmt.Sprintf(`"new%d"`, s.n))
}

// readsEachTime: no answer is older than definitionBound, and no copy is kept.
func (s *replicaStand) readsEachTime() {
	s.T.Helper()
	for range 5 {
		s.write()
		testbed.Pause(s.T.Context(), definitionBound)
		for range 3 {
			if now, hit := s.row(); !s.is(now) || hit {
				s.T.Fatalf("%v after the change to new%d: %s, from memory: %v", definitionBound,
					s.n, now, hit)
			}
		}
	}
}
