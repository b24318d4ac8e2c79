package catalog

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// columnOf returns a column of a type as information_schema writes it.
func columnOf(typ, native string) *Column {
	c := &Column{Column: source.Column{Name: "c", Native: native}, Type: typ}
	c.settle()
	return c
}

func TestColumn_Kinds(t *testing.T) {
	tests := []struct {
		typ, native string
		kind        row.Kind
		bits        int
	}{
		{"tinyint", "tinyint(4)", row.Int, 16}, {"tinyint", "tinyint(1)", row.Bool, 0},
		{"tinyint", "tinyint(1) unsigned", row.Int, 16}, {"smallint", "smallint(6)", row.Int, 16},
		{"smallint", "smallint unsigned", row.Int, 32}, {"mediumint", "mediumint(9)", row.Int, 32},
		{"int", "int(11)", row.Int, 32}, {"int", "int(10) unsigned", row.Int, 64},
		{"bigint", "bigint(20)", row.Int, 64}, {"bigint", "bigint(20) unsigned", row.Uint, 0},
		{"bit", "bit(1)", row.Bool, 0}, {"bit", "bit(8)", row.Uint, 0},
		{"decimal", "decimal(5,2) unsigned", row.Decimal, 0}, {"float", "float", row.Float32, 0},
		{"longblob", "longblob", row.Bytes, 0}, {"enum", "enum('a')", row.Text, 0},
		{"something", "something(new)", row.Text, 0},
	}
	for _, tt := range tests {
		c := columnOf(tt.typ, tt.native)
		if c.Kind != tt.kind || c.Bits != tt.bits {
			t.Errorf("%s is of kind %d with %d bits, want %d and %d", tt.native, c.Kind, c.Bits,
				tt.kind, tt.bits)
		}
	}
}

func TestExactCollation(t *testing.T) {
	for name, want := range map[string]bool{
		"utf8mb4_nopad_bin": true, "utf8mb4_0900_bin": true, "utf8mb4_bin": false,
		"utf8mb4_0900_as_cs": false, "utf8mb4_general_ci": false, "": false,
	} {
		if got := exactCollation(name); got != want {
			t.Errorf("%q is exact: %v, want %v", name, got, want)
		}
	}
}

func TestParseLabels(t *testing.T) {
	tests := map[string][]string{
		"enum('a','b')":        {"a", "b"},
		"enum('it''s',')','')": {"it's", ")", ""},
		"set('a,b')":           {"a,b"},
		"varchar(5)":           nil,
		"text":                 nil,
		"enum('":               nil,
	}
	for native, want := range tests {
		if diff := cmp.Diff(want, parseLabels(native)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", native, diff)
		}
	}
}

func TestColumn_TextsThatAreNotOfTheirKind(t *testing.T) {
	tests := []struct {
		typ, text string
		kind      row.Kind
		want      string
	}{
		{"date", "2024-02-29", row.Date, "2024-02-29"},
		{"date", "0000-00-00", row.Text, "0000-00-00"},
		{"date", "2024-02-31", row.Text, "2024-02-31"},
		{"datetime", "2024-01-02 03:04:05.100000", row.Datetime, "2024-01-02T03:04:05.1"},
		{"datetime", "2024-01-00 03:04:05", row.Text, "2024-01-00 03:04:05"},
		{"timestamp", "2024-01-02 03:04:05", row.DatetimeTZ, "2024-01-02T03:04:05Z"},
		{"time", "23:59:59.000000", row.Time, "23:59:59"},
		{"time", "24:00:00", row.Text, "24:00:00"},
		{"time", "-01:00:00", row.Text, "-01:00:00"},
		{"time", "101:00:00", row.Text, "101:00:00"},
		{"json", `{"a":1}`, row.JSON, `{"a":1}`},
		{"json", `{"a":`, row.Text, `{"a":`},
		{"text", "a\xffb", row.Text, "a\uFFFDb"},
	}
	for _, tt := range tests {
		v, err := columnOf(tt.typ, tt.typ).Value([]byte(tt.text))
		if err != nil || v.Kind() != tt.kind || v.Text() != tt.want {
			t.Errorf("%s %q is %q of kind %d (%v), want %q of kind %d", tt.typ, tt.text, v.Text(),
				v.Kind(), err, tt.want, tt.kind)
		}
	}
}

