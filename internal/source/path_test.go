package source

import (
	"reflect"
	"strings"
	"testing"
)

func TestParsePath(t *testing.T) {
	for text, want := range map[string]DepPath{
		"accounts.id->:key": {Hops: []Hop{{Table: "accounts", Out: []string{"id"}}}},
		"statuses.account_id -> follows.target_id -> :account_id": {Hops: []Hop{
			{Table: "statuses", Out: []string{"account_id"}},
			{Table: "follows", In: []string{"target_id"}}}, Key: []string{"account_id"}},
		"statuses.account_id -> follows.target_id\n  -> follows.account_id -> :key": {Hops: []Hop{
			{Table: "statuses", Out: []string{"account_id"}},
			{Table: "follows", In: []string{"target_id"}, Out: []string{"account_id"}}}},
		`s."a b".(x, "y""z") -> t.(x, y) -> t.id -> :key`: {Hops: []Hop{
			{Table: "s.a b", Out: []string{"x", `y"z`}},
			{Table: "t", In: []string{"x", "y"}, Out: []string{"id"}}}},
		"o.(a, b) -> (:tenant, :id)": {Hops: []Hop{{Table: "o", Out: []string{"a", "b"}}},
			Key: []string{"tenant", "id"}},
		"a.x -> b.y -> b.z -> c.u -> :key": {Hops: []Hop{{Table: "a", Out: []string{"x"}},
			{Table: "b", In: []string{"y"}, Out: []string{"z"}}, {Table: "c", In: []string{"u"}}}},
		"e.boss -> e.id -> e.boss -> :key": {Hops: []Hop{{Table: "e", Out: []string{"boss"}},
			{Table: "e", In: []string{"id"}, Out: []string{"boss"}}}},
	} {
		p, err := ParsePath(text)
		if err != nil || !reflect.DeepEqual(*p, want) {
			t.Errorf("%s: %+v, %v, want %+v", text, p, err, want)
		}
	}
}

// TestParsePath_Bad: an error says what is wrong, and where.
func TestParsePath_Bad(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "want a table and its column, such as statuses.account_id, or :key",
		":key":                       "want a column, such as statuses.account_id, at \":key\"",
		"statuses -> :key":           `want a column of statuses: statuses.COLUMN, at "-> :key"`,
		"statuses.account_id":        "want -> and the next column, or :key, at the end",
		"statuses.account_id > :key": `want -> and the next column, or :key, at "> :key"`,
		"statuses.account_id -> key": "want a column of key: key.COLUMN, at the end",
		"statuses.account_id -> :":   "want the name of a part of the key, at the end",
		"a.x -> :key -> b.y":         `nothing follows the key, at "-> b.y"`,
		"a.x -> b.y -> c.z -> :key": "b.y is followed by c.z, of another table: after the first column " +
			"they come in pairs of one table, such as b.y -> b.COLUMN -> c.z",
		"a.(x, y) -> b.z -> :key":              "a.(x, y) and b.z are compared with each other",
		"a.(x, x) -> :key":                     `"x" is named twice`,
		"a.(x y) -> :key":                      `want a comma or a closing parenthesis, at "y) -> :key"`,
		"a.(x, -> :key":                        `want a column, at "-> :key"`,
		`a."x -> :key`:                         "a quote is not closed",
		`a."" -> :key`:                         "a name is not empty",
		"a.b.c.d -> :key":                      "a.b.c: a table has a name, perhaps a schema, and no more",
		"a.x -> (:a :b)":                       `want a comma or a closing parenthesis, at ":b)"`,
		"a.x -> (:a, b)":                       `want a part of the key, such as :id, at "b)"`,
		"a.x -> (:a, :b)":                      "a.x and the key's a, b are compared with each other",
		strings.Repeat("a.x -> ", 20) + ":key": "it leads over 11 tables, at most 8",
		strings.Repeat("a", 2049):              "a path has at most 2048 bytes",
		"a.x -> \xff.y -> :key":                "a path is UTF-8",
	} {
		if p, err := ParsePath(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want an error with %q", text, p, err, want)
		}
	}
}

// FuzzParsePath: what is read is written so that it is read again.
func FuzzParsePath(f *testing.F) {
	for _, seed := range []string{
		"statuses.account_id -> follows.target_id -> :key", "a.x->b.y->b.z->:key",
		`s."a b".(x, "y""z") -> t.(x, y) -> t.id -> :"l m"`, "a.x -> :\"key\"", "a.(x -> :key",
		"a.x\t->\n(:a)", `"a.b".x -> :key`, "é.ü -> :ß", "a.-> -> :key",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			if p != nil || err.Error() == "" || len(err.Error()) > len(text)+400 {
				t.Errorf("%q: %v, %q", text, p, err)
			}
			return
		}
		again, err := ParsePath(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%q: %+v is written %q, which is %+v, %v", text, p, p.String(), again, err)
		}
	})
}
