package lists

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestLists_AreKeptBesideWritesToOtherRows: a hot list by equality is never read again while
// rows of its table are written that it does not find, and at once when one is that it does.
func TestLists_AreKeptBesideWritesToOtherRows(t *testing.T) {
	t.Run("PostgreSQL", func(t *testing.T) {
		for name, sql := range map[string]string{"identity default": "SELECT 1",
			"identity full": "ALTER TABLE post REPLICA IDENTITY FULL"} {
			t.Run(name, func(t *testing.T) {
				url := dbtest.Postgres(t)
				conn := testbed.Dial(t, url)
				exec := func(statements ...string) { testbed.MustExec(t, conn, statements...) }
				exec(posts...)
				exec(sql)
				keptBesideWrites(t, testbed.OpenPostgres(t, url), exec)
			})
		}
	})
	t.Run("MariaDB", func(t *testing.T) {
		url := dbtest.MariaDB(t)
		conn := testbed.DialMariaDB(t, url)
		exec := func(statements ...string) {
			for _, s := range statements {
				if _, err := conn.ExecContext(context.Background(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}
		exec(posts...)
		keptBesideWrites(t, testbed.OpenMariaDB(t, url), exec)
	})
	t.Run("SQLite", func(t *testing.T) {
		src := testbed.OpenSQLite(t, filepath.Join(t.TempDir(), "posts.db"), sqlite.Options{Own: true})
		exec := func(statements ...string) {
			if err := src.Exec(context.Background(), statements...); err != nil {
				t.Fatal(err)
			}
		}
		exec(posts...)
		keptBesideWrites(t, src, exec)
	})
}

var posts = []string{
	"CREATE TABLE post (id int PRIMARY KEY, author int, title varchar(20), created int)",
	"CREATE INDEX by_author ON post (author, created)",
	"INSERT INTO post VALUES (1, 7, 'a', 1), (2, 7, 'b', 2), (3, 8, 'c', 3), (4, 9, 'd', 4)",
}

func keptBesideWrites(t *testing.T, src source.Source, exec func(statements ...string)) {
	// With so many words no two classes of the test share one.
	s := testbed.Over(t, src, testbed.Plan{Specs: []resource.Spec{testbed.Spec("post")}, Lists: 512 << 20})
	l := &lemma{t: t, s: s, name: "post"}
	q, err := s.Resource("post").Query("author=eq.7&order=created.desc&limit=25", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := func() bool { return l.ask(q, resource.Options{}).Origin == resource.HitMemory }
	waittest.Until(t, "a list that another author's posts leave alone", func() bool {
		waittest.Until(t, "kept", kept)
		exec("UPDATE post SET title = 'z', author = 9 WHERE id = 3")
		s.Quiet()
		return kept()
	})
	before, reads, writes := s.Resource("post").Stats().Lists, 0, 0
	for end := time.Now().Add(testbed.Length(time.Second / 2)); time.Now().Before(end); writes++ {
		exec(fmt.Sprintf("UPDATE post SET title = 't%d', author = %d WHERE id = %d", writes,
			8+writes%2, 3+writes/2%2))
		for range 10 {
			l.ask(q, resource.Options{})
			reads++
		}
	}
	s.Quiet()
	after := s.Resource("post").Stats().Lists
	hits := after.Hits - before.Hits
	testbed.Figures(t, "%d reads of a list beside %d writes to rows of its table that it does not find: "+
		"%d hits, %d reads while a busy machine's feed was late", reads, writes, hits,
		after.Bypassed-before.Bypassed)
	if after.Moved != before.Moved || after.Dirty != before.Dirty || hits == 0 {
		t.Errorf("it was read again: %+v, before %+v", after, before)
	}
	exec("UPDATE post SET title = 'new' WHERE id = 2")
	s.Quiet()
	a, is := l.ask(q, resource.Options{}), l.ask(q, resource.Options{NoCache: true})
	if string(a.Doc.Body()) != string(is.Doc.Body()) {
		t.Errorf("after a write to a row in it: %s, and the database has %s", a.Doc.Body(),
			is.Doc.Body())
	}
}
