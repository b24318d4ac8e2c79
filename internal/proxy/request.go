package proxy

import (
	"bytes"

	"github.com/hotrow/hotrow/internal/wire/http1"
)

// Names of fields that mean something to the proxy besides those that http1
// knows.
const (
	fieldID       = "x-chocon-id"
	fieldVersion  = "x-chocon-ver"
	fieldUpstream = "x-hotrow-upstream"
)

// maxHops is how many proxies of our kind a request may have been through.
const maxHops = 5

// traits are what a request's fields say to the proxy.
type traits struct {
	named  []byte // X-Hotrow-Upstream; points into the head; nil: there is none
	twice  bool   // there are two
	origin []byte // Origin, likewise
	looped bool   // it has been here before, or at another chocon
	cross  bool   // a browser says that a foreign page asks
}

// note copies what is needed of the request after its head is gone, and reads
// the fields that are for us.
func (c *client) note(x *roundTrip) {
	r := &x.req
	path := r.Target
	if i := bytes.IndexByte(path, '?'); i >= 0 {
		path = path[:i]
	}
	x.uri = append(x.uri[:0], path...)
	x.host = append(x.host[:0], r.Host...)
	x.method = append(x.method[:0], r.Method...)
	x.agent, x.id, x.addr, x.to, x.key = x.agent[:0], x.id[:0], "", nil, false
	x.traits = traits{}
	x.log = Entry{Time: x.began, Remote: c.remote}
	hops := 0
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Kind != http1.EndToEnd {
			continue
		}
		name := r.Name(f)
		switch len(name) {
		case 3:
			if isName(name, "via") {
				hops += c.srv.hops(x, r.FieldValue(f))
			}
		case 6:
			if isName(name, "origin") {
				x.origin = r.FieldValue(f)
			}
		case 10:
			if isName(name, "user-agent") {
				x.agent = append(x.agent[:0], r.FieldValue(f)...)
			}
		case len(fieldID):
			if isName(name, fieldID) {
				x.id = append(x.id[:0], r.FieldValue(f)...)
			}
		case len(fieldVersion):
			x.looped = x.looped || isName(name, fieldVersion)
		case 14:
			x.cross = x.cross || isName(name, "sec-fetch-site") &&
				!isName(r.FieldValue(f), "none") && !isName(r.FieldValue(f), "same-origin")
		case 15:
			x.key = x.key || isName(name, "idempotency-key")
		case len(fieldUpstream):
			if isName(name, fieldUpstream) {
				x.twice = x.named != nil
				x.named = r.FieldValue(f)
				f.Kind = http1.FieldHop // for us alone
			}
		}
	}
	x.looped = x.looped || hops > maxHops
	c.begin(x)
	if len(x.id) == 0 {
		x.id = c.srv.ids.append(x.id, x.began)
		x.fresh = true
		return
	}
	x.fresh = false
}

// hops counts the proxies of our kind in a Via value, and notes whether we are
// among them.
func (s *Server) hops(x *roundTrip, via []byte) int {
	if bytes.Contains(via, s.pseudonym) {
		x.looped = true
	}
	return bytes.Count(via, []byte("hotrow-"))
}

// appendRequest appends the head of the request as t is to get it: names, case,
// order and duplicates of the fields are the client's.
func (c *client) appendRequest(out []byte, x *roundTrip, t *target) []byte {
	r := &x.req
	out = append(append(out, r.Method...), ' ')
	if r.Slashed {
		out = append(out, '/')
	}
	out = append(append(out, x.path(r)...), " HTTP/1.1\r\n"...)
	authority := t.authority
	if t.passHost && len(r.Host) > 0 {
		authority = r.Host
	}
	named, upgrade := false, r.Upgrade && !c.h2c(r)
	for i := range r.Fields {
		f := &r.Fields[i]
		switch f.Kind {
		case http1.EndToEnd:
			if !r.Nominated(f) {
				out = append(out, r.Line(f)...)
			}
		case http1.FieldContentLength:
			out = append(out, r.Line(f)...)
		case http1.FieldHost:
			named = true
			out = append(append(out, r.Name(f)...), ": "...)
			out = append(append(out, authority...), "\r\n"...)
		case http1.FieldTransferEncoding:
			out = append(append(out, r.Name(f)...), ": chunked\r\n"...)
		case http1.FieldExpect:
			if !r.HTTP10 {
				out = append(out, r.Line(f)...)
			}
		case http1.FieldUpgrade:
			if upgrade {
				out = append(out, r.Line(f)...)
			}
		}
	}
	if !named {
		out = append(append(append(out, "Host: "...), authority...), "\r\n"...)
	}
	switch {
	case upgrade:
		out = append(out, "Connection: Upgrade\r\n"...)
	case r.Trailers:
		out = append(out, "TE: trailers\r\nConnection: TE\r\n"...)
	}
	out = x.appendParent(out)
	if x.fresh {
		out = append(append(append(out, "X-Chocon-Id: "...), x.id...), "\r\n"...)
	}
	return append(out, c.srv.signature...)
}

// path returns the target without the part that was for us.
func (x *roundTrip) path(r *http1.RequestHead) []byte { return r.Target[x.cut:] }

// h2c reports whether the client offers to go on in HTTP/2 without TLS, which
// is between it and us alone.
func (c *client) h2c(r *http1.RequestHead) bool {
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Kind == http1.FieldUpgrade && http1.ListHas(r.FieldValue(f), []byte("h2c")) {
			return true
		}
	}
	return false
}

// isName reports whether b is want, which is in lower case, in any case.
func isName(b []byte, want string) bool {
	if len(b) != len(want) {
		return false
	}
	for i := range len(want) {
		c := b[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != want[i] {
			return false
		}
	}
	return true
}
