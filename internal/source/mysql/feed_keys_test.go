package mysql

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// keyCases are the types that a key can have. A feed names a row by the same text
// as a read of it does.
var keyCases = []struct{ typ, value string }{
	{"tinyint", "-128"}, {"tinyint unsigned", "255"}, {"boolean", "true"},
	{"smallint unsigned", "65535"}, {"mediumint", "-8388608"}, {"mediumint unsigned", "16777215"},
	{"int", "-2147483648"}, {"int unsigned", "4294967295"},
	{"bigint", "-9223372036854775808"}, {"bigint unsigned", "18446744073709551615"},
	{"decimal(10,2)", "-1.50"}, {"decimal(65,30)", "0"}, {"year", "2024"},
	{"date", "'1981-06-09'"}, {"datetime", "'2024-01-02 03:04:05'"},
	{"datetime(6)", "'2024-01-02 03:04:05.120000'"}, {"timestamp", "'2024-01-02 03:04:05'"},
	{"timestamp(3)", "'2024-01-02 03:04:05.25'"}, {"time(2)", "'03:04:05.5'"},
	{"char(8)", "'ab'"}, {"varchar(20)", "'a,b%'"}, {"varchar(300)", "'Ä😀'"},
	{"varchar(20) CHARACTER SET latin1", "'Ähre €'"}, {"char(9) CHARACTER SET latin1", "'ü'"},
	{"binary(4)", "x'00ff'"}, {"binary(4)", "x'00'"}, {"varbinary(9)", "x'00ff00'"},
	{"uuid", "'6ba7b810-9dad-11d1-80b4-00c04fd43000'"},
	{"uuid", "'00000000-0000-0000-0000-000000000000'"},
	{"enum('a','it''s')", "'it''s'"}, {"bit(10)", "b'1000000001'"},
	{"float", "0.1"}, {"double", "1e300"},
}

func TestMariaDB_FeedNamesRowsAsLoadsDo(t *testing.T) {
	url := dbtest.MariaDB(t, dbtest.Setup(exactTexts))
	var statements, tables []string
	for i, c := range keyCases {
		if alien(c.typ) {
			continue
		}
		name := fmt.Sprintf("k%d", i)
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE %s (pad int, k %s PRIMARY KEY)", name, c.typ))
		tables = append(tables, name+" k")
	}
	f := follow(t, url, statements, tables...)
	for i, c := range keyCases {
		if alien(c.typ) {
			continue
		}
		name := fmt.Sprintf("k%d", i)
		run(t, f.conn, "SET time_zone = '+05:00'",
			fmt.Sprintf("INSERT INTO %s VALUES (1, %s)", name, c.value))
		f.feed.Fence(t.Context())
		txs := f.rec.take()
		if len(txs) != 1 || len(txs[0].Changes) != 1 {
			t.Errorf("%s: the feed tells %v", c.typ, txs)
			continue
		}
		key, ok := txs[0].Changes[0].New.Key([]string{"k"})
		p := mustCompile(t, f.src, &source.Spec{Table: name})
		list, err := p.List(t.Context(), nil, 2)
		if err != nil || len(list) != 1 || !ok || list[0].Key != key {
			t.Errorf("%s %s: a list names the row %q, the feed %q (%v)", c.typ, c.value,
				keysOf(list), key, err)
		}
	}
}

func keysOf(list []source.Loaded) (keys []row.Key) {
	for _, l := range list {
		keys = append(keys, l.Key)
	}
	return keys
}
