package row

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestAppendWithoutNulls(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a":null}`:                               `{}`,
		`{"a":1,"b":null,"c":"null"}`:              `{"a":1,"c":"null"}`,
		`{"b":null,"a":[null,{"x":null}]}`:         `{"a":[null,{}]}`,
		` { "a" : { "b" : null , "c" : "\"}" } } `: `{"a":{"c":"\"}"}}`,
		`[]`: `[]`, `null`: `null`, `{"null":null,"n":true}`: `{"n":true}`,
		`[{"a":null},{"a":-1.5e3}]`: `[{},{"a":-1.5e3}]`,
	} {
		if got := string(AppendWithoutNulls(nil, []byte(doc))); got != want {
			t.Errorf("%s: %s, want %s", doc, got, want)
		}
	}
}

// FuzzAppendWithoutNulls compares with what encoding/json reads.
func FuzzAppendWithoutNulls(f *testing.F) {
	for _, seed := range []string{`{"a":null,"b":[null,{"c":null,"d":"x\\"}]}`, "[1,2]", `"\u0000"`, " null "} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var want, is any
		if json.Unmarshal(doc, &want) != nil {
			return
		}
		got := AppendWithoutNulls(nil, doc)
		if again, _ := json.Marshal(want); colons(again) != colons(doc) {
			return // a name twice: encoding/json has the last of them
		}
		if err := json.Unmarshal(got, &is); err != nil {
			t.Fatalf("%q: %q: %v", doc, got, err)
		}
		if want = withoutNulls(want); !reflect.DeepEqual(want, is) {
			t.Fatalf("%q: %q, want %v", doc, got, want)
		}
	})
}

// colons counts the colons outside of strings.
func colons(doc []byte) (n int) {
	for within, i := false, 0; i < len(doc); i++ {
		switch doc[i] {
		case '"':
			within = !within
		case '\\':
			i++
		case ':':
			if !within {
				n++
			}
		}
	}
	return n
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			if of == nil {
				delete(v, name)
			} else {
				v[name] = withoutNulls(of)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
