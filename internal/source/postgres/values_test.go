package postgres

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source/document"
)

// wire returns bytes written in hexadecimal; blanks do not count.
func wire(t testing.TB, s string) []byte {
	t.Helper()
	var digits []byte
	for i := range len(s) {
		if s[i] != ' ' {
			digits = append(digits, s[i])
		}
	}
	b, err := hex.DecodeString(string(digits))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCodec_RefusesMalformedBytes(t *testing.T) {
	tests := []struct {
		name string
		c    codec
		src  string
	}{
		{"an int of three bytes", codec{oid: pgtype.Int4OID, kind: row.Int}, "000001"},
		{"a bool of none", codec{oid: pgtype.BoolOID, kind: row.Bool}, ""},
		{"jsonb version 2", codec{oid: pgtype.JSONBOID, kind: row.JSON}, "02 7b7d"},
		{"jsonb of nothing", codec{oid: pgtype.JSONBOID, kind: row.JSON}, "01"},
		{"a time after midnight", codec{oid: pgtype.TimeOID, kind: row.Time}, "7fffffffffffffff"},
		{"an array without its head", codec{oid: pgtype.Int4OID, array: true}, "00000001"},
		{"an array of 7 dimensions", codec{oid: pgtype.Int4OID, array: true},
			"00000007 00000000 00000017"},
		{"an array of 2 billion in 12 bytes", codec{oid: pgtype.Int4OID, array: true},
			"00000001 00000000 00000017 7fffffff 00000001 00000004 00000001"},
		{"an array of 65536 * 65536", codec{oid: pgtype.Int4OID, array: true},
			"00000002 00000000 00000017 00010000 00000001 00010000 00000001"},
		{"an array of no elements in one dimension", codec{oid: pgtype.Int4OID, array: true},
			"00000001 00000000 00000017 00000000 00000001"},
		{"an element longer than the array", codec{oid: pgtype.TextOID, kind: row.Text,
			array: true},
			"00000001 00000000 00000019 00000001 00000001 7fffffff 61"},
		{"an element of a negative length", codec{oid: pgtype.TextOID, kind: row.Text, array: true},
			"00000001 00000000 00000019 00000001 00000001 fffffffe"},
		{"bytes after the array", codec{oid: pgtype.TextOID, kind: row.Text, array: true},
			"00000001 00000000 00000019 00000001 00000001 ffffffff 61"},
	}
	for _, tt := range tests {
		src := wire(t, tt.src)
		if src == nil {
			src = []byte{}
		}
		if v, err := tt.c.decode(src); !errors.Is(err, errWire) {
			t.Errorf("%s: %v, %v", tt.name, v, err)
		}
	}
}

func TestCodec_FollowsAColumnThatGrew(t *testing.T) {
	c := codec{oid: pgtype.Int4OID, kind: row.Int}
	if got, ok := c.of(pgtype.Int8OID); !ok || got.oid != pgtype.Int8OID {
		t.Errorf("int4 as int8: %v, %v", got, ok)
	}
	if _, ok := c.of(pgtype.TextOID); ok {
		t.Error("int4 as text")
	}
}

func TestCells_RefuseMalformedRecords(t *testing.T) {
	for _, src := range []string{"", "00000001", "00000001 00000017", "00000001 00000017 00000004",
		"00000001 00000017 ffffffff 00", "00000002 00000017 ffffffff", "ffffffff"} {
		var c cells
		if err := c.split(wire(t, src), 1); !errors.Is(err, errWire) {
			t.Errorf("%q: %v, %v", src, c, err)
		}
	}
}

func TestTimestampValue_RoundsDown(t *testing.T) {
	for micros, want := range map[int64]string{
		-1: "1999-12-31T23:59:59.999999", 0: "2000-01-01T00:00:00",
		math.MinInt64 + 1: "290279-12-22 19:59:05.224193 BC",
	} {
		if got := timestampValue(micros, false).Text(); got != want {
			t.Errorf("%d: %s, want %s", micros, got, want)
		}
	}
}

// FuzzDecode feeds the decoders of everything that the server sends. They must
// neither panic nor make more of the bytes than the bytes can hold.
func FuzzDecode(f *testing.F) {
	f.Add(uint8(0), []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
		4, 0, 0, 0, 7})
	f.Add(uint8(1), []byte{0, 0, 0, 1, 0, 0, 0, 23, 255, 255, 255, 255})
	f.Add(uint8(2), binary.BigEndian.AppendUint64(nil, 1<<63))
	oids := []uint32{pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID,
		pgtype.Float4OID,
		pgtype.Float8OID, pgtype.TextOID, pgtype.ByteaOID, pgtype.DateOID,
		pgtype.TimeOID, pgtype.TimetzOID,
		pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.UUIDOID, pgtype.JSONBOID}
	leaf := &document.Item{Column: &column{
		valueType: valueType{codec: codec{oid: pgtype.Int4OID, kind: row.Int}}}}
	f.Fuzz(func(t *testing.T, which uint8, src []byte) {
		oid := oids[int(which)%len(oids)]
		c := codec{oid: oid, kind: binaryKinds[oid]}
		if v, err := c.decode(src); err == nil {
			_, _ = row.KeyText(v)
			one := row.NewShape([]row.Field{{Name: "a", Kind: c.kind}})
			one.AppendJSON(nil, row.Values{v})
		}
		c.array = true
		if v, err := c.decode(src); err == nil && count(v) > len(src) {
			t.Errorf("%d values in %d bytes", count(v), len(src))
		}
		to := &leaves{item: leaf}
		err := records(&cells{data: [][]byte{src}, oids: []uint32{0}}, 0, 1, to)
		if to.said > len(src) || err == nil && to.rows > len(src) {
			t.Errorf("%d rows of %d in %d bytes", to.rows, to.said, len(src))
		}
	})
}

