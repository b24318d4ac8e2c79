package sqlite

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	lists "github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// TestSQLite_PartialIndexes: the guard admits a list by an index of some rows where the
// planner uses it, and only there.
func TestSQLite_PartialIndexes(t *testing.T) {
	path, c := newFile(t, "wal", `CREATE TABLE toot (id integer PRIMARY KEY, reply int, author int NOT NULL,
			lang text, name text COLLATE NOCASE, gone datetime, draft boolean NOT NULL, "Odd one" int)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
			INSERT INTO toot SELECT i, i % 3000, i % 500, 'l' || i % 9, 'n' || i % 9, NULL, i % 50 = 0, i FROM n`)
	s := openTest(t, path, Options{})
	p := compile(t, s, &source.Spec{Table: "toot"}).(*plan)
	for _, x := range []struct {
		on, where string
		admitted  []string
		refused   []string
	}{
		{"reply", "Reply IS NOT NULL",
			[]string{"reply=eq.7", "reply=in.(7,8)", "reply=gt.2990&order=reply",
				"reply=not.is.null&order=reply&limit=5", "or=(reply.eq.7,reply.eq.9)"},
			[]string{"order=reply", "reply=is.null"}},
		{"author, id", "gone is\n null",
			[]string{"author=eq.3&gone=is.null&order=id.desc&limit=20"},
			[]string{"author=eq.3&order=id.desc", "author=eq.3&gone=not.is.null"}},
		{"author", `(gone IS NULL) and ("Odd one" is not null)`,
			[]string{"author=eq.3&gone=is.null&Odd+one=gt.5"}, []string{"author=eq.3&gone=is.null"}},
		{"author", "draft = 1", []string{"author=eq.50&draft=eq.true"},
			[]string{"author=eq.50&draft=is.true", "author=eq.50&draft=eq.false"}},
		{"author", "draft=0 AND lang = 'l3'", []string{"author=eq.3&draft=eq.false&lang=eq.l3"},
			[]string{"author=eq.3&draft=eq.false&lang=eq.l4", "author=eq.3&draft=eq.false&lang=in.(l3,l4)"}},
		{"author", `"Odd one" = -5`, []string{"author=eq.3&Odd+one=eq.-5"},
			[]string{"author=eq.3&Odd+one=eq.5"}},
		{"author", "name = 'n3'", []string{"author=eq.3&name=eq.n3"},
			[]string{"author=eq.3&name=eq.N3"}},
		{"author", "draft", nil, []string{"author=eq.50&draft=is.true", "author=eq.50&draft=eq.true"}},
		{"author", "NOT draft", nil, []string{"author=eq.3&draft=is.false"}},
		{"author", `"Odd one" = '5'`, nil, []string{"author=eq.3&Odd+one=eq.5"}},
		{"author", "lang = 'it''s'", nil, []string{"author=eq.3&lang=eq.it's"}},
		{"author", "reply > 5", nil, []string{"author=eq.3&reply=gt.5"}},
		{"author", "reply = 7 AND -- ) WHERE reply = 7 AND\n gone IS NULL", nil, []string{"author=eq.3&gone=is.null"}},
		{"author", "reply = 7 /* ) WHERE gone IS NULL */", nil, []string{"author=eq.3&gone=is.null"}},
		{"author", "lang = ') WHERE gone IS NULL AND '", nil, []string{"author=eq.3&gone=is.null"}},
		{"(reply + 0)", "reply IS NOT NULL", nil, []string{"reply=eq.7"}},
	} {
		run(t, c, fmt.Sprintf("CREATE INDEX part ON toot (%s) WHERE %s", x.on, x.where))
		if err := p.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, raw := range x.admitted {
			if steps, err := listSteps(t, p, raw); err != nil || !strings.Contains(steps, "INDEX part") {
				t.Errorf("WHERE %s: %s: %v\n%s", x.where, raw, err, steps)
			}
		}
		for _, raw := range x.refused {
			_, err := listSteps(t, p, raw)
			var refused *lists.Error
			if !errors.As(err, &refused) || refused.Code != lists.CodeUnindexed {
				t.Fatalf("WHERE %s: %s: %v, want that it is refused", x.where, raw, err)
			}
			if says := "an index on an expression of reply does not"; strings.HasPrefix(x.on, "(") &&
				!strings.Contains(refused.Message, says) {
				t.Errorf("WHERE %s: %s: %s, want %s", x.where, raw, refused.Message, says)
			}
		}
		run(t, c, "DROP INDEX part")
	}
}

// listSteps returns how SQLite finds the rows of a list, with the values bound as ever.
func listSteps(t *testing.T, p *plan, raw string) (steps string, err error) {
	t.Helper()
	q, err := lists.Parse(raw, p.Table(), lists.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Select(t.Context(), q); err != nil {
		return "", err
	}
	selection, err := p.Selection(q)
	if err != nil {
		t.Fatal(err)
	}
	err = p.s.readPool().use(t.Context(), func(c *conn) error {
		// What is only explained is by the indexes that the connection knows of.
		if err := c.query(t.Context(), selection.SQL, selection.Args, func([]any) error { return nil }); err != nil {
			return err
		}
		return c.query(t.Context(), "EXPLAIN QUERY PLAN "+selection.SQL, selection.Args, func(v []any) error {
			steps += fmt.Sprintln(v[3])
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return steps, nil
}
