package lists

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestStress_EmbedsDependOnTheirRows: a list that embeds rows stays in memory when others of
// their tables are written, and is read again when one of them is, comes or goes.
// It runs alone: definitions that others change on its server may drop what it expects to stay.
func TestStress_EmbedsDependOnTheirRows(t *testing.T) {
	blogs(t, blogRows, func(t *testing.T, b *blog) {
		for _, c := range []struct {
			of, raw   string
			unrelated []string // one transaction
			related   []string // each a transaction
		}{
			{"posts", "select=title,comments(body)&id=eq.1",
				[]string{"UPDATE comments SET body = 'q', score = 9 WHERE id = 3",
					"INSERT INTO comments VALUES (10, 2, 1, 'n', 1)", "DELETE FROM comments WHERE id = 4"},
				[]string{"UPDATE comments SET body = 'new' WHERE id = 1",
					"INSERT INTO comments VALUES (11, 1, NULL, 'n', 1)",
					"UPDATE comments SET post = 2 WHERE id = 11", // it leaves
					"UPDATE comments SET post = 1 WHERE id = 11", // and comes
					"DELETE FROM comments WHERE id = 11"}},
			{"posts", "select=title,comments(body)&comments.score=gt.5&comments.limit=1&id=eq.3", // none yet
				[]string{"UPDATE comments SET body = 'r' WHERE id = 1"},
				[]string{"INSERT INTO comments VALUES (12, 3, NULL, 'n', 6)",
					"UPDATE comments SET score = 1 WHERE id = 12", "UPDATE comments SET score = 7 WHERE id = 12"}},
			{"comments", "select=body,users(name)&id=eq.1",
				[]string{"UPDATE users SET name = 'new' WHERE id = 3"},
				[]string{"UPDATE users SET name = 'ben' WHERE id = 2"}},
			{"comments", "select=body,...posts(title)&id=in.(1,3)",
				[]string{"UPDATE posts SET title = 'new' WHERE id = 3"},
				[]string{"UPDATE posts SET title = 'eins' WHERE id = 1",
					"UPDATE posts SET title = 'zwei' WHERE id = 2"}},
			{"posts", "select=title,tags(name)&id=eq.1",
				[]string{"DELETE FROM tagged WHERE post = 2", "UPDATE tags SET name = 'q' WHERE id = 3",
					"INSERT INTO tags VALUES (4, 'four')", "INSERT INTO tagged VALUES (2, 4)"},
				[]string{"DELETE FROM tagged WHERE post = 1 AND tag = 2",
					"INSERT INTO tagged VALUES (1, 3)", "UPDATE tags SET name = 'green' WHERE id = 3",
					"UPDATE tagged SET post = 2 WHERE post = 1 AND tag = 3",
					"UPDATE tagged SET post = 1 WHERE post = 2 AND tag = 3"}},
			// Of those that are linked one is found; another may come, by its name.
			{"posts", "select=id,tags(id)&tags.name=eq.lime&tags.limit=1&id=in.(1,2)",
				[]string{"UPDATE tags SET name = 'r' WHERE id = 2", "INSERT INTO tagged VALUES (3, 2)"},
				[]string{"UPDATE tags SET name = 'lime' WHERE id = 4",
					"UPDATE tags SET name = 'lime' WHERE id = 1", "UPDATE tags SET name = 'x' WHERE id = 1",
					"DELETE FROM tagged WHERE post = 2"}},
			{"users", "select=name,posts!author(title,comments(body,users(name)))&id=eq.1",
				[]string{"UPDATE comments SET body = 's' WHERE id = 3",
					"UPDATE posts SET title = 't' WHERE id = 2"},
				[]string{"UPDATE comments SET body = 's' WHERE id = 2", "UPDATE posts SET title = 't' WHERE id = 1",
					"UPDATE users SET name = 'u' WHERE id = 3", "UPDATE posts SET author = 1 WHERE id = 3"}},
			{"posts", "select=title,details(note)&id=in.(1,2)", // to one, which may come
				[]string{"INSERT INTO details VALUES (3, 'third')"},
				[]string{"UPDATE details SET note = 'n' WHERE post = 1", "INSERT INTO details VALUES (2, 'second')"}},
		} {
			q, err := b.query(t, c.of, c.raw)
			if err != nil {
				t.Fatalf("%s?%s: %v", c.of, c.raw, err)
			}
			b.name = c.of
			kept := func() resource.ListAnswer {
				t.Helper()
				var a resource.ListAnswer
				waittest.Until(t, c.raw+" is in memory", func() bool {
					a = b.ask(q, resource.Options{})
					return a.Origin == resource.HitMemory
				})
				return a
			}
			was := kept()
			b.exec(c.unrelated...)
			b.s.Quiet()
			if a := b.ask(q, resource.Options{}); a.Doc.Stamp() != was.Doc.Stamp() { // flagged or not
				t.Errorf("%s?%s was read again after %q", c.of, c.raw, c.unrelated)
			}
			for _, statement := range c.related {
				was = kept()
				b.exec(statement)
				b.s.Quiet()
				if a := b.ask(q, resource.Options{}); a.Doc.Stamp() == was.Doc.Stamp() {
					t.Errorf("%s?%s is stale after %s: %s", c.of, c.raw, statement, a.Doc.Body())
				}
			}
		}
	})
}

