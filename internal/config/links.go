package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Links is the link shortener: its listener, where its links are and what
// becomes of its clicks. It is there when the file has the section.
type Links struct {
	Listen    Listener `yaml:"listen" apply:"restart"`
	BaseURL   string   `yaml:"base_url" empty:"plain" apply:"restart"`
	Hosts     []string `yaml:"hosts" apply:"reload"` // further names of the same shortener
	Open      bool     `yaml:"open" apply:"restart"`
	Database  Secret   `yaml:"database" apply:"restart"` // a URL, or a source by its name
	Access    string   `yaml:"access" empty:"plain" apply:"reload"`
	Case      string   `yaml:"case" oneof:"fold exact" apply:"restart"`
	Status    int      `yaml:"status" apply:"restart"`
	Root      string   `yaml:"root" empty:"plain" apply:"reload"`
	MissURL   string   `yaml:"miss_url" empty:"plain" apply:"reload"`
	Schemes   []string `yaml:"schemes" apply:"restart"`
	Private   string   `yaml:"private_targets" oneof:"allow deny" apply:"restart"`
	IP        string   `yaml:"ip" oneof:"mask full none" apply:"restart"`
	Country   string   `yaml:"country" empty:"plain" apply:"restart"` // a file of address ranges
	Proxies   []string `yaml:"trusted_proxies" apply:"reload"`
	JWTSecret Hidden   `yaml:"jwt_secret,omitempty" apply:"restart"`

	Log  ClickLog  `yaml:"log"`
	Keep Retention `yaml:"keep" apply:"restart"`
	Rate LinkRate  `yaml:"rate" apply:"reload"`
}

// ClickLog is where clicks are until the database has them.
type ClickLog struct {
	Record bool   `yaml:"record" apply:"restart"` // false: clicks are not counted
	Dir    string `yaml:"dir" apply:"restart"`
	Node   int    `yaml:"node" range:"0..1023" apply:"restart"`
	Max    Size   `yaml:"max" range:"64MiB..64TiB" apply:"restart"`
	Sync   string `yaml:"sync" oneof:"second always off" apply:"restart"`
	OnFull string `yaml:"on_full" oneof:"drop refuse" apply:"restart"`
	Drain  bool   `yaml:"drain" apply:"reload"` // false: clicks stay in the log
}

// Retention is how long clicks are kept.
type Retention struct {
	Clicks Duration `yaml:"clicks" range:"0s..87600h"` // single ones, by whole months
}

// minHours is how long hourly counts are kept at least. They hold nothing about a
// visitor.
const minHours = Duration(90 * 24 * time.Hour)

// Hours returns how long hourly counts are kept; 0: for ever. Daily ones stay.
func (r Retention) Hours() Duration {
	if r.Clicks == 0 {
		return 0
	}
	return max(r.Clicks, minHours)
}

// LinkRate bounds what one client may ask for in a minute.
type LinkRate struct {
	Create int `yaml:"create" range:"0..1000000"` // without a key
	Misses int `yaml:"misses" range:"0..1000000"`
}

// linksSource is the name of the source that links.database makes of a URL.
const linksSource = "links"

// LinksResource is the name of the resource whose documents are links.
const LinksResource = "links"

// defaultLinks is the links section of an empty file, in which it is off.
func defaultLinks() Links {
	return Links{
		Hosts: []string{}, Database: "sqlite:links.db",
		Case: "fold", Status: 302, Schemes: []string{"http", "https"},
		Private: "allow", IP: "mask", Proxies: []string{},
		Log: ClickLog{
			Record: true, Dir: "clicks", Max: 4 << 30, Sync: "second",
			OnFull: "drop", Drain: true,
		},
		Keep: Retention{Clicks: minHours},
		Rate: LinkRate{Create: 60, Misses: 120},
	}
}

