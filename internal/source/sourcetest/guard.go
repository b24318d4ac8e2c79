package sourcetest

import (
	"errors"
	"strings"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// waysPastTheGuard are what admits queries that no index of the table large answers.
func (s *suite) waysPastTheGuard() {
	k := &trial{s: s}
	for _, tt := range []struct {
		spec source.Spec
		raw  string
		rows int // -1: it is refused
	}{
		{source.Spec{}, "id=gte.100&id=lt.200&n=neq.150", 99},
		{source.Spec{}, "id=gt.16000&n=gt.0&order=n.desc&limit=7", 7},
		{source.Spec{}, "id=gt.100&n=neq.150", -1},
		{source.Spec{}, "id=not.lt.100&id=lte.20000&n=neq.150", -1},
		{source.Spec{}, "or=(id.lt.5,n.eq.7)", -1},
		{source.Spec{}, "order=n", -1},
		{source.Spec{}, "order=id.desc&n=gt.5&limit=5", -1},
		{source.Spec{Filters: []string{"n"}}, "order=id.desc&n=gt.5&limit=5", 5},
		{source.Spec{Filters: []string{"n"}}, "n=eq.7", 1},
		{source.Spec{Filters: []string{"n"}}, "n=eq.7&m=eq.8", 1},
		{source.Spec{Filters: []string{"n"}}, "order=n.desc&limit=5", 5},
		{source.Spec{Filters: []string{"n"}}, "or=(n.lt.3,n.gt.100000)&order=n", 3},
		{source.Spec{Filters: []string{"n"}}, "n=gt.5&m=gt.5", -1},
		{source.Spec{Filters: []string{"n"}}, "n=gt.5&order=m", -1},
		{source.Spec{Filters: []string{"n"}}, "or=(n.lt.3,m.lt.3)", -1},
		{source.Spec{Filters: []string{"n"}}, "m=eq.7", -1},
		{source.Spec{Filters: []string{"n", "m"}}, "n=lt.5&m=gt.2&order=m.desc,n", 3},
		{source.Spec{Unguarded: true}, "m=eq.7&order=n", 1},
	} {
		spec := tt.spec
		spec.Table = "large"
		plan := s.compile(&spec)
		if tt.rows >= 0 {
			if _, found := k.one(plan, tt.raw, query.CountNone); len(found.Rows) != tt.rows {
				s.t.Errorf("%+v: %s: %d rows, want %d", tt.spec, tt.raw, len(found.Rows), tt.rows)
			}
			continue
		}
		q, err := query.Parse(tt.raw, plan.Table(), query.Options{})
		if err != nil {
			s.t.Fatal(err)
		}
		var refused *query.Error
		if _, err = plan.Select(s.ctx, q); !errors.As(err, &refused) ||
			refused.Code != query.CodeUnindexed {
			s.t.Errorf("%+v: %s: %v", tt.spec, tt.raw, err)
		}
	}
	_, err := s.src.Compile(s.ctx, &source.Spec{Table: "large", Filters: []string{"nn"}})
	if err == nil || !strings.Contains(err.Error(), "lists.filters: column") {
		s.t.Errorf("a filter on no column: %v", err)
	}
}
