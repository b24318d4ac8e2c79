package row

import "testing"

func TestAppendCSV(t *testing.T) {
	s := NewShape([]Field{{Name: "a", Kind: Text}, {Name: "b", Kind: Bool}, {Name: "c", Kind: Array},
		{Name: "d", Kind: JSON}, {Name: "e", Kind: Float}, {Name: "f", Kind: Bytes}})
	text := func(s string) Value { return TextValue(Text, s) }
	for _, c := range []struct {
		values Values
		want   string
	}{
		{Values{text("x"), BoolValue(true), Value{}, TextValue(JSON, "1"), FloatValue(1.5), TextValue(Bytes, "ab")},
			"x,t,,1,1.5,YWI="},
		{Values{text(""), BoolValue(false)}, `"",f,,,,`},
		{Values{text(`a"b\c`)}, `"a""b\\c",,,,,`},
		{Values{text("a b")}, `"a b",,,,,`},
		{Values{text("a,b")}, `"a,b",,,,,`},
		{Values{text("(a)\n")}, "\"(a)\n\",,,,,"},
		{Values{text("ü|;")}, "ü|;,,,,,"},
		{Values{Value{}, Value{}, ArrayValue([]Value{text("a"), text("b,c"), {}, text("NULL"), text(""),
			text(`"`)})},
			`,,"{a,""b,c"",NULL,""NULL"","""",""\\""""}",,,`},
		{Values{Value{}, Value{}, ArrayValue([]Value{ArrayValue([]Value{IntValue(1)}),
			ArrayValue([]Value{IntValue(2)})})},
			`,,"{{1},{2}}",,,`},
		{Values{Value{}, Value{}, ArrayValue(nil), TextValue(JSON, `{"a": "x"}`)}, `,,{},"{""a"": ""x""}",,`},
	} {
		if got := string(s.AppendCSV(nil, c.values)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := string(s.AppendCSVHead(nil)); got != "a,b,c,d,e,f" {
		t.Errorf("head %s", got)
	}
}
