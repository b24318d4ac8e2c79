package writeback

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite" // the driver of the other program

	"github.com/hotrow/hotrow/internal/source/sqlite"
)

// sqliteSamples are values of every storage class, texts that look like what they are not
// among them.
var sqliteSamples = []string{
	"0", "1", "-1", "7", "20240102", "9007199254740993", "9223372036854775807",
	"-9223372036854775808",
	"1.5", "1.0", "-0.0", "0.1", "1e300", "5e-324", "9e999", "-9e999", "9007199254740992.0",
	"'abc'", "''", "'AP8='", "'abcd'", "'true'", "'5'", "'1.50'", "'007'", "'1e5'", "'Infinity'",
	"'NaN'", "'null'", `'{"a":1}'`, `'"x"'`, "'[1]'", "'1 '", "'2024-01-02'",
	"'2024-01-02 03:04:05'", "'2024-01-02T03:04:05'", "'2024-01-02T03:04:05.100'",
	"'2024-01-02T00:00:00Z'", "'03:04:05'", "'03:04:05.100'", "'03:04'", "'ä€'",
	"'a' || char(0) || 'b'", "CAST(X'ff41' AS TEXT)", "X''", "X'00FF'", "X'616263'",
}

// sqliteTypes are declared types of each affinity and each meaning, with the samples that
// are what they are declared for: those are written anew too.
var sqliteTypes = []struct {
	name, column, options string
	own                   []string
	noKey                 string
}{
	{name: "integer", own: sqliteSamples[:8]},
	{name: "bigint", own: sqliteSamples[:8]},
	{name: "integer WITHOUT ROWID", column: "int", options: "WITHOUT ROWID", own: sqliteSamples[:8]},
	{name: "real", own: []string{"1.5", "1.0", "-1", "0.1", "1e300", "5e-324", "9e999", "-9e999"}},
	{name: "double WITHOUT ROWID", column: "double", options: "WITHOUT ROWID", own: []string{"1.5"}},
	{name: "text", own: []string{"'abc'", "'5'", "'abcd'", "'1 '", "'null'", "'ä€'", "'1.50'"}},
	{name: "varchar(3) WITHOUT ROWID", column: "varchar(3)", options: "WITHOUT ROWID",
		own: []string{"'abc'", "'5'"}},
	{name: "blob", own: []string{"X'00FF'", "X'616263'"}},
	{name: "untyped", column: " ", noKey: "has no type"},
	{name: "boolean", own: []string{"0", "1"}},
	{name: "date", own: []string{"'2024-01-02'"}},
	{name: "time", own: []string{"'03:04:05'"}},
	{name: "datetime", own: []string{"'2024-01-02 03:04:05'"}},
	{name: "timestamp", own: []string{"'2024-01-02 03:04:05'"}},
	{name: "json", own: []string{"7", "1.5", `'{"a":1}'`, `'"x"'`, "'[1]'"}, noKey: "JSON"},
	{name: "jsonb", own: []string{"X'616263'"}},
	{name: "numeric", own: []string{"0", "7", "-1", "1.5", "0.1", "9223372036854775807"}},
	{name: "decimal(10,2)", own: []string{"0", "7", "1.5"}},
	{name: "strict integer", column: "integer", options: "STRICT", own: sqliteSamples[:8]},
	{name: "strict real", column: "real", options: "STRICT", own: []string{"1.5", "1e300"}},
	{name: "strict text", column: "text", options: "STRICT", own: []string{"'abc'", "'5'", "'abcd'"}},
	{name: "strict blob", column: "blob", options: "STRICT", own: []string{"X'00FF'", "X'616263'"}},
	{name: "strict any", column: "any", options: "STRICT", own: []string{"'abc'"}},
}

func TestSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	d := &database{db: db}
	d.exec(t, "PRAGMA journal_mode=WAL")
	d.exec(t, "PRAGMA synchronous=OFF")
	for _, typ := range sqliteTypes {
		c := columnType{name: typ.name, column: typ.column, options: typ.options, noKey: typ.noKey,
			show: "typeof(%s) || ' ' || quote(CAST(%s AS BLOB)) || ' ' || quote(%s)"}
		for _, s := range sqliteSamples {
			if typ.options == "STRICT" && typ.column != "any" && !slices.Contains(typ.own, s) {
				continue // the database takes it not at all, or as another value
			}
			c.values = append(c.values, value{sql: s, odd: !slices.Contains(typ.own, s)})
		}
		d.types = append(d.types, c)
	}
	// The tables are made before the source opens the file.
	if d.src, err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	run(t, d)
}

// TestSQLite_AnyValueIsTaken is about columns that are declared to hold anything: all of
// their values are taken in every format.
func TestSQLite_AnyValueIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	d := &database{db: db}
	d.exec(t, "PRAGMA journal_mode=WAL")
	for _, c := range []columnType{{name: "untyped", column: " ", noKey: "has no type"},
		{name: "strict any", column: "any", options: "STRICT"}} {
		c.show = "typeof(%s) || ' ' || quote(CAST(%s AS BLOB)) || ' ' || quote(%s)"
		for _, s := range sqliteSamples {
			c.values = append(c.values, value{sql: s, inPlace: "json msgpack cbor"})
		}
		d.types = append(d.types, c)
	}
	if d.src, err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, d)
	for i := range d.types {
		t.Run(d.types[i].name, func(t *testing.T) {
			s.on(t).values(&d.types[i], valueTable(i))
			s.on(t).embedded(&d.types[i], i)
		})
	}
}
