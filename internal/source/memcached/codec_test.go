package memcached

import (
	"testing"
	"unicode/utf8"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

func mustCodec(t testing.TB, v source.ValueSpec) codec {
	t.Helper()
	c, err := newCodec(&v)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fields3 has a separator that two parts can make where they meet.
var fields3 = source.ValueSpec{
	Format: source.ValueFields, Fields: []string{"a", "b", "c"}, Separator: "||",
}

func TestCodec_JoinsWhatSplitsAgain(t *testing.T) {
	c := mustCodec(t, fields3)
	for _, tt := range []struct{ before, body, want string }{
		{"", `{"a":"x","b":"y","c":"z"}`, "x||y||z"},
		{"", `{"c":"z"}`, "||||z"},
		{"", `{"a":"x","b":null,"c":null}`, "x"},
		{"", `{"a":"x","b":"","c":null}`, "x||"},
		{"x||y||z", `{"b":null}`, "x||||z"},
		{"x||y||z", `{"c":null}`, "x||y"},
		{"x||y", `{"c":"||"}`, "x||y||||"},
		{"x||y||z", `{"a":"|"}`, "refused"},
		{"x||y||z", `{"a":"p||q"}`, "refused"},
		{"x||y||z", `{"a":"p|","b":"q"}`, "refused"},
		{"x||y||z", `{"b":"q|"}`, "refused"},
		{"x||y||z", `{"b":"|q"}`, "x|||q||z"},
	} {
		in, err := c.shape.DecodeJSON([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		var before []byte
		if tt.before != "" {
			before = []byte(tt.before)
		}
		value, err := c.encode(before, in)
		got := string(value)
		if source.ClassOf(err) == source.Invalid {
			got = "refused"
		}
		if got != tt.want {
			t.Errorf("%s in %q makes %q, %v, want %q", tt.body, tt.before, got, err, tt.want)
		}
	}
}

func TestCodec_RefusesSpecsThatCannotBe(t *testing.T) {
	for _, v := range []source.ValueSpec{
		{}, {Format: "jason"}, {Format: source.ValueFields},
		{Format: source.ValueRaw, Fields: []string{"a", "b"}},
		{Format: source.ValueBytes, Fields: []string{"a", "b"}},
		{Format: source.ValueFields, Fields: []string{"a", "a"}},
		{Format: source.ValueJSON, Fields: []string{""}},
	} {
		if _, err := newCodec(&v); err == nil {
			t.Errorf("%+v is taken", v)
		}
	}
}

// FuzzCodec decodes any value in every format, and writes the document back: the
// bytes of texts that are UTF-8 are then the same.
func FuzzCodec(f *testing.F) {
	for _, s := range []string{"", "a|b", "||", "|||", `{"a":1,"b":[{}],"z":null}`, "\xff||\xfe"} {
		f.Add([]byte(s))
	}
	codecs := []codec{
		mustCodec(f, fields3),
		mustCodec(f, source.ValueSpec{Format: source.ValueJSON, Fields: []string{"a", "b"}}),
		mustCodec(f, source.ValueSpec{Format: source.ValueJSON}),
		mustCodec(f, source.ValueSpec{Format: source.ValueRaw}),
		mustCodec(f, source.ValueSpec{Format: source.ValueBytes}),
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, c := range codecs {
			values, err := c.decode(value)
			if err != nil {
				if c.format != source.ValueJSON {
					t.Errorf("%s of %q: %v", c.format, value, err)
				}
				continue
			}
			body := c.shape.AppendJSON(nil, values)
			in, err := c.shape.DecodeJSON(body)
			if err != nil { // JSON of a column is read less strictly than a body
				if c.format != source.ValueJSON {
					t.Errorf("%q: %s: %v", value, body, err)
				}
				continue
			}
			again, err := c.encode(nil, in)
			if err != nil {
				if c.format == source.ValueJSON && values[0].IsNull() || string(value) == "null" {
					continue
				}
				t.Fatalf("%s %q: %s: %v", c.format, value, body, err)
			}
			texts := c.format != source.ValueJSON && utf8.Valid(value)
			if (texts || c.format == source.ValueBytes) && string(again) != string(value) {
				t.Errorf("%s %q comes back as %q", c.format, value, again)
			}
			if diff := same(c, again, values); diff != "" {
				t.Errorf("%s %q comes back as %q: %s", c.format, value, again, diff)
			}
		}
	})
}

// same compares a value's document with values.
func same(c codec, value []byte, values row.Values) string {
	got, err := c.decode(value)
	if err != nil {
		return err.Error()
	}
	a, b := c.shape.AppendJSON(nil, got), c.shape.AppendJSON(nil, values)
	if string(a) != string(b) {
		return string(a) + " is not " + string(b)
	}
	return ""
}
