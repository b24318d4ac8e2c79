package row

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestParse_GivesOneTextForEverySpelling(t *testing.T) {
	const id = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
	tests := []struct {
		part KeyPart
		key  string
		want string
	}{
		{KeyPart{Kind: Int, Bits: 32}, "010", "10"},
		{KeyPart{Kind: Int, Bits: 32}, "+5", "5"},
		{KeyPart{Kind: Int, Bits: 32}, "-0", "0"},
		{KeyPart{Kind: Int, Bits: 16}, "-32768", "-32768"},
		{KeyPart{Kind: Int}, "9223372036854775807", "9223372036854775807"},
		{KeyPart{Kind: Uint}, "18446744073709551615", "18446744073709551615"},
		{KeyPart{Kind: Uint}, "+007", "7"},
		{KeyPart{Kind: Uint}, "-0", "0"},
		{KeyPart{Kind: Bool}, "T", "true"},
		{KeyPart{Kind: Bool}, "0", "false"},
		{KeyPart{Kind: UUID}, id, id},
		{KeyPart{Kind: UUID}, strings.ToUpper(id), id},
		{KeyPart{Kind: UUID}, "{" + id + "}", id},
		{KeyPart{Kind: UUID}, strings.ReplaceAll(id, "-", ""), id},
		{KeyPart{Kind: UUID}, "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}", id},
		{KeyPart{Kind: Text, MaxLen: 3}, "é,€", "é,€"},
		{KeyPart{Kind: Text, Word: 6}, "é,€", "é,€"},
		{KeyPart{Kind: Text}, "%2C", "%2C"},
		{KeyPart{Kind: Decimal}, "+01.50", "1.50"},
		{KeyPart{Kind: Decimal}, "-.0", "0.0"},
		{KeyPart{Kind: Decimal}, "1E+3", "1e3"},
		{KeyPart{Kind: Decimal}, "NAN", "NaN"},
		{KeyPart{Kind: Float}, "1.50", "1.5"},
		{KeyPart{Kind: Float}, "-0", "0"},
		{KeyPart{Kind: Float}, "1e21", "1e+21"},
		{KeyPart{Kind: Float}, "-inf", "-Infinity"},
		{KeyPart{Kind: Float32}, "0.100000001490116", "0.1"},
		{KeyPart{Kind: Bytes}, `\xDEAD`, "dead"},
		{KeyPart{Kind: Bytes}, "00ff", "00ff"},
		{KeyPart{Kind: Date}, "1981-06-09", "1981-06-09"},
		{KeyPart{Kind: Date}, "1981-06-09T00:00:00Z", "1981-06-09"},
		{KeyPart{Kind: Date}, "Infinity", "infinity"},
		{KeyPart{Kind: Time}, "01:02:03.500", "01:02:03.5"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03+02", "01:02:03+02:00"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03-15:59:59", "01:02:03-15:59:59"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03+02:00:00", "01:02:03+02:00"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03-00:00:00", "01:02:03Z"},
		{KeyPart{Kind: Uint, Bits: 32}, "4294967295", "4294967295"},
		{KeyPart{Kind: Text, MaxBytes: 4}, "ää", "ää"},
		{KeyPart{Kind: DatetimeTZ}, "1883-11-18 12:00:00-04:56:02", "1883-11-18T16:56:02Z"},
		{KeyPart{Kind: Date}, "4714-11-24 BC", "4714-11-24 BC"},
		{KeyPart{Kind: Time}, "24:00:00", "24:00:00"},
		{KeyPart{Kind: Datetime}, "1981-06-09 01:02:03", "1981-06-09T01:02:03"},
		{KeyPart{Kind: Datetime}, "1981-06-09T01:02:03.000Z", "1981-06-09T01:02:03"},
		{KeyPart{Kind: DatetimeTZ}, "1981-06-09t01:02:03z", "1981-06-09T01:02:03Z"},
		{KeyPart{Kind: DatetimeTZ}, "1981-06-09T01:02:03.25+05:30", "1981-06-08T19:32:03.25Z"},
		{KeyPart{Kind: DatetimeTZ}, "1999-12-31 23:30:00-01", "2000-01-01T00:30:00Z"},
	}
	for _, tt := range tests {
		kt := KeyType{tt.part}
		got, err := kt.Parse(Key(tt.key))
		if err != nil || got != Key(tt.want) {
			t.Errorf("%v %q: got %q, %v, want %q", tt.part, tt.key, got, err, tt.want)
		}
		if again, err := kt.Parse(got); err != nil || again != got {
			t.Errorf("%v: %q is not canonical: %q, %v", tt.part, got, again, err)
		}
	}
}

