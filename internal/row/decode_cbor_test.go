package row

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
)

// packCBORBody returns a map whose only member is v, encoded by a library.
func packCBORBody(t testing.TB, v any) []byte {
	t.Helper()
	mode, err := cbor.EncOptions{Time: cbor.TimeRFC3339Nano, TimeTag: cbor.EncTagRequired}.EncMode()
	if err != nil {
		t.Fatal(err)
	}
	body, err := mode.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestDecodeCBOR_ReadsEveryKind(t *testing.T) {
	at := time.Date(1981, 6, 9, 1, 2, 3, 500, time.UTC)
	tests := []struct {
		kind Kind
		v    any
		want Value
	}{
		{Int, nil, Value{}},
		{Bool, true, BoolValue(true)},
		{Bool, false, BoolValue(false)},
		{Int, -1, IntValue(-1)},
		{Int, int64(math.MinInt64), IntValue(math.MinInt64)},
		{Int, 4000000000, IntValue(4000000000)},
		{Int, 5.0, IntValue(5)},
		{Uint, uint64(math.MaxUint64), UintValue(math.MaxUint64)},
		{Float, 0.1, FloatValue(0.1)},
		{Float, float32(0.1), FloatValue(float64(float32(0.1)))},
		{Float, 7, FloatValue(7)},
		{Float, math.Inf(1), FloatValue(math.Inf(1))},
		{Float32, float32(0.1), Float32Value(0.1)},
		{Decimal, "1.50", TextValue(Decimal, "1.50")},
		{Decimal, 1.5, TextValue(Decimal, "1.5")},
		{Decimal, math.NaN(), TextValue(Decimal, "NaN")},
		{Decimal, cbor.RawMessage("\x3b\xff\xff\xff\xff\xff\xff\xff\xff"),
			TextValue(Decimal, "-18446744073709551616")},
		{Text, "aé", TextValue(Text, "aé")},
		{Text, strings.Repeat("a", 70000), TextValue(Text, strings.Repeat("a", 70000))},
		{Text, cbor.RawMessage("\x7f\x61a\x62é\xff"), TextValue(Text, "aé")},
		{Bytes, []byte{0, 255}, TextValue(Bytes, "\x00\xff")},
		{Bytes, cbor.RawMessage("\x5f\x41\x00\x41\xff\xff"), TextValue(Bytes, "\x00\xff")},
		{Bytes, "AP8=", TextValue(Bytes, "\x00\xff")},
		{JSON, cbor.RawMessage("\xbf\x61a\x9f\x01\xf9\x3e\x00\x61\"\xf6\xf5\x41a\xf9\xfc\x00\xff\xff"),
			TextValue(JSON, `{"a":[1,1.5,"\"",null,true,"YQ==","-Infinity"]}`)},
		{DatetimeTZ, at, TextValue(DatetimeTZ, "1981-06-09T01:02:03.0000005Z")},
		{DatetimeTZ, cbor.Tag{Number: 1, Content: 360896523},
			TextValue(DatetimeTZ, "1981-06-09T01:02:03Z")},
		{DatetimeTZ, cbor.Tag{Number: 1, Content: -1.5},
			TextValue(DatetimeTZ, "1969-12-31T23:59:58.5Z")},
		{DatetimeTZ, cbor.Tag{Number: 0, Content: "1981-06-09T03:02:03+02:00"},
			TextValue(DatetimeTZ, "1981-06-09T01:02:03Z")},
		{Array, []any{1, "a", []any{}, []byte("b"), math.Inf(1)}, ArrayValue([]Value{
			IntValue(1), TextValue(Text, "a"), ArrayValue([]Value{}), TextValue(Bytes, "b"),
			FloatValue(math.Inf(1)),
		})},
	}
	for _, tt := range tests {
		s := NewShape([]Field{{Name: "v", Kind: tt.kind}})
		in, err := s.DecodeCBOR(packCBORBody(t, tt.v))
		if err != nil {
			t.Errorf("kind %d %.40v: %v", tt.kind, tt.v, err)
			continue
		}
		if diff := cmp.Diff(tt.want, in.Values[0], sameValues); diff != "" {
			t.Errorf("kind %d %.40v: %s", tt.kind, tt.v, diff)
		}
	}
}

func TestDecodeCBOR_RefusesWrongKinds(t *testing.T) {
	at := time.Unix(0, 0)
	tests := map[Kind][]any{
		Int:      {1.5, "1", math.NaN(), []byte("1"), uint64(math.MaxUint64), at},
		Uint:     {-1, math.Inf(1)},
		Float:    {"1", []byte("1")},
		Decimal:  {[]byte("1"), true, cbor.Tag{Number: 4, Content: []int{-2, 150}}},
		Text:     {[]byte("a"), 1, at, math.NaN()},
		Date:     {at, []byte("1981-06-09")},
		Datetime: {at},
		DatetimeTZ: {0, cbor.Tag{Number: 0, Content: "noon"}, cbor.Tag{Number: 0, Content: 1},
			cbor.Tag{Number: 1, Content: "1"}, cbor.Tag{Number: 1, Content: 1e18},
			cbor.Tag{Number: 1, Content: math.NaN()}, cbor.Tag{Number: 1, Content: nil}},
		Array: {map[string]any{}},
	}
	for kind, values := range tests {
		for _, v := range values {
			s := NewShape([]Field{{Name: "v", Kind: kind}})
			if in, err := s.DecodeCBOR(packCBORBody(t, v)); err == nil {
				t.Errorf("kind %d: took %v as %v", kind, v, in.Values[0])
			}
		}
	}
}

// hostileCBOR are bodies of which each breaks another rule.
var hostileCBOR = []string{
	"",
	"\x80",
	"\xa1",
	"\xa0\xa0",
	"\xff",
	"\xd9\xd9\xf7",
	"\xd9\xd9\xf7\xd9\xd9\xf7\xa0",
	"\xa1\x61j\x1c",                     // a reserved length
	"\xa1\x61j\x1f",                     // an integer of indefinite length
	"\xa1\x61j\xdf\x00",                 // and a tag
	"\xa1\x61j\xff",                     // a break where a value is due
	"\xa1\x61j\xf7",                     // undefined
	"\xa1\x61j\xf8\x20",                 // a simple value
	"\xa1\x61j\xe0",                     // another one
	"\xa1\x61j\xc2\x41\x01",             // a bignum
	"\xa1\x01\x01",                      // a key that is no text
	"\xa1\x41j\x01",                     // a key that is bytes
	"\xa1\x61\xff\x01",                  // a key that is no UTF-8
	"\xa1\x61j\x61\xff",                 // a text that is no UTF-8
	"\xa1\x61j\x7f\x61\xc3\x61\xa9\xff", // a character in two pieces
	"\xa1\x61j\x7f\x41a\xff",            // bytes within a text
	"\xa1\x61j\x7f\x7f\x61a\xff\xff",    // indefinite within indefinite
	"\xa1\x61j\x7f\x61a",                // no end
	"\xa1\x61j\x5f",
	"\xa2\x61j\x01\x61j\x02", // a name twice
	"\xbf\x61j\x01\x78\x01j\x02\xff",
	"\xa1\x61j\xa2\x61a\x01\x61a\x02",
	"\xa1\x61j\xbf\x61a\xff", // a name without its value
	"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xa1\x61j\x9b\x7f\xff\xff\xff\xff\xff\xff\xff",
	"\xa1\x61j\x9a\xff\xff\xff\xff",
	"\xba\xff\xff\xff\xff",
	"\xbb\x80\x00\x00\x00\x00\x00\x00\x00\x00", // twice as much is nothing
	"\xa1\x61j\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
	"\xa1\x61j\x5b\xff\xff\xff\xff\xff\xff\xff\xfe",
	"\xa1\x61j\xfb\x00",
	"\xa1\x7a\xff\xff\xff\xff",
	"\xa1\x61j" + strings.Repeat("\x81", 100000),
	"\xa1\x61j" + strings.Repeat("\x9f", 100000),
	"\xa1\x61j" + strings.Repeat("\xc0", 100000),
	"\xa1\x61j" + strings.Repeat("\xa1\x61a", 100000),
	"\xa1\x61j" + strings.Repeat("\x99\xff\xff", 24000),
	"\xa1\x61j\x9a\x00\x01\x00\x00" + strings.Repeat("\x00", 1<<16),
	"\xa1\x61j\x9f" + strings.Repeat("\x00", 1<<16) + "\xff",
}

func TestDecodeCBOR_RefusesHostileBodiesCheaply(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	for _, body := range hostileCBOR {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in, err := s.DecodeCBOR([]byte(body))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%.20x: took it as %v", body, in.Values)
		}
		// What has no declared length is read before it is known to be too much:
		// a node for each byte, and the copies of a slice that grows.
		most := uint64(64<<10 + 1024*len(body))
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%.20x of %d bytes: %d bytes allocated", body, len(body), used)
		}
	}
}

