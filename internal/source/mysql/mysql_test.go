package mysql

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/sourcetest"
)

func TestMariaDB(t *testing.T) {
	var types []sourcetest.TypeCase
	for _, c := range mine(typeCases) {
		types = append(types, sourcetest.TypeCase{Type: c.typ, Literal: c.value, JSON: c.want})
	}
	sourcetest.Run(t, func(t *testing.T) sourcetest.Env {
		url := dbtest.MariaDB(t, dbtest.Setup(exactTexts))
		c := foreign(t, url)
		return sourcetest.Env{
			Source: openSource(t, url, Options{}),
			Exec: func(t testing.TB, statements ...string) {
				t.Helper()
				run(t, c, statements...)
			},
			Dialect: sourcetest.Dialect{
				Name:      "mysql",
				Empty:     "TRUNCATE %s",
				Generated: "integer AUTO_INCREMENT PRIMARY KEY",
				UUID:      dbtest.MariaOrMySQL("uuid", "char(36)"),
				Types:     types,
				Feeds:     []sourcetest.FeedCase{{Mode: source.FeedBinlog, Doctor: true}},
			},
		}
	})
}

func BenchmarkDocuments(b *testing.B) {
	sourcetest.Bench(b, func(b *testing.B) sourcetest.Env {
		url := dbtest.MariaDB(b, dbtest.Setup(exactTexts))
		c := foreign(b, url)
		return sourcetest.Env{
			Source:  openSource(b, url, Options{}),
			Exec:    func(t testing.TB, statements ...string) { run(t, c, statements...) },
			Dialect: sourcetest.Dialect{Generated: "integer PRIMARY KEY"},
		}
	})
}

// A typeCase is a value of a type, as SQL and as it appears in documents.
type typeCase struct{ typ, value, want string }

// mine returns the cases whose type the server has.
func mine(cases []typeCase) []typeCase {
	return slices.DeleteFunc(slices.Clone(cases), func(c typeCase) bool { return alien(c.typ) })
}

// alien reports whether MariaDB has the type, and the server, MySQL, does not.
func alien(typ string) bool {
	return dbtest.IsMySQL() && (typ == "uuid" || strings.HasPrefix(typ, "inet"))
}

// typeCases are values of the server's types, as SQL and as they appear in
// documents.
var typeCases = []typeCase{
	{"tinyint", "-128", "-128"},
	{"tinyint unsigned", "255", "255"},
	{"tinyint(1)", "1", "true"},
	{"boolean", "false", "false"},
	{"boolean", "7", "7"},
	{"smallint", "-32768", "-32768"},
	{"mediumint", "8388607", "8388607"},
	{"mediumint unsigned", "16777215", "16777215"},
	{"int unsigned", "4294967295", "4294967295"},
	{"bigint", "-9223372036854775808", "-9223372036854775808"},
	{"bigint unsigned", "18446744073709551615", "18446744073709551615"},
	{"bigint unsigned", "5", "5"},
	{"int(5) zerofill", "42", "42"},
	{"float", "0.1", "0.1"}, {"float", "16777216", "16777216"},
	{"double", "0.1", "0.1"},
	{"double", "1e300", "1e+300"},
	{"decimal(10,2)", "-1.50", "-1.50"},
	{"decimal(65,0)", "99999999999999999999999999999999999999999999999999999999999999999",
		"99999999999999999999999999999999999999999999999999999999999999999"},
	{"bit(1)", "b'1'", "true"},
	{"bit(10)", "b'1000000001'", "513"},
	{"bit(64)", "0xffffffffffffffff", "18446744073709551615"},
	{"year", "2024", "2024"},
	{"date", "'1981-06-09'", `"1981-06-09"`},
	{"time", "'03:04:05'", `"03:04:05"`},
	{"time(3)", "'03:04:05.250'", `"03:04:05.25"`},
	{"time", "'-838:59:59'", `"-838:59:59"`},
	{"datetime", "'2024-01-02 03:04:05'", `"2024-01-02T03:04:05"`},
	{"datetime(6)", "'2024-01-02 03:04:05.123456'", `"2024-01-02T03:04:05.123456"`},
	{"datetime(6)", "'2024-01-02 03:04:05'", `"2024-01-02T03:04:05"`},
	{"timestamp NULL", "'2024-01-02 03:04:05'", `"2024-01-02T03:04:05Z"`},
	{"char(5)", "'ab'", `"ab"`},
	{"varchar(5)", "'ab '", `"ab "`},
	{"varchar(20) CHARACTER SET latin1", "'Ähre'", `"Ähre"`},
	{"text", `'ä"\\'`, `"ä\"\\"`},
	{"longtext", "'😀'", `"😀"`},
	{"binary(4)", "x'00ff'", `"AP8AAA=="`},
	{"varbinary(4)", "x'00ff'", `"AP8="`},
	{"blob", "x''", `""`},
	{"enum('a','it''s')", "'it''s'", `"it's"`},
	{"set('a','b','c')", "'c,a'", `"a,c"`},
	{"json", `'{"a": [1, null]}'`, `{"a": [1, null]}`},
	{"uuid", "'6BA7B810-9dad-11d1-80b4-00c04fd430c8'", `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`},
	{"inet6", "'0:0::1'", `"::1"`},
	{"inet4", "'127.0.0.1'", `"127.0.0.1"`},
	{"point", "ST_GeomFromText('POINT(1 2)')", `"POINT(1 2)"`},
	{"int", "NULL", "null"},
	{"text", "NULL", "null"},
}