// leaves counts the records that it takes, of which it reads one item.
type leaves struct {
	item       *document.Item
	said, rows int
}

// Begin implements document.RowTaker.
func (l *leaves) Begin(rows int) error {
	l.said = rows
	return nil
}

// Take implements document.RowTaker.
func (l *leaves) Take(r document.Row) error {
	l.rows++
	_, err := r.Value(0, l.item)
	return err
}

// count counts the values of an array.
func count(v row.Value) int {
	n := 0
	for _, e := range v.List() {
		n += 1 + count(e)
	}
	return n
}

func TestAppendArray(t *testing.T) {
	text := func(s string) row.Value { return row.TextValue(row.Text, s) }
	list := []row.Value{text(`a"b\c,{}`), {}, row.IntValue(-1), row.BoolValue(true),
		row.ArrayValue([]row.Value{text("NULL"), row.FloatValue(math.Inf(-1))})}
	want := `{"a\"b\\c,{}",NULL,-1,true,{"NULL",-Infinity}}`
	if got := string(appendArray(nil, list, ',')); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	bytes := []row.Value{row.TextValue(row.Bytes, "\x00\xff"), text("(1,2),(3,4)")}
	if got := string(appendArray(nil, bytes, ';')); got != `{"\\x00ff";"(1,2),(3,4)"}` {
		t.Errorf("with semicolons: %s", got)
	}
}

func TestDecodeArray_WhatAListCannotSay(t *testing.T) {
	ints := codec{oid: pgtype.Int4OID, kind: row.Int, array: true, delim: ','}
	docs := codec{oid: pgtype.JSONOID, kind: row.JSON, array: true, delim: ','}
	for _, tt := range []struct {
		c         codec
		src, want string
	}{
		{ints, "00000001 00000000 00000017 00000002 00000001 00000004 00000007 ffffffff", "list"},
		{ints, "00000001 00000000 00000017 00000002 00000000 00000004 00000007 ffffffff",
			"[0:1]={7,NULL}"},
		{ints, "00000002 00000000 00000017 00000001 00000001 00000001 fffffffe 00000004 00000007",
			"[1:1][-2:-2]={{7}}"},
		{docs, "00000001 00000000 00000072 00000002 00000001 ffffffff 00000002 5b5d", "list"},
		{docs, "00000001 00000000 00000072 00000002 00000001 ffffffff 00000005 6e756c6c20",
			`{NULL,"null "}`},
		{docs, "00000002 00000000 00000072 00000001 00000001 00000001 00000001 00000002 5b5d",
			`{{"[]"}}`},
	} {
		v, err := tt.c.decode(wire(t, tt.src))
		got := v.Text()
		if v.Kind() == row.Array {
			got = "list"
		}
		if err != nil || got != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.src, got, err, tt.want)
		}
	}
}
