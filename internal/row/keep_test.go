package row

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKeep_WhatComesBackAsItWasRead(t *testing.T) {
	doc := func(text string) Value { return TextValue(JSON, text) }
	json, list, text := Field{Kind: JSON}, Field{Kind: Array, Elem: JSON}, Field{Kind: Text}
	const all, binary = "json msgpack cbor", "msgpack cbor"
	tests := []struct {
		field     Field
		row, sent Value  // sent is encoded in the format and decoded again
		kept      string // the formats in which the row's value stays
		refused   string // and those in which the body is refused
	}{
		{json, doc("null"), Value{}, all, ""},
		{json, Value{}, Value{}, all, ""},
		{json, doc("1"), Value{}, "", ""},
		{json, doc("1e400"), doc(`1e400`), binary, ""},
		{json, doc("1e400"), doc(`"1e400"`), binary, ""}, // those formats cannot tell
		{json, doc("1e400"), doc("2"), "", binary},
		{json, doc("1e400"), Value{}, "", ""},
		{json, doc("1.50"), doc("1.5"), binary, ""},
		{json, doc("1.50"), doc("2"), "", ""},
		{json, doc(`{"b" : 1, "a": [0.1, -0]}`), doc(`{"a":[0.1,-0],"b":1}`), binary, ""},
		{json, doc(`{"a":3.14159265358979323846,"b":1}`), doc(`{"a":3.141592653589793,"b":2}`), "",
			binary},
		{json, doc(`"\ud800"`), doc("\"\uFFFD\""), binary, ""},
		{json, doc(`"\ud800"`), doc(`""`), "", binary},
		{json, doc(`{"a":1,"a":2}`), doc(`{"a":2}`), "cbor", "msgpack"},
		{json, doc("[18446744073709551616]"), doc("[18446744073709551617]"), "", binary},
		{json, doc("[-18446744073709551616]"), doc("[-18446744073709551615]"), "", "msgpack"},
		{json, doc("-9223372036854775809"), doc("-18446744073709551616"), "", "msgpack"},
		{list, ArrayValue([]Value{doc("1.0"), {}}), ArrayValue([]Value{doc("1"), {}}), binary, ""},
		{list, ArrayValue([]Value{doc("1e400")}), ArrayValue([]Value{doc("1")}), "", binary},
		{text, TextValue(Text, "a\xffb"), TextValue(Text, "a\uFFFDb"), all, ""},
		{text, TextValue(Text, "a\xffb"), TextValue(Text, "a\uFFFD"), "", ""},
		{text, TextValue(Text, "\uFFFD"), TextValue(Text, "\uFFFD"), all, ""},
	}
	for _, tt := range tests {
		tt.field.Name = "v"
		s := NewShape([]Field{tt.field})
		for f, body := range map[Format][]byte{
			FormatJSON:    s.AppendJSON(nil, Values{tt.sent}),
			FormatMsgPack: s.AppendMsgPack(nil, Values{tt.sent}),
			FormatCBOR:    s.AppendCBOR(nil, Values{tt.sent}),
		} {
			read, err := s.Decode(f, body)
			if err != nil {
				t.Fatal(err)
			}
			in := read.Clone()
			if s.Uncertain(in) {
				_ = s.Keep(in, read, Values{TextValue(JSON, "[]")}) // of a try before
				err = s.Keep(in, read, Values{tt.row})
			}
			if refused := strings.Contains(tt.refused, f.String()); refused != (err != nil) {
				t.Errorf("%s %q over %q: refused: %v", f, tt.sent.Text(), tt.row.Text(), err)
			}
			want := read.Values[0]
			if strings.Contains(tt.kept, f.String()) {
				want = tt.row
			}
			if d := cmp.Diff(want, in.Values[0], sameValues); d != "" && err == nil {
				t.Errorf("%s %q over %q: %s", f, tt.sent.Text(), tt.row.Text(), d)
			}
		}
	}
}

func TestKeep_EmbeddedDocumentsByTheirKeys(t *testing.T) {
	kid := NewShape([]Field{{Name: "id", Kind: Int, Key: true}, {Name: "v", Kind: JSON}})
	s := NewShape([]Field{{Name: "kids", Kind: Rows, Shape: kid}})
	row := Values{RowsValue([]Values{
		{IntValue(1), TextValue(JSON, "null")}, {IntValue(2), TextValue(JSON, "1e400")}})}
	decode := func(body string) *Input {
		in, err := s.DecodeJSON([]byte(body))
		if err != nil || !s.Uncertain(in) {
			t.Fatalf("%s: %v, uncertain %v", body, err, s.Uncertain(in))
		}
		return in
	}
	in := decode(`{"kids":[{"id":2,"v":null},{"v":null},{"id":1,"v":null},{"id":3,"v":null}]}`)
	if err := s.Keep(in, in.Clone(), row); err != nil {
		t.Fatal(err)
	}
	for i, want := range []Value{{}, {}, TextValue(JSON, "null"), {}} {
		if d := cmp.Diff(want, in.Rows[0][i].Values[1], sameValues); d != "" {
			t.Errorf("kid %d: %s", i, d)
		}
	}
	in, err := s.DecodeMsgPack([]byte("\x81\xa4kids\x91\x82\xa2id\x02\xa1v\x01"))
	if err != nil {
		t.Fatal(err)
	}
	var e *DecodeError
	if err := s.Keep(in, in.Clone(), row); !errors.As(err, &e) || e.Path != "kids.v" ||
		!strings.Contains(err.Error(), "MessagePack") || strings.Contains(err.Error(), "byte") {
		t.Errorf("got %v", err)
	}
}

func TestSameNumber(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true}, {"10", "1e1", true}, {"0.10", "1E-1", true}, {"0", "0e9", true},
		{"-0", "0", false}, {"1", "-1", false}, {"1e400", "1e401", false}, {"12", "21", false},
	} {
		if got := sameNumber(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}
