package front

import "github.com/hotrow/hotrow/internal/resource"

// An Identity is whose token a connection has sent, as far as that was looked up. It is
// for whoever owns the connection.
type Identity struct {
	token  string
	issued any // the tokens by which it was looked up
	asked  bool
	who    Principal
	known  bool
}

// NewIdentity returns the identity of a connection that has sent token.
func NewIdentity(token string) Identity { return Identity{token: token} }

// Token returns the token that was sent; "": none.
func (i *Identity) Token() string { return i.token }

// Holder returns the name of the token's holder, if that was looked up and found.
func (i *Identity) Holder() string { return i.who.Name }

// Principal returns who asks, as auth says while issued is the same. The set of tokens is
// compared by every request, so that a token that is taken away is worth nothing on open
// connections too.
func (i *Identity) Principal(
	auth func(token string) (Principal, bool), issued any,
) (Principal, bool) {
	if i.token == "" || auth == nil || issued == nil {
		return Principal{}, false
	}
	if !i.asked || i.issued != issued {
		i.who, i.known = auth(i.token)
		i.issued, i.asked = issued, true
	}
	return i.who, i.known
}

// withToken is the rule that whoever has a token passes. No configuration has it.
const withToken resource.Rule = "token"

// WriteRule returns the rule that a write must pass. A listener that is open takes no
// anonymous writes, whatever the rule and whoever asks: --open speaks of reading, and
// behind a proxy on this machine everybody comes from here.
func WriteRule(rule resource.Rule, open bool) resource.Rule {
	if open && rule == "public" {
		return withToken
	}
	return rule
}

// Passes reports whether the holder of a token passes a rule.
func (p *Principal) Passes(rule resource.Rule) bool {
	return rule == withToken || rule.Allows(p.Roles)
}

// WhyToken says what somebody without a token is told whom a rule keeps out; "": no more
// than that.
func WhyToken(rule resource.Rule) string {
	if rule == withToken {
		return "this listener is open for reading: a write needs a token"
	}
	return ""
}
