package lists

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
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

// blogTables are tables whose foreign keys lead to many, to one, through a table, in two
// ways, and to the table itself. The names of constraints are those of every database.
var blogTables = []string{
	`CREATE TABLE users (id int PRIMARY KEY, name varchar(20), boss int,
		CONSTRAINT users_boss FOREIGN KEY (boss) REFERENCES users (id))`,
	`CREATE TABLE posts (id int PRIMARY KEY, title varchar(20), author int, editor int,
		CONSTRAINT posts_author FOREIGN KEY (author) REFERENCES users (id),
		CONSTRAINT posts_editor FOREIGN KEY (editor) REFERENCES users (id))`,
	`CREATE TABLE comments (id int PRIMARY KEY, post int, author int, body varchar(20), score int,
		CONSTRAINT comments_post FOREIGN KEY (post) REFERENCES posts (id),
		CONSTRAINT comments_author FOREIGN KEY (author) REFERENCES users (id))`,
	`CREATE TABLE tags (id int PRIMARY KEY, name varchar(20))`,
	`CREATE TABLE tagged (post int, tag int, PRIMARY KEY (post, tag),
		CONSTRAINT tagged_post FOREIGN KEY (post) REFERENCES posts (id),
		CONSTRAINT tagged_tag FOREIGN KEY (tag) REFERENCES tags (id))`,
	`CREATE TABLE details (post int PRIMARY KEY, note varchar(20),
		CONSTRAINT details_post FOREIGN KEY (post) REFERENCES posts (id))`,
}

var blogRows = []string{
	`INSERT INTO users VALUES (1, 'ann', NULL), (2, 'bob', 1), (3, 'cid', 1)`,
	`INSERT INTO posts VALUES (1, 'one', 1, 2), (2, 'two', 2, NULL), (3, 'three', NULL, NULL)`,
	`INSERT INTO comments VALUES (1, 1, 2, 'x', 5), (2, 1, 3, 'y', 7), (3, 2, 1, 'z', NULL),
		(4, NULL, 1, 'w', 1)`,
	`INSERT INTO tags VALUES (1, 'red'), (2, 'blue'), (3, 'none')`,
	`INSERT INTO tagged VALUES (1, 1), (1, 2), (2, 2)`,
	`INSERT INTO details VALUES (1, 'first')`,
}

// A blog is these tables served over one database.
type blog struct {
	*lemma
	exec    func(statements ...string) // in one transaction
	unnamed bool                       // constraints have no names
	kill    func()                     // the feed's connection; nil: there is none
}

// blogs runs a test over each database, with rows and whatever tables are made with them.
func blogs(t *testing.T, rows []string, fn func(*testing.T, *blog)) {
	blogsOf(t, rows, testbed.Plan{}, fn)
}

