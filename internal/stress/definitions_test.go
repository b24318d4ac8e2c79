package stress

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
	"github.com/hotrow/hotrow/internal/waittest"
)

// definitionBound is how old an answer may be that is not flagged.
const definitionBound = 250 * time.Millisecond

// A redefinition is a statement that PostgreSQL puts into no change stream, and what a
// document is after it.
type redefinition struct {
	name  string
	spec  resource.Spec
	setup string
	do    string
	want  string // in the document; "": there is none any more
	only  source.FeedMode
}

// ofQuery returns a resource of a query over a table.
func ofQuery(name, query, table string) resource.Spec {
	return resource.Spec{
		Source: "main", Access: resource.Access{Read: "public"},
		Table: &source.Spec{Name: name, Query: query, Key: []string{"id"},
			Depends: []source.Dep{{Table: table}}},
	}
}

// partitioned is a table whose rows 1 and 11 are in partitions of their own.
func partitioned(name string) string {
	return strings.ReplaceAll(`CREATE TABLE X (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
		CREATE TABLE X_1 PARTITION OF X FOR VALUES FROM (0) TO (10);
		CREATE TABLE X_2 PARTITION OF X FOR VALUES FROM (10) TO (20);
		INSERT INTO X VALUES (1, 'old'), (11, 'old')`, "X", name)
}

// plain is a table with one row.
func plain(name string) string {
	return "CREATE TABLE " + name + " (id int PRIMARY KEY, v text); INSERT INTO " + name +
		" VALUES (1, 'old')"
}

func redefinitions() []redefinition {
	return append([]redefinition{
		{name: "value of an enum", spec: testbed.Spec("moods"), want: "glad",
			setup: "CREATE TYPE mood AS ENUM ('old'); CREATE TABLE moods (id int PRIMARY KEY, m mood[]);" +
				" INSERT INTO moods VALUES (1, '{old}')",
			do: "ALTER TYPE mood RENAME VALUE 'old' TO 'glad'"},
		{name: "attribute of a composite", spec: testbed.Spec("comps"), want: ",)",
			setup: "CREATE TYPE comp AS (a int); CREATE DOMAIN dcomp AS comp;" +
				" CREATE TABLE comps (id int PRIMARY KEY, c comp, d dcomp); INSERT INTO comps VALUES (1, '(1)', '(1)')",
			do: "ALTER TABLE comps DROP COLUMN d; DROP DOMAIN dcomp; ALTER TYPE comp ADD ATTRIBUTE b int"},
		{name: "name under a regclass", spec: testbed.Spec("regs"), want: "renamed",
			setup: "CREATE TABLE named (id int); CREATE TABLE regs (id int PRIMARY KEY, r regclass);" +
				" INSERT INTO regs VALUES (1, 'named')",
			do: "ALTER TABLE named RENAME TO renamed"},
		{name: "type of a column", spec: testbed.Spec("retyped"), setup: plain("retyped"), want: "new",
			do: "ALTER TABLE retyped ALTER v TYPE varchar(9) USING 'new'"},
		{name: "names swapped", spec: testbed.Spec("swapped"), want: "new",
			setup: plain("swapped") + "; CREATE TABLE other_swapped (LIKE swapped INCLUDING ALL);" +
				" INSERT INTO other_swapped VALUES (1, 'new')",
			do:   "ALTER TABLE swapped RENAME TO swapped_old; ALTER TABLE other_swapped RENAME TO swapped",
			only: source.FeedLogical},
		{name: "dropped and created", spec: testbed.Spec("created"), setup: plain("created"), want: "new",
			do: "DROP TABLE created; CREATE TABLE created (id int PRIMARY KEY, v text);" +
				" INSERT INTO created VALUES (1, 'new')", only: source.FeedLogical},
		{name: "publication", spec: testbed.Spec("published"), setup: plain("published"), want: "new",
			do:   "ALTER PUBLICATION hotrow DROP TABLE published; UPDATE published SET v = 'new'",
			only: source.FeedLogical},
		{name: "operations of the publication", spec: testbed.Spec("silent"), setup: plain("silent"), want: "new",
			do: "ALTER PUBLICATION hotrow SET (publish = 'insert'); UPDATE silent SET v = 'new';" +
				" ALTER PUBLICATION hotrow SET (publish = 'insert, update, delete, truncate')",
			only: source.FeedLogical},
		{name: "schema", spec: testbed.Spec("place.t"), want: "new",
			setup: "CREATE SCHEMA place; CREATE SCHEMA other; " + plain("place.t") + "; " + plain("other.t") +
				"; UPDATE other.t SET v = 'new'",
			do:   "ALTER SCHEMA place RENAME TO before; ALTER SCHEMA other RENAME TO place",
			only: source.FeedLogical},
	}, append(redefinedQueries(), redefinedPartitions()...)...)
}

