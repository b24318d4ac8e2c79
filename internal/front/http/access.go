package httpfront

import (
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// pass returns the name of the principal of a request that passes the rule of a
// resource, or the problem that keeps it out.
func (m *memo) pass(
	o *settings, r *request, name string, rule resource.Rule,
) (who string, err error) {
	return m.passAs(o, r, name, rule, o.anonymous)
}

// passAs is pass for who has the roles anonymous without a token.
func (m *memo) passAs(
	o *settings, r *request, name string, rule resource.Rule, anonymous []string,
) (who string, err error) {
	switch rule {
	case "public":
		return "", nil
	case "none", "":
		return "", problem{kind: kindForbidden, detail: "access is denied to everybody: " + name}
	}
	p, err := m.identify(o, r)
	switch {
	case err != nil:
		return "", err
	case p == nil && rule.Allows(anonymous):
		return "", nil
	case p == nil:
		return "", unauthorized(r, front.WhyToken(rule))
	case !p.Passes(rule):
		return p.Name, problem{kind: kindForbidden,
			detail: "the token's role is not enough for this",
			header: challenge + `, error="insufficient_scope"` + "\r\n"}
	}
	return p.Name, nil
}

// admit is pass for who gets documents as they are: the role must see all of them.
func (m *memo) admit(
	o *settings, r *request, res *resource.Resource, rule resource.Rule,
) (who string, err error) {
	if who, err = m.pass(o, r, res.Name(), rule); err == nil && o.granted() {
		err = m.whole(m.ctx, o, r, res)
	}
	return who, err
}

// unauthorized asks for a token. The one that was sent appears nowhere.
func unauthorized(r *request, detail string) error {
	header := challenge
	if _, sent := r.token(); sent {
		header += `, error="invalid_token"`
	}
	return problem{kind: kindUnauthorized, detail: detail, header: header + "\r\n"}
}

// mayWrite returns the problem that keeps the request from writing c.res.
func (c *call) mayWrite() (err error) {
	access := c.access(c.res)
	c.private = access.Read != "public" || c.res.Spec().Rows != nil
	rule := front.WriteRule(access.Write, c.o.Open || c.foreign)
	c.who, err = c.m.passAs(c.o, c.r, c.res.Name(), rule, c.writers())
	if err == nil && c.o.granted() {
		c.private = true
		c.sight, err = c.look(c.res)
	}
	if p, ok := err.(problem); ok && c.foreign && p.kind == kindUnauthorized {
		p.detail = "a page of another origin needs a token to write"
		return p
	}
	return err
}

// writers are the roles of who writes without a token: none where that is not meant, see
// front.WriteRule.
func (c *call) writers() []string {
	if c.o.Open || c.foreign {
		return nil
	}
	return c.o.anonymous
}

// reads reports whether the request's principal may read a resource.
func (c *call) reads(res *resource.Resource) bool {
	_, err := c.m.admit(c.o, c.r, res, res.Access().Read)
	return err == nil
}
