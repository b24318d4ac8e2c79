package config

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// A validator checks what no single value shows: that values fit each other.
type validator struct {
	c        *Config
	bad      map[string]bool // paths that have a problem already
	problems Problems
	warnings []Warning
}

// Validate checks a configuration. Load and FromURL have done so; one that is
// made or changed in code is checked by its maker.
func (c *Config) Validate() error {
	c.complete()
	v := &validator{c: c}
	v.all()
	return v.problems.err()
}

// addf adds a problem at a path, unless it has one.
func (v *validator) addf(path, format string, args ...any) {
	if v.bad[path] {
		return
	}
	v.problems = append(v.problems, v.c.Problem(path, fmt.Sprintf(format, args...)))
}

// warnf adds a warning at a path.
func (v *validator) warnf(path, format string, args ...any) {
	p := v.c.Problem(path, "")
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
	}
	text := path + ": " + fmt.Sprintf(format, args...)
	v.warnings = append(v.warnings, Warning{Where: where, Text: text})
}

// all checks everything.
func (v *validator) all() {
	v.http()
	v.origins()
	v.profile()
	v.tls()
	v.wire()
	v.keyValue()
	v.sql()
	v.links()
	v.trace()
	v.disk()
	v.hosts("http.hosts", v.c.HTTP.Hosts)
	v.hosts("ops.hosts", v.c.Ops.Hosts)
	v.listeners()
	v.tokens()
	v.jwt()
	for _, name := range sortedKeys(v.c.Sources) {
		v.source(name, v.c.Sources[name])
	}
	for _, name := range sortedKeys(v.c.Resources) {
		v.resource(name, v.c.Resources[name])
	}
	v.cycles()
	v.unused()
}

var (
	basePath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)
	roleName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
)

// http checks the values of the listener that serves the resources.
func (v *validator) http() {
	h := v.c.HTTP
	switch {
	case h.BasePath == "/" || basePath.MatchString(h.BasePath):
	case len(h.BasePath) > 1 && strings.HasSuffix(h.BasePath, "/"):
		v.addf("http.base_path", "want no slash at the end; did you mean %q?",
			strings.TrimRight(h.BasePath, "/"))
	default:
		v.addf("http.base_path", "want / or a path such as /api, found %q", h.BasePath)
	}
	if h.BasePath == "/-" || strings.HasPrefix(h.BasePath, "/-/") {
		v.addf("http.base_path", "/-/ is hotrow's own: take another path")
	}
	v.distinct("http.compression", h.Compression)
	for _, r := range h.CacheControl {
		if r < ' ' || r > '~' {
			v.addf("http.cache_control", "holds a character that a header cannot hold")
			break
		}
	}
}

// hosts checks the names of a listener.
func (v *validator) hosts(path string, hosts []string) {
	seen := make(map[string]bool)
	for i, host := range hosts {
		at := fmt.Sprintf("%s[%d]", path, i)
		lower := strings.ToLower(host)
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		switch {
		case strings.Contains(host, "*"):
			v.addf(at, "wildcards are not supported: name each host")
		case strings.Contains(host, "://"):
			v.addf(at, "want the name of a host without scheme and path, found %q", host)
		case err == nil || hostName.MatchString(host):
		case hostName.MatchString(strings.Split(host, ":")[0]):
			v.addf(at, "want the name of a host without a port; did you mean %q?",
				strings.Split(host, ":")[0])
		default:
			v.addf(at, "%q is not the name of a host", host)
		}
		if seen[lower] {
			v.addf(at, "%q is there twice", host)
		}
		seen[lower] = true
	}
}

// tokens checks who is known.
func (v *validator) tokens() {
	names, hashes := make(map[string]bool), make(map[string]bool)
	for i, t := range v.c.Auth.Tokens {
		at := fmt.Sprintf("auth.tokens[%d]", i)
		switch {
		case t.Name == "" && !v.c.isSet(at+".name"):
			v.addf(at, "needs a name")
		case !roleName.MatchString(t.Name):
			v.addf(at+".name", "want letters, digits, - and _, found %q", t.Name)
		case names[t.Name]:
			v.addf(at+".name", "%q names two tokens", t.Name)
		}
		names[t.Name] = true
		v.token(at, t, hashes)
	}
}

// CheckToken returns what a configuration would refuse of a token with this name and role.
func CheckToken(name, role string) error {
	t := Token{Name: name, Role: role, SHA256: strings.Repeat("0", 64)}
	v := &validator{c: &Config{Auth: Auth{Tokens: []Token{t}}}}
	v.tokens()
	return v.problems.err()
}

// token checks the hash and the role of one token.
func (v *validator) token(at string, t Token, hashes map[string]bool) {
	b, err := hex.DecodeString(t.SHA256)
	hash := strings.ToLower(t.SHA256)
	switch {
	case t.SHA256 == "" && !v.c.isSet(at+".sha256"):
		v.addf(at, "needs sha256: hotrow token %s prints a token and its line", orName(t.Name))
	case err != nil || len(b) != 32:
		v.addf(at+".sha256", "want the 64 hexadecimal digits of a SHA-256, not the token "+
			"itself: hotrow token %s prints both", orName(t.Name))
	case hashes[hash]:
		v.addf(at+".sha256", "is the hash of another token, too")
	}
	hashes[hash] = true
	switch {
	case t.Role == "" && !v.c.isSet(at+".role"):
		v.addf(at, "needs a role, such as role: editor")
	case strings.HasPrefix(t.Role, "role:"):
		v.addf(at+".role", "want the bare name; did you mean %q?",
			strings.TrimPrefix(t.Role, "role:"))
	case t.Role == "public" || t.Role == "none":
		v.addf(at+".role", "%q is a rule and cannot be a role", t.Role)
	case !roleName.MatchString(t.Role):
		v.addf(at+".role", "want letters, digits, - and _, found %q", t.Role)
	}
}

