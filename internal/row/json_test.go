package row

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAppendJSON_WritesEveryKind(t *testing.T) {
	array := ArrayValue([]Value{
		IntValue(1), {}, ArrayValue([]Value{TextValue(Text, "a")}), ArrayValue(nil),
	})
	tests := []struct {
		name  string
		field Field
		value Value
		want  string
	}{
		{"null", Field{}, Value{}, `null`},
		{"true", Field{}, BoolValue(true), `true`},
		{"false", Field{}, BoolValue(false), `false`},
		{"least int", Field{}, IntValue(math.MinInt64), `-9223372036854775808`},
		{"greatest uint", Field{}, UintValue(math.MaxUint64), `18446744073709551615`},
		{"NaN", Field{}, FloatValue(math.NaN()), `"NaN"`},
		{"infinity", Field{}, FloatValue(math.Inf(1)), `"Infinity"`},
		{"-infinity", Field{}, Float32Value(float32(math.Inf(-1))), `"-Infinity"`},
		{"float32", Field{}, Float32Value(0.1), `0.1`},
		{"decimal", Field{}, TextValue(Decimal, "-1.50"), `-1.50`},
		{"bytes", Field{}, TextValue(Bytes, "\x00\xff~"), `"AP9+"`},
		{"bytes padded", Field{}, TextValue(Bytes, "a"), `"YQ=="`},
		{"no bytes", Field{}, TextValue(Bytes, ""), `""`},
		{"json", Field{}, TextValue(JSON, `{"a": [1, "\u00e4"]}`), `{"a": [1, "\u00e4"]}`},
		{"no json", Field{}, TextValue(JSON, ""), `null`},
		{"date", Field{}, TextValue(Date, "1981-06-09"), `"1981-06-09"`},
		{"date RFC 3339", Field{RFC3339: true}, TextValue(Date, "1981-06-09"),
			`"1981-06-09T00:00:00Z"`},
		{"date before Christ", Field{RFC3339: true}, TextValue(Date, "0044-03-15 BC"),
			`"0044-03-15 BC"`},
		{"infinite date", Field{RFC3339: true}, TextValue(Date, "infinity"), `"infinity"`},
		{"datetime", Field{}, TextValue(Datetime, "1981-06-09T01:02:03"), `"1981-06-09T01:02:03"`},
		{"datetime RFC 3339", Field{RFC3339: true}, TextValue(Datetime, "1981-06-09T01:02:03.5"),
			`"1981-06-09T01:02:03.5Z"`},
		{"time", Field{RFC3339: true}, TextValue(Time, "01:02:03"), `"01:02:03"`},
		{"array", Field{}, array, `[1,null,["a"],[]]`},
		{"array of dates", Field{RFC3339: true}, ArrayValue([]Value{TextValue(Date, "1981-06-09")}),
			`["1981-06-09T00:00:00Z"]`},
		{"rows without a shape", Field{}, RowsValue([]Values{{}}), `null`},
		{"no rows", Field{Shape: NewShape(nil)}, RowsValue(nil), `[]`},
		{"empty rows", Field{Shape: NewShape(nil)}, RowsValue([]Values{{}, {}}), `[{},{}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := one(tt.field, tt.value), `{"v":`+tt.want+`}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestAppendJSON_MendsDecimals(t *testing.T) {
	for text, want := range map[string]string{
		"12345678901234567890.0123456789": `12345678901234567890.0123456789`,
		".5":                              `0.5`,
		"-.50":                            `-0.50`,
		"+1":                              `1`,
		"1.":                              `1`,
		"007":                             `7`,
		"1.e+05":                          `1e5`,
		"1E+5":                            `1E+5`,
		"nan":                             `"NaN"`,
		"Infinity":                        `"Infinity"`,
		"-inf":                            `"-Infinity"`,
		"$1,000.00":                       `"$1,000.00"`,
		"":                                `""`,
		".1e99999999999999999999":         `".1e99999999999999999999"`,
	} {
		if got, want := one(Field{}, TextValue(Decimal, text)), `{"v":`+want+`}`; got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestAppendJSON_WritesDocumentLikeEncodingJSON(t *testing.T) {
	got := deptShape().AppendJSON([]byte("head "), deptValues())
	want, err := json.Marshal(deptStruct())
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "head "+string(want) {
		t.Errorf("got\n%s\nwant\nhead %s", got, want)
	}
}

func TestAppendJSON_OmitsNulls(t *testing.T) {
	s := NewShape([]Field{{Name: "a", OmitNull: true}, {Name: "b", OmitNull: true}})
	for _, tt := range []struct {
		values Values
		want   string
	}{
		{Values{{}, {}}, `{}`},
		{nil, `{}`},
		{Values{{}, IntValue(1)}, `{"b":1}`},
		{Values{IntValue(1)}, `{"a":1}`},
	} {
		if got := string(s.AppendJSON(nil, tt.values)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.values, got, tt.want)
		}
	}
}

func TestAppendJSON_EscapesNamesAndTakesShapesOfTheirOwn(t *testing.T) {
	fields := []Field{{Name: "a\"\\\n\u2028é", Kind: Int}, {Name: "b", Kind: Int}}
	want := `{"a\"\\\n\u2028é":1,"b":null}`
	for _, s := range []*Shape{NewShape(fields), {Fields: fields}} {
		if got := string(s.AppendJSON(nil, Values{IntValue(1)})); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAppendJSON_EscapesLikeEncodingJSON(t *testing.T) {
	texts := []string{
		"", "a", "12345678", "123456789", "\u2028\u2029\u202a", "<>&'", "\ufffd", "a\xffb",
		"\xff\xfe",
		"\xe2\x80", "\xed\xa0\x80", "\x7f", "é€😀", strings.Repeat("x", 100) + "\x01",
	}
	for c := range 256 { // each byte at each place of a word
		for at := range 9 {
			b := []byte("123456789")
			b[at] = byte(c)
			texts = append(texts, string(b))
		}
	}
	for _, s := range texts {
		if got, want := one(Field{}, TextValue(Text, s)), reference(t, s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "s"))
		if got, want := one(Field{}, TextValue(Text, s)), reference(t, s); got != want {
			rt.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

func TestAppendJSON_WritesFloatsLikeEncodingJSON(t *testing.T) {
	floats := []float64{
		0, math.Copysign(0, -1), 1, -1.5, 1e20, 1e21, 1e-6, 9.99e-7, 1e-7, 1e-10, 1e-100, 0.1,
		123456789,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxFloat32, 1e22, -1e-9,
	}
	check := func(f float64) {
		if got, want := one(Field{}, FloatValue(f)), reference(t, f); got != want {
			t.Errorf("float64 %v: got %s, want %s", f, got, want)
		}
	}
	check32 := func(f float32) {
		if got, want := one(Field{}, Float32Value(f)), reference(t, f); got != want {
			t.Errorf("float32 %v: got %s, want %s", f, got, want)
		}
	}
	for _, f := range floats {
		check(f)
		if math.Abs(f) <= math.MaxFloat32 {
			check32(float32(f))
		}
	}
	for e := -330; e < 308; e++ { // every size
		check(math.Pow(10, float64(e)) * 1.2345678901234567)
		if e > -50 && e < 38 {
			check32(float32(math.Pow(10, float64(e)) * 1.2345678))
		}
	}
}

func TestAppendJSON_WritesLongBytesLikeEncodingJSON(t *testing.T) {
	for _, n := range []int{1, 2, 3, 767, 768, 769, 1535, 1536, 5000} {
		b := []byte(strings.Repeat("\x00\xf3~", n))[:n]
		if got, want := one(Field{}, TextValue(Bytes, string(b))), reference(t, b); got != want {
			t.Errorf("%d bytes: got %s, want %s", n, got, want)
		}
	}
}

func TestAppendJSON_AllocatesNothing(t *testing.T) {
	all := NewShape([]Field{
		{Name: "a", Kind: Array}, {Name: "b", Kind: Bytes}, {Name: "d", Kind: Decimal},
		{Name: "f", Kind: Float}, {Name: "t", Kind: Text},
		{Name: "dt", Kind: Datetime, RFC3339: true},
		{Name: "n", Kind: Decimal},
	})
	values := Values{
		ArrayValue([]Value{IntValue(1), Float32Value(2.5)}),
		TextValue(Bytes, strings.Repeat("b", 1000)),
		TextValue(Decimal, ".50"), FloatValue(math.NaN()), TextValue(Text, "\"\x01é\xff\u2028"),
		TextValue(Datetime, "1981-06-09T00:00:00"), TextValue(Decimal, "NaN"),
	}
	dst := make([]byte, 0, 1<<14)
	for name, f := range map[string]func(){
		"dept json":    func() { dst = deptAlloc.AppendJSON(dst[:0], deptAllocValues) },
		"dept msgpack": func() { dst = deptAlloc.AppendMsgPack(dst[:0], deptAllocValues) },
		"all json":     func() { dst = all.AppendJSON(dst[:0], values) },
		"hash":         func() { Hash(dst) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

var deptAlloc, deptAllocValues = deptShape(), deptValues()

func FuzzJSONEncode(f *testing.F) {
	f.Add("a", "1.5", 1.5, int64(1), "2001-01-01", []byte("x"))
	f.Add("\xff\u2028\"", "+.5e3", math.Inf(1), int64(-1)<<63, "infinity", []byte{})
	f.Fuzz(func(t *testing.T, text, dec string, fl float64, n int64, date string, b []byte) {
		s := NewShape([]Field{
			{Name: text}, {Name: "dec"}, {Name: "float"}, {Name: "float32"}, {Name: "int"},
			{Name: "date", RFC3339: true}, {Name: "bytes"}, {Name: "list"},
		})
		v := Values{
			TextValue(Text, text), TextValue(Decimal, dec), FloatValue(fl),
			Float32Value(float32(fl)),
			IntValue(n), TextValue(Date, date), TextValue(Bytes, string(b)),
			ArrayValue([]Value{TextValue(Text, text), UintValue(uint64(n))}),
		}
		body := s.AppendJSON(nil, v)
		var got map[string]any
		d := json.NewDecoder(strings.NewReader(string(body)))
		d.UseNumber()
		if err := d.Decode(&got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		want, _ := json.Marshal(b)
		if string(want) == "null" {
			want = []byte(`""`)
		}
		bytes, _ := json.Marshal(got["bytes"])
		if string(bytes) != string(want) && text != "bytes" {
			t.Errorf("bytes: got %s, want %s", bytes, want)
		}
		if list, ok := got["list"].([]any); text != "list" && (!ok || list[0] != toValid(text)) {
			t.Errorf("text %q: got %v", text, got["list"])
		}
		checkMsgPack(t, s, v)
	})
}

// toValid returns s as encoding/json decodes it.
func toValid(s string) string { return string([]rune(s)) }
