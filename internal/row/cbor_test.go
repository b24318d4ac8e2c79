package row

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
)

// cborReader decodes with a library, and refuses a name that comes twice.
func cborReader(t testing.TB) cbor.DecMode {
	t.Helper()
	mode, err := cbor.DecOptions{
		DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxNestedLevels: 2 * maxNesting,
		MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
	}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	return mode
}

// checkCBOR compares the CBOR of a row with its JSON, and with what a library
// makes of it in the deterministic encoding.
func checkCBOR(t testing.TB, s *Shape, v Values) {
	t.Helper()
	body := s.AppendCBOR(nil, v)
	var got map[string]any
	if err := cborReader(t).Unmarshal(body, &got); err != nil {
		t.Fatalf("%x: %v", body, err)
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := mode.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, body) {
		t.Errorf("not the deterministic encoding:\n got %x\nwant %x", body, again)
	}
	var want map[string]any
	if err := json.Unmarshal(s.AppendJSON(nil, v), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(likeJSON(want), likeJSON(stringKeys(got))); diff != "" {
		t.Errorf("-json +cbor:\n%s", diff)
	}
}

// stringKeys gives the maps within v the type that JSON gives them.
func stringKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = stringKeys(v[k])
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for k := range v {
			m[k.(string)] = stringKeys(v[k])
		}
		return m
	case []any:
		for i := range v {
			v[i] = stringKeys(v[i])
		}
	}
	return v
}

func TestAppendCBOR_AgreesWithJSON(t *testing.T) {
	checkCBOR(t, deptShape(), deptValues())
	s := allShape()
	for _, v := range []Values{
		nil,
		{
			BoolValue(true), IntValue(math.MinInt64), UintValue(math.MaxUint64), FloatValue(-1.5),
			Float32Value(0.5), TextValue(Decimal, "+.50"), TextValue(Text, "é\xff\n"),
			TextValue(Bytes, strings.Repeat("\x00", 300)),
			TextValue(JSON, `{"bb":[1,-7,2.5,"\u00e9"],"a":{},"b":{"d":1,"c":2}}`),
			TextValue(Date, "1981-06-09"), TextValue(Date, "1981-06-09"),
			TextValue(Time, "01:02:03"),
			TextValue(Datetime, "1981-06-09T00:00:00"),
			TextValue(DatetimeTZ, "1981-06-09T00:00:00Z"),
			TextValue(UUID, "00000000-0000-0000-0000-000000000000"),
			ArrayValue([]Value{{}, BoolValue(false), ArrayValue(nil)}), TextValue(Text, ""),
			RowsValue([]Values{{IntValue(1)}, {}}),
		},
	} {
		checkCBOR(t, s, v)
	}
}

func TestAppendCBOR_DoesNotDependOnTheOrderOfColumns(t *testing.T) {
	names := []string{"b", "a", "aa", "", strings.Repeat("c", 24), "é", "a"}
	fields := make([]Field, len(names))
	values := make(Values, len(names))
	for i, n := range names {
		fields[i], values[i] = Field{Name: n}, IntValue(int64(i))
	}
	got := NewShape(fields).AppendCBOR(nil, values)
	want := "\xa6" + "\x60\x03" + "\x61a\x01" + "\x61b\x00" + "\x62aa\x02" + "\x62é\x05" +
		"\x78\x18" + strings.Repeat("c", 24) + "\x04"
	if string(got) != want {
		t.Errorf("got %x, want %x", got, want)
	}
}