// completeLinks turns the section on that is there, and gives its database to
// the sources.
func (c *Config) completeLinks() {
	l := &c.Links
	switch {
	case c.doc == nil: // made in code, which says what it wants
	case !c.isSet("links"): // a variable alone does not make a shortener
		l.Listen = Listener{}
	case !c.isSet("links.listen"):
		l.Listen = Listener{Network: "tcp", Address: "127.0.0.1:9999"}
	}
	if l.Listen.Off() || !urlScheme.MatchString(l.Database.Reveal()) {
		return
	}
	if _, taken := c.Sources[linksSource]; !taken {
		s := DefaultSource()
		s.URL = l.Database
		if c.Sources == nil {
			c.Sources = make(map[string]*Source)
		}
		c.Sources[linksSource] = s
	}
}

// idleLinksVariables warns of variables that override keys of a section that is not there.
func (c *Config) idleLinksVariables(env environment) []Warning {
	if c.isSet("links") {
		return nil
	}
	text := `ignored: the file has no section "links", without which there are no short links`
	if c.doc.file == "" {
		text = `ignored: short links need a file (-c FILE) that has a section "links"`
	}
	var warnings []Warning
	for _, k := range Keys() {
		switch {
		case !strings.HasPrefix(k.Path, "links.") || env[k.Env] == "" || c.doc.used[k.Env]:
		case k.Path == "links.listen" && c.Links.Listen.Off(): // as it is
		default:
			warnings = append(warnings, Warning{Where: k.Env, Text: text})
		}
	}
	return warnings
}

// Shortcut reports whether the endpoints of shortcut are served, whose tokens need the
// secret.
func (l *Links) Shortcut() bool { return l.JWTSecret != "" }

// LinksSource returns the name of the source that the shortener's tables are
// in, "" when there is no shortener.
func (c *Config) LinksSource() string {
	switch name := c.Links.Database.Reveal(); {
	case c.Links.Listen.Off():
		return ""
	case urlScheme.MatchString(name):
		return linksSource
	default:
		return name
	}
}

// linksSecrets are the tables of the shortener with keys, passwords and what visitors are
// told apart by.
var linksSecrets = []string{"link_keys", "link_users", "click_salt"}

// linksSecret refuses to show a secret table of the shortener.
func (v *validator) linksSecret(at, source, table string) {
	of, links := v.c.Sources[source], v.c.Sources[v.c.LinksSource()]
	if of == nil || links == nil || of.URL.Reveal() != links.URL.Reveal() {
		return
	}
	name := strings.ToLower(table[strings.LastIndexByte(table, '.')+1:])
	if slices.Contains(linksSecrets, name) {
		v.addf(at+".table", "%s has the keys and passwords of the shortener, or what its visitors "+
			"are told apart by: no resource shows it", table)
	}
}

// OwnsLinks reports whether the database of links is a file of the shortener's
// own, which is made if it is missing.
func (c *Config) OwnsLinks() bool {
	s := c.Sources[linksSource]
	return c.LinksSource() == linksSource && s != nil && s.Driver() == "sqlite"
}

// LinksDir returns the directory of the click log: relative to the configuration
// that names it.
func (c *Config) LinksDir() string { return c.relative("links.log.dir", c.Links.Log.Dir) }

// LinksCountry returns the file of address ranges, "" for none.
func (c *Config) LinksCountry() string {
	if c.Links.Country == "" {
		return ""
	}
	return c.relative("links.country", c.Links.Country)
}

// LinksAccess returns who may read links over the other fronts. keyed says that the
// shortener has a key, or may have one. A list of all links is for nobody who has no key or
// token, unless everything is for this machine alone.
func (c *Config) LinksAccess(keyed bool) string {
	switch {
	case c.Links.Access != "":
		return c.Links.Access
	case keyed, !c.LinksPrivate(), !c.HTTPPrivate():
		return "none"
	}
	for _, l := range c.Listeners() {
		if !l.Off() && !l.Local() {
			return "none"
		}
	}
	return "public"
}

// LinksBaseURL returns what short URLs begin with, for a listener that is bound
// to an address.
func (c *Config) LinksBaseURL(bound net.Addr) string {
	if c.Links.BaseURL != "" {
		return strings.TrimSuffix(c.Links.BaseURL, "/")
	}
	return "http://" + bound.String()
}