// blogsOf is blogs with what else is served, and how.
func blogsOf(t *testing.T, rows []string, p testbed.Plan, fn func(*testing.T, *blog)) {
	begin := func(t *testing.T, b *blog, src source.Source, mode source.FeedMode) {
		p, specs := p, slices.Clone(p.Specs)
		for _, name := range []string{"users", "posts", "comments", "tags", "tagged", "details"} {
			specs = append(specs, testbed.Spec(name))
		}
		for _, statement := range rows {
			if words := strings.Fields(statement); words[0] == "CREATE" {
				specs = append(specs, testbed.Spec(words[2]))
			}
		}
		p.Specs, p.Mode = specs, mode
		b.s = testbed.Over(t, src, p)
		fn(t, b)
	}
	tables := append(append([]string(nil), blogTables...), rows...)
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := dbtest.Postgres(t)
		conn := testbed.Dial(t, url)
		b := &blog{lemma: newLemma(t, nil)}
		b.exec = func(statements ...string) { testbed.MustExec(t, conn, strings.Join(statements, "; ")) }
		b.kill = func() { killSenders(t, conn) }
		b.exec(tables...)
		b.exec("CREATE INDEX ON comments (post)", "CREATE INDEX ON comments (author)",
			"CREATE INDEX ON posts (author)")
		begin(t, b, testbed.OpenPostgres(t, url), source.FeedLogical)
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		url := dbtest.MariaDB(t)
		conn := testbed.DialMariaDB(t, url)
		b := &blog{lemma: newLemma(t, nil), kill: func() { killDump(conn) }}
		b.exec = func(statements ...string) {
			for _, s := range dbtest.SQLs(append(append([]string{"BEGIN"}, statements...), "COMMIT")...) {
				if _, err := conn.ExecContext(context.Background(), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}
		b.exec(tables...)
		begin(t, b, testbed.OpenMariaDB(t, url), source.FeedBinlog)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		src := testbed.OpenSQLite(t, filepath.Join(t.TempDir(), "blog.db"), sqlite.Options{Own: true})
		b := &blog{lemma: newLemma(t, nil), unnamed: true}
		b.exec = func(statements ...string) {
			if err := src.Exec(t.Context(), statements...); err != nil {
				t.Fatalf("%q: %v", statements, err)
			}
		}
		for _, statement := range tables {
			b.exec(strings.ReplaceAll(statement, "/*NOCASE*/", "COLLATE NOCASE"))
		}
		begin(t, b, src, source.FeedAuto)
	})
}

// query reads a query of a resource.
func (b *blog) query(t *testing.T, resourceName, raw string) (*query.Query, error) {
	t.Helper()
	return b.s.Resource(resourceName).Query(raw, query.Options{
		Reads: func(string) error { return nil }})
}

// answer returns the documents that a query finds.
func (b *blog) answer(t *testing.T, resourceName, raw string) (string, error) {
	t.Helper()
	q, err := b.query(t, resourceName, raw)
	if err != nil {
		return "", err
	}
	again, err := b.query(t, resourceName, q.String())
	if err != nil || again.String() != q.String() {
		t.Errorf("%s is %s, and that %v %v", raw, q, again, err)
	}
	a, err := b.s.Resource(resourceName).SelectList(t.Context(),
		&resource.ListAsk{Query: q, Pack: packAll}, resource.Options{NoCache: true})
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(a.Doc.Body()), "\n")
	return strings.Join(lines[:len(lines)-1], "\n"), nil
}

