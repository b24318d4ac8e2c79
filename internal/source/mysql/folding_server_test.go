package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/mysql/catalog"
)

// printable returns all texts of up to two printable characters of ASCII.
func printable() []string {
	all := []string{""}
	for a := ' '; a <= '~'; a++ {
		all = append(all, string(a))
		for b := ' '; b <= '~'; b++ {
			all = append(all, string(a)+string(b))
		}
	}
	return all
}

// TestMariaDB_Folding: in each collation of the server that is said to fold, two texts of
// printable characters are equal only if row.Fold makes one text of them.
func TestMariaDB_Folding(t *testing.T) {
	url := dbtest.MariaDB(t)
	values := make([]string, 0, 1+95+95*95)
	for _, text := range printable() {
		folded, ok := row.Fold(text)
		if !ok {
			t.Fatalf("%q does not fold", text)
		}
		values = append(values, fmt.Sprintf("(x'%x', x'%x')", folded, text))
	}
	dbtest.MariaDBShell(t, url, "CREATE TABLE given (f varbinary(2), s varchar(2) "+
		"CHARACTER SET ascii COLLATE ascii_bin);"+
		"INSERT INTO given VALUES "+strings.Join(values, ", "))
	names := strings.Fields(dbtest.MariaDBShell(t, url, collationNames()))
	var columns []string
	for _, name := range names {
		if !catalog.Folding(name) {
			continue
		}
		columns = append(columns, name+" varchar(2) COLLATE "+name)
		charset, _, _ := strings.Cut(name, "_")
		wrong := dbtest.MariaDBShell(t, url, fmt.Sprintf("SELECT count(*), min(s) FROM (SELECT CONVERT(s USING %s) "+
			"COLLATE %s AS s, f FROM given) x GROUP BY s HAVING count(DISTINCT f) > 1 LIMIT 3", charset, name))
		if wrong != "" {
			t.Errorf("%s finds texts equal that do not fold to one: %s", name, wrong)
		}
	}
	dbtest.MariaDBShell(t, url, "CREATE TABLE t (id int PRIMARY KEY, utf8mb4_danish_ci varchar(2) COLLATE "+
		"utf8mb4_danish_ci, "+strings.Join(columns, ", ")+")")
	table := mustCompile(t, openSource(t, url, Options{}), &source.Spec{Table: "t"}).Table()
	for _, c := range table.Columns {
		if want := c.Name != "id" && c.Name != "utf8mb4_danish_ci"; c.Folded != want {
			t.Errorf("%s: Folded is %v", c.Name, c.Folded)
		}
	}
	t.Logf("%d of %d collations fold, in each of which %d texts were compared", len(columns), len(names), len(values))
	if len(columns) < 10 {
		t.Error("a part of the test has done nothing")
	}
}

// collationNames returns the statement that names the collations of the character sets whose
// texts a feed tells.
func collationNames() string {
	name := "FULL_COLLATION_NAME" // uca1400_ai_ci is one of several character sets
	if dbtest.IsMySQL() {
		name = "COLLATION_NAME"
	}
	return "SELECT DISTINCT " + name + " FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY WHERE " +
		"CHARACTER_SET_NAME IN ('utf8mb4', 'utf8mb3', 'utf8', 'latin1', 'ascii') ORDER BY 1"
}
