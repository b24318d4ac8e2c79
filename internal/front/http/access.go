package httpfront

import (
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// pass returns the name of the principal of a request that passes the rule of a
// resource, or the problem that keeps it out.
func (m *memo) pass(
	o *settings, r *request, name string, rule resource.Rule,
) (who string, err error) {
	switch rule {
	case "public":
		return "", nil
	case "none", "":
		return "", problem{kind: kindForbidden, detail: "access is denied to everybody: " + name}
	}
	p, ok := m.principal(o, r)
	if !ok {
		return "", unauthorized(r, front.WhyToken(rule))
	}
	if !p.Passes(rule) {
		return p.Name, problem{kind: kindForbidden,
			detail: "the token's role is not enough for this",
			header: `WWW-Authenticate: Bearer realm="hotrow", error="insufficient_scope"` + "\r\n"}
	}
	return p.Name, nil
}

// unauthorized asks for a token. The one that was sent appears nowhere.
func unauthorized(r *request, detail string) error {
	challenge := `WWW-Authenticate: Bearer realm="hotrow"`
	if _, sent := httprule.Bearer(row.Alias(r.Authorization)); sent {
		challenge += `, error="invalid_token"`
	}
	return problem{kind: kindUnauthorized, detail: detail, header: challenge + "\r\n"}
}

// mayWrite returns the problem that keeps the request from writing c.res.
func (c *call) mayWrite() (err error) {
	c.private = c.res.Access().Read != "public"
	rule := front.WriteRule(c.res.Access().Write, c.o.Open || c.foreign)
	c.who, err = c.m.pass(c.o, c.r, c.res.Name(), rule)
	if p, ok := err.(problem); ok && c.foreign && p.kind == kindUnauthorized {
		p.detail = "a page of another origin needs a token to write"
		return p
	}
	return err
}

// reads reports whether the request's principal may read a resource.
func (c *call) reads(res *resource.Resource) bool {
	rule := res.Access().Read
	if rule == "public" {
		return true
	}
	p, ok := c.m.principal(c.o, c.r)
	return ok && rule.Allows(p.Roles)
}
