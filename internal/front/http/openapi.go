package httpfront

import (
	"fmt"
	"net/http"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/openapi"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/webpage"
)

// openAPIPath is where the OpenAPI document is, below "/-".
const openAPIPath = "/openapi.json"

// openAPI answers with what the request's principal may use, as an OpenAPI document. Resources
// whose database was not reached yet are not in it.
func (c *call) openAPI() (*answer, error) {
	if c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return nil, c.notAllowed("GET, HEAD")
	}
	c.private = c.r.credentials() != nil
	list := []openapi.Resource{}
	for _, res := range c.o.Resources.All() {
		if plan := res.Plan(); plan != nil && c.reads(res) {
			r, err := c.described(res, plan)
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	}
	base := c.o.BasePath
	if base == "" {
		base = "/"
	}
	body, err := openapi.Document(base, list)
	if err != nil {
		return nil, err
	}
	return c.unlessKnown(&answer{code: http.StatusOK, shared: c.shared(privateControl),
		kind: openapi.MediaType, body: body,
		more: "Vary: Accept, Authorization, apikey\r\n"}, webpage.TagOf(body)), nil
}

// described describes a resource as the principal may use it.
func (c *call) described(res *resource.Resource, plan source.Plan) (openapi.Resource, error) {
	g, ok := plan.(source.Guarded)
	if t := plan.Table(); ok && t != nil && !g.Guard(&query.Query{Table: t}).Known {
		if err := g.Look(c.ctx); err != nil {
			return openapi.Resource{}, fmt.Errorf("look at the indexes of %s: %w", res.Name(), err)
		}
	}
	r := openapi.Of(res.Name(), plan)
	r.MaxLimit = res.MaxLimit()
	r.Reads = res.Access().Read != "public"
	if rule := front.WriteRule(res.Access().Write, c.o.Open); c.writes(res) {
		r.Writes = rule != "public"
		r.Methods = methods(res)
	}
	return r, nil
}