// LinksHosts returns the Host names that the shortener answers.
func (c *Config) LinksHosts() []string {
	hosts := slices.Clone(c.Links.Hosts)
	if u, err := url.Parse(c.Links.BaseURL); err == nil && u.Host != "" {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// LinksPrivate reports whether the shortener is for this machine alone: nothing
// in the configuration speaks of another one, nor of a proxy. Only then may who
// has no key do anything.
func (c *Config) LinksPrivate() bool {
	l := &c.Links
	return l.Listen.Local() && !l.Open && len(l.Proxies) == 0 && onlyLoopback(c.LinksHosts())
}

// LinksProxies returns whose X-Forwarded-For is believed.
func (c *Config) LinksProxies() []netip.Prefix {
	var list []netip.Prefix
	for _, text := range c.Links.Proxies {
		if p, err := parsePrefix(text); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// parsePrefix reads an address or a range of them.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Prefix(a.BitLen())
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("want an address or a range such as 10.0.0.0/8, found %q", text)
	}
	return p.Masked(), nil
}

// links checks the links section.
func (v *validator) links() {
	l := &v.c.Links
	if l.Listen.Off() {
		return
	}
	v.hosts("links.hosts", l.Hosts)
	v.baseURL()
	if name := v.c.LinksSource(); v.c.Sources[name] == nil {
		v.addf("links.database", "there is no source %q: name one, or give a URL such as "+
			"sqlite:links.db", name)
	} else if v.c.Sources[name].Driver() == "memcached" {
		v.addf("links.database", "memcached keeps no tables: name a SQL database")
	} else {
		v.password("links.database", v.c.Sources[name])
	}
	if r := v.c.Resources[LinksResource]; r != nil {
		v.addf("resources."+LinksResource, "links: makes a resource of this name: rename yours")
	}
	if !slices.Contains([]int{301, 302, 303, 307, 308}, l.Status) {
		v.addf("links.status", "want 301, 302, 303, 307 or 308, found %d", l.Status)
	}
	for i, text := range l.Proxies {
		if _, err := parsePrefix(text); err != nil {
			v.addf(fmt.Sprintf("links.trusted_proxies[%d]", i), "%v", err)
		}
	}
	v.schemes()
	for key, target := range map[string]string{"root": l.Root, "miss_url": l.MissURL} {
		if u, err := url.Parse(target); target != "" &&
			(err != nil || u.Scheme != "http" && u.Scheme != "https" && key != "root") {
			v.addf("links."+key, "want a URL such as https://example.com/, found %q", target)
		}
	}
	if n := len(l.JWTSecret); n > 0 && n < 16 {
		v.addf("links.jwt_secret", "tokens are signed with it: want at least 16 bytes, such as "+
			"of openssl rand -hex 16; with another secret the tokens that are out are void")
	}
}

// baseURL checks what short URLs begin with. It is never taken from a request.
func (v *validator) baseURL() {
	l := &v.c.Links
	u, err := url.Parse(l.BaseURL)
	switch {
	case l.BaseURL == "" && !l.Listen.Local():
		v.addf("links.base_url", "is needed when the listener is not on the loopback: what short "+
			"URLs begin with, such as https://s.example")
	case l.BaseURL == "":
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https",
		strings.Trim(u.Path, "/") != "", u.RawQuery != "", u.Fragment != "", u.User != nil:
		v.addf("links.base_url", "want a scheme and a host, such as https://s.example, found %q",
			l.BaseURL)
	}
}

// schemes refuses those that run where the visitor is.
func (v *validator) schemes() {
	for i, s := range v.c.Links.Schemes {
		at := fmt.Sprintf("links.schemes[%d]", i)
		switch {
		case slices.Contains([]string{"javascript", "data", "vbscript", "file", "blob",
			"view-source", "about", "filesystem"}, strings.ToLower(s)):
			v.addf(at, "%s is never a target: a visitor of a short link must not run it", s)
		case s != strings.ToLower(s) || !urlScheme.MatchString(s+":"):
			v.addf(at, "want a scheme in lower case, such as https, found %q", s)
		}
	}
}
