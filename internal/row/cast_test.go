package row

import (
	"errors"
	"math"
	"testing"
)

func TestCast(t *testing.T) {
	text := func(s string) Value { return TextValue(Text, s) }
	for _, c := range []struct {
		cast Cast
		of   Value
		want string
		err  error
	}{
		{CastText, IntValue(-5), `"-5"`, nil},
		{CastText, BoolValue(true), `"true"`, nil},
		{CastText, FloatValue(1e15), `"1e+15"`, nil},
		{CastText, FloatValue(123456.5), `"123456.5"`, nil},
		{CastText, FloatValue(1e-5), `"1e-05"`, nil},
		{CastText, Float32Value(1e6), `"1e+06"`, nil},
		{CastText, FloatValue(math.Inf(-1)), `"-Infinity"`, nil},
		{CastText, TextValue(Decimal, "1.50"), `"1.50"`, nil},
		{CastText, TextValue(Datetime, "2024-01-01T10:00:00.5"), `"2024-01-01 10:00:00.5"`, nil},
		{CastText, TextValue(DatetimeTZ, "2024-01-01T10:00:00Z"), `"2024-01-01 10:00:00+00"`, nil},
		{CastText, TextValue(Bytes, "a\x00"), `"\\x6100"`, nil},
		{CastText, TextValue(JSON, `{"a": 1}`), `"{\"a\": 1}"`, nil},
		{CastInt4, text(" +12 "), "12", nil},
		{CastInt4, text("1.5"), "", ErrCast},
		{CastInt4, text(""), "", ErrCast},
		{CastInt4, text("2147483648"), "", ErrCastRange},
		{CastInt2, IntValue(40000), "", ErrCastRange},
		{CastInt8, TextValue(Decimal, "-2.5"), "-3", nil},
		{CastInt8, TextValue(Decimal, "0.49"), "0", nil},
		{CastInt8, TextValue(Decimal, "99.5"), "100", nil},
		{CastInt8, TextValue(Decimal, "1e3"), "1000", nil},
		{CastInt8, TextValue(Decimal, "1e-3"), "0", nil},
		{CastInt8, TextValue(Decimal, "1e100"), "", ErrCastRange},
		{CastInt8, FloatValue(2.5), "2", nil},
		{CastInt8, FloatValue(math.NaN()), "", ErrCastRange},
		{CastInt4, TextValue(JSON, "1.5"), "2", nil},
		{CastInt4, TextValue(JSON, `"1"`), "", ErrCast},
		{CastInt4, BoolValue(true), "1", nil},
		{CastFloat, text("1e400"), "", ErrCastRange},
		{CastFloat, text("infinity"), `"Infinity"`, nil},
		{CastFloat, text("0x10"), "", ErrCast},
		{CastFloat, TextValue(Decimal, "1.50"), "1.5", nil},
		{CastDecimal, FloatValue(0.1), "0.1", nil},
		{CastDecimal, text("1.50"), "1.50", nil},
		{CastBool, text("T"), "true", nil},
		{CastBool, text("of"), "false", nil},
		{CastBool, text("o"), "", ErrCast},
		{CastBool, IntValue(7), "true", nil},
		{CastBool, TextValue(JSON, "false"), "false", nil},
		{CastDate, TextValue(DatetimeTZ, "2024-01-01T10:00:00Z"), `"2024-01-01"`, nil},
		{CastJSON, text(`[1]`), "[1]", nil},
		{CastJSON, text("x"), "", ErrCast},
		{CastBool, Value{}, "null", nil},
	} {
		got, err := c.cast.Of(c.of)
		if !errors.Is(err, c.err) {
			t.Errorf("%v::%s: %v, want %v", c.of, c.cast, err, c.err)
			continue
		}
		if is := JSONText(got); err == nil && is != c.want && !(is == "" && c.want == "null") {
			t.Errorf("%v::%s: %s, want %s", c.of, c.cast, is, c.want)
		}
		if err == nil && !got.IsNull() && got.Kind() != c.cast.Kind() {
			t.Errorf("%v::%s is of kind %d", c.of, c.cast, got.Kind())
		}
	}
}

func TestJSONPath(t *testing.T) {
	const doc = `{"a": {"b\u0063": [1, {"x": null}]}, "a ": 2, "a": {"bc": [0, "t\n"]}}`
	for _, c := range []struct{ got, want string }{
		{JSONMember(doc, "a "), "2"},
		{JSONMember(JSONMember(doc, "a"), "bc"), `[0, "t\n"]`},
		{JSONMember(`{"b\u0063":1}`, "bc"), "1"},
		{JSONElement(`[1, [2], {"x":3} ]`, 2), `{"x":3}`},
		{JSONElement(`[1, [2]]`, -1), "[2]"},
		{JSONElement("[1]", 1), ""},
		{JSONElement("[1]", -2), ""},
		{JSONElement("[]", 0), ""},
		{JSONElement("5", 0), ""},
		{JSONMember("[1]", "a"), ""},
		{JSONMember("", "a"), ""},
		{JSONPlain(`"a\"b"`).Text(), `a"b`},
		{JSONPlain("1.50").Text(), "1.50"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	if !JSONPlain("null").IsNull() || JSONValue("null").IsNull() || !JSONValue("").IsNull() {
		t.Error("null")
	}
}
