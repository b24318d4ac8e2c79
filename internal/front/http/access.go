package httpfront

import (
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/resource"
)

// mayRead returns the problem that keeps the request from reading c.res.
func (c *call) mayRead() error {
	rule := c.res.Access().Read
	if rule == "public" {
		return nil
	}
	c.private = true
	return c.pass(rule)
}

// mayWrite returns the problem that keeps the request from writing c.res. A
// listener that is open takes no anonymous writes, whatever the rule and whoever
// asks: --open speaks of reading, and behind a proxy on this machine everybody
// comes from here.
func (c *call) mayWrite() error {
	c.private = c.res.Access().Read != "public"
	rule := c.res.Access().Write
	if rule != "public" || !c.o.Open {
		return c.pass(rule)
	}
	if _, ok := c.principal(); !ok {
		return c.unauthorized("this listener is open for reading: a write needs a token")
	}
	return nil
}

// pass returns nil when rule lets the request's principal through.
func (c *call) pass(rule resource.Rule) error {
	if rule == "public" {
		return nil
	}
	if rule == "none" || rule == "" {
		return problem{kind: kindForbidden, detail: "nobody may do this with " + c.res.Name()}
	}
	p, ok := c.principal()
	if !ok {
		return c.unauthorized("")
	}
	if !rule.Allows(p.Roles) {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="hotrow", error="insufficient_scope"`)
		return problem{kind: kindForbidden, detail: "the token's role is not enough for this"}
	}
	return nil
}

// reads reports whether the request's principal may read c.res.
func (c *call) reads() bool {
	rule := c.res.Access().Read
	if rule == "public" {
		return true
	}
	p, ok := c.principal()
	return ok && rule.Allows(p.Roles)
}

// unauthorized asks for a token. The one that was sent appears nowhere.
func (c *call) unauthorized(detail string) error {
	challenge := `Bearer realm="hotrow"`
	if _, sent := httprule.BearerToken(c.r.Header); sent {
		challenge += `, error="invalid_token"`
	}
	c.w.Header().Set("WWW-Authenticate", challenge)
	return problem{kind: kindUnauthorized, detail: detail}
}

// principal returns who asks. The set of tokens is looked at by every request,
// so that a token that is taken away is worth nothing on open connections too.
func (c *call) principal() (front.Principal, bool) {
	token, ok := httprule.BearerToken(c.r.Header)
	if !ok || c.o.Auth == nil {
		return front.Principal{}, false
	}
	p, ok := c.o.Auth(token)
	if ok {
		c.who = p.Name
	}
	return p, ok
}