func TestStress_EmbedsByForeignKeys(t *testing.T) {
	blogs(t, blogRows, func(t *testing.T, b *blog) {
		for _, tt := range []struct{ of, raw, want string }{
			{"posts", "select=title,writer:users!author(name)&id=eq.1",
				`{"title":"one","writer":{"name":"ann"}}`},
			{"posts", "select=id,writer:users!posts_author(name)&order=id.desc",
				`{"id":3,"writer":null}
{"id":2,"writer":{"name":"bob"}}
{"id":1,"writer":{"name":"ann"}}`},
			{"posts", "select=id,comments(id,body)", `{"id":1,"comments":[{"id":1,"body":"x"},{"id":2,"body":"y"}]}
{"id":2,"comments":[{"id":3,"body":"z"}]}
{"id":3,"comments":[]}`},
			{"posts", "select=title,comments(body,by:users(name,boss:users!boss(name)))&id=eq.1",
				`{"title":"one","comments":[{"body":"x","by":{"name":"bob","boss":{"name":"ann"}}},` +
					`{"body":"y","by":{"name":"cid","boss":{"name":"ann"}}}]}`},
			{"comments", "select=id,posts(title,writer:users!author(name),comments(id))&id=lte.2",
				`{"id":1,"posts":{"title":"one","writer":{"name":"ann"},"comments":[{"id":1},{"id":2}]}}
{"id":2,"posts":{"title":"one","writer":{"name":"ann"},"comments":[{"id":1},{"id":2}]}}`},
			{"comments", "select=id,posts(title)&id=eq.4", `{"id":4,"posts":null}`},
			{"users", "select=name,staff:users!id(name)&id=eq.1",
				`{"name":"ann","staff":[{"name":"bob"},{"name":"cid"}]}`},
			{"users", "select=name,written:posts!author(id),edited:posts!editor(id)&id=eq.2",
				`{"name":"bob","written":[{"id":2}],"edited":[{"id":1}]}`},
			{"posts", "select=id,tags(name)", `{"id":1,"tags":[{"name":"red"},{"name":"blue"}]}
{"id":2,"tags":[{"name":"blue"}]}
{"id":3,"tags":[]}`},
			{"tags", "select=name,posts(id)&id=gte.2", `{"name":"blue","posts":[{"id":1},{"id":2}]}
{"name":"none","posts":[]}`},
			{"posts", "select=id,details(note)&id=lte.2",
				`{"id":1,"details":{"note":"first"}}
{"id":2,"details":null}`},
			{"details", "select=*,posts(*)",
				`{"post":1,"note":"first","posts":{"id":1,"title":"one","author":1,"editor":2}}`},
			// Members of one row among those of another.
			{"comments", "select=id,...posts(title,...users!author(writer:name))&order=id.desc&limit=3",
				`{"id":4,"title":null,"writer":null}
{"id":3,"title":"two","writer":"bob"}
{"id":2,"title":"one","writer":"ann"}`},
			{"posts", "select=id,comments(id,...users(name))&comments.order=id.desc&id=eq.1",
				`{"id":1,"comments":[{"id":2,"name":"cid"},{"id":1,"name":"bob"}]}`},
			{"posts", "select=...users!author!inner(name),id&users.name=eq.bob", `{"name":"bob","id":2}`},
			{"posts", "select=id,...users!author(writer:name),...users!editor(second:name)",
				`{"id":1,"writer":"ann","second":"bob"}
{"id":2,"writer":"bob","second":null}
{"id":3,"writer":null,"second":null}`},
			{"comments", "select=id,...posts(...users!author(w:name),...users!editor(e:name))&id=eq.1",
				`{"id":1,"w":"ann","e":"bob"}`},
			// Filters, order and limit of what is embedded.
			{"posts", "select=id,comments(id)&comments.score=gt.5", `{"id":1,"comments":[{"id":2}]}
{"id":2,"comments":[]}
{"id":3,"comments":[]}`},
			{"posts", "select=id,c:comments(id)&c.order=id.desc&c.limit=1&id=eq.1",
				`{"id":1,"c":[{"id":2}]}`},
			{"posts", "select=id,c:comments(id)&c.or=(score.eq.5,body.eq.z)&c.limit=2&id=lte.2",
				`{"id":1,"c":[{"id":1}]}
{"id":2,"c":[{"id":3}]}`},
			{"posts", "select=id,comments(id,by:users(name))&comments.by.name=neq.bob&id=eq.1",
				`{"id":1,"comments":[{"id":1,"by":null},{"id":2,"by":{"name":"cid"}}]}`},
			{"posts", "select=id,tags(name)&tags.order=name&tags.limit=1", `{"id":1,"tags":[{"name":"blue"}]}
{"id":2,"tags":[{"name":"blue"}]}
{"id":3,"tags":[]}`},
			{"posts", "select=id,comments(id)&comments.limit=0&id=eq.1", `{"id":1,"comments":[]}`},
			// Rows that must be there.
			{"posts", "select=id,comments!inner(id)", `{"id":1,"comments":[{"id":1},{"id":2}]}
{"id":2,"comments":[{"id":3}]}`},
			{"posts", "select=id,u:users!author!inner(name)&u.name=eq.ann",
				`{"id":1,"u":{"name":"ann"}}`},
			{"posts", "select=id,comments!inner(id,users!inner(name))&comments.users.name=eq.cid",
				`{"id":1,"comments":[{"id":2,"users":{"name":"cid"}}]}`},
			{"posts", "select=id,tags!inner(name)&tags.name=eq.red&id=gt.0",
				`{"id":1,"tags":[{"name":"red"}]}`},
		} {
			if b.unnamed {
				tt.raw = strings.ReplaceAll(tt.raw, "!posts_author", "!author")
			}
			got, err := b.answer(t, tt.of, tt.raw)
			if err != nil || got != tt.want {
				t.Errorf("%s?%s:\n%s %v\nwant\n%s", tt.of, tt.raw, got, err, tt.want)
			}
		}
	})
}