func TestColumn_RefusesWhatItCannotRead(t *testing.T) {
	for native, v := range map[string]any{
		"bit(64)": []byte("123456789"), "bigint unsigned": []byte("x"), "int": "a string",
		"bigint": []byte("-"),
	} {
		typ := native[:3]
		if typ == "big" {
			typ = "bigint"
		}
		if got, err := columnOf(typ, native).Value(v); err == nil {
			t.Errorf("%s takes %v as %v", native, v, got)
		}
	}
	f := columnOf("double", "double")
	for _, key := range []string{"NaN", "Infinity", "1e999"} {
		if arg, err := f.KeyArg(key); err == nil {
			t.Errorf("a double can have the key %s: %v", key, arg)
		}
	}
	if got := f.Arg(row.FloatValue(math.Inf(1))); got != "+Inf" {
		t.Errorf("infinity is bound as %v, want a text that the server refuses", got)
	}
}

// FuzzColumnValue feeds what a server may send to columns of every type: nothing
// panics, and a value that can be a key is found again by its key.
func FuzzColumnValue(f *testing.F) {
	types := [][2]string{{"tinyint", "tinyint(1)"}, {"int", "int(11)"}, {"bigint", "bigint unsigned"},
		{"bit", "bit(1)"}, {"bit", "bit(64)"}, {"float", "float"}, {"double", "double"},
		{"decimal", "decimal(5,2)"}, {"varchar", "varchar(5)"}, {"varbinary", "varbinary(5)"},
		{"date", "date"}, {"time", "time(6)"}, {"datetime", "datetime(6)"},
		{"timestamp", "timestamp"}, {"json", "json"}, {"uuid", "uuid"}, {"enum", "enum('a')"}}
	for i, s := range []string{"1", "2024-01-02", "2024-01-02 03:04:05.000100", "-01:02:03", "{}",
		"6ba7b810-9dad-11d1-80b4-00c04fd430c8", "1.50", "\xff"} {
		f.Add(uint8(i+7), uint8(0), []byte(s))
	}
	f.Fuzz(func(t *testing.T, which, form uint8, data []byte) {
		typ := types[int(which)%len(types)]
		c := columnOf(typ[0], typ[1])
		var word [8]byte
		copy(word[:], data)
		n := binary.LittleEndian.Uint64(word[:])
		sent := []any{data, int64(n), math.Float64frombits(n), math.Float32frombits(uint32(n)), nil}
		v, err := c.Value(sent[int(form)%len(sent)])
		if err != nil {
			return
		}
		row.NewShape([]row.Field{{Name: "c", Kind: c.Kind}}).AppendJSON(nil, row.Values{v})
		text, ok := c.KeyText(v)
		if !ok || text == "" || len(text) > row.MaxKey {
			return
		}
		kt := row.KeyType{c.KeyPart()}
		kt[0].Bits = 64
		if v.Kind() != kt[0].Kind && !c.tinyBool() {
			return // what no server sends for the type
		}
		if canonical, err := kt.Parse(row.Key(text)); err == nil && canonical != row.Key(text) {
			t.Errorf("%s: the key %q of a row is written %q", typ[1], text, canonical)
		}
		_, _ = c.KeyArg(text)
		_ = c.Arg(v)
	})
}

func TestAsInt_OfWhatTheDriverGives(t *testing.T) {
	for v, want := range map[any]int64{
		int64(-5): -5, uint64(4711): 4711, uint64(math.MaxUint64): math.MaxInt64, nil: 0, "x": 0,
	} {
		if got := AsInt(v); got != want {
			t.Errorf("%v is %d, want %d", v, got, want)
		}
	}
	if got := AsInt([]byte("4711")); got != 4711 {
		t.Errorf("a text of digits is %d", got)
	}
}
