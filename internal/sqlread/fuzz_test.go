package sqlread

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// restore writes a statement from its shape and values.
func restore(s *Statement) string {
	var b strings.Builder
	values, inName := s.Values, false
	literal := func() string {
		for values[0].Kind != Number && values[0].Kind != String {
			values = values[1:]
		}
		text := values[0].Text
		values = values[1:]
		return text
	}
	for _, c := range s.Shape() {
		if c == '"' {
			inName = !inName
		}
		if c == '?' && !inName {
			b.WriteString(literal())
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// effects returns what a text does. A type has one name: the words that the server's grammar has for
// it are no name of another's.
func effects(text string) []Effect {
	list := Effects(text)
	for i := range list {
		for j, name := range list[i].Names {
			if t := castTypes[name]; t != nil {
				list[i].Names[j] = t.name
			}
		}
		slices.Sort(list[i].Names)
		list[i].Names = slices.Compact(list[i].Names)
	}
	return list
}

// FuzzRead: whatever the text is, the reading ends, and a statement is the same when it is written
// from its shape and values. What it does the shape tells.
func FuzzRead(f *testing.F) {
	for _, texts := range refused {
		for _, text := range texts {
			if len(text) < 1000 {
				f.Add(text)
			}
		}
	}
	for _, s := range readTaps(f) {
		f.Add(s.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Statement
		why := s.Read(text)
		if why >= NoColumn {
			t.Fatalf("%q is %d", text, why)
		}
		if why != Eligible {
			return
		}
		checkWhere(t, &s)
		does, shape := effects(text), effects(string(s.Shape()))
		if !reflect.DeepEqual(does, shape) {
			t.Fatalf("%q does %+v\n%q does %+v", text, does, s.Shape(), shape)
		}
		other := restore(&s)
		if why := again.Read(other); why != Eligible || string(again.Shape()) != string(s.Shape()) {
			t.Fatalf("%q\n is %q\n and %s, %q", text, other, why, again.Shape())
		}
		if !slices.Equal(s.Where, again.Where) || !slices.Equal(s.Values, again.Values) ||
			describe(&s) != describe(&again) || s.Star != again.Star || s.Count != again.Count ||
			s.Limit != again.Limit || s.Offset != again.Offset {
			t.Fatalf("%q is %+v\n%q is %+v", text, s, other, again)
		}
	})
}
