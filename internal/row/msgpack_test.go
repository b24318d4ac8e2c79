package row

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tinylib/msgp/msgp"
	"github.com/vmihailenco/msgpack/v5"
)

func TestAppendMsgPack_AgreesWithJSON(t *testing.T) {
	checkMsgPack(t, deptShape(), deptValues())
	s := allShape()
	for _, v := range []Values{
		nil,
		{
			BoolValue(true), IntValue(math.MinInt64), UintValue(math.MaxUint64), FloatValue(-1.5),
			Float32Value(0.5), TextValue(Decimal, "+.50"), TextValue(Text, "é\xff\n"),
			TextValue(Bytes, strings.Repeat("\x00", 300)),
			TextValue(JSON, `{"b":[1,-7,2.5,"\u00e9"],"a":{}}`),
			TextValue(Date, "1981-06-09"), TextValue(Date, "1981-06-09"),
			TextValue(Time, "01:02:03"),
			TextValue(Datetime, "1981-06-09T00:00:00"),
			TextValue(DatetimeTZ, "1981-06-09T00:00:00Z"),
			TextValue(UUID, "00000000-0000-0000-0000-000000000000"),
			ArrayValue([]Value{{}, BoolValue(false), ArrayValue(nil)}), TextValue(Text, ""),
			RowsValue([]Values{{IntValue(1)}, {}}),
		},
	} {
		checkMsgPack(t, s, v)
	}
}

func TestAppendMsgPack_ChoosesShortestForms(t *testing.T) {
	s := NewShape([]Field{{Name: "v"}})
	head := slices.Clip(msgp.AppendString(msgp.AppendMapHeader(nil, 1), "v"))
	for _, n := range []int64{
		0, 1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64,
		-1, -32, -33, -128, -129, -32768, -32769, math.MinInt32, math.MinInt32 - 1, math.MinInt64,
	} {
		got := s.AppendMsgPack(nil, Values{IntValue(n)})
		want := msgp.AppendInt64(head, n)
		if n > 0 { // msgp keeps to signed forms
			want = msgp.AppendUint64(head, uint64(n))
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d: got %x, want %x", n, got, want)
		}
	}
	for _, n := range []int{0, 15, 16, 31, 32, 255, 256, 65535, 65536} {
		text, nils := strings.Repeat("a", n), strings.Repeat("\xc0", n)
		for _, tt := range []struct {
			v    Value
			want []byte
		}{
			{TextValue(Text, text), msgp.AppendString(head, text)},
			{TextValue(Bytes, text), msgp.AppendBytes(head, []byte(text))},
			{ArrayValue(make([]Value, n)),
				append(msgp.AppendArrayHeader(head, uint32(n)), nils...)},
		} {
			if got := s.AppendMsgPack(nil, Values{tt.v}); !bytes.Equal(got, tt.want) {
				t.Errorf("kind %d of %d: got %.20x, want %.20x", tt.v.Kind(), n, got, tt.want)
			}
		}
	}
	for _, n := range []int{15, 16, 65535, 65536} {
		got := NewShape(make([]Field, n)).AppendMsgPack(nil, nil)
		if want := msgp.AppendMapHeader(nil, uint32(n)); !bytes.HasPrefix(got, want) {
			t.Errorf("map of %d: got %.8x, want %x", n, got, want)
		}
	}
}

