package row

import (
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"
)

// pack returns a map whose only member is v, encoded by another library.
func pack(t testing.TB, v any) []byte {
	t.Helper()
	body, err := msgpack.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestDecodeMsgPack_ReadsEveryKind(t *testing.T) {
	at := time.Date(1981, 6, 9, 1, 2, 3, 500, time.UTC)
	tests := []struct {
		kind Kind
		v    any
		want Value
	}{
		{Int, nil, Value{}},
		{Bool, true, BoolValue(true)},
		{Bool, false, BoolValue(false)},
		{Int, int8(-1), IntValue(-1)},
		{Int, int8(-100), IntValue(-100)},
		{Int, int16(-1000), IntValue(-1000)},
		{Int, int32(-100000), IntValue(-100000)},
		{Int, int64(math.MinInt64), IntValue(math.MinInt64)},
		{Int, uint8(200), IntValue(200)},
		{Int, uint16(60000), IntValue(60000)},
		{Int, uint32(4000000000), IntValue(4000000000)},
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
		{Text, "aé", TextValue(Text, "aé")},
		{Text, strings.Repeat("a", 70000), TextValue(Text, strings.Repeat("a", 70000))},
		{Bytes, []byte{0, 255}, TextValue(Bytes, "\x00\xff")},
		{Bytes, "AP8=", TextValue(Bytes, "\x00\xff")},
		{JSON, map[string]any{"a": []any{1, 1.5, "\"", nil, true, []byte("a"), math.Inf(-1)}},
			TextValue(JSON, `{"a":[1,1.5,"\"",null,true,"YQ==","-Infinity"]}`)},
		{DatetimeTZ, at, TextValue(DatetimeTZ, "1981-06-09T01:02:03.0000005Z")},
		{DatetimeTZ, at.Truncate(time.Second), TextValue(DatetimeTZ, "1981-06-09T01:02:03Z")},
		{DatetimeTZ, at.AddDate(1000, 0, 0), TextValue(DatetimeTZ, "2981-06-09T01:02:03.0000005Z")},
		{DatetimeTZ, at.AddDate(-1000, 0, 0),
			TextValue(DatetimeTZ, "0981-06-09T01:02:03.0000005Z")},
		{Array, []any{1, "a", []any{}, []byte("b"), math.Inf(1)}, ArrayValue([]Value{
			IntValue(1), TextValue(Text, "a"), ArrayValue([]Value{}), TextValue(Bytes, "b"),
			FloatValue(math.Inf(1)),
		})},
	}
	for _, tt := range tests {
		s := NewShape([]Field{{Name: "v", Kind: tt.kind}})
		in, err := s.DecodeMsgPack(pack(t, tt.v))
		if err != nil {
			t.Errorf("kind %d %.40v: %v", tt.kind, tt.v, err)
			continue
		}
		if diff := cmp.Diff(tt.want, in.Values[0], sameValues); diff != "" {
			t.Errorf("kind %d %.40v: %s", tt.kind, tt.v, diff)
		}
	}
}

func TestDecodeMsgPack_RefusesWrongKinds(t *testing.T) {
	at := time.Unix(0, 0)
	tests := map[Kind][]any{
		Int:        {1.5, "1", math.NaN(), []byte("1"), uint64(math.MaxUint64), at},
		Uint:       {-1, math.Inf(1)},
		Float:      {"1", []byte("1")},
		Decimal:    {[]byte("1"), true},
		Text:       {[]byte("a"), 1, at, math.NaN()},
		Date:       {at, []byte("1981-06-09")},
		Datetime:   {at},
		DatetimeTZ: {0},
		Array:      {map[string]any{}},
	}
	for kind, values := range tests {
		for _, v := range values {
			s := NewShape([]Field{{Name: "v", Kind: kind}})
			if in, err := s.DecodeMsgPack(pack(t, v)); err == nil {
				t.Errorf("kind %d: took %v as %v", kind, v, in.Values[0])
			}
		}
	}
}

// hostile are bodies that have broken decoders.
var hostile = []string{
	"",
	"\x90",
	"\x81",
	"\x80\x80",
	"\xc1",
	"\x81\xa1j\xc1",
	"\x81\x01\x01",           // a key that is no str
	"\x81\xc4\x01j\x01",      // a key that is a bin
	"\x81\xa1\xff\x01",       // a key that is no UTF-8
	"\x81\xa1j\xa1\xff",      // a str that is no UTF-8
	"\x82\xa1j\x01\xa1j\x02", // a name twice
	"\x81\xa1j\x82\xa1a\x01\xa1a\x02",
	"\xdd\xff\xff\xff\xff", // array32 of 4 G
	"\x81\xa1j\xdd\xff\xff\xff\xff",
	"\xdf\xff\xff\xff\xff", // map32
	"\x81\xa1j\xdf\x80\x00\x00\x00",
	"\x81\xa1j\xdb\xff\xff\xff\xff",     // str32
	"\x81\xa1j\xc6\xff\xff\xff\xff",     // bin32
	"\x81\xa1j\xc9\xff\xff\xff\xff\xff", // ext32
	"\x81\xa1j\xd4",
	"\x81\xa1j\xd6\xff",
	"\x81\xa1j\xd6\xff\x00",
	"\x81\xa1j\xd7\xff\xff\xff\xff\xff\x00\x00\x00\x00",                     // too many nanoseconds
	"\x81\xa1j\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", // too late
	"\x81\xa1j\xd8\x05" + "0123456789abcdef",
	"\x81\xa1j\xd8\xff" + "0123456789abcdef",
	"\x81\xa1j\xcb\x00",
	"\x81\xa1j\xd9",
	"\x81\xd9",
	"\x81\xdb\xff\xff\xff\xff",
	"\x81\xa1j" + strings.Repeat("\x91", 100000),
	"\x81\xa1j" + strings.Repeat("\x81\xa1a", 100000),
	"\x81\xa1j" + strings.Repeat("\xdc\xff\xff", 24000),
	"\x81\xa1j\xdc\xff\xff" + strings.Repeat("\xdc\xff\xff", 24000),
	"\x81\xa1j\xdd\x00\x01\x00\x00" + strings.Repeat("\x00", 1<<16),
}

func TestDecodeMsgPack_RefusesHostileBodiesCheaply(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	for _, body := range hostile {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		in, err := s.DecodeMsgPack([]byte(body))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%.20x: took it as %v", body, in.Values)
		}
		most := uint64(64<<10 + 64*len(body))
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%.20x of %d bytes: %d bytes allocated", body, len(body), used)
		}
	}
}

