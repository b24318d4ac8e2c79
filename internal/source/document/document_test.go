package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Statements have few sizes, bind no more than a chunk of values, and ask for every key in
// order; what fills one up is its last key.
func TestInChunks_AsksForEveryKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.IntRange(1, 5).Draw(t, "parts")
		args := make([][]any, rapid.IntRange(0, 2*chunk+3).Draw(t, "keys"))
		for i := range args {
			for j := range parts {
				args[i] = append(args[i], [2]int{i, j})
			}
		}
		next := 0
		err := inChunks(args, parts, func(count int, flat []any) error {
			if len(flat) != count*parts || len(flat) > max(chunk, parts) {
				t.Fatalf("%d keys of %d parts bind %d values", count, parts, len(flat))
			}
			if !slices.Contains(widths, count) && count != chunk/parts {
				t.Fatalf("a statement for %d keys", count)
			}
			last := next - 1
			for i := range count {
				last = min(next+i, len(args)-1)
				if got := flat[i*parts : (i+1)*parts]; !slices.Equal(got, args[last]) {
					t.Fatalf("key %d is %v, want %v", i, got, args[last])
				}
			}
			next = last + 1
			return nil
		})
		if err != nil || next != len(args) {
			t.Fatalf("%d of %d keys are asked for: %v", next, len(args), err)
		}
	})
}

// The first error ends it.
func TestInChunks_StopsAtAnError(t *testing.T) {
	calls, failed := 0, fmt.Errorf("no")
	err := inChunks(slices.Repeat([][]any{{1}}, 3*chunk), 1, func(int, []any) error {
		calls++
		return failed
	})
	if err != failed || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// What a write has changed is told by the keys, versions and tuples before and after.
func TestDifferences_AreDeletesUpdatesAndInserts(t *testing.T) {
	tuple := func(text string) source.Tuple { return source.Tuple{{Column: "id", Text: text}} }
	img := func(version any, text string) image { return image{version: version, tuple: tuple(text)} }
	before := images{"3": img([]any{1}, "3"), "1": img([]any{1}, "1"), "2": img([]any{1}, "2")}
	after := images{"2": img([]any{2}, "2b"), "1": img([]any{1}, "1"), "4": img(nil, "4")}
	want := []source.Change{
		{Table: "t", Op: source.Update, Old: tuple("2"), New: tuple("2b")},
		{Table: "t", Op: source.Delete, Old: tuple("3")},
		{Table: "t", Op: source.Insert, New: tuple("4")},
	}
	if diff := cmp.Diff(want, differences("t", before, after)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := differences("t", before, before); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// An image is found by columns that it has, none of them null.
func TestImage_NamesItsColumns(t *testing.T) {
	img := image{tuple: source.Tuple{{Column: "a", Text: "1"}, {Column: "b", Null: true}}}
	for columns, want := range map[string]bool{"a": true, "b": false, "c": false, "a b": false, "": true} {
		if got := img.names(strings.Fields(columns)); got != want {
			t.Errorf("names(%q) = %v", columns, got)
		}
	}
}

// The key of a query is its parameters, as configured or in the order of their first use.
func TestQuery_KeyNames(t *testing.T) {
	for _, tt := range []struct{ params, key, want, err string }{
		{"a", "", "a", ""},
		{"b a b", "", "b a", ""},
		{"a b", "b a", "b a", ""},
		{"key key", "id", "id", ""},
		{"key b", "id", "", "the parameter :key, which is not in its key (id)"},
		{"", "", "", "the query has no parameter"},
		{"a b", "a", "", "the parameter :b, which is not in its key (a)"},
		{"a", "a b", "", "does not use :b"},
	} {
		q := &Query{Template: source.Template{Params: strings.Fields(tt.params)}}
		got, err := q.keyNames(strings.Fields(tt.key))
		text := fmt.Sprint(err)
		if strings.Join(got, " ") != tt.want || tt.err == "" && err != nil || !strings.Contains(text, tt.err) {
			t.Errorf("%q with key %q: %q, %v", tt.params, tt.key, got, err)
		}
	}
	q := &Query{Key: []string{"a", "b"}}
	if q.Part("b") != 1 || q.Part("key") != 0 {
		t.Errorf("parts %d, %d", q.Part("b"), q.Part("key"))
	}
	p := &Plan{Query: &Query{Template: source.Template{Params: []string{"b", "a", "b"}}, Key: q.Key}}
	if got := p.QueryArgs([]any{1, 2}); !slices.Equal(got, []any{2, 1, 2}) {
		t.Errorf("QueryArgs: %v", got)
	}
}

// Errors of a write say which row, and what is wrong with the body.
func TestErrors_NameTheRow(t *testing.T) {
	err := noRow("depts", row.Key("10"))
	if source.ClassOf(err) != source.NoRow || !strings.Contains(err.Error(), "10") {
		t.Errorf("noRow: %v (%v)", err, source.ClassOf(err))
	}
	if err := invalid("dname is missing"); source.ClassOf(err) != source.Invalid ||
		!strings.Contains(err.Error(), "dname is missing") {
		t.Errorf("invalid: %v (%v)", err, source.ClassOf(err))
	}
	near := NoTable("dpt", []source.Table{{Name: "dept", Schema: "public", Default: true}})
	if !strings.Contains(near.Error(), `"dept"`) {
		t.Errorf("NoTable: %v", near)
	}
}
