package httpfront

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/httprule"
	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/row"
)

// jwtName is what logs call whoever has a JWT: what the token says of them is in no log.
const jwtName = "jwt"

// A holder is who has sent a token that is good.
type holder struct {
	front.Principal
	client string // names who has watches
	until  int64  // when it ends, in Unix seconds; 0: as long as its grounds hold
	claims string // of a JWT, as JSON
}

// grounds are what it depends on whether a token is good. Others are another value.
type grounds struct {
	by     *settings
	issued any       // see Options.Issued
	keys   *jwt.Keys // nil: of no JWTs
}

func (o *settings) grounds() grounds {
	g := grounds{by: o}
	if o.Issued != nil {
		g.issued = o.Issued()
	}
	if o.JWT != nil {
		g.keys = o.JWT.Keys()
	}
	return g
}

// vet refuses a request whose token is not good where JWTs are known, whatever it asks for:
// what nobody has to be known for is not answered to who is taken for nobody by mistake.
func (m *memo) vet(o *settings, r *request) error {
	m.who = nil
	// Fast path: nobody says who they are.
	if len(r.Authorization) == 0 && len(r.APIKey) == 0 || o.JWT == nil {
		return nil
	}

	// Slow path.
	_, err := m.identify(o, r)
	return err
}

// identify returns whose token a request carries; nil: it has none, or one that nobody
// knows where there are no JWTs. What a header is worth is remembered while the tokens, the
// keys and the settings are the same, and the token has not ended. On an event loop a JWT
// that is not known yet is errLater.
func (m *memo) identify(o *settings, r *request) (*holder, error) {
	header := r.credentials()
	if len(header) == 0 || o.Auth == nil && o.JWT == nil {
		return nil, nil
	}
	if m.who != nil && m.ctx == nil { // this request was looked at before: see vet
		return m.who, nil
	}
	now := m.now
	if m.ctx != nil {
		now = o.Now()
	}
	if g := o.grounds(); g != m.grounds {
		m.grounds = g
		m.forget()
	}
	if r.Authorization != nil && !isBearer(header) {
		return nil, nil // another scheme: nobody
	}
	h := m.tokens[string(header)] // does not allocate
	if h != nil && !h.ended(now) {
		m.who = h
		return h, nil
	}
	token, _ := r.token()
	h, err := m.lookUp(o, string(header), strings.Clone(token), now)
	m.who = h
	return h, err
}

// ended reports whether a token is worth nothing any more.
func (h *holder) ended(now time.Time) bool { return h.until != 0 && now.Unix() >= h.until }

// lookUp is identify of a header that is not remembered. Its token is "" if it has none.
func (m *memo) lookUp(o *settings, header, token string, now time.Time) (*holder, error) {
	switch {
	case token != "":
	case o.JWT != nil:
		return nil, refusedToken(jwt.Malformed)
	default:
		return nil, nil
	}
	if o.Auth != nil {
		if p, known := o.Auth(token); known {
			return m.keep(o, header, &holder{Principal: p, client: p.Name}), nil
		}
	}
	if o.JWT == nil {
		return nil, nil
	}
	var c jwt.Claims
	var err error
	var ok bool
	if m.ctx != nil {
		c, err = o.JWT.Verify(m.ctx, token)
	} else if c, ok = o.JWT.Known(token, now); !ok {
		err = errLater
	}
	if err != nil {
		return nil, refusedToken(err)
	}
	h := &holder{client: "jwt:" + c.Holder, until: c.Until, claims: c.Text}
	h.Name, h.Roles = jwtName, c.Roles
	if len(h.Roles) == 0 {
		h.Roles = o.anonymous
	}
	return m.keep(o, header, h), nil
}

// keep remembers what a header is worth.
func (m *memo) keep(o *settings, header string, h *holder) *holder {
	if o.Issued == nil {
		return h
	}
	if m.tokens == nil || len(m.tokens) >= front.TokensKept ||
		m.tokenBytes+len(header) > front.TokenBytesKept {
		m.forget()
		m.tokens = make(map[string]*holder)
	}
	m.tokenBytes += len(header)
	m.tokens[header] = h
	return h
}

// forget forgets what headers are worth.
func (m *memo) forget() { m.tokens, m.tokenBytes = nil, 0 }

// credentials returns the header that says who asks; nil: there is none. Where there is no
// Authorization it is apikey, which is a token by itself.
func (r *request) credentials() []byte {
	if r.Authorization == nil {
		return r.APIKey
	}
	return r.Authorization
}

// token returns the token of the request. It may alias r.
func (r *request) token() (string, bool) {
	header := r.credentials()
	if r.Authorization == nil && !isBearer(header) {
		return row.Alias(header), len(header) > 0
	}
	return httprule.Bearer(row.Alias(header))
}

// isBearer reports whether a header begins as one with a bearer token does.
func isBearer(header []byte) bool {
	const scheme = "Bearer"
	if len(header) < len(scheme) || !strings.EqualFold(row.Alias(header[:len(scheme)]), scheme) {
		return false
	}
	rest := header[len(scheme):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t'
}

// refusedToken is the problem of a token that is worth nothing. Nothing of it is in there.
func refusedToken(err error) error {
	var why jwt.Refusal
	switch {
	case !errors.As(err, &why):
		return err
	case why == jwt.NoKeys:
		return problem{kind: kindKeys, after: front.KeysWait}
	}
	return problem{kind: kindUnauthorized, detail: why.Error(), header: challenge +
		`, error="invalid_token", error_description="` + why.Error() + `"` + "\r\n"}
}

// challenge asks for a token (RFC 6750 3).
const challenge = `WWW-Authenticate: Bearer realm="hotrow"`

// authorization returns the one Authorization header of a request of net/http. Two are as
// good as one without a token: it is unclear which one is meant.
func authorization(of *http.Request) (text string, sent bool) {
	switch lines := of.Header.Values("Authorization"); len(lines) {
	case 0:
		return "", false
	case 1:
		return lines[0], true
	}
	return "Bearer", true
}

// sameToken reports whether a watch that began on these grounds may go on.
func (s *stream) sameToken(o *settings) bool {
	if s.grounds == (grounds{}) {
		return true
	}
	return s.grounds == o.grounds() && (s.until == 0 || o.Now().Unix() < s.until)
}