func TestStress_EmbedErrorsSayWhatThereIs(t *testing.T) {
	blogs(t, blogRows, func(t *testing.T, b *blog) {
		for _, tt := range []struct{ of, raw, code, says string }{
			{"posts", "select=id,users(name)", query.CodeAmbiguous, "users!author, users!editor"},
			{"users", "select=id,users(name)", query.CodeAmbiguous, "users!boss, users!id"},
			{"posts", "select=id,nothing(name)", query.CodeUnrelated,
				"related are users, comments, tags, tagged, details"},
			{"tags", "select=id,users(name)", query.CodeUnrelated, "related are posts, tagged"},
			{"posts", "select=id,users!nope(name)", query.CodeUnrelated, "by nope"},
			{"posts", "select=id,comments(nope)", query.CodeColumn, "nope"},
			{"posts", "select=id,comments()", query.CodeSyntax, "comments(*)"},
			{"posts", "select=id,comments(id", query.CodeSyntax, ") is missing"},
			{"posts", "select=id,comments(id))", query.CodeSyntax, "unexpected"},
			{"posts", "select=id,id(id)", query.CodeUnrelated, "related"},
			{"posts", "select=comments(id),comments(body)", query.CodeSyntax, "twice"},
			{"posts", "select=id,...comments(body)", query.CodeSyntax, "spread of many"},
			{"posts", "select=id&comments.id=eq.1", query.CodeSyntax, "nothing called"},
			{"posts", "select=id,comments(id)&comments.offset=1", query.CodeSyntax, "not offered"},
			{"posts", "select=id,comments(id)&comments.nope=eq.1", query.CodeColumn, "nope"},
			{"posts", "select=id,details(note)&details.limit=1", query.CodeSyntax, "one row"},
			{"posts", "select=id,comments(id)&comments.limit=10001", query.CodeSyntax, "10000"},
			{"posts", "select=id,comments(id)&order=comments(id)", query.CodeSyntax, "comments are many"},
			{"posts", "select=comments(posts(comments(posts(id))))", query.CodeSyntax, "3 deep"},
		} {
			_, err := b.answer(t, tt.of, tt.raw)
			var e *query.Error
			if !errors.As(err, &e) || e.Code != tt.code ||
				!strings.Contains(e.Message+" "+e.Detail+" "+e.Hint, tt.says) {
				t.Errorf("%s?%s: %v %+v, want %s %q", tt.of, tt.raw, err, e, tt.code, tt.says)
			}
		}
	})
}

// embedAsks are questions that embed, of all kinds.
var embedAsks = []struct{ of, raw string }{
	{"posts", "select=title,writer:users!author(name)"},
	{"posts", "select=title,writer:users!author(name)&author=eq.2"},
	{"posts", "select=id,comments(id,body,users(name))&id=eq.3"},
	{"posts", "select=id,comments(id,body)&author=eq.1&order=id.desc&limit=2"},
	{"posts", "select=id,comments(id,score)&comments.score=gt.3&comments.order=score.desc,id&comments.limit=2"},
	{"posts", "select=id,tags(name)&tags.order=name"},
	{"posts", "select=id,tags!inner(name)&tags.name=eq.a&id=gt.0"},
	{"posts", "select=id,tags(id)&tags.name=eq.b&tags.order=id.desc&tags.limit=1&id=in.(1,2,3)"},
	{"comments", "select=id,posts(id,tags(name),comments(id))&post=eq.2"},
	{"posts", "select=id,comments!inner(id)&comments.score=eq.4&limit=3"},
	{"tags", "select=name,posts(title,users!author(name))"},
	{"users", "select=name,staff:users!id(name),boss:users!boss(name)&id=lte.6"},
	{"users", "select=name,posts!editor(title,tags(id))&id=eq.2"},
	{"comments", "select=id,posts(title,details(note))&author=eq.1"},
	{"comments", "select=body,users(name)&post=in.(1,2)&order=id.desc&limit=4"},
	{"details", "select=note,posts(title,comments(body))&post=eq.1"},
	{"comments", "select=id,...posts(title,...users!author(name))&id=lte.9"},
}

