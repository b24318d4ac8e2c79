package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// elsewhere is a schema with types whose operators are in none that is searched.
var elsewhere = []string{`CREATE SCHEMA extensions`, `CREATE EXTENSION citext SCHEMA extensions`,
	`CREATE EXTENSION isn SCHEMA extensions`, `CREATE EXTENSION ltree SCHEMA extensions`,
	`CREATE DOMAIN extensions.address AS extensions.citext`,
	`CREATE TYPE extensions.mood AS ENUM ('sad', 'happy')`,
	`CREATE TABLE accs (email extensions.citext PRIMARY KEY, nick extensions.citext,
		path extensions.ltree, book extensions.isbn13, mood extensions.mood)`,
	`CREATE TABLE posts (org int, author extensions.address REFERENCES accs, title text,
		PRIMARY KEY (org, author))`,
	`CREATE TABLE tags (tag extensions.citext PRIMARY KEY)`,
	`CREATE TABLE tagged (org int, author extensions.citext, tag extensions.citext REFERENCES tags,
		PRIMARY KEY (org, author, tag), FOREIGN KEY (org, author) REFERENCES posts)`,
	`CREATE TABLE books (isbn extensions.isbn13 PRIMARY KEY, path extensions.ltree UNIQUE)`,
	`INSERT INTO accs VALUES ('Ann@x.example', 'ann', 'a.b', '978-0-393-04002-9', 'sad'),
		('bob@x.example', NULL, 'a', NULL, 'happy'), ('Cid@x.example', 'CID', NULL, NULL, NULL)`,
	`INSERT INTO posts VALUES (1, 'ANN@x.example', 'one'), (2, 'ann@X.example', 'two'),
		(1, 'BOB@x.example', 'three')`,
	`INSERT INTO tags VALUES ('Go'), ('SQL')`,
	`INSERT INTO tagged VALUES (1, 'ann@x.example', 'GO'), (2, 'ANN@X.EXAMPLE', 'sql'),
		(1, 'bob@x.example', 'go')`,
	`INSERT INTO books VALUES ('978-0-393-04002-9', 'a.b')`,
}

// TestPostgres_OperatorsOutsideTheSearchPath asks the same with and without the types' schema
// in the search path.
func TestPostgres_OperatorsOutsideTheSearchPath(t *testing.T) {
	url := dbtest.Postgres(t)
	foreignExec(t, url, elsewhere)
	without := askElsewhere(t, openSource(t, url, Options{}))
	with := askElsewhere(t, openSource(t, url+"&search_path=public,extensions", Options{}))
	if d := cmp.Diff(with, without); d != "" {
		t.Error(d)
	}
	for what, want := range map[string]string{
		"key":      "[Ann@x.example]",
		"two":      "[1,ANN@x.example 1,BOB@x.example]",
		"filter":   "[Ann@x.example]",
		"ilike":    "[Ann@x.example bob@x.example Cid@x.example]",
		"after":    "[bob@x.example Cid@x.example]",
		"isbn":     "[978-0-393-04002-9]",
		"distinct": "[bob@x.example Cid@x.example]",
		"embed": `[{"email":"Ann@x.example","posts":[{"title":"one"},{"title":"two"}]}` +
			` {"email":"bob@x.example","posts":[{"title":"three"}]}`,
	} {
		if !strings.HasPrefix(without[what], want) {
			t.Errorf("%s: %s, want %s", what, without[what], want)
		}
	}
}

