package kv

import (
	"cmp"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
)

// An Identity is whose token a connection has sent, as far as that was looked up. It is
// for the goroutine that owns the connection.
type Identity struct {
	of front.Identity

	// Least is what answers must include of its source; the zero Token asks for nothing.
	// Wait bounds the wait for it: see resource.Options.
	Least resource.Token
	Wait  time.Duration
}

// Principal returns who asks: see front.Identity.
func (i *Identity) Principal(o *Options, issued any) (front.Principal, bool) {
	return i.of.Principal(o.Auth, issued)
}

// Lost reports whether a token was sent that is worth nothing any more.
func (i *Identity) Lost(o *Options, issued any) bool {
	if i.of.Token() == "" {
		return false
	}
	_, ok := i.Principal(o, issued)
	return !ok
}

// Identify takes a token, for the user of that name or, with "default" or "", for
// whoever has it. It reports false, and changes nothing, when it is not good.
func (i *Identity) Identify(o *Options, user, token string) bool {
	next := Identity{of: front.NewIdentity(token), Least: i.Least, Wait: i.Wait}
	p, ok := next.Principal(o, o.IssuedNow())
	if !ok || user != "" && user != "default" && user != p.Name {
		return false
	}
	*i = next
	return true
}

// Forget takes the token back, and asks for nothing any more.
func (i *Identity) Forget() { *i = Identity{} }

// Name returns the name of the token's holder, or "default".
func (i *Identity) Name() string { return cmp.Or(i.of.Holder(), "default") }

// Passes reports whether a rule lets the connection through.
func (i *Identity) Passes(o *Options, issued any, rule resource.Rule) bool {
	if rule == "public" {
		return true
	}
	if rule == "" || rule == "none" {
		return false
	}
	p, ok := i.Principal(o, issued)
	return ok && p.Passes(rule)
}

// takes reports whether an answer from memory includes what the connection asks for.
func (i *Identity) takes(res *Served, state resource.State, at *resource.AsOf) bool {
	return i.Least.IsZero() || i.Least.Source != res.Source() ||
		state != resource.Stale && at.Fresh && at.Token.Includes(i.Least)
}

// MayWrite reports whether the connection may write a resource.
func (i *Identity) MayWrite(o *Options, res *resource.Resource) bool {
	return i.Passes(o, o.IssuedNow(), front.WriteRule(res.Access().Write, o.Open))
}