func TestDecodeCBOR_TakesWhatItMayHold(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	head := "\xa1\x61j"
	deep := strings.Repeat("\x81", MaxDepth-2) + "\x80"
	wide := "\x99\xff\xfe" + strings.Repeat("\x00", MaxElements-2)
	long := "\x9f" + strings.Repeat("\x00", MaxElements-2) + "\xff"
	for _, v := range []string{deep, wide, long} {
		if _, err := s.DecodeCBOR([]byte(head + v)); err != nil {
			t.Errorf("%.20x: %v", v, err)
		}
	}
	for _, v := range []string{"\x81" + deep, "\x82" + wide + "\x00"} {
		if _, err := s.DecodeCBOR([]byte(head + v)); err == nil {
			t.Errorf("%.20x: took it", v)
		}
	}
	if _, err := s.DecodeCBOR([]byte(selfDescribed + head + "\x01")); err != nil {
		t.Errorf("with the tag of CBOR: %v", err)
	}
}

func TestDecodeCBOR_SaysWhereItIsWrong(t *testing.T) {
	s := deptShape()
	body := "\xa1\x64emps\x82\xa0\xa1\x63sal\x61x"
	_, err := s.DecodeCBOR([]byte(body))
	want := `emps[1].sal: "x" is not a 64-bit integer (byte 13)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDecodeCBOR_ReadsWhatAppendCBORWrites(t *testing.T) {
	s := deptShape()
	in, err := s.DecodeCBOR(s.AppendCBOR(nil, deptValues()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.DecodeJSON(s.AppendJSON(nil, deptValues()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, in, sameValues); diff != "" {
		t.Errorf("-json +cbor:\n%s", diff)
	}
}

func FuzzDecodeCBOR(f *testing.F) {
	all := allShape()
	f.Add(deptShape().AppendCBOR(nil, deptValues()))
	f.Add(all.AppendCBOR(nil, nil))
	f.Add([]byte("\xa1\x67instant\xc1\xfb\x41\xd4\x52\xd9\xe2\x00\x00\x00"))
	f.Add([]byte("\xbf\x65array\x9f\xfa\x7f\xc0\x00\x00\x5f\x41a\xff\xa0\xff\xff"))
	f.Add([]byte("\xa1\x65loose\xf9\x7e\x00"))
	for _, body := range hostileCBOR {
		if len(body) < 100 {
			f.Add([]byte(strings.ReplaceAll(body, "\x61j", "\x64json")))
		}
	}
	reader := cborReader(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := all.DecodeCBOR(body)
		if err == nil {
			if err := reader.Wellformed(body); err != nil {
				t.Fatalf("took %x: %v", body, err)
			}
		}
		checkDecoded(t, all, in, err, len(body))
	})
}
