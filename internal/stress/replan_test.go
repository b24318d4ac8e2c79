package stress

import (
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// swapTable is a table that gets another primary key, and its rows.
const swapTable = "CREATE TABLE swap (id int PRIMARY KEY, code int NOT NULL UNIQUE, v int);" +
	" INSERT INTO swap VALUES (1, 101, 0), (2, 102, 0), (3, 103, 0)"

// TestFeed_TellsTheColumnsOfANewPlan: when a table has got another primary key, a change of
// one row drops the document of that row and no other, as soon as the resource has been
// compiled again.
func TestFeed_TellsTheColumnsOfANewPlan(t *testing.T) {
	specs := []resource.Spec{testbed.Spec("swap")}
	t.Run("logical", func(t *testing.T) {
		url := dbtest.Postgres(t)
		conn := testbed.Dial(t, url)
		testbed.MustExec(t, conn, swapTable)
		s := newStand(t, url, plan{Specs: specs, Mode: source.FeedLogical})
		s.swapKey(func(sql string) { testbed.MustExec(t, conn, sql) },
			"ALTER TABLE swap DROP CONSTRAINT swap_pkey, ADD PRIMARY KEY (code)")
	})
	t.Run("notify", func(t *testing.T) {
		url := dbtest.Postgres(t)
		conn := testbed.Dial(t, url)
		testbed.MustExec(t, conn, swapTable)
		doctored(t, url, specs)
		s := newStand(t, url, plan{Specs: specs, Mode: source.FeedNotify})
		s.swapKey(func(sql string) {
			testbed.MustExec(t, conn, sql)
			if strings.HasPrefix(sql, "ALTER") {
				s.Quiet() // with the triggers of before, which do not tell the new key
				doctored(t, url, specs)
			}
		}, "ALTER TABLE swap DROP CONSTRAINT swap_pkey, ADD PRIMARY KEY (code)")
	})
	t.Run("binlog", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		conn := testbed.DialMariaDB(t, url)
		exec := func(sql string) {
			for one := range strings.SplitSeq(sql, ";") {
				if _, err := conn.ExecContext(t.Context(), one); err != nil {
					t.Fatalf("%s: %v", one, err)
				}
			}
		}
		exec(swapTable)
		s := newStandOver(t, testbed.OpenMariaDB(t, url), plan{Specs: specs, Mode: source.FeedBinlog})
		s.swapKey(exec, "ALTER TABLE swap DROP PRIMARY KEY, ADD PRIMARY KEY (code)")
	})
}

// swapKey gives the table another primary key, and waits until changes are precise.
func (s *stand) swapKey(exec func(sql string), change string) {
	s.T.Helper()
	from := func(key string) resource.Origin {
		a, err := s.Resource("swap").Get(s.T.Context(), row.Key(key), resource.Options{})
		if err != nil {
			s.T.Fatal(err)
		}
		return a.Origin
	}
	kept := func(key, where string) bool {
		waittest.Until(s.T, "a hit", func() bool { return from(key) == resource.HitMemory })
		exec("UPDATE swap SET v = v + 1 WHERE " + where)
		s.Quiet()
		return from(key) == resource.HitMemory
	}
	s.Quiet()
	waittest.Until(s.T, "precise with the first key", func() bool { return kept("1", "id = 2") })
	exec(change)
	waittest.Until(s.T, "precise with the second key", func() bool { return kept("101", "id = 2") })
	if kept("101", "id = 1") {
		s.T.Error("a document of before its row was changed")
	}
}

// TestPostgres_AutoChoosesAgain: with the mode auto a better feed is taken when the
// database allows it, and a worse one, or none, when nothing else has worked for long.
func TestPostgres_AutoChoosesAgain(t *testing.T) {
	t.Parallel() // it waits for the most part
	server := dbtest.NewPostgres(t, map[string]string{"wal_level": "replica"})
	url := server.Database(t)
	specs := []resource.Spec{testbed.Spec("swap")}
	setup := testbed.Dial(t, url)
	testbed.MustExec(t, setup, swapTable)
	doctored(t, url, specs)
	s := newStand(t, url, plan{Specs: specs, Mode: source.FeedAuto})
	chosen := func(what string, mode source.FeedMode, state string) {
		t.Helper()
		begun := time.Now()
		waittest.Until(t, what, func() bool {
			st := s.Stats()
			return st.Feed == mode && st.State == state && st.Reason != ""
		})
		testbed.Figures(t, "%s: %s after %v, because: %s", what, mode,
			time.Since(begun).Round(time.Millisecond), s.Stats().Reason)
		if state == "fresh" {
			s.follows(url)
		}
	}
	restart := func(level string) {
		server.Set(map[string]string{"wal_level": level})
		server.Stop(dbtest.Fast)
		server.Start()
	}
	chosen("at the start", source.FeedNotify, "fresh")
	restart("logical")
	chosen("wal_level is logical", source.FeedLogical, "fresh")
	restart("replica")
	chosen("wal_level is replica again", source.FeedNotify, "fresh")
	testbed.MustExec(t, testbed.Dial(t, url), "DROP TRIGGER hotrow_row ON swap")
	chosen("without triggers", source.FeedNone, "none")
	if a, err := s.Resource("swap").Get(t.Context(), "1", resource.Options{}); err != nil ||
		a.Origin != resource.Bypassed {
		t.Errorf("without a feed: from %v, %v", a.Origin, err)
	}
	doctored(t, url, specs)
	chosen("with triggers again", source.FeedNotify, "fresh")
}

// follows fails the test unless a document is kept, and goes with a change.
func (s *stand) follows(url string) {
	s.T.Helper()
	read := func() (string, resource.Origin) {
		a, err := s.Resource("swap").Get(s.T.Context(), "1", resource.Options{})
		if err != nil {
			s.T.Fatal(err)
		}
		return string(a.Doc.Body()), a.Origin
	}
	waittest.Until(s.T, "a hit", func() bool { _, from := read(); return from == resource.HitMemory })
	before, _ := read()
	testbed.MustExec(s.T, testbed.Dial(s.T, url), "UPDATE swap SET v = v + 1 WHERE id = 1")
	s.Quiet()
	if after, _ := read(); after == before {
		s.T.Errorf("%s is served after it was changed", after)
	}
	waittest.Until(s.T, "a hit again", func() bool { _, from := read(); return from == resource.HitMemory })
}