// change returns statements that change some rows and break no foreign key.
func (b *blog) change() string {
	n := func(most int) int { return 1 + b.rng.IntN(most) }
	ref := func(most int) string {
		if b.rng.IntN(5) == 0 {
			return "NULL"
		}
		return fmt.Sprint(n(most))
	}
	word := func() string { return "'" + string(rune('a'+b.rng.IntN(4))) + "'" }
	switch b.rng.IntN(13) {
	case 12:
		post, tag, other := n(8), n(4), n(8)
		return fmt.Sprintf("DELETE FROM tagged WHERE post = %d AND tag = %d; "+
			"UPDATE tagged SET post = %d WHERE post = %d AND tag = %d", other, tag, other, post, tag)
	case 0:
		return fmt.Sprintf("UPDATE users SET name = %s WHERE id = %d", word(), n(8))
	case 1:
		return fmt.Sprintf("UPDATE users SET boss = %s WHERE id = %d", ref(8), n(8))
	case 2:
		return fmt.Sprintf("UPDATE posts SET author = %s WHERE id = %d", ref(8), n(8))
	case 3:
		return fmt.Sprintf("UPDATE posts SET editor = %s, title = %s WHERE id = %d", ref(8), word(), n(8))
	case 4:
		return fmt.Sprintf("UPDATE comments SET post = %s WHERE id = %d", ref(8), n(b.next))
	case 5:
		return fmt.Sprintf("UPDATE comments SET score = %d, body = %s WHERE id = %d", n(9), word(), n(b.next))
	case 6, 7:
		b.next++
		return fmt.Sprintf("INSERT INTO comments VALUES (%d, %s, %s, %s, %d)", b.next, ref(8), ref(8), word(), n(9))
	case 8:
		return fmt.Sprintf("DELETE FROM comments WHERE id = %d", n(b.next))
	case 9:
		return fmt.Sprintf("UPDATE tags SET name = %s WHERE id = %d", word(), n(4))
	case 10:
		post, tag := n(8), n(4)
		return fmt.Sprintf("DELETE FROM tagged WHERE post = %d AND tag = %d; "+
			"INSERT INTO tagged VALUES (%d, %d)", post, tag, post, tag)
	}
	return fmt.Sprintf("DELETE FROM tagged WHERE post = %d; UPDATE details SET note = %s WHERE post = %d",
		n(8), word(), n(8))
}

// changingRows returns the rows that change is for: 8 users, posts and details, 20 comments,
// 4 tags.
func changingRows() []string {
	rng := rand.New(rand.NewPCG(1, 2))
	var rows []string
	for i := 1; i <= 8; i++ {
		rows = append(rows, fmt.Sprintf("INSERT INTO users VALUES (%d, 'a', NULL)", i),
			fmt.Sprintf("INSERT INTO posts VALUES (%d, 'p', %d, %d)", i, 1+rng.IntN(i), 1+rng.IntN(i)),
			fmt.Sprintf("INSERT INTO details VALUES (%d, 'n')", i))
	}
	for i := 1; i <= 20; i++ {
		rows = append(rows, fmt.Sprintf("INSERT INTO comments VALUES (%d, %d, %d, 'c', %d)", i,
			1+rng.IntN(8), 1+rng.IntN(8), i%9))
	}
	for i := 1; i <= 4; i++ {
		rows = append(rows, fmt.Sprintf("INSERT INTO tags VALUES (%d, 'a')", i),
			fmt.Sprintf("INSERT INTO tagged VALUES (%d, %d)", i, i))
	}
	return rows
}

