package sqlcache_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A wire is a session whose messages a test writes and reads itself.
type wire struct {
	t testing.TB
	net.Conn
}

func newWire(t testing.TB, url string) *wire {
	t.Helper()
	h, err := connect(t, url, pgx.QueryExecModeExec).PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Conn.Close() })
	_ = h.Conn.SetDeadline(waittest.Deadline(time.Minute))
	return &wire{t, h.Conn}
}

// group returns the bytes of messages.
func group(t testing.TB, messages ...pgproto3.FrontendMessage) (b []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		if b, err = m.Encode(b); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// says sends bytes, and returns all that comes up to so many ReadyForQuery.
func (w *wire) says(p []byte, ready int) (all []byte) {
	w.t.Helper()
	if _, err := w.Write(p); err != nil {
		w.t.Fatal(err)
	}
	for ready > 0 {
		var head [5]byte
		if _, err := io.ReadFull(w, head[:]); err != nil {
			w.t.Fatalf("after %d bytes: %v", len(all), err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(w, body); err != nil {
			w.t.Fatal(err)
		}
		all = append(append(all, head[:]...), body...)
		if head[0] == 'Z' {
			ready--
		}
	}
	return all
}

// valuesOfTypes are values of all types of columns that memory answers, and some others.
var valuesOfTypes = []string{"true", "7::int2", "-7::int4", "7000000000::int8", "1.5::float4", "-0.1::float8",
	"'NaN'::float8", "12345678901234567890.123456789::numeric", "'NaN'::numeric", "'12.34'::money",
	`E'a\nb''"\\'::text`, "'x'::varchar(3)", "'x'::char(3)", `'x'::"char"`, "'name'::name", `'\x00ff10'::bytea`,
	"'2024-02-29'::date", "'infinity'::date", "'23:59:59.999999'::time", "'23:59:59+02'::timetz",
	"'2024-02-29 12:00:00.5'::timestamp", "'2024-02-29 12:00:00.5+02'::timestamptz",
	"'-infinity'::timestamptz", "'1 year 2 mons 3 days 04:05:06.7'::interval",
	"'{\"a\": [1, null, \"ü\"]}'::json", "'{\"a\": [1, null, \"ü\"]}'::jsonb",
	"'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "'10.1.2.3/8'::inet", "'10.0.0.0/8'::cidr",
	"'08:00:2b:01:02:03'::macaddr", "'08:00:2b:01:02:03:04:05'::macaddr8", "B'1011'::bit(4)", "B'10'::varbit",
	"'(1,2)'::point", "'[(1,2),(3,4)]'::lseg", "'((1,2),(3,4))'::box", "'a b'::tsvector", "'[1,5)'::int4range",
	"'{[1,2),[3,4)}'::int4multirange", "'[1.5,2.5]'::numrange", "'[2024-01-01,2024-02-01)'::daterange",
	"ARRAY[[1,2],[3,NULL]]", "ARRAY['a','b,c',NULL]", "'{}'::int[]", "'0/16B3740'::pg_lsn",
	"'<a>b</a>'::xml", "42::oid", "NULL::text", "'Grün 日本 🐘'", "repeat('x', 100000)", "repeat('y', 1100000)"}

// settingsOfBytes are settings that decide how values are written, each with two values.
var settingsOfBytes = [][2]string{{"TimeZone", "Asia/Tokyo"}, {"TimeZone", "UTC"}, {"DateStyle", "German, DMY"},
	{"DateStyle", "ISO, MDY"}, {"IntervalStyle", "iso_8601"}, {"IntervalStyle", "postgres"},
	{"extra_float_digits", "-5"}, {"extra_float_digits", "1"}, {"bytea_output", "escape"}, {"bytea_output", "hex"},
	{"client_encoding", "LATIN1"}, {"client_encoding", "UTF8"}, {"xmlbinary", "hex"}, {"xmlbinary", "base64"},
	{"lc_monetary", "C.UTF-8"}, {"lc_monetary", "C"}, {"search_path", "public, pg_temp"}, {"search_path", "public"}}

// TestServe_BytesAreTheServers: of every type, in each of its formats, by each way to ask and with each
// setting, a client hears the bytes that it hears without hotrow: at first, and from memory.
func TestServe_BytesAreTheServers(t *testing.T) {
	setup := "CREATE TABLE v AS SELECT 1 AS id"
	for i, v := range valuesOfTypes {
		setup += fmt.Sprintf(", %s AS c%d", v, i)
	}
	s := newServing(t, dbtest.Postgres(t, dbtest.Setup(setup+"; ALTER TABLE v ADD PRIMARY KEY (id);")), never, "v")
	direct, relayed := newWire(t, s.database), newWire(t, s.url)
	unlike := 0
	same := func(what string, p []byte, ready int) {
		t.Helper()
		if want, got := direct.says(p, ready), relayed.says(p, ready); !bytes.Equal(want, got) {
			if unlike++; unlike < 10 {
				t.Errorf("%s: %d bytes direct, %d through hotrow: %.300q and %.300q", what, len(want), len(got),
					want, got)
			}
		}
	}
	sync, execute := &pgproto3.Sync{}, &pgproto3.Execute{}
	one := []byte("1")
	all := func(state string, large bool) {
		t.Helper()
		for i, v := range valuesOfTypes {
			if !large && strings.HasPrefix(v, "repeat") {
				continue
			}
			sql := fmt.Sprintf("SELECT id, c%d FROM v WHERE id = $1", i)
			what := state + valuesOfTypes[i]
			literal := group(t, &pgproto3.Query{String: strings.Replace(sql, "$1", "1", 1)})
			name := "s" + fmt.Sprint(i)
			for range 3 {
				same(what, literal, 1)
			}
			parse := &pgproto3.Parse{Query: sql}
			named := &pgproto3.Parse{Query: sql, Name: name}
			same(what, group(t, named, &pgproto3.Describe{ObjectType: 'S', Name: name}, sync), 1)
			for format := range int16(2) {
				f := []int16{format}
				unnamed := &pgproto3.Bind{Parameters: [][]byte{one}, ResultFormatCodes: f}
				bind := &pgproto3.Bind{PreparedStatement: name, Parameters: [][]byte{one}, ResultFormatCodes: f}
				portal := &pgproto3.Describe{ObjectType: 'P'}
				ways := [][]byte{group(t, parse, unnamed, portal, execute, sync),
					group(t, parse, unnamed, execute, sync), group(t, bind, execute, sync),
					group(t, bind, portal, execute, sync),
					group(t, &pgproto3.Describe{ObjectType: 'S', Name: name}, bind, execute, sync),
					group(t, parse, &pgproto3.Describe{ObjectType: 'S'}, unnamed, execute, sync),
					group(t, unnamed, execute, sync), // what was prepared last, also from memory
					group(t, parse, unnamed, portal, &pgproto3.Execute{MaxRows: 1}, sync)}
				if !large && !waittest.Long() {
					ways = ways[:1]
				}
				for _, g := range ways {
					for range 3 {
						same(what, g, 1)
					}
				}
			}
			same(what, group(t, &pgproto3.Close{ObjectType: 'S', Name: name}, sync), 1)
		}
	}
	before := s.front.Stats().Hits
	all("", true)
	if hits := s.front.Stats().Hits - before; hits < uint64(len(valuesOfTypes))*20 {
		t.Errorf("only %d hits: %v", hits, s.front.Stats().Passes)
	}
	for _, set := range settingsOfBytes {
		q := group(t, &pgproto3.Query{String: fmt.Sprintf("SET %s = %s", set[0], set[1])})
		if !strings.HasPrefix(set[0], "search") {
			q = group(t, &pgproto3.Query{String: fmt.Sprintf("SET %s = '%s'", set[0], set[1])})
		}
		same(set[0], q, 1)
		before := s.front.Stats().Hits
		all(set[0]+"="+set[1]+" ", false)
		if hits := s.front.Stats().Hits - before; hits < uint64(len(valuesOfTypes))*4 {
			t.Errorf("%v: only %d hits: %v", set, hits, s.front.Stats().Passes)
		}
	}
	t.Logf("%d answers were unlike, %d from memory", unlike, s.front.Stats().Hits)
}