// The vectors of RFC 8949, appendix A, as far as documents hold such values.
func TestAppendCBOR_WritesTheVectorsOfTheStandard(t *testing.T) {
	s := NewShape([]Field{{Name: "v"}})
	for _, tt := range []struct {
		v    Value
		want string
	}{
		{IntValue(0), "00"}, {IntValue(23), "17"}, {IntValue(24), "1818"}, {IntValue(100), "1864"},
		{IntValue(1000), "1903e8"}, {IntValue(1000000), "1a000f4240"},
		{IntValue(1000000000000), "1b000000e8d4a51000"},
		{UintValue(math.MaxUint64), "1bffffffffffffffff"},
		{IntValue(-1), "20"}, {IntValue(-10), "29"}, {IntValue(-100), "3863"},
		{IntValue(-1000), "3903e7"}, {IntValue(math.MinInt64), "3b7fffffffffffffff"},
		{FloatValue(0), "f90000"}, {FloatValue(math.Copysign(0, -1)), "f98000"},
		{FloatValue(1), "f93c00"}, {FloatValue(1.1), "fb3ff199999999999a"},
		{FloatValue(65504), "f97bff"}, {FloatValue(100000), "fa47c35000"},
		{FloatValue(3.4028234663852886e+38), "fa7f7fffff"}, {FloatValue(1e300), "fb7e37e43c8800759c"},
		{FloatValue(5.960464477539063e-8), "f90001"}, {FloatValue(0.00006103515625), "f90400"},
		{FloatValue(-4.1), "fbc010666666666666"}, {FloatValue(math.Inf(1)), "f97c00"},
		{FloatValue(math.Inf(-1)), "f9fc00"}, {FloatValue(math.NaN()), "f97e00"},
		{Float32Value(0.1), "fa3dcccccd"}, {FloatValue(5.960464477539063e-8 / 2), "fa33000000"},
		{FloatValue(65520), "fa477ff000"}, {FloatValue(1023.5 / (1 << 24)), "fa387fe000"},
		{BoolValue(false), "f4"}, {BoolValue(true), "f5"}, {Value{}, "f6"},
		{TextValue(Bytes, "\x01\x02\x03\x04"), "4401020304"},
		{TextValue(Text, "ü"), "62c3bc"}, {ArrayValue([]Value{IntValue(1)}), "8101"},
		{TextValue(JSON, `{"b":[2,3],"a":1,"b":4}`), "a26161016162" + "04"},
		{TextValue(JSON, `1.0`), "f93c00"}, {TextValue(JSON, `[1`), "625b31"},
	} {
		got := s.AppendCBOR(nil, Values{tt.v})
		if want := "a16176" + tt.want; hex.EncodeToString(got) != want {
			t.Errorf("kind %d: got %x, want %s", tt.v.Kind(), got, want)
		}
	}
}

func TestAppendCBOR_FollowsJSONDeep(t *testing.T) {
	s := NewShape([]Field{{Name: "v", Kind: JSON}})
	deep := strings.Repeat(`{"k":[`, 300) + "1" + strings.Repeat("]}", 300)
	body := s.AppendCBOR(nil, Values{TextValue(JSON, deep)})
	if err := cborReader(t).Wellformed(body); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(body, []byte(`{"k":[`)) {
		t.Error("nothing is left as text beyond the deepest level")
	}
}

// Every float of 16 bits is written as itself, and read back.
func TestHalf_IsExact(t *testing.T) {
	for h := range 1 << 16 {
		f := fromHalf(uint16(h))
		if math.IsNaN(f) {
			continue
		}
		got, ok := toHalf(float32(f))
		if !ok || got != uint16(h) {
			t.Fatalf("%#04x is %v: written as %#04x, %v", h, f, got, ok)
		}
		for _, near := range []float32{
			math.Nextafter32(float32(f), float32(math.Inf(1))),
			math.Nextafter32(float32(f), float32(math.Inf(-1))),
		} {
			if got, ok := toHalf(near); ok && fromHalf(got) != float64(near) {
				t.Fatalf("%v is said to be %#04x", near, got)
			}
		}
	}
}

func TestAppendCBOR_AllocatesNothing(t *testing.T) {
	s, v := deptShape(), deptValues()
	dst := make([]byte, 0, 8192)
	if n := testing.AllocsPerRun(100, func() { dst = s.AppendCBOR(dst[:0], v) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