// orName returns name, or a word that stands for one.
func orName(name string) string {
	if roleName.MatchString(name) {
		return name
	}
	return "NAME"
}

// unused warns of sources that no resource uses, when there are resources.
func (v *validator) unused() {
	if len(v.c.Resources) == 0 {
		return
	}
	used := map[string]bool{v.c.LinksSource(): true, v.c.SQLSource(): true,
		StoreSource: v.c.StoresItems()}
	for _, r := range v.c.Resources {
		used[r.Source] = true
	}
	for _, name := range sortedKeys(v.c.Sources) {
		if !used[name] {
			v.warnf("sources."+name, "no resource uses this source")
		}
	}
}

// CheckServes refuses a configuration that names nothing to serve: no resource, no shortener,
// no database of items, no sessions of SQL, no answers to gofast's perf. It is taken for a file
// that was cut, or was never written.
func (c *Config) CheckServes() error {
	perf := c.Wire.Perf && !c.Wire.Listen.Off()
	if len(c.Resources) > 0 || c.LinksSource() != "" || c.StoresItems() || perf ||
		c.SQLSource() != "" {
		return nil
	}
	p := Problem{Text: "it names no resource, nor anything else to serve: hotrow init URL > FILE" +
		" writes one for the tables of a database"}
	if c.doc != nil {
		p.File = c.doc.file
	}
	return Problems{p}
}

// CheckExposure keeps listeners that know nobody on this machine: without
// tokens they must be on the loopback or a unix socket, unless open says that
// reading by anybody is meant.
//
// The operator's port is not for reading: whatever open says, it needs a token of
// the operator's, or is for those alone who may look at metrics.
func (c *Config) CheckExposure(open bool) error {
	v := &validator{c: c}
	if !c.Ops.Listen.Local() && !c.HasOperator() && !c.Ops.PublicMetrics {
		v.addf("ops.listen", "%s can be reached from other machines and no token has role: "+
			"operator: listen on 127.0.0.1 or unix:PATH, add such a token (hotrow token NAME), "+
			"or say ops.public_metrics if only probes and metrics are meant", c.Ops.Listen)
	}
	if open || len(c.Auth.Tokens) > 0 {
		return v.problems.err()
	}
	for _, l := range c.Listeners() {
		// Who follows a link has no token, and of SQL the database asks who it is.
		known := l.Name == "links" || l.Name == "sql" || l.Name == "ops" ||
			l.Name == "http" && c.Auth.JWT.On()
		if !known && !l.Local() {
			v.addf(l.Name+".listen", "%s can be reached from other machines and auth.tokens is "+
				"empty: listen on 127.0.0.1 or unix:PATH, add a token (hotrow token NAME), or say "+
				"--open if reading by anybody is meant", l)
		}
	}
	return v.problems.err()
}

// RoleOperator is the role of the tokens that open the operator's port.
const RoleOperator = "operator"

// HasOperator reports whether a token has the role of the operator.
func (c *Config) HasOperator() bool {
	return slices.ContainsFunc(c.Auth.Tokens, func(t Token) bool { return t.Role == RoleOperator })
}

// OpsPrivate reports whether the operator's port is for this machine alone, which
// then needs no token: nothing in the configuration speaks of another one, and no
// token is the operator's.
func (c *Config) OpsPrivate() bool {
	return c.Ops.Listen.Local() && onlyLoopback(c.Ops.Hosts) && !c.HasOperator()
}

// HTTPPrivate reports whether HTTP is for this machine alone: nothing in the configuration speaks
// of another one, of pages that come from elsewhere, or of who may do what.
func (c *Config) HTTPPrivate() bool {
	return c.HTTP.Listen.Local() && onlyLoopback(c.HTTP.Hosts) && len(c.Auth.Tokens) == 0 &&
		!c.Auth.JWT.On() && len(c.HTTP.CORS.Origins) == 0
}

// onlyLoopback reports whether all Host names are of the loopback.
func onlyLoopback(hosts []string) bool {
	for _, host := range hosts {
		ip, err := netip.ParseAddr(host)
		if !strings.EqualFold(host, "localhost") && (err != nil || !ip.Unmap().IsLoopback()) {
			return false
		}
	}
	return true
}

// trace checks where spans are to be sent.
func (v *validator) trace() {
	if err := v.c.Trace.Check(); err != nil {
		v.addf("trace.endpoint", "%v", err)
	}
}

// Check returns why no spans can be sent to the endpoint, if there is one.
func (t *Trace) Check() error {
	if t.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(t.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is no address of a collector: want http://HOST:4318", t.Endpoint)
	}
	return nil
}
