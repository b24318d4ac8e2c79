package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// TestPostgres_PartialIndexes: the guard admits a list by an index of some rows where the
// planner uses it in a plan that is for all values, and only there.
func TestPostgres_PartialIndexes(t *testing.T) {
	s := newSource(t, `CREATE TABLE toot (id int PRIMARY KEY, reply int, author int NOT NULL, lang varchar,
		gone timestamptz, draft boolean NOT NULL, pinned boolean, "Odd one" int)`,
		`INSERT INTO toot SELECT i, i % 3000, i % 500, 'l' || i % 9, NULL, i % 50 = 0, i % 50 = 0, i
			FROM generate_series(1, 20000) i`, "ANALYZE toot")
	p := mustCompile(t, s, &source.Spec{Table: "toot"})
	for _, c := range []struct {
		on, where string
		admitted  []string
		refused   []string
	}{
		{"reply", "reply IS NOT NULL",
			[]string{"reply=eq.7", "reply=in.(7,8)", "reply=gt.2990&order=reply",
				"reply=not.is.null&order=reply&limit=5", "or=(reply.eq.7,reply.eq.9)"},
			[]string{"order=reply", "reply=is.null"}},
		{"author, id", "gone IS NULL",
			[]string{"author=eq.3&gone=is.null&order=id.desc&limit=20"},
			[]string{"author=eq.3&order=id.desc", "author=eq.3&gone=not.is.null"}},
		{"author", `NOT draft AND gone IS NULL AND "Odd one" IS NOT NULL`,
			[]string{"author=eq.3&draft=is.false&gone=is.null&Odd+one=gt.5"},
			[]string{"author=eq.3&draft=is.false&gone=is.null",
				"author=eq.3&draft=eq.false&gone=is.null&Odd+one=gt.5"}},
		{"author", "pinned", []string{"author=eq.50&pinned=is.true"},
			[]string{"author=eq.50&pinned=eq.true", "author=eq.50&pinned=not.is.false"}},
		{"author", "pinned = true", []string{"author=eq.50&pinned=is.true"},
			[]string{"author=eq.50&pinned=is.false"}},
		{"author", "pinned = false", []string{"author=eq.3&pinned=is.false"}, nil},
		{"id", "pinned", []string{"pinned=is.true&order=id.desc&limit=10"},
			[]string{"pinned=is.false&order=id.desc&limit=10"}},
		// With a parameter only a plan for one value is known to be within these.
		{"author", "lang = 'l1'", nil, []string{"author=eq.3&lang=eq.l1"}},
		{"author", `"Odd one" = 5`, nil, []string{"author=eq.3&Odd+one=eq.5"}},
		{"author", "reply IS NOT NULL OR gone IS NULL", nil, []string{"author=eq.3&reply=eq.7&gone=is.null"}},
		{"author", "pinned IS NOT TRUE", nil, []string{"author=eq.3&pinned=is.false"}},
		{"(reply + 0)", "reply IS NOT NULL", nil, []string{"reply=eq.7"}},
	} {
		mustExec(t, s, fmt.Sprintf("CREATE INDEX part ON toot (%s) WHERE %s", c.on, c.where))
		if err := p.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, raw := range c.admitted {
			if plan, err := listPlan(t, p, raw); err != nil || !strings.Contains(plan, "part") {
				t.Errorf("WHERE %s: %s: %v\n%s", c.where, raw, err, plan)
			}
		}
		for _, raw := range c.refused {
			_, err := listPlan(t, p, raw)
			var refused *query.Error
			if !errors.As(err, &refused) || refused.Code != query.CodeUnindexed {
				t.Fatalf("WHERE %s: %s: %v, want that it is refused", c.where, raw, err)
			}
			if says := "an index on an expression of reply does not"; strings.HasPrefix(c.on, "(") &&
				!strings.Contains(refused.Message, says) {
				t.Errorf("WHERE %s: %s: %s, want %s", c.where, raw, refused.Message, says)
			}
		}
		mustExec(t, s, "DROP INDEX part")
	}
}

// TestPostgres_HintsNameNoIndex: the name that an index of these columns would have may be that
// of one which has other rows.
func TestPostgres_HintsNameNoIndex(t *testing.T) {
	s := newSource(t, "CREATE TABLE toot (id int PRIMARY KEY, reply int)",
		"INSERT INTO toot SELECT i, i FROM generate_series(1, 20000) i",
		"CREATE INDEX toot_reply_idx ON toot (reply) WHERE reply > 5")
	p := mustCompile(t, s, &source.Spec{Table: "toot"})
	_, err := listPlan(t, p, "reply=eq.7")
	var refused *query.Error
	if !errors.As(err, &refused) || !strings.Contains(refused.Message, "only some of the rows") {
		t.Fatalf("%v, want that it is refused", err)
	}
	mustExec(t, s, refused.Hint, "ANALYZE toot")
	if err := p.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err = listPlan(t, p, "reply=eq.7"); err != nil {
		t.Errorf("with %s: %v", refused.Hint, err)
	}
}

// listPlan returns how the server finds the rows of a list, whatever its values are.
func listPlan(t *testing.T, p *plan, raw string) (text string, err error) {
	t.Helper()
	q, err := query.Parse(raw, p.Table(), query.Options{})
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
	err = p.src.read(t.Context(), func(ctx context.Context, conn *pgx.Conn) error {
		for _, sql := range []string{"SET plan_cache_mode = force_generic_plan",
			"PREPARE listed AS " + selection.SQL} {
			if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		execute := "EXPLAIN EXECUTE listed"
		if n := len(selection.Args); n > 0 {
			execute += "(NULL" + strings.Repeat(", NULL", n-1) + ")"
		}
		rows, err := conn.Query(ctx, execute, pgx.QueryExecModeExec)
		if err != nil {
			return err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		text = strings.Join(lines, "\n")
		_, undo := conn.Exec(ctx, "DEALLOCATE listed; RESET plan_cache_mode", pgx.QueryExecModeSimpleProtocol)
		return errors.Join(err, undo)
	})
	if err != nil {
		t.Fatal(err)
	}
	return text, nil
}
