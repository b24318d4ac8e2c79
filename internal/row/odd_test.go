package row

import (
	"errors"
	"testing"
)

// TestKeep_OddValues: what a field is not declared for is taken where the row has the same,
// and is the error of a body that says anything else, or makes a row.
func TestKeep_OddValues(t *testing.T) {
	kids := NewShape([]Field{{Name: "k", Kind: Int, Key: true}, {Name: "d", Kind: Date, Loose: true}})
	s := NewShape([]Field{{Name: "id", Kind: Int, Key: true, Dynamic: true},
		{Name: "at", Kind: Datetime, Dynamic: true}, {Name: "on", Kind: Bool, Loose: true},
		{Name: "kids", Kind: Rows, Shape: kids}})
	row := Values{IntValue(1), IntValue(1577836800), IntValue(2),
		RowsValue([]Values{{IntValue(7), TextValue(Text, "0000-00-00")}})}
	body := func(text string) *Input {
		t.Helper()
		in, err := s.DecodeJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !s.Uncertain(in) {
			t.Errorf("%s: nobody looks at the row", text)
		}
		if in.FirstOdd() == nil {
			t.Errorf("%s makes a row", text)
		}
		return in
	}
	same := body(string(s.AppendJSON(nil, row)))
	in := same.Clone()
	if err := s.Keep(in, same, row); err != nil || !in.Kept[1] || !in.Kept[2] || in.Values[1].Int() != 1577836800 {
		t.Errorf("%v, kept %v", err, in.Kept)
	}
	for text, path := range map[string]string{
		`{"at":1577836801}`: "at", `{"on":3}`: "on", `{"on":"x"}`: "on",
		`{"kids":[{"k":7,"d":"0000-00-01"}]}`: "kids[0].d", `{"kids":[{"k":8,"d":"0000-00-00"}]}`: "kids[0].d",
	} {
		b := body(text)
		var e *DecodeError
		if err := s.Keep(b.Clone(), b, row); !errors.As(err, &e) || e.Path != path {
			t.Errorf("%s: %v, want an error of %s", text, err, path)
		}
	}
	if _, err := s.DecodeJSON([]byte(`{"id":"x"}`)); err == nil {
		t.Error("an odd key is taken")
	}
}