// askElsewhere returns answers about the rows of elsewhere.
func askElsewhere(t *testing.T, s *Source) map[string]string {
	t.Helper()
	said := make(map[string]string)
	plans := make(map[string]*plan)
	for _, name := range []string{"accs", "posts", "tags", "tagged", "books"} {
		plans[name] = mustCompile(t, s, &source.Spec{Name: name, Table: "public." + name})
	}
	keys := func(what, name string, asked ...row.Key) {
		var found []row.Key
		for _, l := range mustLoad(t, plans[name], asked...) {
			if l.Found() {
				found = append(found, l.Key)
			}
		}
		said[what] = fmt.Sprint(found)
	}
	keys("key", "accs", "aNN@x.example")
	keys("keys", "accs", "aNN@x.example", "BOB@x.example")
	keys("two", "posts", "1,ann@x.example", "1,bob@x.example", "3,bob@x.example")
	keys("one of two", "posts", "1,ann@x.example")
	keys("isbn", "books", "978-0-393-04002-9")
	options := query.Options{Relations: relationsElsewhere(plans),
		Reads: func(string) error { return nil }}
	for what, ask := range map[string]string{
		"filter":    "accs?email=eq.ANN@x.example",
		"neq":       "accs?email=neq.ANN@x.example&order=email.desc",
		"in":        "accs?email=in.(ANN@x.example,CID@X.example)",
		"like":      "accs?email=like.ANN*",
		"ilike":     "accs?email=ilike.*X.EXAMPLE",
		"likes":     "accs?email=like(any).{ANN*,Bob*}",
		"any":       "accs?email=eq(any).{ANN@x.example,BOB@x.example}",
		"all":       "accs?email=gte(all).{ANN@x.example,BOB@x.example}",
		"gt":        "accs?email=gt.BA&order=email.desc",
		"distinct":  "accs?nick=isdistinct.ANN",
		"same":      "accs?nick=not.isdistinct.ANN",
		"or":        "accs?or=(email.eq.ANN@x.example,nick.eq.cid)",
		"mood":      "accs?mood=eq.happy",
		"order":     "accs?order=nick.desc.nullslast,email",
		"domain":    "posts?author=eq.ann@x.example&order=author,org",
		"both":      "posts?org=eq.1&author=gte.ann@x.example",
		"embed":     "accs?select=email,posts(title)&posts.order=org",
		"up":        "posts?select=title,accs(email,nick)&order=org,author",
		"inner":     "accs?select=email,posts!inner(title)&posts.title=eq.two",
		"link":      "posts?select=title,tags(tag)",
		"linked":    "tags?select=tag,posts!inner(title)&posts.org=eq.1",
		"count":     "accs?email=gt.aNN@x.example&order=email",
		"reference": "posts?select=title,accs!inner(email)&accs.email=eq.ann@x.example",
	} {
		name, text, _ := strings.Cut(ask, "?")
		said[what] = selectElsewhere(t, plans[name], text, options)
	}
	after := row.Key("ANN@x.example")
	listed, err := plans["accs"].List(t.Context(), &after, 10)
	said["after"] = fmt.Sprint(keysOf(listed), err)
	after = "1,ann@x.example"
	listed, err = plans["posts"].List(t.Context(), &after, 10)
	said["after two"] = fmt.Sprint(keysOf(listed), err)
	whole := mustCompile(t, s, &source.Spec{Name: "whole", Table: "public.posts",
		Embeds: []source.Embed{{Name: "tagged", On: []string{"org", "author"},
			Spec: &source.Spec{Table: "public.tagged"}}}})
	said["whole"] = jsonOf(whole, mustLoad(t, whole, "1,Ann@x.example")[0])
	done, err := whole.Write(t.Context(), &source.Write{Op: source.OpReplace, Key: "1,ann@x.example",
		Input: input(t, whole, said["whole"])})
	said["written"] = fmt.Sprint(done != nil && jsonOf(whole, done.Loaded) == said["whole"], err)
	return said
}

// relationsElsewhere finds what may be embedded: along foreign keys.
func relationsElsewhere(plans map[string]*plan) func(*query.Table) []query.Relation {
	of := func(name string, one bool, from, to []string) query.Relation {
		return query.Relation{Name: name, Table: plans[name].Table(), One: one, From: from, To: to,
			Plan: plans[name]}
	}
	key := []string{"org", "author"}
	links := func(name string, from, linkFrom, linkTo, to []string) query.Relation {
		r := of(name, false, from, to)
		r.Link = &query.Link{Name: "tagged", Table: plans["tagged"].Table(), From: linkFrom,
			To: linkTo, Plan: plans["tagged"]}
		return r
	}
	return func(t *query.Table) []query.Relation {
		switch t {
		case plans["accs"].Table():
			return []query.Relation{of("posts", false, []string{"email"}, []string{"author"})}
		case plans["posts"].Table():
			return []query.Relation{of("accs", true, []string{"author"}, []string{"email"}),
				links("tags", key, key, []string{"tag"}, []string{"tag"})}
		case plans["tags"].Table():
			return []query.Relation{links("posts", []string{"tag"}, []string{"tag"}, key, key)}
		}
		return nil
	}
}

// selectElsewhere returns the answer to a query, with what follows its first row.
func selectElsewhere(t *testing.T, p *plan, text string, options query.Options) string {
	t.Helper()
	q, err := query.Parse(text, p.Table(), options)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	found, err := p.Select(t.Context(), q)
	if err != nil {
		return err.Error()
	}
	var rows []string
	for _, l := range found.Rows {
		if q.Select == nil {
			rows = append(rows, string(l.Key))
		} else {
			rows = append(rows, string(found.Shape.AppendJSON(nil, l.Values)))
		}
	}
	said := "[" + strings.Join(rows, " ") + "]"
	if len(rows) > 1 && q.Limit > 1 {
		q.Limit = 1
		first, err := p.Select(t.Context(), q)
		if err != nil {
			return err.Error()
		}
		q.Limit, q.After = 10, first.Last
		rest, err := p.Select(t.Context(), q)
		if err != nil {
			return err.Error()
		}
		said += fmt.Sprint(" then ", len(rest.Rows))
		if len(rest.Rows) != len(rows)-1 {
			t.Errorf("%s: %d rows, %d after the first", text, len(rows), len(rest.Rows))
		}
	}
	return said
}

// keysOf returns the keys of documents.
func keysOf(list []source.Loaded) []row.Key {
	var keys []row.Key
	for _, l := range list {
		keys = append(keys, l.Key)
	}
	return keys
}
