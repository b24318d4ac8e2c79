package openapi

import (
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/source"
)

// Of describes what a plan serves. Which lists are run is what the plan knows of the database's
// indexes: source.Guarded.Look finds it out.
func Of(name string, plan source.Plan) Resource {
	r := Resource{Name: name, Shape: plan.Shape(), Key: plan.KeyType(), Table: plan.Table(),
		Any: true}
	g, ok := plan.(source.Guarded)
	if !ok || r.Table == nil {
		return r
	}
	plain := g.Guard(&query.Query{Table: r.Table})
	r.Any = !plain.Known || plain.Small || plain.Tried
	r.Admits = func(q *query.Query) bool { return g.Guard(q).Hint == "" }
	return r
}
