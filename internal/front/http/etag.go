package httpfront

import "github.com/hotrow/hotrow/internal/httprule"

// conditions are the conditional headers of a request.
type conditions struct {
	match, noneMatch []string // nil: the header is not there
	impossible       bool     // If-Match has weak tags only
}

func (c *call) conditions() (conditions, error) {
	var cond conditions
	var ok bool
	if cond.match, ok = httprule.EntityTags(c.r.Header, "If-Match"); !ok {
		return cond, problem{kind: kindBadHeader, detail: "If-Match is not a list of entity tags"}
	}
	if cond.match != nil {
		cond.match = httprule.StrongTags(cond.match)
		cond.impossible = cond.match == nil
	}
	if cond.noneMatch, ok = httprule.EntityTags(c.r.Header, "If-None-Match"); !ok {
		return cond, problem{kind: kindBadHeader,
			detail: "If-None-Match is not a list of entity tags"}
	}
	return cond, nil
}