// TestStress_LemmaOfEmbeds: no list that memory answers with, in which rows of other tables
// are embedded, is other than the database's, whichever of these tables was written to.
func TestStress_LemmaOfEmbeds(t *testing.T) {
	blogs(t, changingRows(), func(t *testing.T, b *blog) {
		b.next = 20
		b.unmoved(t)
	})
}

// unmoved changes rows and compares lists until the time is over.
func (b *blog) unmoved(t *testing.T) {
	asks := b.embedQueries(t)
	ask := func(i int, o resource.Options) resource.ListAnswer {
		b.name = embedAsks[i].of
		return b.ask(asks[i], o)
	}
	kept, changed := 0, make([]int, len(asks))
	for end, rounds := time.Now().Add(testbed.Length(time.Second)), 0; rounds < 20 ||
		time.Now().Before(end); rounds++ {
		before := make([][]byte, len(asks))
		for i := range asks {
			for range 3 {
				before[i] = ask(i, resource.Options{}).Doc.Body()
			}
		}
		var statements []string
		for more := true; more; more = b.rng.IntN(3) == 0 {
			statements = append(statements, strings.Split(b.change(), "; ")...)
		}
		b.exec(statements...)
		b.s.Quiet()
		for i := range asks {
			a := ask(i, resource.Options{})
			is := ask(i, resource.Options{NoCache: true}).Doc.Body()
			switch {
			case !bytes.Equal(a.Doc.Body(), is):
				t.Fatalf("%s?%s is stale after %q:\n%s\nnow\n%s", embedAsks[i].of, asks[i], statements,
					a.Doc.Body(), is)
			case a.Origin == resource.HitMemory:
				kept++
			}
			if !bytes.Equal(before[i], is) {
				changed[i]++
			}
		}
	}
	testbed.Figures(t, "%d lists were answered from memory after changes; changed were %v", kept, changed)
	if kept == 0 {
		t.Error("nothing was kept")
	}
}

// TestStress_EmbedsFollowDefinitions: a kept list, found by the bytes of its question, has the
// columns that an embedded table has now.
func TestStress_EmbedsFollowDefinitions(t *testing.T) {
	blogs(t, blogRows, func(t *testing.T, b *blog) {
		const raw = "select=id,users!author(*)&id=eq.1"
		ask := func() (body string, kept bool) {
			r := b.s.Resource("posts")
			var s resource.Snapshot
			defer s.End()
			if doc, _ := r.LookupList(raw, 0, &s); doc != nil {
				return string(doc.Body()), true
			}
			q, err := b.query(t, "posts", raw)
			if err != nil {
				t.Fatal(err)
			}
			a, err := r.SelectList(t.Context(), &resource.ListAsk{Query: q, Pack: packAll, Raw: raw,
				Alone: true}, resource.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return string(a.Doc.Body()), a.Origin == resource.HitMemory
		}
		keep := func() {
			waittest.Until(t, "the list is kept", func() bool { _, kept := ask(); return kept })
		}
		keep()
		b.exec("ALTER TABLE users ADD COLUMN age int DEFAULT 44")
		waittest.Until(t, "the new column is there", func() bool {
			body, _ := ask()
			return strings.Contains(body, `"age":44`)
		})
		keep()
		if body, _ := ask(); !strings.Contains(body, `"age":44`) {
			t.Errorf("%s", body)
		}
		if err := b.s.Resource("users").Invalidate(nil); err != nil {
			t.Fatal(err)
		}
		if body, kept := ask(); kept {
			t.Errorf("after all of users was invalidated memory still has %s", body)
		}
		b.exec("ALTER TABLE users DROP COLUMN age")
		waittest.Until(t, "the column is gone", func() bool {
			body, _ := ask()
			return !strings.Contains(body, `"age"`)
		})
	})
}
