package stress

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sqlite"
	"github.com/hotrow/hotrow/internal/testbed"
)

// textTable is a table with one row, whose value every database takes for a text.
func textTable(name string) string {
	return "CREATE TABLE " + name + " (id int PRIMARY KEY, v varchar(20)); INSERT INTO " + name +
		" VALUES (1, 'old')"
}

// redefinitionsOfAll are those of which MariaDB and SQLite know, too.
func redefinitionsOfAll() []redefinition {
	return []redefinition{
		{name: "view below a view", want: "OLD",
			spec: ofQuery("views", "SELECT id, v FROM view1 WHERE id = :key", "viewed"),
			setup: textTable("viewed") + "; CREATE VIEW view0 AS SELECT * FROM viewed;" +
				" CREATE VIEW view1 AS SELECT * FROM view0",
			do: "DROP VIEW view0; CREATE VIEW view0 AS SELECT id, upper(v) AS v FROM viewed"},
		{name: "view of another table", want: "new",
			spec:  ofQuery("moved", "SELECT id, v FROM view3 WHERE id = :key", "viewed3"),
			setup: textTable("viewed3") + "; " + textTable("unnamed") + "; CREATE VIEW view3 AS SELECT * FROM viewed3",
			do: "DROP VIEW view3; CREATE VIEW view3 AS SELECT * FROM unnamed;" +
				" UPDATE unnamed SET v = 'new'"},
		{name: "dropped and created", spec: testbed.Spec("created"), setup: textTable("created"), want: "new",
			do: "DROP TABLE created; CREATE TABLE created (id int PRIMARY KEY, v varchar(20));" +
				" INSERT INTO created VALUES (1, 'new')"},
		{name: "names swapped", spec: testbed.Spec("swapped"), want: "new",
			setup: textTable("swapped") + "; " + textTable("other_swapped") +
				"; UPDATE other_swapped SET v = 'new'",
			do: "ALTER TABLE swapped RENAME TO swapped_old; ALTER TABLE other_swapped RENAME TO swapped"},
		{name: "column renamed", spec: testbed.Spec("renamed"), setup: textTable("renamed"), want: `"w":"old"`,
			do: "ALTER TABLE renamed RENAME COLUMN v TO w"},
		{name: "child dropped and created", want: "new",
			spec: testbed.Spec("parent", source.Embed{Name: "kids", On: []string{"p"},
				Spec: &source.Spec{Table: "kid"}}),
			setup: "CREATE TABLE parent (id int PRIMARY KEY);" +
				" INSERT INTO parent VALUES (1); CREATE TABLE kid (id int PRIMARY KEY, p int, v varchar(20));" +
				" INSERT INTO kid VALUES (1, 1, 'old')",
			do: "DROP TABLE kid; CREATE TABLE kid (id int PRIMARY KEY, p int, v varchar(20));" +
				" INSERT INTO kid VALUES (1, 1, 'new')"},
	}
}

// redefinitionsOfMariaDB are those that it alone has.
func redefinitionsOfMariaDB() []redefinition {
	return append(redefinitionsOfAll(), []redefinition{
		{name: "values of an enum", spec: testbed.Spec("moods"), want: "new",
			setup: "CREATE TABLE moods (id int PRIMARY KEY, m enum('old','other'));" +
				" INSERT INTO moods VALUES (1, 'old')",
			do: "ALTER TABLE moods MODIFY m varchar(9); UPDATE moods SET m = 'new';" +
				" ALTER TABLE moods MODIFY m enum('new','other')"},
		{name: "expression of a column", spec: testbed.Spec("computed"), want: `"g":"old!"`,
			setup: "CREATE TABLE computed (id int PRIMARY KEY, v varchar(20), g varchar(30) AS (v) VIRTUAL);" +
				" INSERT INTO computed (id, v) VALUES (1, 'old')",
			do: "ALTER TABLE computed MODIFY g varchar(30) AS (concat(v, '!')) VIRTUAL"},
		{name: "partition emptied", spec: testbed.Spec("emptied"), setup: partitionedMariaDB("emptied"),
			do: "ALTER TABLE emptied TRUNCATE PARTITION p1"},
		{name: "partition dropped", spec: testbed.Spec("dropped"), setup: partitionedMariaDB("dropped"),
			do: "ALTER TABLE dropped DROP PARTITION p1"},
		{name: "partition exchanged", spec: testbed.Spec("exchanged"), want: "new",
			setup: partitionedMariaDB("exchanged") + "; " + textTable("exchange") +
				"; UPDATE exchange SET v = 'new'",
			do: "ALTER TABLE exchanged EXCHANGE PARTITION p1 WITH TABLE exchange"},
	}...)
}

func partitionedMariaDB(name string) string {
	return "CREATE TABLE " + name + " (id int PRIMARY KEY, v varchar(20)) PARTITION BY RANGE (id)" +
		" (PARTITION p1 VALUES LESS THAN (5), PARTITION p2 VALUES LESS THAN (9)); INSERT INTO " + name +
		" VALUES (1, 'old')"
}

// TestMariaDB_DefinitionsAreChangesLikeAnyOther is TestPostgres_Definitions... on MariaDB.
func TestMariaDB_DefinitionsAreChangesLikeAnyOther(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	exec := func(sql string) {
		for one := range strings.SplitSeq(sql, "; ") {
			if _, err := conn.ExecContext(t.Context(), one); err != nil {
				t.Fatalf("%s: %v", one, err)
			}
		}
	}
	list := redefinitionsOfMariaDB()
	var specs []resource.Spec
	for _, r := range list {
		exec(r.setup)
		specs = append(specs, r.spec)
	}
	s := newStandOver(t, testbed.OpenMariaDB(t, url), plan{Specs: specs, Mode: source.FeedBinlog})
	for _, r := range list {
		t.Run(r.name, func(t *testing.T) { s.redefine(t, r, exec) })
	}
}

// TestSQLite_DefinitionsAreChangesLikeAnyOther is the same on SQLite, whose definition
// hotrow's own connection changes, and that of another program.
func TestSQLite_DefinitionsAreChangesLikeAnyOther(t *testing.T) {
	for _, who := range []string{"hotrow", "another program"} {
		t.Run(who, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "world.db")
			src := testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
			by := src
			if who != "hotrow" {
				by = testbed.OpenSQLite(t, path, sqlite.Options{Own: true})
			}
			exec := func(sql string) {
				if err := by.Exec(t.Context(), strings.Split(sql, "; ")...); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
			list := redefinitionsOfAll()
			var specs []resource.Spec
			for _, r := range list {
				exec(r.setup)
				specs = append(specs, r.spec)
			}
			s := newStandOver(t, src, plan{Specs: specs, Mode: source.FeedAuto})
			for _, r := range list {
				t.Run(r.name, func(t *testing.T) { s.redefine(t, r, exec) })
			}
		})
	}
}
