package lists

import (
	"slices"
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

// nestTables are parents with rows of another table within their documents; PostgreSQL's
// default replica identity does not tell the parent that such a row had.
const nestTables = `
	CREATE TABLE nests (slug text PRIMARY KEY, id int UNIQUE NOT NULL, name text);
	CREATE TABLE birds (id int PRIMARY KEY, nest int, name text);
	INSERT INTO nests SELECT 'n' || i, i, 'nest' FROM generate_series(1, 9) i;
	INSERT INTO birds SELECT i, 1 + (i - 1) / 3, 'bird' FROM generate_series(1, 21) i`

// nestSpec has a key that is not the primary key: of the parent's own row, too, the feed does
// not tell what the key was.
func nestSpec() resource.Spec {
	s := testbed.Spec("nests", source.Embed{Name: "birds", On: []string{"nest"},
		Spec: &source.Spec{Name: "birds", Table: "birds"}})
	s.Table.Key = []string{"id"}
	return s
}

// toldOf returns the keys that a watcher is told of within a while; "*": of all.
func toldOf(w *resource.Watch) (keys []string) {
	for {
		select {
		case e := <-w.C:
			if e.Reset {
				e.Key = "*"
			}
			keys = append(keys, string(e.Key))
		case <-time.After(20 * time.Millisecond):
			slices.Sort(keys)
			return slices.Compact(keys)
		}
	}
}

// TestStressPostgres_DocumentsOfUnknownParents: of a change whose old parent the feed does
// not tell, those documents go that held the row, and no other; those who watch are told of
// these, whether memory has them or not. Without the database what has not moved is answered
// flagged, and what has moved is not.
func TestStressPostgres_DocumentsOfUnknownParents(t *testing.T) {
	t.Parallel()
	server := dbtest.NewPostgres(t, testbed.Logical)
	conn := testbed.Dial(t, server.URL())
	testbed.MustExec(t, conn, nestTables)
	s := testbed.New(t, server.URL(), testbed.Plan{Specs: []resource.Spec{nestSpec()}, Mode: source.FeedLogical,
		Change: func(o *resource.SourceOptions) {
			o.StaleIfError, o.Audit = time.Hour, 200
		}})
	r := s.Resource("nests")
	get := func(key string) resource.Answer {
		a, err := r.Get(t.Context(), row.Key(key), resource.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	keys := []string{"1", "2", "3", "4", "77"} // the last one is not there
	kept := func() {
		for _, k := range keys {
			waittest.Until(t, "a hit of "+k, func() bool { return get(k).Origin == resource.HitMemory })
		}
	}
	kept() // and watched from then on
	w := r.Watch(100)
	defer w.Close()
	for _, step := range []struct{ write, moved string }{
		{"UPDATE birds SET name = 'b' WHERE id = 1", "1"},
		{"UPDATE birds SET name = 'b' WHERE id = 21", ""}, // of nest 7, which nobody reads
		{"UPDATE birds SET nest = 2 WHERE id = 1", "1 2"},
		{"UPDATE birds SET nest = 8 WHERE id = 1", "2"},
		{"UPDATE birds SET nest = NULL WHERE id = 2", "1"},
		{"UPDATE birds SET nest = 1 WHERE id = 2", "1"},
		{"DELETE FROM birds WHERE id = 3", "1"},
		{"INSERT INTO birds VALUES (3, 4, 'again')", "4"},
		{"UPDATE birds SET id = 300 WHERE id = 3", "4"},
		{"UPDATE nests SET name = 'n' WHERE id = 3", "3"},
		{"UPDATE nests SET id = 77 WHERE id = 3", "3 77"},
		{"UPDATE nests SET id = 3 WHERE id = 77", "3 77"},
		{"DELETE FROM nests WHERE id = 4", "4"},
		{"INSERT INTO nests VALUES ('n4', 4, 'again')", "4"},
		{"UPDATE birds SET nest = 3 WHERE id IN (4, 5); UPDATE birds SET name = 'c' WHERE id = 2", "1 2 3"},
		{"TRUNCATE birds", "*"},
		{"INSERT INTO birds SELECT i, 1 + (i - 1) / 3, 'bird' FROM generate_series(1, 21) i", "1 2 3 4"},
	} {
		kept()
		toldOf(w)
		testbed.MustExec(t, conn, step.write)
		s.Quiet()
		want := strings.Fields(step.moved)
		told := slices.DeleteFunc(toldOf(w), func(k string) bool { // what nobody has counts not
			return k != "*" && !slices.Contains(keys, k)
		})
		if !slices.Equal(told, want) {
			t.Errorf("after %s who watches was told of %v, want %v", step.write, told, want)
		}
		for _, k := range keys {
			of := get(k).Origin
			stays := of == resource.HitMemory || of == resource.HitStale // where the feed is late
			if moved := slices.Contains(want, k) || step.moved == "*"; stays == moved {
				t.Errorf("after %s nest %s is in memory still: %v", step.write, k, stays)
			}
			is, err := r.Get(t.Context(), row.Key(k), resource.Options{NoCache: true})
			if err != nil || string(bodyOf(get(k).Doc)) != string(bodyOf(is.Doc)) {
				t.Errorf("after %s nest %s is %s, and in the database %s (%v)", step.write, k,
					bodyOf(get(k).Doc), bodyOf(is.Doc), err)
			}
		}
	}
	words, err := r.ExplainVersions("1", row.FormatJSON)
	if err != nil || words == nil || !words.Precise || len(words.Words) < 7 {
		t.Errorf("the words of nest 1: %+v, %v", words, err)
	}

	if st := s.Stats(); st.Audited == 0 || st.AuditStale > 0 {
		t.Errorf("the auditor has found %d stale copies in %d", st.AuditStale, st.Audited)
	}

	// The database goes, and has told of a change of nest 1 before.
	kept()
	testbed.MustExec(t, conn, "UPDATE birds SET name = 'last' WHERE id = 1")
	s.Quiet()
	server.Stop(dbtest.Immediate)
	waittest.Until(t, "the feed is lost", func() bool { return !s.Fresh() })
	waittest.Until(t, "flagged answers", func() bool { return get("2").Origin == resource.HitStale })
	if _, err := r.Get(t.Context(), "1", resource.Options{}); err == nil {
		t.Error("what has moved is answered without the database")
	}
	server.Start()
	waittest.Until(t, "fresh feed", s.Fresh)
	kept()
}

// TestStress_PathsTellWhoWatches: those who watch timelines are told of the ones to which a
// changed row leads, and of no other where the feed tells what it was.
func TestStress_PathsTellWhoWatches(t *testing.T) {
	socials(t, func(t *testing.T, b *social, knowsOld bool) {
		b.t = t
		readers := []string{"1", "2", "4", "5"}
		w := b.s.Resource("home").Watch(100)
		defer w.Close()
		for _, step := range []struct{ write, moved string }{
			{"INSERT INTO statuses VALUES (100, 2, 7)", "1"},
			{"INSERT INTO statuses VALUES (101, 3, 7)", "1 2"},
			{"INSERT INTO statuses VALUES (102, 4, 7)", ""}, // whom nobody follows
			{"INSERT INTO follows VALUES (10, 5, 2)", "5"},
			{"INSERT INTO statuses VALUES (103, 2, 7)", "1 5"}, // followed since
			{"UPDATE statuses SET account_id = 1 WHERE id = 103", "1 4 5"},
			{"UPDATE accounts SET name = 'other' WHERE id = 4", "4"},
			{"DELETE FROM follows WHERE id = 10", "5"},
			{"INSERT INTO statuses VALUES (104, 2, 7)", "1"}, // not any more
		} {
			for _, k := range readers {
				b.kept("home", row.Key(k))
			}
			toldOf(w)
			b.exec(step.write)
			b.s.Quiet()
			want := strings.Fields(step.moved)
			told := slices.DeleteFunc(toldOf(w), func(k string) bool {
				return k != "*" && !slices.Contains(readers, k)
			})
			missed := slices.ContainsFunc(want, func(k string) bool { return !slices.Contains(told, k) })
			more := len(told) > len(want) && (knowsOld || strings.HasPrefix(step.write, "INSERT"))
			if missed || more {
				t.Errorf("after %s who watches was told of %v, want %v", step.write, told, want)
			}
		}
	})
}
