package lists

import (
	"context"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/testbed"
)

// folding is a column of a collation that finds texts equal which are not the same: by
// case, blanks, accents, letters of two, and marks that it passes over.
func folding(name, collation string) lemmaColumn {
	c := column(name, "varchar(9) COLLATE "+collation, nil, []string{"a", "A", "a ", "á", "ss", "SS ", "ß", "",
		"\x01", "k", "\u212a"})
	for _, text := range c.operands {
		c.values = append(c.values, "'"+text+"'")
	}
	return c
}

// TestStressMariaDB_LemmaOfFolding: no list that memory answers with is other than the
// database's where filters find texts that are not those which they name.
func TestStressMariaDB_LemmaOfFolding(t *testing.T) {
	url := dbtest.MariaDB(t)
	conn := testbed.DialMariaDB(t, url)
	collations := []string{"utf8mb4_general_ci", "utf8mb4_unicode_520_ci", "utf8mb4_bin"}
	if dbtest.IsMySQL() {
		collations = append(collations, "utf8mb4_0900_ai_ci")
	} else {
		collations = append(collations, "utf8mb4_uca1400_ai_ci")
	}
	columns := []lemmaColumn{column("a", "int", []string{"1", "2"}, []string{"1", "2"})}
	for i, c := range collations {
		columns = append(columns, folding(string(rune('f'+i)), c))
	}
	l := newLemma(t, columns)
	l.replace = "REPLACE"
	l.exec = func(statements ...string) {
		for _, s := range dbtest.SQLs(append(append([]string{"BEGIN"}, statements...), "COMMIT")...) {
			if _, err := conn.ExecContext(context.Background(), s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	l.exec(l.create()...)
	l.begin(testbed.OpenMariaDB(t, url), source.FeedBinlog)
	l.run(testbed.Length(time.Second))
}
