package resource

import (
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
)

// TestUnkept_WhatNoChangeOfARowTells: such an answer is read each time.
func TestUnkept_WhatNoChangeOfARowTells(t *testing.T) {
	t.Parallel()
	table := query.NewTable(query.Table{Name: "posts", Key: []int{0}, Native: true,
		Columns: []query.Column{{Name: "id", Member: "id", NotNull: true, Compares: true,
			Part: row.KeyPart{Kind: row.Int}}, {Name: "body", Member: "body", Compares: true,
			Matches: true, Part: row.KeyPart{Kind: row.Text}}}})
	for _, c := range []struct {
		raw   string
		count query.Count
		want  string
	}{
		{"body=match.a", query.CountExact, ""},
		{"body=eq.a", query.CountPlanned, "planner"},
		{"body=fts.a", query.CountNone, "searches texts"},
		{"or=(id.eq.1,body.wfts(english).a)", query.CountNone, "searches texts"},
	} {
		q, err := query.Parse(c.raw, table, query.Options{Count: c.count})
		if err != nil {
			t.Fatal(err)
		}
		got := (&ListAsk{Query: q}).unkept()
		if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.raw, got, c.want)
		}
	}
	if got := (&ListAsk{}).unkept(); got != "" {
		t.Errorf("a page: %q", got)
	}
}
