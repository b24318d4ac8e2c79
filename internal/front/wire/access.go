package wirefront

import (
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// An identity is whose token the peer has sent, as far as that was looked up.
type identity struct {
	token  string
	issued any // the tokens by which it was looked up
	asked  bool
	who    front.Principal
	known  bool
}

// principal returns who asks. The set of tokens is compared by every request, so
// that a token that is taken away is worth nothing on open connections too.
// c.mu is held.
func (c *conn) principal(o *Options, issued any) (front.Principal, bool) {
	if c.who.token == "" || o.Auth == nil || issued == nil {
		return front.Principal{}, false
	}
	if !c.who.asked || c.who.issued != issued {
		c.who.who, c.who.known = o.Auth(c.who.token)
		c.who.issued, c.who.asked = issued, true
	}
	return c.who.who, c.who.known
}

// identify takes the token of the peer. c.mu is held.
func (c *conn) identify(token []byte) {
	c.who = identity{token: string(token)}
}

// issued returns the tokens of now.
func (o *Options) issued() any {
	if o.Issued == nil {
		return nil
	}
	return o.Issued()
}

// pass returns nil when rule lets the peer through. c.mu is held.
func (c *conn) pass(o *Options, issued any, rule resource.Rule) *fault {
	if rule == "public" {
		return nil
	}
	if rule == "none" || rule == "" {
		return &fault{kind: kindForbidden}
	}
	p, ok := c.principal(o, issued)
	if !ok {
		return &fault{kind: kindUnauthorized}
	}
	if !rule.Allows(p.Roles) {
		return fail(kindForbidden, "the token's role is not enough for this")
	}
	return nil
}

// mayWrite returns nil when the peer may write res. A listener that is open takes
// no anonymous writes, whatever the rule and whoever asks: Open speaks of reading.
// c.mu is held.
func (c *conn) mayWrite(o *Options, res *resource.Resource) *fault {
	issued := o.issued()
	rule := res.Access().Write
	if rule != "public" || !o.Open {
		return c.pass(o, issued, rule)
	}
	if _, ok := c.principal(o, issued); !ok {
		return fail(kindUnauthorized, "this listener is open for reading: a write needs a token")
	}
	return nil
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
		if t.Source == at.Source && (t.Origin != at.Origin || t.Pos > at.Pos) {
			return false
		}
	}
	return true
}
