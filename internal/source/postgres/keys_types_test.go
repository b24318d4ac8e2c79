package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// spellings are texts of keys, many of which some type reads as another value than it
// writes.
var spellings = slices.Concat([]string{
	"0", "-0", "+0", "1", "+1", "01", "-1", "1.0", "1.50", "1e1", "1e-46", "1e-400", "1e39", ".5",
	"4294967295", "4294967296", "-4294967295", "99999999999", "9223372036854775808", "0x10", "1_0",
	"NaN", "nan", "inf", "Infinity", "-infinity", "0.30000000000000004", "16777217", "3.4028236e38",
	"true", "T", "yes", "on", "off", "fals", "a", "A", " a", "a ", "ab   ", "a\tb", "ä", "", "\\x41",
	"\\x4A", "4a", "4A", "\\101", "a'b", "a\"b", "a,b", "{a}", "(1,2)", "[1,2)", "NULL", "now",
	"today", "epoch", "allballs", "J2451545", "2024-02-29", "2024-2-9", "20240229", "02/29/2024",
	"2024-02-29T00:00:00Z", "2024-02-29 24:00:00", "2024-02-29T23:59:59.999999", "2024-02-29 12:00",
	"2016-12-31T23:59:60Z", "2024-02-29T12:00:00+02", "2024-02-29T12:00:00-15:59:59",
	"0001-01-01T00:00:00+01:00", "0001-01-01T00:00:00+00", "9999-12-31T23:59:59-01:00", "0000-01-01",
	"0000-12-31T23:00:00Z", "0001-12-31 BC", "0001-12-31 23:00:00 BC", "0001-12-31 23:00:00+00 BC",
	"4714-11-24 BC", "4714-11-23 BC", "12024-02-29", "5874898-01-01", "294277-01-01 00:00:00",
	"24:00:00", "23:59:60", "04:05:06.7", "04:05:06.0000005", "04:05:06+00", "04:05:06-00:00:01",
	"04:05:06+16", "04:05:06 PST", "04:05", "040506", "sad", "Sad", "10.0.0.1", "10.0.0.1/32", "10/8",
	"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "%", "\x7f",
}, []string{strings.Repeat("n", 63), strings.Repeat("n", 64), strings.Repeat("ä", 32),
	strings.Repeat("1", 200), strings.Repeat("n", 2048)})

// TestPostgres_NoKeyIsAnother: a key is kept under one text, that of its row, or its
// type is wide. A text that the type's input function takes for another value, as name
// takes more than 63 bytes, would be kept as the absence of a row that is there.
func TestPostgres_NoKeyIsAnother(t *testing.T) {
	t.Parallel()
	s := newSource(t, append(typeSchema, `CREATE EXTENSION citext`, `CREATE EXTENSION lo`,
		`CREATE DOMAIN label AS name`)...)
	conn, err := pgx.Connect(t.Context(), s.cfg.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), `SELECT pg_catalog.format_type(oid, NULL) FROM pg_type
		WHERE typtype IN ('b', 'd', 'e', 'r', 'm') AND typcategory <> 'A'`)
	if err != nil {
		t.Fatal(err)
	}
	types, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	narrow := 0
	for i, typ := range append(types, "varchar(5)", "char(5)", "numeric(5,2)", "time(0)") {
		table := fmt.Sprintf("k%d", i)
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(
			"CREATE TABLE %s (k %s PRIMARY KEY)", table, typ)); err != nil {
			continue // the type has no order
		}
		compiled, err := s.Compile(t.Context(), &source.Spec{Name: table, Table: table})
		if err != nil || compiled.KeyType().Wide() {
			continue
		}
		narrow++
		col := native(compiled.(*plan).Parts[0])
		for _, text := range spellings {
			key, err := compiled.KeyType().Parse(row.Key(text))
			if err != nil {
				continue
			}
			if got, ok := readKey(t, conn, col, key); ok && got != key {
				t.Errorf("%s: %.80q is the key %.80q, and %.80q to the database", typ, text, key, got)
			}
		}
	}
	if narrow < 15 {
		t.Errorf("only %d types are not wide", narrow)
	}
}

// readKey returns the key that the server reads from the text of another; false when it
// refuses it.
func readKey(t *testing.T, conn *pgx.Conn, col *column, key row.Key) (row.Key, bool) {
	t.Helper()
	args, err := splitKey(key, []document.Column{col})
	if err != nil {
		t.Fatal(err)
	}
	sql := "SELECT " + strings.Replace(col.read, "%s", "$1::"+col.base, 1)
	rows, err := conn.Query(t.Context(), sql, binaryResults, args[0])
	if err != nil {
		return "", false
	}
	defer rows.Close()
	if !rows.Next() {
		return "", false
	}
	v, err := col.codec.decode(rows.RawValues()[0])
	if err != nil {
		t.Fatal(err)
	}
	text, ok := row.KeyText(v)
	return row.Key(text), ok
}
