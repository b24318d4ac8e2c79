package links

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// The defaults of Options for codes. The alphabet has no vowels, and so no
// words, no characters that look alike, and one case: a code can be spoken.
const (
	DefaultAlphabet = "23456789bcdfghjkmnpqrstvwxyz"
	DefaultLength   = 7
)

// Options say which links are allowed. The zero Options are usable, except that
// links have no short URL without a BaseURL.
type Options struct {
	BaseURL string   // of short URLs: "https://s.example"; never taken from a request
	Aliases []string // other hosts, with their ports, under which the links are followed

	Schemes      []string // of targets; empty: http and https
	DenyPrivate  bool     // targets may not be addresses of private networks
	Status       int      // of links that name none; 0: 302
	CodeLength   int      // of generated codes; 0: 7. Tests have codes run out by it, and by
	CodeAlphabet string   // their characters; "": DefaultAlphabet
	ExactCase    bool     // "A" and "a" are two codes; else codes are folded to lower case
}

// Rules are Options made ready for use. They never change.
type Rules struct {
	o       Options
	base    string
	own     []endpoint
	schemes []string
}

// An endpoint is a place where the links themselves are followed.
type endpoint struct{ host, port string }

// banned are schemes that run something, or read a file, where they are
// followed. No configuration allows them.
var banned = []string{"javascript", "data", "vbscript", "file", "blob", "view-source", "about",
	"filesystem", "jar"}

// NewRules checks o.
func NewRules(o Options) (*Rules, error) {
	r := &Rules{o: o, schemes: []string{"http", "https"}}
	if len(o.Schemes) > 0 {
		r.schemes = nil
	}
	for _, s := range o.Schemes {
		s = strings.ToLower(s)
		if s == "" || slices.Contains(banned, s) || schemeLength(s+":") != len(s) {
			return nil, fmt.Errorf("links.schemes: %q cannot be the scheme of a target", s)
		}
		r.schemes = append(r.schemes, s)
	}
	if r.o.CodeAlphabet == "" {
		r.o.CodeAlphabet = DefaultAlphabet
	}
	if r.o.CodeLength == 0 {
		r.o.CodeLength = DefaultLength
	}
	if r.o.Status == 0 {
		r.o.Status = 302
	}
	if !isRedirect(r.o.Status) {
		return nil, fmt.Errorf("links.status: %d is not a redirect; use 301, 302, 303, 307 or 308",
			o.Status)
	}
	return r, r.setBase()
}

// setBase reads the base URL and the aliases.
func (r *Rules) setBase() error {
	for _, a := range r.o.Aliases {
		if err := r.addOwn("https://" + a); err != nil {
			return fmt.Errorf("links.aliases: %q is not a host, or a host and its port", a)
		}
	}
	if r.o.BaseURL == "" {
		return nil
	}
	u, err := url.Parse(r.o.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return fmt.Errorf("links.base_url: %q is not of the form https://s.example", r.o.BaseURL)
	}
	r.base = strings.TrimRight(r.o.BaseURL, "/")
	return r.addOwn(r.base)
}

// addOwn adds the endpoints of a URL of ours. A listener of this machine has
// three names; http and https of one host are one shortener.
func (r *Rules) addOwn(base string) error {
	t, err := splitTarget(base)
	if err != nil {
		return err
	}
	e := t.endpoint()
	hosts, ports := []string{e.host}, []string{e.port}
	if e.port == "80" || e.port == "443" {
		ports = []string{"80", "443"}
	}
	if ip, err := netip.ParseAddr(e.host); e.host == "localhost" || err == nil && ip.IsLoopback() {
		hosts = []string{"localhost", "127.0.0.1", "::1"}
	}
	for _, h := range hosts {
		for _, p := range ports {
			r.own = append(r.own, endpoint{h, p})
		}
	}
	return nil
}

// ShortURL returns the URL that leads to a code.
func (r *Rules) ShortURL(code string) string { return r.base + "/" + code }

// Base returns the base URL, without a slash at its end.
func (r *Rules) Base() string { return r.base }

// isRedirect reports whether a link may be answered with this status.
func isRedirect(status int) bool {
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308
}
