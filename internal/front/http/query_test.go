package httpfront

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/row"
)

var (
	deptShape = &row.Shape{Fields: []row.Field{
		{Name: "deptNumber", Column: "deptno", Kind: row.Int},
		{Name: "deptName", Column: "dname", Kind: row.Text},
	}}
	deptKey  = row.KeyType{{Column: "deptno", Kind: row.Int}}
	deptSpec = querySpecOf(deptKey, deptShape, 1000)

	citySpec = querySpecOf(row.KeyType{{Column: "city", Kind: row.Text},
		{Column: "state", Kind: row.Text}}, &row.Shape{Fields: []row.Field{
		{Name: "city", Column: "city", Kind: row.Text},
		{Name: "state", Column: "state", Kind: row.Text},
	}}, 1000)
)

// parseQuery is parse into new memory.
func parseQuery(raw string, s querySpec) (q listQuery, err error) {
	_, err = q.parse(raw, &s, nil)
	return q, err
}

func TestParseQuery(t *testing.T) {
	after := row.Key("Tulsa,OK")
	tests := []struct {
		query string
		spec  querySpec
		want  listQuery
	}{
		{"", deptSpec, listQuery{}},
		{"limit=25", deptSpec, listQuery{limit: 25}},
		{"limit=1000&format=msgpack", deptSpec, listQuery{limit: 1000, format: "msgpack"}},
		{"after=Tulsa%2COK", citySpec, listQuery{after: &after}},
		{"deptNumber=eq.10", deptSpec, listQuery{filtered: true, keys: []row.Key{"10"}}},
		{"deptno=eq.10", deptSpec, listQuery{filtered: true, keys: []row.Key{"10"}}},
		{"deptno=eq.", deptSpec, listQuery{filtered: true, keys: []row.Key{""}}},
		{"deptno=eq.a.b", deptSpec, listQuery{filtered: true, keys: []row.Key{"a.b"}}},
		{"deptno=in.(10,20)", deptSpec, listQuery{filtered: true, keys: []row.Key{"10", "20"}}},
		{"deptno=in.%2810%2C+2%29&limit=2", deptSpec,
			listQuery{filtered: true, limit: 2, keys: []row.Key{"10", " 2"}}},
		{"&&deptno=in.(10)&", deptSpec, listQuery{filtered: true, keys: []row.Key{"10"}}},
		{"deptno=in.()", deptSpec, listQuery{filtered: true, keys: []row.Key{}}},
		{`deptno=in.("a,b",c,"d\"\\")`, deptSpec,
			listQuery{filtered: true, keys: []row.Key{"a,b", "c", `d"\`}}},
		{`deptno=in.("")`, deptSpec, listQuery{filtered: true, keys: []row.Key{""}}},
		{"city=eq.Tulsa&state=eq.OK", citySpec,
			listQuery{filtered: true, keys: []row.Key{"Tulsa,OK"}}},
		{"city=eq.a,b&state=eq.OK", citySpec,
			listQuery{filtered: true, keys: []row.Key{"a%2Cb,OK"}}},
	}
	for _, tt := range tests {
		got, err := parseQuery(tt.query, tt.spec)
		if err != nil {
			t.Errorf("parseQuery(%q): %v", tt.query, err)
		} else if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(listQuery{}),
			cmpopts.EquateEmpty()); d != "" {
			t.Errorf("parseQuery(%q) (-want +got):\n%s", tt.query, d)
		}
	}
}

func TestParseQuery_RefusesByName(t *testing.T) {
	many := "deptno=in.(" + strings.Repeat("1,", 1000) + "1)"
	tests := []struct {
		query string
		spec  querySpec
		says  string // a part of the detail
		fail  *kind
	}{
		{"select=a", deptSpec, `unknown parameter "select"`, kindBadQuery},
		{"deptName=eq.x", deptSpec, `unknown parameter "deptName"`, kindBadQuery},
		{"offset=1", deptSpec, `unknown parameter "offset"`, kindBadQuery},
		{"%0d%0aX=1", deptSpec, `unknown parameter "\r\nX"`, kindBadQuery},
		{"deptno=gt.1", deptSpec, `unknown operator "gt"`, kindBadQuery},
		{"deptno=10", deptSpec, `unknown operator "10"`, kindBadQuery},
		{"limit=0", deptSpec, "limit", kindBadQuery},
		{"limit=1001", deptSpec, "limit", kindBadQuery},
		{"limit=-1", deptSpec, "limit", kindBadQuery},
		{"limit=9999999999999999999999", deptSpec, "limit", kindBadQuery},
		{"limit=1&limit=2", deptSpec, "twice", kindBadQuery},
		{"deptno=eq.1&deptNumber=eq.1", deptSpec, "twice", kindBadQuery},
		{"deptno=eq.1&after=5", deptSpec, "after", kindBadQuery},
		{"after=Tulsa", citySpec, "2 parts", kindBadKey},
		{"city=eq.Tulsa", citySpec, "city, state", kindBadQuery},
		{"city=in.(a,b)&state=eq.OK", citySpec, "city, state", kindBadQuery},
		{"deptno=in.(1", deptSpec, "parentheses", kindBadQuery},
		{"deptno=in.1,2", deptSpec, "parentheses", kindBadQuery},
		{"deptno=in.(1,)", deptSpec, "parentheses", kindBadQuery},
		{"deptno=in.(,1)", deptSpec, "parentheses", kindBadQuery},
		{`deptno=in.("1)`, deptSpec, "parentheses", kindBadQuery},
		{`deptno=in.("1"2)`, deptSpec, "parentheses", kindBadQuery},
		{`deptno=in.("\")`, deptSpec, "parentheses", kindBadQuery},
		{many, deptSpec, "1000", kindBadQuery},
		{"deptno=eq.%00", deptSpec, "NUL", kindBadPath},
		{"deptno=eq.%ff", deptSpec, "UTF-8", kindBadPath},
		{"after=" + strings.Repeat("9", 3000), deptSpec, "2048", kindTooLong},
		{"a;b=c", deptSpec, "cannot be read", kindBadQuery},
		{"a=%zz", deptSpec, "cannot be read", kindBadQuery},
		{"a=%+1", deptSpec, "cannot be read", kindBadQuery},
		{"a%4=b", deptSpec, "cannot be read", kindBadQuery},
		{"city=eq.a&city=eq.b&state=eq.c", citySpec, "twice", kindBadQuery},
	}
	for _, tt := range tests {
		_, err := parseQuery(tt.query, tt.spec)
		wantProblem(t, tt.query, err, tt.fail)
		if err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("parseQuery(%.60q): %q does not say %q", tt.query, err, tt.says)
		}
	}
}

func TestQuerySpec_MemberBeatsColumn(t *testing.T) {
	// The member called deptno is another column: the key is to be called by
	// its member's name only.
	s := querySpecOf(deptKey, &row.Shape{Fields: []row.Field{
		{Name: "number", Column: "deptno"}, {Name: "deptno", Column: "other"}}}, 10)
	if _, ok := s.position["deptno"]; ok || s.columns[0] != "number" {
		t.Errorf("spec = %+v, want the key under number alone", s)
	}
}

// FuzzListQuery holds that no query panics or asks for more than the bounds.
func FuzzListQuery(f *testing.F) {
	for _, s := range []string{"limit=5&after=3", "deptno=in.(1,2)", `deptno=in.("a\"",b)`,
		"deptno=eq.%00", "x=y", "deptno=in.((", "after=%ff", "limit=1e3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, spec := range []querySpec{deptSpec, citySpec} {
			q, err := parseQuery(s, spec)
			if err != nil {
				continue
			}
			if values, err := url.ParseQuery(s); err != nil || values.Has("format") &&
				values.Get("format") != q.format {
				t.Fatalf("parseQuery(%q) = %+v; net/url: %v, %v", s, q, values, err)
			}
			if len(q.keys) > front.ListKeys || q.limit < 0 || q.limit > spec.maxLimit {
				t.Fatalf("parseQuery(%q) = %d keys, limit %d", s, len(q.keys), q.limit)
			}
			for _, k := range q.keys {
				if _, ok := row.SplitKey(k, len(spec.columns)); !ok {
					t.Fatalf("parseQuery(%q): key %q has the wrong number of parts", s, k)
				}
			}
		}
	})
}
