package api

import (
	"net/netip"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/links"
)

// may returns the problem that keeps the request from doing what a role may do.
// Keys are taken from the Authorization header and from nowhere else.
//
// Where Private says so and as long as there is no key, this machine may do
// everything. A listener that is open lets anybody do what open says here: links
// can be read and made, but not changed, and single clicks are nobody's business.
func (c *call) may(role links.Role, open bool) error {
	ctx := c.r.Context()
	if secret, sent := httprule.BearerToken(c.r.Header); sent {
		key, ok, err := c.o.Keys.Find(ctx, secret)
		switch {
		case err != nil:
			return err
		case !ok:
			return problem{kind: kindUnauthorized, detail: "the key is not known"}
		case !key.Role.Covers(role):
			return problem{kind: kindForbidden, detail: "the role of the key is " +
				string(key.Role) + "; this needs " + string(role)}
		}
		c.who = key.Name
		return nil
	}
	if c.o.Open && open {
		return nil
	}
	if c.o.Private() && front.FromHere(c.r) {
		if keys, err := c.o.Keys.List(ctx); err != nil || len(keys) == 0 {
			c.local = err == nil
			return err
		}
	}
	return problem{kind: kindUnauthorized, detail: "send Authorization: Bearer KEY; " +
		"hotrow links key add NAME -c FILE makes one on the server's machine"}
}

// mayMake is may for making n links: without a key there is a limit to them.
func (c *call) mayMake(n int) error {
	if err := c.may(links.RoleWrite, true); err != nil {
		return err
	}
	return c.limit(c.h.rate, n)
}

// limit counts n links more of a client without a key. Who alone has the shortener needs
// none.
func (c *call) limit(rate *rate, n int) error {
	if c.who != "" || c.local {
		return nil
	}
	if wait := rate.take(c.o.ClientIP(c.r), n, c.o.Now()); wait > 0 {
		return problem{kind: kindRate, after: wait,
			detail: "without a key only so many links can be made in a minute"}
	}
	return nil
}

// spare takes back n links that limit has counted: they were refused.
func (c *call) spare(n int) {
	if c.who == "" && !c.local {
		c.h.rate.giveBack(c.o.ClientIP(c.r), n)
	}
}

// A rate counts what clients do in each minute.
type rate struct {
	most int

	mu     sync.Mutex // guards the others
	minute int64
	counts map[netip.Addr]int
}

// maxClients bounds the clients that are told apart; the others share a count.
const maxClients = 100_000

func newRate(most int) *rate { return &rate{most: most, counts: make(map[netip.Addr]int)} }

// take counts n for a client. It returns how long to wait when that is too
// many, and then counts nothing.
func (r *rate) take(client netip.Addr, n int, now time.Time) time.Duration {
	if r.most <= 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if minute := now.Unix() / 60; minute != r.minute {
		r.minute = minute
		clear(r.counts)
	}
	client = r.bucket(client)
	if r.counts[client]+n > r.most {
		return time.Minute - time.Duration(now.Unix()%60)*time.Second
	}
	r.counts[client] += n
	return 0
}

// giveBack counts n less for a client. What was counted in a minute that has passed
// is forgotten already.
func (r *rate) giveBack(client netip.Addr, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	client = r.bucket(client)
	r.counts[client] = max(0, r.counts[client]-n)
}

// bucket returns what a client is counted under: of IPv6 a client has a whole /64.
// r.mu is held.
func (r *rate) bucket(client netip.Addr) netip.Addr {
	if client = client.Unmap(); client.Is6() {
		prefix, _ := client.WithZone("").Prefix(64) // 64 bits there are
		client = prefix.Addr()
	}
	if _, known := r.counts[client]; !known && len(r.counts) >= maxClients {
		return netip.Addr{}
	}
	return client
}
