package httpfront

import (
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

var _ lane.Foreseer = (*Lane)(nil)

// Foresee implements lane.Foreseer: the documents that the first requests ask
// for are on their way from main memory while those requests are parsed. It
// guesses: the format is JSON, and a request that turns out to be another costs
// what it would have cost.
func (l *Lane) Foresee(of lane.Scope, inputs [][]byte) {
	s := of.(*scope)
	for _, in := range inputs {
		name, key, ok := splitPath(http1.Glance(in), s.live.BasePath)
		if !ok {
			continue
		}
		if res := s.resource(name); res != nil {
			s.coming.Add(res.Resource, row.Key(row.Alias(key)), row.FormatJSON)
		}
	}
	s.coming.Fetch()
}