// TestStress_EmbedsThroughManyLinks: where a row has more links than are told, no list is stale.
func TestStress_EmbedsThroughManyLinks(t *testing.T) {
	rows := blogRows
	for i := 5; i < 150; i++ { // of post 3
		rows = append(rows, fmt.Sprintf("INSERT INTO tags VALUES (%d, 't%03d')", i, i),
			fmt.Sprintf("INSERT INTO tagged VALUES (3, %d)", i))
	}
	blogs(t, rows, func(t *testing.T, b *blog) {
		b.name = "posts"
		for _, raw := range []string{"select=tags(name)&tags.order=name&tags.limit=2&id=eq.3",
			"select=tags(name)&tags.order=name&tags.limit=2&id=in.(1,2,3)"} {
			q, err := b.query(t, "posts", raw)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{"UPDATE tags SET name = 'a' WHERE id = 149",
				"UPDATE tags SET name = 'z' WHERE id = 149", "DELETE FROM tagged WHERE tag = 5",
				"INSERT INTO tagged VALUES (3, 5)", "UPDATE tagged SET post = 1 WHERE tag = 5",
				"UPDATE tagged SET post = 3 WHERE tag = 5"} {
				waittest.Until(t, raw+" is in memory", func() bool {
					return b.ask(q, resource.Options{}).Origin == resource.HitMemory
				})
				b.exec(statement)
				b.s.Quiet()
				a, is := b.ask(q, resource.Options{}), b.ask(q, resource.Options{NoCache: true})
				if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
					t.Fatalf("%s is %s after %s, and in the database %s", raw, a.Doc.Body(), statement,
						is.Doc.Body())
				}
			}
		}
	})
}

// TestStressPostgres_EmbedsByIdentity: no list is stale that embeds rows by way of a table of
// which the log tells all that a row was, or not whose it was.
func TestStressPostgres_EmbedsByIdentity(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"full": "ALTER TABLE tagged REPLICA IDENTITY FULL; ALTER TABLE tags REPLICA IDENTITY FULL",
		"another index": "ALTER TABLE tagged ADD n serial NOT NULL; CREATE UNIQUE INDEX n ON tagged (n);" +
			"ALTER TABLE tagged REPLICA IDENTITY USING INDEX n",
	} {
		t.Run(name, func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			b := &blog{lemma: newLemma(t, nil)}
			b.exec = func(statements ...string) { testbed.MustExec(t, conn, strings.Join(statements, "; ")) }
			b.exec(append(append(slices.Clone(blogTables), changingRows()...), sql)...)
			var specs []resource.Spec
			for _, name := range []string{"users", "posts", "comments", "tags", "tagged", "details"} {
				specs = append(specs, testbed.Spec(name))
			}
			b.s = testbed.Over(t, testbed.OpenPostgres(t, url), testbed.Plan{Specs: specs, Mode: source.FeedLogical})
			b.next = 20
			b.unmoved(t)
		})
	}
}

// TestStress_EmbedsByTexts: where texts are equal that differ, no list is stale.
func TestStress_EmbedsByTexts(t *testing.T) {
	t.Parallel()
	rows := append([]string{"CREATE TABLE lands (code varchar(9) /*NOCASE*/ PRIMARY KEY, name varchar(20))",
		`CREATE TABLE towns (id int PRIMARY KEY, land varchar(9),
			CONSTRAINT towns_land FOREIGN KEY (land) REFERENCES lands (code))`,
		"INSERT INTO lands VALUES ('AB', 'x'), ('CD', 'y')",
		"INSERT INTO towns VALUES (1, 'AB'), (2, 'CD'), (3, NULL), (4, 'AB')"}, blogRows...)
	blogs(t, rows, func(t *testing.T, b *blog) {
		texts := []string{"AB", "CD"}
		if !strings.HasSuffix(t.Name(), "postgres") { // the others find these equal to a land's
			texts = append(texts, "ab", "cD", "Ab")
		}
		compared := 0
		for range 40 {
			b.exec(fmt.Sprintf("UPDATE towns SET land = '%s' WHERE id = %d", texts[b.rng.IntN(len(texts))],
				1+b.rng.IntN(4)), fmt.Sprintf("UPDATE lands SET name = '%d' WHERE code = '%s'", b.rng.IntN(3),
				texts[b.rng.IntN(2)]))
			b.s.Quiet()
			for of, raw := range map[string]string{"lands": "select=code,towns(id)&code=eq.AB",
				"towns": "select=id,lands(name)&id=in.(1,2,4)&order=id"} {
				b.name = of
				q, err := b.query(t, of, raw)
				if err != nil {
					t.Fatal(err)
				}
				a, is := b.ask(q, resource.Options{}), b.ask(q, resource.Options{NoCache: true})
				if !bytes.Equal(a.Doc.Body(), is.Doc.Body()) {
					t.Fatalf("%s?%s is %s, and in the database %s", of, raw, a.Doc.Body(), is.Doc.Body())
				}
				if a.Origin == resource.HitMemory {
					compared++
				}
				b.ask(q, resource.Options{})
				b.ask(q, resource.Options{})
			}
		}
		if compared == 0 && strings.HasSuffix(t.Name(), "postgres") {
			t.Error("no list was answered from memory")
		}
	})
}
