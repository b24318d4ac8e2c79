package wirefront

import (
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// issued returns the tokens of now.
func (o *Options) issued() any {
	if o.Issued == nil {
		return nil
	}
	return o.Issued()
}

// identify takes another token. One that nobody has counts against the connection.
func (c *conn) identify(o *Options, token string) {
	c.who = front.NewIdentity(token)
	if _, known := c.who.Principal(o.Auth, o.issued()); !known {
		c.wrong++
	}
}

// pass returns nil when rule lets the peer through. c.mu is held.
func (c *conn) pass(o *Options, issued any, rule resource.Rule) *fault {
	if rule == "public" {
		return nil
	}
	if rule == "none" || rule == "" {
		return &fault{kind: kindForbidden}
	}
	p, ok := c.who.Principal(o.Auth, issued)
	if !ok {
		return fail(kindUnauthorized, front.WhyToken(rule))
	}
	if !p.Passes(rule) {
		return fail(kindForbidden, "the token's role is not enough for this")
	}
	return nil
}

// mayWrite returns nil when the peer may write res. c.mu is held.
func (c *conn) mayWrite(o *Options, res *resource.Resource) *fault {
	return c.pass(o, o.issued(), front.WriteRule(res.Access().Write, o.Open))
}

// mayRead returns nil when the peer may read res. c.mu is held.
func (c *conn) mayRead(o *Options, res *resource.Resource) *fault {
	return c.pass(o, o.issued(), res.Access().Read)
}

// parsePositions reads positions with commas between them: a client that follows
// several sources sends those of all of them.
func parsePositions(text string) ([]resource.Token, error) {
	var list []resource.Token
	for element := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(element) == "" {
			continue
		}
		t, err := resource.ParseToken(strings.Clone(element))
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// minOf returns the position of list that speaks of a source.
func minOf(list []resource.Token, source string) (found resource.Token) {
	for _, t := range list {
		if t.Source == source && (found.Origin != t.Origin || t.Pos > found.Pos) {
			found = t
		}
	}
	return found
}

// includes reports whether an answer as of at includes what list asks for.
func includes(at resource.Token, list []resource.Token) bool {
	for i := range list {
		t := &list[i]
		if t.Source == at.Source && !at.Includes(*t) {
			return false
		}
	}
	return true
}
