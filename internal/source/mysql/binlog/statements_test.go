package binlog

import (
	"strings"
	"testing"
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
