package sqlfront

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// valuesOfTypes are values of PostgreSQL's own types, as they are written.
var valuesOfTypes = []string{"true", "7::int2", "-7::int4", "7000000000::int8", "1.5::float4", "-0.1::float8",
	"'NaN'::float8", "12345678901234567890.123456789::numeric", "'NaN'::numeric", "'12.34'::money",
	`E'a\nb''"\\'::text`, "'x'::varchar(3)", "'x'::char(3)", `'x'::"char"`, "'name'::name",
	`'\x00ff10'::bytea`, "'2024-02-29'::date", "'infinity'::date", "'23:59:59.999999'::time",
	"'23:59:59+02'::timetz", "'2024-02-29 12:00:00.5'::timestamp", "'2024-02-29 12:00:00.5+02'::timestamptz",
	"'-infinity'::timestamptz", "'1 year 2 mons 3 days 04:05:06.7'::interval",
	"'{\"a\": [1, null, \"ü\"]}'::json", "'{\"a\": [1, null, \"ü\"]}'::jsonb",
	"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "'10.1.2.3/8'::inet", "'10.0.0.0/8'::cidr",
	"'08:00:2b:01:02:03'::macaddr", "'08:00:2b:01:02:03:04:05'::macaddr8", "B'1011'::bit(4)",
	"B'10'::varbit", "'(1,2)'::point", "'{1,2,3}'::line", "'[(1,2),(3,4)]'::lseg", "'((1,2),(3,4))'::box",
	"'((1,2),(3,4))'::path", "'((1,2),(3,4))'::polygon", "'<(1,2),3>'::circle", "'a b'::tsvector",
	"'a & b'::tsquery", "'[1,5)'::int4range", "'{[1,2),[3,4)}'::int4multirange", "'[1.5,2.5]'::numrange",
	"'[2024-01-01,2024-02-01)'::daterange", "ARRAY[[1,2],[3,NULL]]", "ARRAY['a','b,c',NULL]", "'{}'::int[]",
	"ROW(1,'a',NULL)", "'pg_class'::regclass", "'0/16B3740'::pg_lsn", "'<a>b</a>'::xml", "42::oid", "NULL",
	"'Grün 日本 🐘'", "repeat('x', 100000)", "repeat('y', 3000000)"}

// script is what the test of equal bytes says, and how many ReadyForQuery each part brings.
func script() (parts []struct {
	bytes []byte
	ready int
}) {
	add := func(ready int, messages ...[]byte) {
		parts = append(parts, struct {
			bytes []byte
			ready int
		}{bytes.Join(messages, nil), ready})
	}
	for _, v := range valuesOfTypes {
		add(1, msg('Q', "SELECT "+v))
		for format := range int16(2) {
			add(1, ask("SELECT "+v, format))
		}
	}
	add(1, msg('Q', ""))
	add(1, msg('Q', "SELECT 1; SELECT 2; SELECT 1/0; SELECT 3"))
	add(1, msg('Q', "DO $$ BEGIN RAISE NOTICE 'hear'; END $$"))
	add(1, msg('Q', "SET TimeZone = 'Asia/Tokyo'"))
	add(1, msg('Q', "TRUNCATE t"))
	add(1, msg('Q', "BEGIN"), msg('Q', "SELECT 1/0"))
	add(2, msg('Q', "SELECT 1"), msg('Q', "ROLLBACK"))
	add(1, msg('Q', "COPY t FROM STDIN"), msg('d', []byte("1\tone\n2\ttwo\n")), msg('c'))
	add(1, msg('Q', "COPY t TO STDOUT"))
	add(1, msg('Q', "COPY t FROM STDIN"), msg('f', "no more"))
	// A Sync in front of data is for nothing.
	add(1, msg('P', "", "COPY t FROM STDIN", int16(0)), msg('B', "", "", int16(0), int16(0), int16(0)),
		msg('E', "", int32(0)), msg('S'), msg('d', []byte("3\tthree\n")), msg('c'), msg('S'))
	// An error in a pipeline: the rest of its group is passed over, the next is not.
	add(2, msg('P', "s", "SELECT $1::int / $2::int", int16(0)), msg('D', byte('S'), "s"),
		msg('B', "", "s", int16(0), int16(2), int32(1), []byte("8"), int32(1), []byte("0"), int16(0)),
		msg('E', "", int32(0)), msg('E', "", int32(0)), msg('S'),
		msg('B', "", "s", int16(0), int16(2), int32(1), []byte("8"), int32(1), []byte("2"), int16(0)),
		msg('E', "", int32(0)), msg('S'))
	// A portal in parts, and a Flush.
	add(1, msg('P', "", "SELECT generate_series(1, 10)", int16(0)),
		msg('B', "p", "", int16(0), int16(0), int16(0)), msg('E', "p", int32(3)), msg('H'),
		msg('E', "p", int32(3)), msg('E', "p", int32(0)), msg('C', byte('P'), "p"), msg('S'))
	add(1, msg('P', "s", "SELECT 1", int16(0)), msg('S')) // a name that exists
	add(1, msg('B', "", "nobody", int16(0), int16(0), int16(0)), msg('S'))
	add(2, msg('Q', "LISTEN ears"), msg('Q', "NOTIFY other"))
	// 300 groups at once, of both protocols, good and bad.
	var many [][]byte
	for i := range 100 {
		many = append(many, msg('Q', "SELECT "+strings.Repeat("1+", i)+"1"), ask("SELECT 1/0", 1), ask("TABLE t", 0))
	}
	add(300, many...)
	add(1, msg('F', int32(1340), int16(0), int16(1), int32(1), []byte("7"), int16(0))) // a function by its OID
	return parts
}

// TestRelay_BytesAreTheServers: a client hears the same bytes through the relay as without it,
// but for the key of its session.
func TestRelay_BytesAreTheServers(t *testing.T) {
	s := newStand(t, dbtest.Postgres(t, dbtest.Setup("CREATE TABLE t (a int PRIMARY KEY, b text);")), way{})
	var heard [2][]byte
	for i, at := range []string{s.database, s.url} {
		r := logIn(t, at, "application_name", "script", "options", "-c geqo=off")
		for _, part := range script() {
			r.write(part.bytes)
			r.until(part.ready)
		}
		r.write([]byte("Z\x00\x00\x00\x04")) // no message of a client: the server ends the session
		heard[i] = r.rest()
	}
	if !bytes.Equal(heard[0], heard[1]) {
		at := 0
		for at < min(len(heard[0]), len(heard[1])) && heard[0][at] == heard[1][at] {
			at++
		}
		t.Fatalf("%d bytes direct, %d relayed; from byte %d on direct %q, relayed %q", len(heard[0]), len(heard[1]), at,
			heard[0][at:min(at+80, len(heard[0]))], heard[1][at:min(at+80, len(heard[1]))])
	}
	if len(heard[0]) < 9_000_000 {
		t.Errorf("only %d bytes were compared", len(heard[0]))
	}
}
