package row

import (
	"errors"
	"testing"
)

func TestDecodeRows(t *testing.T) {
	s := NewShape([]Field{{Name: "id", Kind: Int}, {Name: "a", Kind: Text}})
	for _, tt := range []struct {
		body string
		only []string
		rows int
		fail bool
	}{
		{`{"id":1}`, nil, 1, false},
		{`[]`, nil, 0, false},
		{`[{"id":1,"a":"x"},{"a":"y","id":2}]`, nil, 2, false},
		{`[{"id":1,"a":"x"},{"id":2}]`, nil, 0, true},
		{`[{"id":1,"b":"x"},{"id":2,"c":1}]`, []string{"id", "a"}, 2, false},
		{`[{"id":1,"b":"x"}]`, nil, 0, true},
		{`[1]`, []string{"id"}, 0, true},
		{`[[{"id":1}]]`, []string{"id"}, 0, true},
		{`[{"id":1},`, nil, 0, true},
		{`null`, nil, 0, true},
	} {
		list, err := s.DecodeRows([]byte(tt.body), tt.only)
		if len(list) != tt.rows || (err != nil) != tt.fail {
			t.Errorf("%s: %d rows, %v", tt.body, len(list), err)
		}
	}
	_, err := s.DecodeRows([]byte(`[{"id":1},{"a":"x"}]`), nil)
	if !errors.As(err, new(RowsError)) {
		t.Errorf("other members: %v", err)
	}
	list, err := s.DecodeRows([]byte(`[{"id":1},{"id":2,"a":"x"}]`), []string{"id", "a"})
	if err != nil {
		t.Fatal(err)
	}
	s.Complete(list[0], []string{"id", "a"})
	if in := list[0]; !in.Present[1] || !in.Values[1].IsNull() || in.Values[0].Int() != 1 {
		t.Errorf("completed: %+v", in)
	}
	if at := s.Place("a"); at != 1 {
		t.Errorf("a is in place %d", at)
	}
}
