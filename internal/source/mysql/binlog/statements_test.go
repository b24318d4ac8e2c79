package binlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

func TestKindOf_TellsStatementsApart(t *testing.T) {
	for text, want := range map[string]statementKind{
		"BEGIN": beginStatement, "COMMIT": commitStatement, "ROLLBACK": commitStatement,
		"ROLLBACK TO `s`": harmless, "SAVEPOINT `s`": harmless,
		"XA START X'71',X'',1": beginStatement, "XA COMMIT X'71',X'',1": xaStatement,
		"XA ROLLBACK X'71',X'',1": xaStatement, "XA END X'71',X'',1": harmless,
		"create table t (id int)":                              definition,
		"/* x */ -- y\n  # z\n ALTER TABLE t ADD c int":        definition,
		"/*!40000 ALTER TABLE `t` DISABLE KEYS */":             definition,
		"/*M!100100 DROP TABLE t */":                           definition,
		"TRUNCATE `t`":                                         truncation,
		"RENAME TABLE a TO b":                                  definition,
		"GRANT SELECT ON t TO u":                               privileges,
		"UPDATE t SET a = 1":                                   otherStatement,
		"insert into t values (1)":                             otherStatement,
		"SELECT `f`()":                                         otherStatement,
		"(SELECT 1)":                                           otherStatement,
		"SET STATEMENT max_statement_time=1 FOR DELETE FROM t": otherStatement,
		"# Dummy event replacing event type 160":               harmless,
		"":                                                     harmless,
	} {
		if got := kindOf(text); got != want {
			t.Errorf("kindOf(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestMentions_FindsTables(t *testing.T) {
	for _, test := range []struct {
		statement, name string
		want            bool
	}{
		{"ALTER TABLE `Dept` ADD x int", "dept", true},
		{"ALTER TABLE db.dept ADD x int", "dept", true},
		{`ALTER TABLE "dept" ADD x int`, "dept", true},
		{"ALTER TABLE dept2 ADD dept_ int", "dept", false},
		{"CREATE TABLE x (id int, FOREIGN KEY (a) REFERENCES dept (id))", "dept", true},
		{"DROP DATABASE shop", "dept", true},
		{"ALTER TABLE `we``ird` ADD x int", "we`ird", true},
		{"ALTER TABLE `a-b c` ADD x int", "a-b c", true},
		{"ALTER TABLE `a-c` ADD x int", "a-b c", false},
		{"ALTER TABLE `größe` ADD x int", "dept", true}, // in whatever encoding
		{"ALTER TABLE `--` ADD x int", "--", true},
	} {
		if got := mentions(words(test.statement), test.name); got != test.want {
			t.Errorf("mentions(%q, %q) = %v, want %v", test.statement, test.name, got, test.want)
		}
	}
}

// TestNameIndex_FindsWhatMentionsSays: of names with the same last word, of several and of none,
// whatever a statement says twice, and of all where a statement may be about all.
func TestNameIndex_FindsWhatMentionsSays(t *testing.T) {
	names := []string{"dept", "dept2", "a-b c", "a-c", "a", "--", "b c", "größe", "we`ird", "x"}
	x := make(nameIndex)
	for _, name := range names {
		x.add(catalog.Name{Schema: "db", Table: name})
	}
	for _, text := range []string{
		"ALTER TABLE `Dept` ADD x int", "DROP TABLE dept, dept2, db.dept", "DROP DATABASE shop",
		"ALTER TABLE `a-b c` ADD a int", "ALTER TABLE `größe` ADD y int", "CREATE TABLE z (y int)",
		"ALTER TABLE `we``ird` ADD `a-c` int",
	} {
		statement := words(text)
		var got, want []string
		for _, name := range x.mentioned(statement) {
			got = append(got, name.Table)
		}
		for _, name := range names {
			if mentions(statement, name) {
				want = append(want, name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: mentions %q, want %q", text, got, want)
		}
	}
}

// TestReader_StatementsCostTheSameOfManyTables: a log may have a statement for each of thousands of
// tables, and whoever begins to follow reads them all.
func TestReader_StatementsCostTheSameOfManyTables(t *testing.T) {
	cost := func(tables int) float64 {
		var watched []source.Watched
		defs := &definitions{index: make(nameIndex)}
		for i := range tables {
			name := fmt.Sprintf("t%d", i)
			watched = append(watched, source.Watched{Table: "db." + name})
			defs.index.add(catalog.Name{Table: name})
		}
		r, err := newReader(watched, "db", place{"binlog.000001", 4})
		if err != nil {
			t.Fatal(err)
		}
		r.defs = defs
		return testing.AllocsPerRun(10, func() {
			r.group = new(group)
			r.define("ALTER TABLE db.t7 ADD x int", definition)
		})
	}
	if few, many := cost(10), cost(1000); many > few+5 {
		t.Errorf("a statement takes %.0f allocations of 1000 tables, and %.0f of 10", many, few)
	}
}

// A statement that names a table, quoted in any way and however it goes on, is
// found to mention it; and no text makes the lexer fail.
func FuzzMentions(f *testing.F) {
	f.Add("ALTER TABLE ", "dept", " ADD x int")
	f.Add("/*!50000 CREATE */ TRIGGER x AFTER INSERT ON ", "a b`c", " FOR EACH ROW SET @a = 1")
	f.Add("", "\xff", "-- ")
	f.Fuzz(func(t *testing.T, before, name, after string) {
		text := before + " `" + strings.ReplaceAll(name, "`", "``") + "` " + after
		if !mentions(words(text), name) {
			t.Errorf("%q is not found to mention %q", text, name)
		}
		if kind := kindOf(text); kind > truncation {
			t.Errorf("kindOf(%q) = %d", text, kind)
		}
	})
}
