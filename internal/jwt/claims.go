package jwt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Claims are what a good token says that matters here.
type Claims struct {
	Roles []string // that the role claim names

	// Holder tells one subject from another; it shows nothing of the token.
	Holder string

	// Until is when the token ends, in seconds since 1970: from then on it is worth nothing.
	Until int64

	// Text is the token's payload: JSON.
	Text string
}

// Expected is what is asked of the claims of a token.
type Expected struct {
	Issuer   string   // "": any
	Audience []string // one of which the token must be for; empty: any
	Role     []string // the members that lead to the role claim
	Leeway   time.Duration
	Endless  bool // a token without exp is good

	Reserved []string // roles that no token gives
}

// check returns the claims of a token whose signature is good. text is its payload.
func (e *Expected) check(text []byte, now time.Time) (c Claims, err error) {
	o, err := parseObject(text)
	if err != nil {
		return c, BadClaims
	}
	if err := e.parties(o); err != nil {
		return c, err
	}
	if c.Until, err = e.times(o, now); err != nil {
		return c, err
	}
	if c.Roles, err = e.roles(o); err != nil {
		return c, err
	}
	subject, err := optional(o, "sub")
	if err != nil {
		return c, err
	}
	if subject == "" {
		subject = string(text)
	}
	sum := sha256.Sum256([]byte(textOf(o, "iss") + "\x00" + subject))
	c.Holder, c.Text = hex.EncodeToString(sum[:16]), string(text)
	return c, nil
}

// optional returns a claim that is a text where it is there.
func optional(o map[string]any, name string) (string, error) {
	v, has := o[name]
	text, ok := v.(string)
	if has && !ok {
		return "", BadClaims
	}
	return text, nil
}

// parties checks who has issued the token, and for whom.
func (e *Expected) parties(o map[string]any) error {
	issuer, err := optional(o, "iss")
	if err != nil {
		return err
	}
	if e.Issuer != "" && issuer != e.Issuer {
		return Issuer
	}
	aud, err := texts(o["aud"])
	if err != nil {
		return err
	}
	if len(e.Audience) == 0 {
		return nil
	}
	for _, a := range aud {
		if slices.Contains(e.Audience, a) {
			return nil
		}
	}
	return Audience
}

// texts returns a claim that is a text or a list of texts; none for nil.
func texts(v any) ([]string, error) {
	switch t := v.(type) {
	case nil:
		return nil, nil
	case string:
		return []string{t}, nil
	case []any:
		list := make([]string, 0, len(t))
		for _, e := range t {
			text, ok := e.(string)
			if !ok {
				return nil, BadClaims
			}
			list = append(list, text)
		}
		return list, nil
	}
	return nil, BadClaims
}

// times checks that now is one at which the token is good, and returns until when it is.
func (e *Expected) times(o map[string]any, now time.Time) (until int64, err error) {
	at := float64(now.UnixNano()) / 1e9
	leeway := e.Leeway.Seconds()
	exp, has, err := seconds(o, "exp")
	switch {
	case err != nil:
		return 0, err
	case !has && !e.Endless:
		return 0, BadClaims
	case has && at >= exp+leeway:
		return 0, Expired
	}
	for _, name := range []string{"nbf", "iat"} {
		from, has, err := seconds(o, name)
		if err != nil {
			return 0, err
		}
		if has && at < from-leeway {
			return 0, Early
		}
	}
	until = latest
	if has {
		until = int64(math.Floor(exp + leeway)) // in the second before the end it is checked anew
	}
	return until, nil
}

// seconds returns a claim that is a time (RFC 7519 2, NumericDate).
func seconds(o map[string]any, name string) (at float64, has bool, err error) {
	v, has := o[name]
	if !has {
		return 0, false, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, true, BadClaims
	}
	at, err = strconv.ParseFloat(string(n), 64)
	if err != nil || math.Abs(at) > latest {
		return 0, true, BadClaims
	}
	return at, true, nil
}

// roles returns the roles that the token names.
func (e *Expected) roles(o map[string]any) ([]string, error) {
	var v any = o
	for _, name := range e.Role {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, nil // there is no such claim
		}
		v = o[name]
	}
	list, err := texts(v)
	if err != nil {
		return nil, err
	}
	known := make([]string, 0, len(list))
	for _, r := range list {
		if r != "" && len(r) <= maxRole && len(known) < maxRoles &&
			!slices.Contains(e.Reserved, r) {
			known = append(known, r)
		}
	}
	return known, nil
}

// Claim returns what a path leads to in the payload of a good token: a string, a json.Number,
// bool, map[string]any, []any; nil: there is nothing.
func Claim(payload string, path []string) any {
	o, err := parseObject([]byte(payload))
	if err != nil {
		return nil
	}
	var v any = o
	for _, name := range path {
		o, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = o[name]
	}
	return v
}

// ParsePath reads where a claim is: members with dots between them. A member that has a dot
// itself is in double quotes: "https://id.example/role".
func ParsePath(text string) (path []string, err error) {
	for rest := text; ; {
		var name string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			name, rest, ok = strings.Cut(quoted, `"`)
			if !ok {
				return nil, fmt.Errorf("want a second quote, found %q", text)
			}
		} else if at := strings.IndexByte(rest, '.'); at >= 0 {
			name, rest = rest[:at], rest[at:]
		} else {
			name, rest = rest, ""
		}
		if name == "" || rest != "" && rest[0] != '.' {
			return nil, fmt.Errorf("want a path such as app_metadata.role, found %q", text)
		}
		if name == "user_metadata" {
			return nil, errors.New("users edit what is below user_metadata: take another claim, " +
				"such as app_metadata.role")
		}
		path = append(path, name)
		if rest == "" {
			return path, nil
		}
		rest = rest[1:]
	}
}