func TestParse_RefusesWhatNoRowCanHave(t *testing.T) {
	tests := []refusal{
		{KeyPart{Kind: JSON}, "1"},
		{KeyPart{Kind: Array}, "1"},
		{KeyPart{Kind: Rows}, "1"},
		{KeyPart{Kind: Null}, "1"},
		{KeyPart{Kind: Int, Bits: 16}, "32768"},
		{KeyPart{Kind: Int, Bits: 32}, "2147483648"},
		{KeyPart{Kind: Int}, "9223372036854775808"},
		{KeyPart{Kind: Int}, "1.0"},
		{KeyPart{Kind: Int}, "1_0"},
		{KeyPart{Kind: Int}, " 1"},
		{KeyPart{Kind: Int}, "--1"},
		{KeyPart{Kind: Int}, "٣"},
		{KeyPart{Kind: Uint}, "-1"},
		{KeyPart{Kind: Uint}, "-"},
		{KeyPart{Kind: Uint}, "0-0"},
		{KeyPart{Kind: Uint}, "++1"},
		{KeyPart{Kind: Uint}, "+-1"},
		{KeyPart{Kind: Bool}, "tr"},
		{KeyPart{Kind: UUID}, "a0eebc99"},
		{KeyPart{Kind: UUID}, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1"},
		{KeyPart{Kind: UUID}, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a111"},
		{KeyPart{Kind: UUID}, "a0-eebc999c0b4ef8bb6d6bb9bd380a11"},
		{KeyPart{Kind: UUID}, "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{KeyPart{Kind: UUID}, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-"},
		{KeyPart{Kind: UUID}, "g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
		{KeyPart{Kind: Text}, "a\x00"},
		{KeyPart{Kind: Text}, "\xff"},
		{KeyPart{Kind: Text, MaxLen: 2}, "é,€"},
		{KeyPart{Kind: Text, Word: 4}, "é,€"},
		{KeyPart{Kind: Text, Word: 4}, "a b"},
		{KeyPart{Kind: Text, Word: 4}, "a\n"},
		{KeyPart{Kind: Text, Word: 4}, "a\x7f"},
		{KeyPart{Kind: Text}, ""},
		{KeyPart{Kind: Text}, strings.Repeat("a", MaxKey+1)},
		{KeyPart{Kind: Decimal}, "."},
		{KeyPart{Kind: Decimal}, "1e"},
		{KeyPart{Kind: Decimal}, "1e99999999999999999999"},
		{KeyPart{Kind: Float}, "0x1p-2"},
		{KeyPart{Kind: Float}, "1e999"},
		{KeyPart{Kind: Float32}, "1e39"},
		{KeyPart{Kind: Bytes}, "abc"},
		{KeyPart{Kind: Bytes}, "zz"},
	}
	refused(t, tests)
}

// refused checks that no row can have the keys.
func refused(t *testing.T, tests []refusal) {
	t.Helper()
	for _, tt := range tests {
		got, err := KeyType{tt.part}.Parse(Key(tt.key))
		if !errors.Is(err, ErrKey) || got != "" {
			t.Errorf("%v %q: got %q, %v", tt.part, tt.key, got, err)
		}
	}
}

type refusal struct {
	part KeyPart
	key  string
}

func TestParse_RefusesTimesThatAreNone(t *testing.T) {
	refused(t, []refusal{
		{KeyPart{Kind: Date}, "1981-6-9"},
		{KeyPart{Kind: Date}, "1981-02-29"},
		{KeyPart{Kind: Date}, "1981-06-09T01:00:00Z"},
		{KeyPart{Kind: Date}, "1981-06-09T00:00:00"},
		{KeyPart{Kind: Time}, "1:02:03"},
		{KeyPart{Kind: Time}, "25:00:00"},
		{KeyPart{Kind: Time}, "24:00:01"},
		{KeyPart{Kind: Time}, "01:02:03,5"},
		{KeyPart{Kind: Time}, "01:02:03."},
		{KeyPart{Kind: Time}, "01:02:03.1234567"},
		{KeyPart{Kind: Time}, "01:02:03+02"}, {KeyPart{Kind: Time, Zone: true}, "01:02:03"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03+24:00"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03+02:00:60"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03+02:00:0"},
		{KeyPart{Kind: Time, Zone: true}, "01:02:03+02:00:00:00"},
		{KeyPart{Kind: Uint, Bits: 32}, "4294967296"}, {KeyPart{Kind: Uint, Bits: 32}, "-1"},
		{KeyPart{Kind: Text, MaxBytes: 4}, "äää"},
		{KeyPart{Kind: DatetimeTZ}, "0001-01-01T00:00:00+01:00"},
		{KeyPart{Kind: Datetime}, "1981-06-09"},
		{KeyPart{Kind: Datetime}, "1981-06-09T01:02:03+01:00"},
		{KeyPart{Kind: Datetime}, "1981-06-09T24:00:00"},
		{KeyPart{Kind: DatetimeTZ}, "1981-06-09T01:02:03"},
		{KeyPart{Kind: DatetimeTZ}, "9999-12-31T23:59:59-01:00"},
		{KeyPart{Kind: DatetimeTZ}, "0000-01-01T00:00:00+01:00"},
	})
}

func TestParse_SaysWhatIsWrongWithWhichColumn(t *testing.T) {
	city := KeyType{{Column: "city", Kind: Text, MaxLen: 5}, {Column: "no", Kind: Int, Bits: 32}}
	tests := []struct {
		t    KeyType
		key  string
		want string
	}{
		{KeyType{{Column: "deptno", Kind: Int, Bits: 32}}, "abc",
			`key deptno: "abc" is not a 32-bit integer`},
		{city, "Tulsa,x", `key no: "x" is not a 32-bit integer`},
		{city, "Chicago,1", `key city: "Chicago" is longer than 5 characters`},
		{city, "Tulsa", `key: "Tulsa" has 1 parts, want 2: city,no`},
		{city, "Tulsa,1,2", `key: "Tulsa,1,2" has 3 parts, want 2: city,no`},
		{city, "", `key: "" has 1 parts, want 2: city,no`},
		{KeyType{{Column: "name", Kind: Text}}, "", `key name: it is empty`},
		{KeyType{{Column: "k", Kind: Text, Word: 3}}, "abcd", `key k: "abcd" is longer than 3 bytes`},
		{KeyType{{Column: "k", Kind: Text, Word: 3}}, "a b",
			`key k: "a b" has a blank or a control character in it`},
		{KeyType{{Column: "sum", Kind: Bytes}}, `\x`, `key sum: it is empty`},
		{KeyType{{Column: "id", Kind: UUID}}, "a\n" + strings.Repeat("é", 60),
			`key id: "a\n` + strings.Repeat(`\u00e9`, 31) + `"... is not a UUID`},
		{city, strings.Repeat("%", MaxKey-2) + ",1", `key city: "` + strings.Repeat("%", 64) +
			`"... is longer than 5 characters`},
		{KeyType{{Kind: Text}, {Kind: Text}}, strings.Repeat("%", MaxKey-2) + ",1",
			`key: 6140 bytes are more than 2048`},
	}
	for _, tt := range tests {
		_, err := tt.t.Parse(Key(tt.key))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%.60q: got %v, want %s", tt.key, err, tt.want)
		}
	}
}

func TestParse_ReadsCompositeKeys(t *testing.T) {
	kt := KeyType{{Column: "city", Kind: Text}, {Column: "no", Kind: Int}}
	for key, want := range map[Key]Key{
		"Tulsa,007":     "Tulsa,7",
		"a%2cb,1":       "a%2Cb,1",
		"100%25,1":      "100%25,1",
		"100%,1":        "100%25,1",
		",1":            ",1",
		"%252C%2525,-0": "%252C%2525,0",
	} {
		if got, err := kt.Parse(key); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", key, got, err, want)
		}
	}
}

func TestParse_AllocatesNothingForCanonicalKeys(t *testing.T) {
	for kind, key := range map[Kind]Key{
		Int: "1041772", UUID: "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", Text: "somebody",
		Bool:    "true",
		Decimal: "1.50", Float: "1.5", Bytes: "dead", DatetimeTZ: "1981-06-09T01:02:03.25Z",
	} {
		kt := KeyType{{Column: "id", Kind: kind, MaxLen: 100}}
		if n := testing.AllocsPerRun(100, func() { _, _ = kt.Parse(key) }); n != 0 {
			t.Errorf("%s: %v allocations", key, n)
		}
	}
}

func TestKeyText_TellsKeysFromOtherValues(t *testing.T) {
	for _, tt := range []struct {
		v    Value
		want string
		ok   bool
	}{
		{Value{}, "", false},
		{ArrayValue(nil), "", false},
		{RowsValue(nil), "", false},
		{TextValue(JSON, "1"), "", false},
		{TextValue(Date, "0044-03-15 BC"), "0044-03-15 BC", true},
		{TextValue(Date, "0044-15-03 BC"), "", false},
		{TextValue(Datetime, "10000-01-01 12:00:00.5"), "10000-01-01 12:00:00.5", true},
		{TextValue(Decimal, "$1"), "", false},
		{TextValue(Text, "a\x00"), "", false},
		{TextValue(Text, ""), "", true},
		{BoolValue(true), "true", true},
		{IntValue(-1), "-1", true},
		{UintValue(math.MaxUint64), "18446744073709551615", true},
		{FloatValue(math.Copysign(0, -1)), "0", true},
		{FloatValue(math.NaN()), "NaN", true},
		{Float32Value(0.1), "0.1", true},
		{TextValue(Decimal, "1.50"), "1.50", true},
		{TextValue(Bytes, "\xde\xad"), "dead", true},
	} {
		if got, ok := KeyText(tt.v); got != tt.want || ok != tt.ok {
			t.Errorf("%v: got %q, %v", tt.v, got, ok)
		}
	}
}

// keyValue draws a value that can be a key.
func keyValue(t *rapid.T, k Kind) Value {
	switch k {
	case Bool:
		return BoolValue(rapid.Bool().Draw(t, "bool"))
	case Int:
		return IntValue(rapid.Int64().Draw(t, "int"))
	case Uint:
		return UintValue(rapid.Uint64().Draw(t, "uint"))
	case Float:
		return FloatValue(rapid.Float64().Draw(t, "float"))
	case Float32:
		return Float32Value(rapid.Float32().Draw(t, "float32"))
	case Decimal:
		return TextValue(k, rapid.StringMatching(`-?[0-9]{1,30}(\.[0-9]{1,9})?`).Draw(t, "decimal"))
	case Text:
		s := rapid.StringN(1, 40, -1).Draw(t, "text")
		return TextValue(k, strings.ReplaceAll(s, "\x00", "%,"))
	case Bytes:
		return TextValue(k, string(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "bytes")))
	case UUID:
		const form = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
		return TextValue(k, rapid.StringMatching(form).Draw(t, "uuid"))
	}
	const date, clock = `[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])`,
		`([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?`
	form := map[Kind]string{
		Date: date, Time: clock, Datetime: date + "T" + clock, DatetimeTZ: date + "T" + clock + "Z",
	}[k]
	return TextValue(k, rapid.StringMatching(form).Draw(t, "time"))
}

func TestParse_AgreesWithKeyText(t *testing.T) {
	kinds := []Kind{
		Bool, Int, Uint, Float, Float32, Decimal, Text, Bytes, UUID, Date, Time, Datetime,
		DatetimeTZ,
	}
	rapid.Check(t, func(t *rapid.T) {
		var kt KeyType
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "columns") {
			k := rapid.SampledFrom(kinds).Draw(t, "kind")
			text, ok := KeyText(keyValue(t, k))
			if !ok {
				t.Fatalf("no key")
			}
			kt, parts = append(kt, KeyPart{Column: "c", Kind: k}), append(parts, text)
		}
		key := JoinKey(parts...)
		if got, err := kt.Parse(key); err != nil || got != key {
			t.Errorf("%q: got %q, %v", key, got, err)
		}
	})
}

func FuzzKeyParse(f *testing.F) {
	for k := Null; k <= Rows; k++ {
		for _, s := range []string{
			"010", "1.50", "a,%2C", "{a0}", "1981-06-09T01:02:03Z", "NaN", `\xDE`,
		} {
			f.Add(uint8(k), uint8(Int), s)
		}
	}
	f.Fuzz(func(t *testing.T, a, b uint8, s string) {
		for _, kt := range []KeyType{
			{{Kind: Kind(a), MaxLen: 20}}, {{Kind: Kind(a)}, {Kind: Kind(b), Bits: 32}}, {},
		} {
			got, err := kt.Parse(Key(s))
			if err != nil {
				if !errors.Is(err, ErrKey) || got != "" || !utf8.ValidString(err.Error()) {
					t.Errorf("%q: %q, %v", s, got, err)
				}
				continue
			}
			if again, err := kt.Parse(got); err != nil || again != got {
				t.Errorf("%q: %q is not canonical: %q, %v", s, got, again, err)
			}
			if len(got) > MaxKey {
				t.Errorf("%q: %d bytes", s, len(got))
			}
		}
	})
}
