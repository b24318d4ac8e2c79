package mysql

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// TestMariaDB_OtherSpellingsOfAKeyAreNoKeys is about types that change what they are given:
// unless a key's type says that its equality is wide, so that no absence is kept, a row is
// found under no text but its own.
func TestMariaDB_OtherSpellingsOfAKeyAreNoKeys(t *testing.T) {
	const exact = " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
	for _, tt := range []struct {
		typ       string
		rows      []string
		spellings []row.Key
	}{
		{"year", []string{"2024", "1970", "2000", "0"},
			[]row.Key{"24", "70", "0", "00", "99", "1", "2024", "02024", "-1", "70000"}},
		{"enum('a','b','2','10')" + exact, []string{"'a'", "'b'", "'2'", "'10'"},
			[]row.Key{"1", "2", "3", "01", "a", "A", "a ", " 1", "0", "10", "4", "1.0"}},
		{"set('a','b')" + exact, []string{"'a'", "'a,b'", "''"},
			[]row.Key{"b,a", "b%2Ca", "1", "3", "0", "a,a,b", "a", "a,", "01"}},
		{"char(3)" + exact, []string{"'a'", "' a'"}, []row.Key{"a", "a ", "a  ", " a", "A", "a    "}},
		{"varchar(3)" + exact, []string{"'a'", "'b '"}, []row.Key{"a", "a ", "b", "b ", "B", "b    "}},
		{"char(3) CHARACTER SET latin1 COLLATE latin1_nopad_bin", []string{"'a'", "'?'"},
			[]row.Key{"a", "a ", "?", "€", "Ж", "日"}},
		{"binary(3)", []string{"'a'", "x'610062'"},
			[]row.Key{"61", "6100", "610000", "61000000", "612020", "610062"}},
		{"varbinary(3)", []string{"'a'", "x'6100'"}, []row.Key{"61", "6100", "610000", "6120"}},
		{"bit(3)", []string{"b'101'", "b'0'"}, []row.Key{"5", "05", "13", "0", "8", "101"}},
		{"bit(1)", []string{"1", "0"}, []row.Key{"1", "true", "t", "0", "false"}},
		{"int(5) zerofill", []string{"7", "0"}, []row.Key{"7", "007", "00007", "-0", "7.0", "-7"}},
		{"tinyint(1)", []string{"1", "7"}, []row.Key{"1", "7", "true", "01"}},
		{"tinyint", []string{"127", "-128"}, []row.Key{"127", "128", "255", "-129", "383"}},
		{"int unsigned", []string{"4294967295", "0"}, []row.Key{"-1", "4294967296", "0", "-0"}},
		{"bigint unsigned", []string{"18446744073709551615", "0"},
			[]row.Key{"18446744073709551615", "-1", "18446744073709551616", "0"}},
		{"float", []string{"0.1", "16777216"}, []row.Key{"0.1", "0.10000000149011612", "0.10", "16777217"}},
		{"float(5,2)", []string{"1.23"}, []row.Key{"1.23", "1.230", "1.2300000191", "1.234", "1.2"}},
		{"double", []string{"0.1"}, []row.Key{"0.1", "0.10000000000000001", "1e-1", "0.100000000000000012"}},
		{"double(5,2)", []string{"1.23"}, []row.Key{"1.23", "1.234"}},
		{"decimal(5,2)", []string{"1.5", "0"}, []row.Key{"1.5", "1.50", "1.500", "1.501", "-0", "0"}},
		{"date", []string{"'2024-01-02'"}, []row.Key{"2024-01-02", "24-01-02", "20240102", "2024-1-2"}},
		{"time", []string{"'01:02:03'", "'25:00:00'"}, []row.Key{"01:02:03", "1:2:3", "010203",
			"01:02:03.4", "01:02:03.5", "01:02:02.5", "01:02:03.0", "25:00:00"}},
		{"time(2)", []string{"'01:02:03.10'"}, []row.Key{"01:02:03.1", "01:02:03.10", "01:02:03.101"}},
		{"datetime", []string{"'2024-01-02 03:04:05'"}, []row.Key{"2024-01-02T03:04:05",
			"2024-01-02 03:04:05", "2024-01-02T03:04:05.4", "2024-01-02T03:04:04.6", "2024-01-02"}},
		{"datetime(3)", []string{"'2024-01-02 03:04:05.120'"}, []row.Key{"2024-01-02T03:04:05.12",
			"2024-01-02T03:04:05.120", "2024-01-02T03:04:05.1201"}},
		{"timestamp", []string{"'2024-01-02 03:04:05'"}, []row.Key{"2024-01-02T03:04:05Z",
			"2024-01-02T04:04:05+01:00", "2024-01-02T03:04:05.4Z"}},
		{"uuid", []string{"'00112233-4455-6677-8899-aabbccddeeff'"}, []row.Key{
			"00112233-4455-6677-8899-AABBCCDDEEFF", "00112233445566778899aabbccddeeff"}},
		{"inet6", []string{"'::1'", "'::ffff:1.2.3.4'"}, []row.Key{"::1", "0:0:0:0:0:0:0:1", "1.2.3.4"}},
		{"inet4", []string{"'1.2.3.4'"}, []row.Key{"1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"}},
	} {
		if alien(tt.typ) || dbtest.IsMySQL() && strings.Contains(tt.typ, "latin1_nopad_bin") {
			continue
		}
		s := newSource(t, "SET sql_mode = ''", "CREATE TABLE k (id "+tt.typ+" PRIMARY KEY, n int)")
		for i, v := range tt.rows {
			mustExec(t, s, fmt.Sprintf("INSERT INTO k VALUES (%s, %d)", v, i))
		}
		p := mustCompile(t, s, &source.Spec{Table: "k"})
		for _, k := range tt.spellings {
			canonical, err := p.KeyType().Parse(k)
			if err != nil {
				continue // no key at all
			}
			// One key, and several in one statement.
			for _, keys := range [][]row.Key{{k}, {k, canonical, canonical}} {
				loaded, err := p.Load(t.Context(), keys)
				if err != nil {
					t.Errorf("%s: load %q: %v", tt.typ, keys, err)
					continue
				}
				if l := loaded[0]; l.Found() && l.Key != canonical && !p.KeyType().Wide() {
					t.Errorf("%s: %q, canonical %q, finds the row %q", tt.typ, k, canonical, l.Key)
				}
			}
		}
	}
}
