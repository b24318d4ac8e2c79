package query

import (
	"slices"
	"testing"
)

func TestIndexed(t *testing.T) {
	indexes := []Index{IndexOf("empno"), IndexOf("ename", "hired"),
		IndexOf("hired"), IndexOf("sal")}
	for _, c := range []struct {
		query string
		want  bool
	}{
		{"", true},
		{"order=empNo.desc", true},
		{"order=hired.desc,empNo", true},
		{"order=sal", true},
		{"order=sal.nullsfirst", false},
		{"order=ename,hired", true},
		{"order=ename,hired.desc", false},
		{"order=fired", false},
		{"empNo=eq.1&fired=eq.true", true},
		{"ename=in.(a,b)&order=fired", true},
		{"ename=is.null", true},
		{"ename=not.is.null", false},
		{"ename=neq.a", false},
		{"fired=eq.true", false},
		{"hired=gt.2020-01-01", false},
		{"hired=gt.2020-01-01&order=hired", true},
		{"hired=gt.2020-01-01&order=hired.desc", true},
		{"hired=neq.2020-01-01&order=hired", false},
		{"ename=like.a*&order=ename", false},
		{"not.and=(hired.gt.2020-01-01,hired.lt.2021-01-01)&order=hired", false},
		{"hired=gt.2020-01-01&fired=eq.true&order=hired", false},
		{"or=(empNo.eq.1,ename.eq.a)", true},
		{"or=(empNo.eq.1,and(ename.eq.a,fired.is.true))", true},
		{"or=(empNo.eq.1,fired.is.true)", false},
		{"not.or=(empNo.eq.1,ename.eq.a)", false},
	} {
		q, err := Parse(c.query, emps, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Indexed(indexes); got != c.want {
			t.Errorf("%s: indexed: %v, want %v", c.query, got, c.want)
		}
		if wanted := q.Wanted(); !c.want && len(wanted) > 0 && !q.Indexed([]Index{IndexOf(wanted...)}) &&
			q.Where != nil && q.Where[0].isEquality() {
			t.Errorf("%s: with an index of %v it is not indexed either", c.query, wanted)
		}
	}
	pair := *emps
	pair.Key = []int{0, 4}
	reversed, err := Parse("order=hired,empNo", NewTable(pair), Options{})
	if err != nil || reversed.Indexed([]Index{IndexOf("empno", "hired")}) ||
		!reversed.Indexed([]Index{IndexOf(reversed.Wanted()...)}) {
		t.Errorf("a composite key in another order: wanted %v, %v", reversed.Wanted(), err)
	}
	q, err := Parse("fired=eq.true&sal=gt.1&order=hired.desc", emps, Options{})
	if err != nil || !slices.Equal(q.Wanted(), []string{"fired", "hired"}) {
		t.Errorf("wanted: %v, %v", q.Wanted(), err)
	}
}