func TestDecodeMsgPack_TakesWhatItMayHold(t *testing.T) {
	s := NewShape([]Field{{Name: "j", Kind: JSON}})
	head := "\x81\xa1j"
	deep := strings.Repeat("\x91", MaxDepth-2) + "\x90"
	wide := string(msgp.AppendArrayHeader(nil, MaxElements-2)) +
		strings.Repeat("\x00", MaxElements-2)
	for _, v := range []string{deep, wide} {
		if _, err := s.DecodeMsgPack([]byte(head + v)); err != nil {
			t.Errorf("%.20x: %v", v, err)
		}
	}
	for _, v := range []string{"\x91" + deep, "\x92" + wide + "\x00"} {
		if _, err := s.DecodeMsgPack([]byte(head + v)); err == nil {
			t.Errorf("%.20x: took it", v)
		}
	}
}

func TestDecodeMsgPack_SaysWhereItIsWrong(t *testing.T) {
	s := deptShape()
	body := "\x81\xa4emps\x92\x80\x81\xa3sal\xa1x"
	_, err := s.DecodeMsgPack([]byte(body))
	want := `emps[1].sal: "x" is not a 64-bit integer (byte 13)`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzDecodeMsgPack(f *testing.F) {
	all := allShape()
	f.Add(deptShape().AppendMsgPack(nil, deptValues()))
	f.Add(all.AppendMsgPack(nil, nil))
	f.Add([]byte("\x81\xa7instant\xd6\xff\x00\x00\x00\x00"))
	f.Add([]byte("\x81\xa5array\x93\xca\x7f\xc0\x00\x00\xc4\x01a\x80"))
	f.Add([]byte("\x81\xa5loose\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"))
	for _, body := range hostile {
		if len(body) < 100 {
			f.Add([]byte(strings.ReplaceAll(body, "\xa1j", "\xa4json")))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := all.DecodeMsgPack(body)
		if err == nil {
			if err := msgpack.Unmarshal(body, &map[string]any{}); err != nil {
				t.Fatalf("took %x: %v", body, err)
			}
		}
		checkDecoded(t, all, in, err, len(body))
	})
}