func redefinedQueries() []redefinition {
	return []redefinition{
		{name: "view", want: "old!", spec: ofQuery("views", "SELECT id, v FROM view1 WHERE id = :key", "viewed"),
			setup: plain("viewed") + "; CREATE VIEW view0 AS SELECT * FROM viewed;" +
				" CREATE VIEW view1 AS SELECT * FROM view0",
			do: "CREATE OR REPLACE VIEW view0 AS SELECT id, v || '!' AS v FROM viewed"},
		{name: "view dropped and created", want: "old!",
			spec:  ofQuery("anew", "SELECT id, v FROM view2 WHERE id = :key", "viewed2"),
			setup: plain("viewed2") + "; CREATE VIEW view2 AS SELECT * FROM viewed2",
			do:    "DROP VIEW view2; CREATE VIEW view2 AS SELECT id, v || '!' AS v, 7 AS more FROM viewed2"},
		{name: "view of another table", want: "new",
			spec:  ofQuery("moved", "SELECT id, v FROM view3 WHERE id = :key", "viewed3"),
			setup: plain("viewed3") + "; " + plain("unnamed") + "; CREATE VIEW view3 AS SELECT * FROM viewed3",
			do:    "CREATE OR REPLACE VIEW view3 AS SELECT * FROM unnamed; UPDATE unnamed SET v = 'new'"},
		{name: "view before another", want: "old!",
			spec: ofQuery("shadowed", "SELECT id, v FROM view4 WHERE id = :key", "viewed4"),
			setup: plain("viewed4") + "; CREATE SCHEMA late; CREATE VIEW late.view4 AS SELECT * FROM viewed4;" +
				" DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() ||" +
				" ' SET search_path = public, late'; END $$",
			do: "CREATE VIEW public.view4 AS SELECT id, v || '!' AS v FROM viewed4"},
		{name: "function", want: "old!",
			spec: ofQuery("called", "SELECT id, outer_f(v) AS v FROM calls WHERE id = :key", "calls"),
			setup: plain("calls") + `;
				CREATE FUNCTION inner_f(text) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT $1';
				CREATE FUNCTION outer_f(text) RETURNS text IMMUTABLE LANGUAGE plpgsql
					AS 'BEGIN RETURN inner_f($1); END'`,
			do: "CREATE OR REPLACE FUNCTION inner_f(text) RETURNS text IMMUTABLE LANGUAGE sql AS $$SELECT $1 || '!'$$"},
	}
}

func redefinedPartitions() []redefinition {
	return []redefinition{
		{name: "partition emptied", spec: testbed.Spec("emptied"), setup: partitioned("emptied"),
			do: "TRUNCATE emptied_1"},
		{name: "partition detached", spec: testbed.Spec("detached"), setup: partitioned("detached"),
			do: "ALTER TABLE detached DETACH PARTITION detached_1"},
		{name: "partition dropped", spec: testbed.Spec("dropped"), setup: partitioned("dropped"),
			do: "DROP TABLE dropped_1"},
		{name: "partition exchanged", spec: testbed.Spec("exchanged"), want: "new",
			setup: partitioned("exchanged") + "; CREATE TABLE exchange (LIKE exchanged INCLUDING ALL);" +
				" INSERT INTO exchange VALUES (1, 'new')",
			do: "ALTER TABLE exchanged DETACH PARTITION exchanged_1;" +
				" ALTER TABLE exchanged ATTACH PARTITION exchange FOR VALUES FROM (0) TO (10)"},
	}
}