func TestAppendMsgPack_TurnsJSONIntoValues(t *testing.T) {
	deep := strings.Repeat("[", 600) + "1" + strings.Repeat("]", 600)
	wide := "[" + strings.TrimSuffix(strings.Repeat(`{"k":[1,2,3]},`, 70000), ",") + "]"
	tests := []struct {
		text string
		want any
	}{
		{`null`, nil},
		{` [ true , false ] `, []any{true, false}},
		{`9223372036854775807`, int64(math.MaxInt64)},
		{`-9223372036854775808`, int64(math.MinInt64)},
		{`18446744073709551615`, uint64(math.MaxUint64)},
		{`18446744073709551616`, "18446744073709551616"},
		{`-9223372036854775809`, "-9223372036854775809"},
		{`-0`, math.Copysign(0, -1)},
		{`1.0`, 1.0},
		{`1e3`, 1000.0},
		{`1e999`, "1e999"},
		{`"\u00e9\ud83d\ude00\ud800\/\n"`, "é😀\ufffd/\n"},
		{`{"a":1,"a":2}`, nil},
		{`{"a":}`, `{"a":}`},
		{`[1 2]`, `[1 2]`},
		{`[1`, `[1`},
		{`{1:2}`, `{1:2}`},
		{`nul`, `nul`},
		{`1 1`, `1 1`},
		{`"`, `"`},
		{deep, nil},
		{deep[:500], deep[:500]},
		{wide, nil},
	}
	s := NewShape([]Field{{Name: "v", Kind: JSON}})
	for _, tt := range tests {
		got := decodeMsgp(t, s.AppendMsgPack(nil, Values{TextValue(JSON, tt.text)}))["v"]
		if tt.want == nil && tt.text != "null" {
			continue // that it decodes is what is asked
		}
		if diff := cmp.Diff(plainNumber(tt.want), plainNumber(got)); diff != "" {
			t.Errorf("%.50s: %s", tt.text, diff)
		}
	}
	body := s.AppendMsgPack(nil, Values{TextValue(JSON, `{"b":1,"a":2,"b":3}`)})
	want := "\x81\xa1v\x83\xa1b\x01\xa1a\x02\xa1b\x03"
	if string(body) != want {
		t.Errorf("members out of order: %q, want %q", body, want)
	}
	nested := decodeMsgp(t, s.AppendMsgPack(nil, Values{TextValue(JSON, deep)}))["v"]
	for range maxNesting {
		nested = nested.([]any)[0]
	}
	if nested != deep[maxNesting:600+1+600-maxNesting] {
		t.Errorf("beyond the deepest level: %v", nested)
	}
}

// plainNumber gives integers of any size one type.
func plainNumber(v any) any {
	switch v.(type) {
	case int64, uint64, int8, uint8, int16, uint16, int32, uint32, int:
		return fmt.Sprint(v)
	}
	return v
}

func decodeMsgp(t testing.TB, body []byte) map[string]any {
	t.Helper()
	got, rest, err := msgp.ReadMapStrIntfBytes(body, nil)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%.60x: %v, %d bytes left", body, err, len(rest))
	}
	return got
}

// checkMsgPack decodes the MessagePack of a row with two libraries and compares
// what they find with its JSON.
func checkMsgPack(t testing.TB, s *Shape, v Values) {
	t.Helper()
	body := s.AppendMsgPack(nil, v)
	got := decodeMsgp(t, body)
	var other map[string]any
	if err := msgpack.Unmarshal(body, &other); err != nil {
		t.Fatalf("%x: %v", body, err)
	}
	var want map[string]any
	if err := json.Unmarshal(s.AppendJSON(nil, v), &want); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]map[string]any{"msgp": got, "msgpack": other} {
		if diff := cmp.Diff(likeJSON(want), likeJSON(m)); diff != "" {
			t.Errorf("%s (-json +msgpack):\n%s", name, diff)
		}
	}
}

// likeJSON brings decoded MessagePack and JSON to common types: numbers to
// float64 or, for decimals and such, strings; bytes to base64.
func likeJSON(v any) any {
	switch v := v.(type) {
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case map[string]any:
		for k := range v {
			v[k] = likeJSON(v[k])
		}
	case []any:
		for i := range v {
			v[i] = likeJSON(v[i])
		}
	case nil, bool:
	case float32: // by its fewest digits
		if name := notFinite(float64(v)); name != "" {
			return name
		}
		return likeJSON(json.Number(fmt.Sprint(v)))
	case string:
		if name := namedNumber(v); name != "" {
			return name
		}
		if isJSONNumber(v) {
			return likeJSON(json.Number(v))
		}
		return v
	case json.Number:
		f, _ := v.Float64()
		return f
	case float64:
		if name := notFinite(v); name != "" {
			return name
		}
	default:
		return likeJSON(json.Number(fmt.Sprint(v)))
	}
	return v
}
