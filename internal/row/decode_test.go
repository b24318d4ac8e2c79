package row

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"
)

// sameValues compares Values with what they hold.
var sameValues = cmp.AllowUnexported(Value{}, nested{})

// decodeOne decodes a document whose only member is v.
func decodeOne(f Field, text string) (Value, error) {
	f.Name = "v"
	in, err := NewShape([]Field{f}).DecodeJSON([]byte(`{"v":` + text + `}`))
	if err != nil {
		return Value{}, err
	}
	return in.Values[0], nil
}

func TestDecodeJSON_ReadsEveryKind(t *testing.T) {
	id := "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
	tests := []struct {
		kind Kind
		text string
		want Value
	}{
		{Int, `null`, Value{}},
		{Bool, `true`, BoolValue(true)},
		{Bool, `false`, BoolValue(false)},
		{Int, `9007199254740993`, IntValue(9007199254740993)},
		{Int, `-9223372036854775808`, IntValue(math.MinInt64)},
		{Int, `1.0`, IntValue(1)},
		{Int, `1e3`, IntValue(1000)},
		{Int, `-12.50e1`, IntValue(-125)},
		{Int, `1200e-2`, IntValue(12)},
		{Int, `0e999999`, IntValue(0)},
		{Int, `-0`, IntValue(0)},
		{Int, `0.0000000000000000000000001e25`, IntValue(1)},
		{Uint, `18446744073709551615`, UintValue(math.MaxUint64)},
		{Float, `1.5`, FloatValue(1.5)},
		{Float, `"-Infinity"`, FloatValue(math.Inf(-1))},
		{Float32, `0.1`, Float32Value(0.1)},
		{Decimal, `12345678901234567890.12345678901234567890`,
			TextValue(Decimal, "12345678901234567890.12345678901234567890")},
		{Decimal, `"1.50"`, TextValue(Decimal, "1.50")},
		{Decimal, `"+.5"`, TextValue(Decimal, "0.5")},
		{Decimal, `"NaN"`, TextValue(Decimal, "NaN")},
		{Text, `"a\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t\u0000"`,
			TextValue(Text, "aé😀\"\\/\b\f\n\r\t\x00")},
		{Text, `"\ufffd"`, TextValue(Text, "\ufffd")},
		{Bytes, `"AP9+"`, TextValue(Bytes, "\x00\xff~")},
		{Bytes, `""`, TextValue(Bytes, "")},
		{JSON, ` { "a" : [ 1e999, "\u00e9" ] } `, TextValue(JSON, `{ "a" : [ 1e999, "\u00e9" ] }`)},
		{JSON, ` "x" `, TextValue(JSON, `"x"`)},
		{Date, `"1981-06-09"`, TextValue(Date, "1981-06-09")},
		{Date, `"1981-06-09T00:00:00Z"`, TextValue(Date, "1981-06-09")},
		{Time, `"01:02:03.123456789"`, TextValue(Time, "01:02:03.123456789")},
		{Datetime, `"1981-06-09 01:02:03"`, TextValue(Datetime, "1981-06-09T01:02:03")},
		{DatetimeTZ, `"1981-06-09T01:02:03+01:00"`, TextValue(DatetimeTZ, "1981-06-09T00:02:03Z")},
		{DatetimeTZ, `"infinity"`, TextValue(DatetimeTZ, "infinity")},
		{UUID, `"{` + strings.ToUpper(id) + `}"`, TextValue(UUID, id)},
		{Array, `[]`, ArrayValue([]Value{})},
		{Array, `[1,18446744073709551615,1.5,"a",true,null,[2],{"b": 1}]`, ArrayValue([]Value{
			IntValue(1), UintValue(math.MaxUint64), TextValue(Decimal, "1.5"), TextValue(Text, "a"),
			BoolValue(true), {}, ArrayValue([]Value{IntValue(2)}), TextValue(JSON, `{"b": 1}`),
		})},
		{Null, `"a"`, TextValue(Text, "a")},
	}
	for _, tt := range tests {
		got, err := decodeOne(Field{Kind: tt.kind}, tt.text)
		if err != nil {
			t.Errorf("kind %d %s: %v", tt.kind, tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got, sameValues); diff != "" {
			t.Errorf("kind %d %s: %s", tt.kind, tt.text, diff)
		}
	}
}

func TestDecode_ArraysOfAKind(t *testing.T) {
	float := func(f float64) Value { return FloatValue(f) }
	text := func(k Kind, s string) Value { return TextValue(k, s) }
	tests := []struct {
		elem Kind
		text string
		want []Value
	}{
		{Float, `[-0,1,"NaN",null,[-0.0]]`, []Value{float(math.Copysign(0, -1)), float(1),
			float(math.NaN()), {}, ArrayValue([]Value{float(math.Copysign(0, -1))})}},
		{Decimal, `[1.50,"1e5",10]`, []Value{text(Decimal, "1.50"), text(Decimal, "1e5"),
			text(Decimal, "10")}},
		{Bytes, `["AP8="]`, []Value{text(Bytes, "\x00\xff")}},
		{JSON, `["1",true,null,[1, [2]],{"a": 1}]`, []Value{text(JSON, `"1"`), text(JSON, "true"), {},
			text(JSON, "[1, [2]]"), text(JSON, `{"a": 1}`)}},
		{Date, `["1981-06-09T00:00:00Z","infinity"]`, []Value{text(Date, "1981-06-09"),
			text(Date, "infinity")}},
	}
	for _, tt := range tests {
		f := Field{Kind: Array, Elem: tt.elem}
		got, err := decodeOne(f, tt.text)
		if d := cmp.Diff(ArrayValue(tt.want), got, sameValues); err != nil || d != "" {
			t.Errorf("%s: %v %s", tt.text, err, d)
		}
	}
	own, err := decodeOne(Field{Kind: Array, Elem: Int}, `"[5:6]={1,2}"`)
	if err != nil || own.Kind() != Text || own.Text() != "[5:6]={1,2}" {
		t.Errorf("the database's own text: %v, %v", own, err)
	}
	_, err = decodeOne(Field{Kind: Array, Elem: Int}, `[[1],[2,"x"]]`)
	if err == nil || !strings.HasPrefix(err.Error(), `v[1][1]: "x" is not a 64-bit integer`) {
		t.Errorf("got %v", err)
	}
}

func TestDecodeJSON_RefusesWrongKinds(t *testing.T) {
	tests := map[Kind][]string{
		Bool: {`1`, `"true"`, `[]`},
		Int: {`1.5`, `"1"`, `9223372036854775808`, `1e19`, `1e999999999999`, `1e-1`, `true`, `{}`,
			`0.1e-5`, `1` + strings.Repeat("0", 5000)},
		Uint:       {`-1`, `18446744073709551616`, `1e20`},
		Float:      {`1e999`, `"1.5"`, `"nan"`, `true`},
		Float32:    {`1e39`, `"x"`},
		Decimal:    {`"a"`, `""`, `1e1001`, `1e-999999`, `"1e99999999999999999999"`, `true`, `[1]`},
		Text:       {`1`, `true`, `{}`, `["a"]`},
		Bytes:      {`"a"`, `"YQ"`, `"YR=="`, `"YQ==\n"`, `"Y\nQ=="`, `"-_-_"`, `1`},
		Date:       {`"1981-02-30"`, `"1981-06-09T01:00:00Z"`, `19810609`, `""`},
		Time:       {`"24:30:00"`, `"noon"`, `"01:02:03.1234567891"`},
		Datetime:   {`"1981-06-09"`, `"1981-06-09T01:02:03+01:00"`},
		DatetimeTZ: {`"1981-06-09T01:02:03"`, `0`},
		UUID:       {`"a"`, `1`},
		Array:      {`{}`, `"{1,2}"`, `1`},
		Rows:       {`[]`, `{}`, `1`},
	}
	for kind, texts := range tests {
		for _, text := range texts {
			v, err := decodeOne(Field{Kind: kind}, text)
			var e *DecodeError
			if !errors.As(err, &e) || e.Path != "v" || e.Offset != len(`{"v":`) {
				t.Errorf("kind %d %.40s: got %v, %v", kind, text, v, err)
			}
		}
	}
}

func TestDecodeJSON_SaysWhereItIsWrong(t *testing.T) {
	tests := []struct {
		body string
		want string
	}{
		{``, `the JSON ends too early (byte 0)`},
		{` `, `the JSON ends too early (byte 1)`},
		{`{`, `the JSON ends too early (byte 1)`},
		{`{"emps":[`, `emps: the JSON ends too early (byte 9)`},
		{`[]`, `an array where an object is wanted (byte 0)`},
		{`null`, `null where an object is wanted (byte 0)`},
		{`{} x`, `there is more after the JSON value (byte 3)`},
		{`{}{}`, `there is more after the JSON value (byte 2)`},
		{"\xef\xbb\xbf{}", `not a JSON value (byte 0)`},
		{"{\"deptName\":\"\xff\"}", `invalid UTF-8 (byte 13)`},
		{`{"deptName":"a}`, `deptName: the JSON ends too early (byte 15)`},
		{`{"deptName":"a` + "\n" + `"}`,
			`deptName: a control character in a string, where JSON wants an escape (byte 14)`},
		{`{"deptName":"\x"}`, `deptName: an escape that JSON does not know (byte 13)`},
		{`{"deptName":"a\ud800b"}`,
			`deptName: half of a surrogate pair: \ud800 is not a character (byte 14)`},
		{`{"deptName":"\udc00\ud800"}`,
			`deptName: half of a surrogate pair: \udc00 is not a character (byte 13)`},
		{`{"deptNumber":01}`, `deptNumber: not a JSON value (byte 14)`},
		{`{"deptNumber":+1}`, `deptNumber: not a JSON value (byte 14)`},
		{`{"deptNumber":1,}`, `want the name of a member, in quotes (byte 16)`},
		{`{"deptNumber" 1}`, `want a colon after the name of a member (byte 14)`},
		{`{"emps":[{} {}]}`, `emps: want a comma or the end of the array (byte 12)`},
		{`{"deptNumber":NaN}`, `deptNumber: not a JSON value (byte 14)`},
		{`{"deptNumber":1.5}`, `deptNumber: 1.5 is not a 64-bit integer (byte 14)`},
		{`{"deptName":1}`, `deptName: 1 is not a string (byte 12)`},
		{`{"dptName":1}`, `there is no member "dptName"; did you mean "deptName"? (byte 1)`},
		{`{"DEPTNAME":1}`, `there is no member "DEPTNAME"; did you mean "deptName"? (byte 1)`},
		{`{"xyz\n":1}`, `there is no member "xyz\n" (byte 1)`},
		{`{"deptName":"a", "deptName":"b"}`,
			`member "deptName" comes twice in one object (byte 17)`},
		{`{"deptName":"a","dept\u004eame":"b"}`,
			`member "deptName" comes twice in one object (byte 16)`},
		{`{"emps":{}}`, `emps: an object where an array of objects is wanted (byte 8)`},
		{`{"emps":[null]}`, `emps[0]: null where an object is wanted (byte 9)`},
		{`{"emps":[{},{"sal":"x"}]}`, `emps[1].sal: "x" is not a 64-bit integer (byte 19)`},
		{`{"emps":[{"sla":1}]}`, `emps[0]: there is no member "sla"; did you mean "sal"? (byte 10)`},
		{`{"emps":[{"sall":1}]}`,
			`emps[0]: there is no member "sall"; did you mean "sal"? (byte 10)`},
		{`{"emps":` + strings.Repeat("[", 10000), "emps" + strings.Repeat("[0]", MaxDepth-1) +
			": nested too deeply (byte 39)"},
		{`{"emps":[` + strings.Repeat("0,", MaxElements) + `0]}`,
			fmt.Sprintf("emps[65534]: too many values in one body (byte %d)", 9+2*(MaxElements-2))},
	}
	for _, tt := range tests {
		in, err := deptShape().DecodeJSON([]byte(tt.body))
		if err == nil || err.Error() != tt.want || in != nil {
			t.Errorf("%.60q: got %v, want %s", tt.body, err, tt.want)
		}
	}
}

func TestDecodeJSON_TellsAbsentNullAndEmpty(t *testing.T) {
	s := deptShape()
	body := `{"deptName":null,"emps":[{"empNo":1,"sal":2},{}]}`
	in, err := s.DecodeJSON([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	none := func() []bool { return make([]bool, 8) }
	first := Input{Present: none(), Values: make(Values, 8), Rows: make([][]Input, 8)}
	first.Present[0], first.Present[5] = true, true
	first.Values[0], first.Values[5] = IntValue(1), IntValue(2)
	want := &Input{
		Present: []bool{false, true, false, true},
		Values:  make(Values, 4),
		Rows: [][]Input{3: {first,
			{Present: none(), Values: make(Values, 8), Rows: make([][]Input, 8)}}},
	}
	if diff := cmp.Diff(want, in, sameValues); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{`null`, `[]`} {
		in, err := s.DecodeJSON([]byte(`{"emps":` + text + `}`))
		if err != nil || !in.Present[3] || in.Rows[3] != nil {
			t.Errorf("%s: got %+v, %v", text, in, err)
		}
	}
}

func TestDecodeJSON_TakesWhatItMayHold(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1)
	wide := "[" + strings.Repeat("0,", MaxElements-3) + "0]"
	many := &strings.Builder{}
	for i := range 1000 {
		fmt.Fprintf(many, `%q:0,`, fmt.Sprint(i))
	}
	object := "{" + strings.TrimSuffix(many.String(), ",") + "}"
	for _, text := range []string{deep, wide, object} {
		v, err := decodeOne(Field{Kind: JSON}, text)
		if err != nil || v.Text() != text {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if _, err := decodeOne(Field{Kind: JSON}, "["+deep+"]"); err == nil {
		t.Error("took too deep a body")
	}
	twice := strings.Replace(object, `"999":`, `"0":`, 1)
	if _, err := decodeOne(Field{Kind: JSON}, twice); err == nil {
		t.Error("took a name that comes twice among many")
	}
}

func TestDecode_GivesBackWhatWasEncoded(t *testing.T) {
	s := deptShape()
	v := deptValues()
	fromJSON, err := s.DecodeJSON(s.AppendJSON(nil, v))
	if err != nil {
		t.Fatal(err)
	}
	fromMsgPack, err := s.DecodeMsgPack(s.AppendMsgPack(nil, v))
	if err != nil {
		t.Fatal(err)
	}
	fromMsgPack.Format = FormatJSON
	if diff := cmp.Diff(fromJSON, fromMsgPack, sameValues); diff != "" {
		t.Errorf("-json +msgpack: %s", diff)
	}
	for i, in := range fromJSON.Rows[3] {
		if diff := cmp.Diff(v[3].Rows()[i], in.Values, sameValues); diff != "" {
			t.Errorf("emp %d: %s", i, diff)
		}
	}
	if diff := cmp.Diff(v[:3], fromJSON.Values[:3], sameValues); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	all := allShape()
	f.Add(deptShape().AppendJSON(nil, deptValues()))
	f.Add(all.AppendJSON(nil, nil))
	for _, s := range []string{
		`{"array":[1,{"a":"\ud83d\ude00"}]}`, `{"json":{"a":1,"a":2}}`,
		`{"int":1e3,"decimal":"1e9"}`,
		`{"bool":tru}`, `{"rows":[{"n":1},{}]}`, `[[[[`, `{"text":"\ud800"}`,
		`{"date":"1981-06-09"}`,
		`{"bytes":"AP9+","uuid":"a0eebc999c0b4ef8bb6d6bb9bd380a11"}`,
		`{"instant":"1981-06-09T01:02:03+01"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		in, err := all.DecodeJSON(body)
		if err == nil && !json.Valid(body) {
			t.Fatalf("took %q, which is not JSON", body)
		}
		checkDecoded(t, all, in, err, len(body))
	})
}

// checkDecoded checks what a decoder gave: a DecodeError within the body, or an
// Input that encodes and decodes to itself in both formats.
func checkDecoded(t *testing.T, s *Shape, in *Input, err error, length int) {
	t.Helper()
	if err != nil {
		var e *DecodeError
		if !errors.As(err, &e) || e.Offset < 0 || e.Offset > length || in != nil {
			t.Fatalf("%+v: %#v", in, err)
		}
		return
	}
	body := s.AppendJSON(nil, in.Values)
	if !json.Valid(body) {
		t.Fatalf("not JSON: %q", body)
	}
	again, err := s.DecodeJSON(body)
	if err != nil {
		if strings.Contains(err.Error(), "too") { // a loose array holds other forms
			return
		}
		t.Fatalf("%q: %v", body, err)
	}
	if second := s.AppendJSON(nil, again.Values); string(second) != string(body) {
		t.Fatalf("%q became %q", body, second)
	}
	packed := s.AppendMsgPack(nil, in.Values)
	if err := msgpack.Unmarshal(packed, &map[string]any{}); err != nil {
		t.Fatalf("%x: %v", packed, err)
	}
	if _, err := s.DecodeMsgPack(packed); err != nil && !strings.Contains(err.Error(), "too") {
		t.Fatalf("%x: %v", packed, err)
	}
}
