package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/row"
)

// JWT says which JSON Web Tokens are good over HTTP, and which roles they give.
type JWT struct {
	Secret Hidden `yaml:"secret,omitempty"`             // of HS algorithms
	Key    Hidden `yaml:"key,omitempty" public:"true"`  // public keys in PEM form
	JWKS   Hidden `yaml:"jwks,omitempty" public:"true"` // a set of keys in JSON, or its URL

	Insecure   bool        `yaml:"insecure"` // JWKS by http from another machine
	Algorithms []Algorithm `yaml:"algorithms" one:"true"`
	Issuer     string      `yaml:"issuer" empty:"plain"`
	Audience   []string    `yaml:"audience" one:"true"` // one of aud
	Role       string      `yaml:"role"`                // the path of the role claim
	Anonymous  string      `yaml:"anonymous" empty:"plain"`
	Leeway     Duration    `yaml:"leeway" range:"0s..10m"`
	RequireExp bool        `yaml:"require_exp"`
}

func defaultJWT() JWT {
	return JWT{Algorithms: []Algorithm{}, Audience: []string{}, Role: "role",
		Leeway: Duration(30 * time.Second), RequireExp: true}
}

// On reports whether there are JWTs.
func (j *JWT) On() bool { return j.Secret != "" || j.Key != "" || j.JWKS != "" }

// An Algorithm is one that signs JWTs, such as RS256.
type Algorithm string

// setText reads the name.
func (a *Algorithm) setText(text string) error {
	known := jwt.Algorithms()
	if !slices.Contains(known, text) {
		return fmt.Errorf("want %s, found %q%s", oneOf(known), text, row.DidYouMean(text, known))
	}
	*a = Algorithm(text)
	return nil
}

// A Hidden value is a secret as a whole: nothing shows any of it, but for a URL.
type Hidden string

// setText keeps the text; the decoder has resolved file: before.
func (h *Hidden) setText(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmptySecret
	}
	*h = Hidden(text)
	return nil
}

// Reveal returns the value itself.
func (h Hidden) Reveal() string { return string(h) }

// isURL reports whether the value is the address of what is meant.
func (h Hidden) isURL() bool {
	return strings.HasPrefix(string(h), "https://") || strings.HasPrefix(string(h), "http://")
}

// String returns the value if it is a URL, without its password, and else a mask.
func (h Hidden) String() string {
	switch {
	case h == "":
		return ""
	case h.isURL():
		return maskSecrets(string(h))
	}
	return mask
}

// GoString keeps %#v from showing the value.
func (h Hidden) GoString() string { return fmt.Sprintf("%q", h.String()) }

// MarshalYAML writes the masked text.
func (h Hidden) MarshalYAML() (any, error) { return h.String(), nil }

// Verifies returns what JWTs are verified by. unused are keys of a set that are not used,
// with the reasons. path is the setting that an error is about.
func (j *JWT) Verifies() (o jwt.Options, unused []string, path string, err error) {
	o.Issuer, o.Audience = j.Issuer, j.Audience
	for _, a := range j.Algorithms {
		o.Algorithms = append(o.Algorithms, string(a))
	}
	o.Leeway, o.Endless = time.Duration(j.Leeway), !j.RequireExp
	o.Fetch.Insecure = j.Insecure
	o.Reserved = []string{RoleOperator}
	if o.Role, err = jwt.ParsePath(j.Role); err != nil {
		return o, nil, "role", err
	}
	if j.Secret != "" {
		k, err := jwt.NewSecret(strings.TrimRight(j.Secret.Reveal(), "\r\n"), o.Algorithms)
		if err != nil {
			return o, nil, "secret", err
		}
		o.Keys = append(o.Keys, k)
	}
	if j.Key != "" {
		keys, err := jwt.ParsePEM(j.Key.Reveal(), o.Algorithms)
		if err != nil {
			return o, nil, "key", err
		}
		o.Keys = append(o.Keys, keys...)
	}
	if j.JWKS.isURL() {
		o.URL = j.JWKS.Reveal()
		return o, nil, "jwks", jwt.CheckURL(o.URL, j.Insecure)
	}
	if j.JWKS != "" {
		keys, unused, err := jwt.ParseSet([]byte(j.JWKS), o.Algorithms, true)
		if err != nil {
			return o, unused, "jwks", fmt.Errorf("%w %s", err, strings.Join(unused, "; "))
		}
		o.Keys = append(o.Keys, keys...)
		return o, unused, "", nil
	}
	return o, nil, "", nil
}

// jwt checks auth.jwt.
func (v *validator) jwt() {
	const at = "auth.jwt"
	j := &v.c.Auth.JWT
	if !j.On() {
		if !reflect.DeepEqual(*j, defaultJWT()) {
			v.addf(at, "needs secret, key or jwks: by what JWTs are signed")
		}
		return
	}
	o, unused, path, err := j.Verifies()
	if err != nil {
		v.addf(at+"."+path, "%v", err)
	}
	for _, why := range unused {
		v.warnf(at+".jwks", "is not used: %s", why)
	}
	v.distinct(at+".algorithms", o.Algorithms)
	v.distinct(at+".audience", j.Audience)
	switch {
	case o.URL != "" && j.Issuer == "":
		v.addf(at, "needs issuer: whose tokens the keys of jwks sign")
	case o.URL != "" && len(j.Audience) == 0:
		v.addf(at, "needs audience: else a token that is meant for another service opens this one")
	case j.Secret == "" && len(j.Audience) == 0:
		v.warnf(at, "there is no audience: a token for any service that these keys sign for "+
			"is good")
	}
	if slices.Contains(j.Audience, "") {
		v.addf(at+".audience", "has an empty one")
	}
	v.anonymous(at+".anonymous", j.Anonymous)
}

// anonymous checks the role of who sends no token.
func (v *validator) anonymous(at, role string) {
	switch {
	case role == "":
		return
	case role == "public" || role == "none" || role == RoleOperator || !roleName.MatchString(role):
		v.addf(at, "want the name of a role, of letters, digits, - and _, found %q", role)
		return
	}
	var named []string
	for _, r := range v.c.Resources {
		named = append(append(named, strings.Fields(r.Access.Read)...),
			strings.Fields(r.Access.Write)...)
	}
	if !slices.Contains(named, "role:"+role) && len(v.c.Resources) > 0 {
		v.warnf(at, "no access names role:%s, so it opens nothing%s", role,
			row.DidYouMean("role:"+role, named))
	}
}