// TestPostgres_DefinitionsAreChangesLikeAnyOther: from the commit of what no change
// stream tells, nobody gets the answer of before for longer than any change may take,
// unless it says that it is stale; and then the answers are what the database has.
func TestPostgres_DefinitionsAreChangesLikeAnyOther(t *testing.T) {
	t.Parallel()
	for _, mode := range []source.FeedMode{source.FeedLogical, source.FeedNotify} {
		t.Run(string(mode), func(t *testing.T) {
			url := dbtest.Postgres(t)
			conn := testbed.Dial(t, url)
			var list []redefinition
			var specs []resource.Spec
			for _, r := range redefinitions() {
				if r.only == "" || r.only == mode {
					testbed.MustExec(t, conn, r.setup)
					list, specs = append(list, r), append(specs, r.spec)
				}
			}
			if mode == source.FeedNotify {
				doctored(t, url, specs)
			}
			s := newStand(t, url, plan{Specs: specs, Mode: mode})
			for _, r := range list {
				t.Run(r.name, func(t *testing.T) {
					s.redefine(t, r, func(sql string) { testbed.MustExec(t, conn, "BEGIN; "+sql+"; COMMIT") })
				})
			}
		})
	}
}

// doctored puts in what the feed notify needs for resources.
func doctored(t *testing.T, url string, specs []resource.Spec) {
	t.Helper()
	src := testbed.OpenPostgres(t, url)
	var plans []source.Plan
	for _, sp := range specs {
		p, err := src.Compile(t.Context(), sp.Table)
		if err != nil {
			t.Fatal(err)
		}
		plans = append(plans, p)
	}
	findings, err := src.Doctor(t.Context(), source.FeedNotify, resource.Watched(plans))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if err := src.Exec(t.Context(), f.Apply...); err != nil {
			t.Fatalf("%s: %v", f.Text, err)
		}
	}
}

// redefine reads a document as fast as it can while its definition changes by exec.
func (s *stand) redefine(t *testing.T, r redefinition, exec func(sql string)) {
	res := s.Resource(r.spec.Table.Name)
	read := func() (string, resource.Origin) {
		a, err := res.Get(context.Background(), "1", resource.Options{Format: row.FormatJSON})
		switch {
		case err != nil:
			return "error: " + err.Error(), resource.HitStale
		case a.Doc.Absent():
			return "", a.Origin
		}
		return string(a.Doc.Body()), a.Origin
	}
	waittest.Until(t, "a hit", func() bool { _, from := read(); return from == resource.HitMemory })
	old, _ := read()

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	lasts := make([]time.Time, 2)
	for i := range lasts {
		wg.Go(func() {
			for testbed.Pause(ctx, time.Millisecond) { // often enough for a bound of 250
				begun := time.Now()
				if now, from := read(); now == old && from != resource.HitStale {
					lasts[i] = begun
				}
			}
		})
	}
	testbed.Pause(ctx, 20*time.Millisecond) // they are under way
	exec(r.do)
	done := time.Now()
	right := time.Duration(0)
	waittest.Until(t, "the answer of after", func() bool {
		now, from := read()
		right = time.Since(done)
		return from != resource.HitStale && (r.want == "" && now == "" || r.want != "" && strings.Contains(now, r.want))
	})
	testbed.Pause(ctx, 100*time.Millisecond) // and it stays so
	cancel()
	wg.Wait()
	late := time.Duration(0)
	for _, last := range lasts {
		late = max(late, last.Sub(done))
	}
	if late > definitionBound {
		t.Errorf("answers of before were given for %v after the commit", late)
	}
	testbed.Figures(t, "answers of before for %v, the right one after %v", late.Round(time.Millisecond),
		right.Round(time.Millisecond))
	if r.name == "view of another table" {
		exec("UPDATE unnamed SET v = 'newer'")
		if r, ok := s.Src.(source.Replicated); ok && r.Replica() {
			testbed.Pause(t.Context(), staleAfter) // it is read on a standby
		}
		if now, from := read(); !strings.Contains(now, "newer") {
			t.Errorf("a table that depends does not name: %v from %v", now, from)
		}
	}
}
