package lists

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// TestStress_EmbedsOfLargeTablesNeedAnIndex: rows of a large table are embedded only where an
// index finds those of a parent, and are left out by what is embedded only where one does.
func TestStress_EmbedsOfLargeTablesNeedAnIndex(t *testing.T) {
	src := testbed.OpenSQLite(t, filepath.Join(t.TempDir(), "large.db"), sqlite.Options{Own: true})
	exec := func(statements ...string) {
		t.Helper()
		if err := src.Exec(t.Context(), statements...); err != nil {
			t.Fatal(err)
		}
	}
	const many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
	exec("CREATE TABLE posts (id INTEGER PRIMARY KEY, author INTEGER REFERENCES users)",
		"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)",
		"CREATE TABLE comments (id INTEGER PRIMARY KEY, post INTEGER, "+
			"FOREIGN KEY (POST) REFERENCES Posts (ID))",
		many+"INSERT INTO users SELECT i, 'n' || i FROM n",
		many+"INSERT INTO posts SELECT i, 1 + i % 7 FROM n",
		many+"INSERT INTO comments SELECT i, 1 FROM n")
	b := &blog{lemma: newLemma(t, nil)}
	b.s = testbed.Over(t, src, testbed.Plan{Mode: source.FeedAuto,
		Specs: []resource.Spec{testbed.Spec("posts"), testbed.Spec("users"), testbed.Spec("comments")}})
	refused := func(of, raw, hint string) {
		t.Helper()
		_, err := b.answer(t, of, raw)
		var e *query.Error
		if !errors.As(err, &e) || e.Code != query.CodeUnindexed || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s?%s: %v %+v, want the hint %s", of, raw, err, e, hint)
		}
	}
	admitted := func(of, raw string) {
		t.Helper()
		if _, err := b.answer(t, of, raw); err != nil {
			t.Errorf("%s?%s: %v", of, raw, err)
		}
	}
	admitted("posts", "select=id,users(name)")
	refused("posts", "select=id,comments(id)&id=eq.2", `CREATE INDEX "comments_post_idx" ON "comments" ("post")`)
	refused("posts", "select=id,users!inner(name)&users.name=eq.n3", "equality")
	admitted("posts", "select=id,users!inner(name)&users.name=eq.n3&id=in.(1,2,3)")
	exec("CREATE INDEX a ON comments (post) WHERE post IS NOT NULL", "CREATE INDEX b ON users (name)",
		"CREATE INDEX c ON posts (author)")
	waittest.Until(t, "the indexes are seen", func() bool {
		_, err := b.answer(t, "posts", "select=id,comments(id)&id=eq.2")
		_, inner := b.answer(t, "posts", "select=id,users!inner(name)&users.name=eq.n3")
		return err == nil && inner == nil
	})
	_, err := b.answer(t, "posts", "select=id,comments(id)&id=eq.1")
	if source.ClassOf(err) != source.TooLarge {
		t.Errorf("20,000 rows are embedded in one: %v", err)
	}
	admitted("posts", "select=id,comments(id)&id=eq.1&comments.limit=5")
}

// TestStress_EmbedPagesAndCounts: pages go on behind the last row, whatever is embedded in it
// and whether its order is shown, and counts are of the list's own rows.
func TestStress_EmbedPagesAndCounts(t *testing.T) {
	blogs(t, blogRows, func(t *testing.T, b *blog) {
		read := func(raw string, count query.Count) (bodies, next string, total int64) {
			t.Helper()
			r := b.s.Resource("posts")
			q, err := r.Query(raw, query.Options{Count: count,
				Reads: func(string) error { return nil }})
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			_, err = r.SelectList(t.Context(), &resource.ListAsk{Query: q,
				Pack: func(p *resource.Page, of row.Format) (resource.Packed, error) {
					packed, err := packAll(p, of)
					bodies, next, total = string(packed.Body), p.Next, p.Total
					return packed, err
				}}, resource.Options{NoCache: true})
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			return bodies, next, total
		}
		const raw = "select=comments(id),tags(name)&order=title.desc&tags.order=name&limit=1"
		want := []string{`{"comments":[{"id":3}],"tags":[{"name":"blue"}]}`,
			`{"comments":[],"tags":[]}`,
			`{"comments":[{"id":1},{"id":2}],"tags":[{"name":"blue"},{"name":"red"}]}`}
		next := raw
		for i, w := range want {
			var body string
			body, next, _ = read(next, query.CountNone)
			if !strings.HasPrefix(body, w+"\n") || (next == "") != (i == 2) ||
				strings.Contains(next, "offset") {
				t.Errorf("page %d: %s, next %s; want %s", i, body, next, w)
			}
		}
		for raw, want := range map[string]int64{"select=id,comments(id)&limit=1": 3,
			"select=id,comments!inner(id)&comments.score=gt.0&limit=0":                   1,
			"select=id,users!author!inner(name)&users.name=in.(ann,bob)&id=gt.1&limit=5": 1} {
			if _, _, total := read(raw, query.CountExact); total != want {
				t.Errorf("%s: %d rows in all, want %d", raw, total, want)
			}
		}
	})
}
