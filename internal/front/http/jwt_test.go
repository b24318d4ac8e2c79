package httpfront

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/jwt"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

const jwtSecret = "thirty-two bytes, and some more of them"

func raw64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// newJWT returns a token of HS256 that is good for so long, with more claims that begin with a comma.
func newJWT(good time.Duration, more string) string { return newJWTOf("subject-of-ann", good, more) }

// newJWTOf is newJWT of a subject.
func newJWTOf(sub string, good time.Duration, more string) string {
	signed := raw64([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." +
		raw64(fmt.Appendf(nil, `{"sub":"%s","exp":%d%s}`, sub, time.Now().Add(good).Unix(), more))
	mac := hmac.New(sha256.New, []byte(jwtSecret))
	mac.Write([]byte(signed))
	return signed + "." + raw64(mac.Sum(nil))
}

func newVerifier(t testing.TB, o jwt.Options) *jwt.Verifier {
	t.Helper()
	if o.URL == "" {
		k, err := jwt.NewSecret(jwtSecret, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.Keys = []jwt.Key{k}
	}
	o.Role = []string{"role"}
	v, err := jwt.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// withJWT has a site know JWTs.
func withJWT(t testing.TB) func(*Options) {
	return func(o *Options) { o.JWT = newVerifier(t, jwt.Options{}) }
}

func bearer(token string) string { return "Authorization: Bearer " + token }

// A JWT opens what its role may read and write, is remembered, and is refused with the reason when it
// is worth nothing: for what everybody may read, too.
func TestJWT_RolesOverEveryRoad(t *testing.T) {
	for _, road := range []string{"", "loop", "tls", "h2"} {
		t.Run("road="+road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			s := newServer(t, withJWT(t))
			secret, static := newToken(t, "r", "reader")
			s.tokens.Set([]front.Token{static})
			reader, editor := newJWT(time.Hour, `,"role":"reader"`), newJWT(time.Hour, `,"role":["x","editor"]`)
			for _, path := range []string{"/pay/1", "/pay?limit=1", "/pay?id=in.(1)", "/pay?select=id&id=eq.1"} {
				for range 3 {
					s.want(s.do("GET", path, ""), 401, "unauthorized")
					s.want(s.do("GET", path, "", bearer(editor)), 403, "forbidden")
					for _, token := range []string{reader, secret} {
						a := s.do("GET", path, "", bearer(token))
						s.want(a, 200, "")
						if got := a.Header.Get("Cache-Control"); got != "private, no-cache" {
							t.Errorf("%s: Cache-Control %q", path, got)
						}
					}
				}
			}
			s.want(s.do("PATCH", "/pay/1", `{"sal":7}`, bearer(reader)), 403, "forbidden")
			s.want(s.do("PATCH", "/pay/1", `{"sal":7}`, bearer(editor)), 204, "")

			expired := newJWT(-time.Second, `,"role":"reader"`)
			for _, path := range []string{"/pay/1", "/depts/10", "/depts", "/depts?deptno=in.(10)", "/",
				"/-/problems/x", "/nothing", "/closed/10"} {
				for token, why := range map[string]string{expired: "JWT expired", "x": "compact form",
					reader[:len(reader)-2]: "compact form", reader + "A": "signature",
					secret + "x": "compact form", "": "compact form"} {
					for range 2 {
						a := s.do("GET", path, "", bearer(token))
						s.want(a, 401, "unauthorized")
						got := a.Header.Get("WWW-Authenticate")
						if !strings.Contains(got, `error="invalid_token"`) || !strings.Contains(got, why) ||
							!strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
							t.Errorf("%s with %.20q: %v", path, token, a.Header)
						}
					}
				}
			}
			s.want(s.do("GET", "/depts/10", "", "Authorization: Basic "+reader), 200, "")
			s.want(s.do("GET", "/pay/1", "", "Authorization: Basic "+reader), 401, "unauthorized")
			s.want(s.do("GET", "/depts/10", "", bearer(reader), bearer(reader)), 401, "unauthorized")
			s.want(s.do("GET", "/depts/10", "", bearer(reader)), 200, "")
			if logged := s.log.String(); strings.Contains(logged, "subject-of") || strings.Contains(logged, "eyJ") {
				t.Errorf("the log has a token:\n%s", logged)
			}
		})
	}
}

// apikey is the token where there is no Authorization, as Supabase's clients send it, and what
// depends on it says so to caches.
func TestAPIKey_OverEveryRoad(t *testing.T) {
	for _, road := range []string{"", "loop", "tls", "h2"} {
		t.Run("road="+road, func(t *testing.T) {
			t.Setenv("HOTROW_TEST_ROAD", road)
			s := newServer(t, withJWT(t))
			token, static := newToken(t, "r", "reader")
			s.tokens.Set([]front.Token{static})
			reader := newJWT(time.Hour, `,"role":"reader"`)
			editor := newJWT(time.Hour, `,"role":["x","editor"]`)
			for _, tt := range []struct {
				code    int
				headers []string
			}{
				{200, []string{"apikey: " + reader}},
				{200, []string{"apikey: " + token}},
				{200, []string{"apikey: Bearer " + token}},
				{200, []string{"apikey: x", bearer(reader)}},
				{401, []string{"apikey: " + reader, bearer("x")}},
				{401, []string{"apikey: " + reader, "Authorization: Basic x"}},
				{401, []string{"apikey: " + reader + "A"}},
				{401, []string{"Authorization: " + reader}}, // it is no Bearer
				{401, []string{"Authorization: " + token}},
			} {
				for range 3 {
					a := s.do("GET", "/pay/1", "", tt.headers...)
					varies := a.Header.Get("Vary")
					if a.StatusCode != tt.code || tt.code == 200 &&
						!strings.HasSuffix(varies, "Authorization, apikey") {
						t.Errorf("%.80q: %d, Vary %q; want %d", tt.headers, a.StatusCode, varies, tt.code)
					}
				}
			}
			varies := s.do("GET", "/depts/10", "", "apikey: "+reader).Header.Get("Vary")
			if strings.Contains(varies, "apikey") {
				t.Errorf("what everybody may read has Vary %q", varies)
			}
			s.want(s.do("PATCH", "/pay/1", `{"sal":7}`, "apikey: "+reader), 403, "forbidden")
			s.want(s.do("PATCH", "/pay/1", `{"sal":7}`, "apikey: "+editor), 204, "")
			s.want(s.do("GET", "/depts/10", "", "apikey: "+newJWT(-time.Second, "")), 401, "unauthorized")
		})
	}
}

// A token that was good is worth nothing from the moment on that it ends, on a connection that had
// hits by it, too.
func TestJWT_EndsOnAnOpenConnection(t *testing.T) {
	s := newProtectedSite(t)
	o := s.h.live.Load().Options
	withJWT(t)(&o)
	s.h.Configure(o)
	token := newJWT(3*time.Second, `,"role":"reader"`)
	ends := time.Now().Add(3 * time.Second)
	hits := 0
	eventually(t, "the token ends", func() bool {
		a := s.ask("/pay/1", bearer(token)+"\r\n")
		if a.StatusCode == 200 && a.Header.Get("Cache-Status") == "hotrow; hit; detail=mem" {
			hits++
		}
		return a.StatusCode == 401
	})
	if time.Now().Before(ends.Add(-time.Second)) || hits == 0 {
		t.Errorf("%d hits, and it ended at %v", hits, time.Until(ends))
	}
}

// A reload of other keys, or of none, counts for the next request on an open connection.
func TestJWT_Reload(t *testing.T) {
	s := newProtectedSite(t)
	token := bearer(newJWT(time.Hour, `,"role":"reader"`)) + "\r\n"
	o := s.h.live.Load().Options
	for range 3 {
		o.JWT = nil
		s.h.Configure(o)
		s.wantCode(401, "/pay/1", token)
		s.wantCode(200, "/depts/10", token)
		withJWT(t)(&o)
		s.h.Configure(o)
		s.wantCode(200, "/pay/1", token)
		s.wantCode(200, "/pay/1", token)
		other, err := jwt.NewSecret("another secret that has also 32 bytes", nil)
		if err != nil {
			t.Fatal(err)
		}
		if o.JWT, err = jwt.New(jwt.Options{Keys: []jwt.Key{other}}); err != nil {
			t.Fatal(err)
		}
		s.h.Configure(o)
		s.wantCode(401, "/pay/1", token)
		s.wantCode(401, "/depts/10", token)
		s.wantCode(200, "/depts/10", "")
	}
}

// newES256 returns a key and a token of it that names it.
func newES256(t *testing.T, kid string) (jwk, token string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := k.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	signed := raw64([]byte(`{"alg":"ES256","kid":"`+kid+`"}`)) + "." +
		raw64(fmt.Appendf(nil, `{"exp":%d,"role":"reader"}`, time.Now().Add(time.Hour).Unix()))
	sum := sha256.Sum256([]byte(signed))
	r, sig, err := ecdsa.Sign(rand.Reader, k, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	jwk = fmt.Sprintf(`{"kty":"EC","crv":"P-256","kid":"%s","x":"%s","y":"%s"}`, kid, raw64(b[1:33]), raw64(b[33:]))
	return jwk, signed + "." + raw64(append(r.FillBytes(make([]byte, 32)), sig.FillBytes(make([]byte, 32))...))
}

// A rotation of the keys takes the tokens of the old ones away, on open connections and from who
// follows; while no keys are known nobody is told that a token is bad.
func TestJWT_Rotation(t *testing.T) {
	first, old := newES256(t, "1")
	second, young := newES256(t, "2")
	var set atomic.Pointer[string]
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if text := set.Load(); text != nil {
			fmt.Fprint(w, *text)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(keys.Close)
	s := newProtectedSite(t)
	o := s.h.live.Load().Options
	o.JWT = newVerifier(t, jwt.Options{URL: keys.URL})
	s.h.Configure(o)
	a := s.ask("/depts/10", bearer(old)+"\r\n")
	if a.StatusCode != 503 || !strings.Contains(a.body, "keys-unavailable") || a.Header.Get("Retry-After") == "" {
		t.Errorf("without keys: %d %v %s", a.StatusCode, a.Header, a.body)
	}
	s.wantCode(200, "/depts/10", "")
	text := `{"keys":[` + first + `]}`
	set.Store(&text)
	eventually(t, "the keys are there", func() bool { return o.JWT.Stats().Fetch.Known })
	w := s.watch("/pay/1", bearer(old))
	w.want("", "sal")
	for range 3 {
		s.wantCode(200, "/pay/1", bearer(old)+"\r\n")
	}
	next := `{"keys":[` + second + `]}`
	set.Store(&next)
	eventually(t, "the new key is found", func() bool {
		return s.ask("/pay/1", bearer(young)+"\r\n").StatusCode == 200
	})
	s.wantCode(401, "/pay/1", bearer(old)+"\r\n")
	s.wantCode(200, "/pay/1", bearer(young)+"\r\n")
	w.ended()
}

// Who follows is told nothing any more once the token has ended; who waits for a change is answered.
func TestJWT_WatchesEndWithTheToken(t *testing.T) {
	s := newWatchSite(t, withJWT(t))
	for _, path := range []string{"/pay/1", "/pay?limit=1", "/depts/10"} {
		w := s.watch(path, bearer(newJWT(2*time.Second, `,"role":"reader"`)))
		w.want("", "")
		w.ended()
	}
	if code := s.watch("/pay/1", bearer(newJWT(time.Hour, `,"role":"x"`))).resp.StatusCode; code != 403 {
		t.Errorf("a role that may not read follows: %d", code)
	}
	token := bearer(newJWT(2*time.Second, `,"role":"reader"`))
	tag := s.do("GET", "/pay/1", "", token).Header.Get("Etag")
	a := s.do("GET", "/pay/1", "", token, "If-None-Match: "+tag, "Prefer: wait=30")
	s.want(a, 401, "unauthorized")
}

// TestJWT_WatchesOfOneSubject: watches are counted by who has them, whatever the number of tokens.
func TestJWT_WatchesOfOneSubject(t *testing.T) {
	s := newWatchSite(t, withJWT(t))
	for i := range 3 {
		s.watch("/pay/1", bearer(newJWT(time.Hour, fmt.Sprintf(`,"role":"reader","jti":"%d"`, i)))).want("", "sal")
	}
	ws := &s.h.watches
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if len(ws.clients) != 1 {
		t.Errorf("watches of %v", ws.clients)
	}
	for name, n := range ws.clients {
		if n != 3 || strings.Contains(name, "ann") {
			t.Errorf("%q has %d", name, n)
		}
	}
}

// Without a token the anonymous role counts, and so it does for a token that names none. It is no
// token: an open listener takes no writes of it.
func TestJWT_AnonymousRole(t *testing.T) {
	t.Setenv("HOTROW_TEST_ROAD", "loop")
	s := newServer(t, withJWT(t), func(o *Options) { o.Anonymous = "anon" })
	specs := siteResources()
	specs[0].Access = resource.Access{Read: "role:anon role:reader", Write: "role:anon"}
	if err := s.h.live.Load().Resources.Reload(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	nobody, reader := bearer(newJWT(time.Hour, ``)), bearer(newJWT(time.Hour, `,"role":"reader"`))
	editor := bearer(newJWT(time.Hour, `,"role":"editor"`))
	for range 3 {
		for _, path := range []string{"/depts/10", "/depts", "/depts?deptno=in.(10)",
			"/depts?dname=eq.SALES&select=loc"} {
			for _, lines := range [][]string{nil, {nobody}, {reader}} {
				a := s.do("GET", path, "", lines...)
				s.want(a, 200, "")
				if got := a.Header.Get("Cache-Control"); got != "private, no-cache" {
					t.Errorf("%s: Cache-Control %q", path, got)
				}
			}
			s.want(s.do("GET", path, "", editor), 403, "forbidden")
		}
		s.want(s.do("GET", "/pay/1", ""), 401, "unauthorized")
		s.want(s.do("GET", "/pay/1", "", nobody), 403, "forbidden")
	}
	if body := s.do("GET", "/", "").body; !strings.Contains(body, `"depts"`) || strings.Contains(body, `"pay"`) {
		t.Errorf("the index: %s", body)
	}
	if body := s.do("GET", "/", "", editor).body; strings.Contains(body, `"depts"`) {
		t.Errorf("the index of an editor: %s", body)
	}
	s.want(s.do("PATCH", "/depts/10", `{"loc":"A"}`), 200, "")
	o := s.h.live.Load().Options
	o.Open = true
	s.h.Configure(o)
	s.want(s.do("PATCH", "/depts/10", `{"loc":"B"}`), 401, "unauthorized")
	s.want(s.do("PATCH", "/depts/10", `{"loc":"C"}`, nobody), 200, "")
	s.want(s.do("GET", "/depts/10", ""), 200, "")
}

// Rows of a private resource are embedded for who may read them, and the answer is nobody else's.
func TestJWT_Embeds(t *testing.T) {
	t.Setenv("HOTROW_TEST_ROAD", "loop")
	s := newServer(t, openStaff(t), withJWT(t))
	reader, other := bearer(newJWT(time.Hour, `,"role":"reader"`)), bearer(newJWT(time.Hour, `,"role":"x"`))
	for range 3 { // memory has it after the first
		for _, path := range []string{"/staff?select=name,wages(amount)", "/staff?select=id,skills(name)",
			"/staff?select=name,wages!inner(amount)&wages.amount=gt.1"} {
			a := s.do("GET", path, "", reader)
			s.want(a, 200, "")
			if got := a.Header.Get("Cache-Control"); got != "private, no-cache" {
				t.Errorf("%s: Cache-Control %q", path, got)
			}
			s.want(s.do("GET", path, ""), 401, "unauthorized")
			s.want(s.do("GET", path, "", other), 403, "forbidden")
		}
		s.want(s.do("GET", "/staff?select=name,files(text)", "", reader), 403, "forbidden")
		s.want(s.do("GET", "/staff?select=name", ""), 200, "")
	}
}

// logLines returns the access log of requests with tokens.
func TestJWT_TheAccessLogHasNoToken(t *testing.T) {
	t.Setenv("HOTROW_TEST_ROAD", "loop")
	var out bytes.Buffer
	access := openAccess(t, &out, 0)
	s := newServer(t, withJWT(t), func(o *Options) { o.Access = access })
	good := newJWT(time.Hour, `,"role":"reader"`)
	for range 5 {
		s.want(s.do("GET", "/pay/1", "", bearer(good)), 200, "")
		s.want(s.do("GET", "/pay/1", "", bearer(good+"x")), 401, "unauthorized")
	}
	if err := access.Close(); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "eyJ") || strings.Contains(text, "ann") || strings.Contains(text, "reader") ||
		!strings.Contains(text, `"principal":"jwt"`) {
		t.Errorf("the access log:\n%s", text)
	}
}

// jwtSteppers returns a loop whose rows are in memory, and the header line of a token that it knows.
func jwtSteppers(tb testing.TB) (*stepper, string) {
	tb.Helper()
	set, _ := openSet(tb)
	o := Options{Resources: set, Issued: func() any { return nil }}
	withJWT(tb)(&o)
	h := New(o)
	for name, key := range map[string]row.Key{"pay": "1", "depts": "10"} {
		r, _ := set.Lookup(name)
		eventually(tb, "memory has it", func() bool {
			a, err := r.Get(tb.Context(), key, resource.Options{})
			return err == nil && a.Origin == resource.HitMemory
		})
	}
	s, _ := listStepper(tb, h)
	token := newJWT(time.Hour, `,"role":"reader","aud":"authenticated","app_metadata":{"provider":"email"},`+
		`"email":"somebody@example.org","session_id":"0d9a8a3e-6f0a-4d1a-9e2b-6a0f1f6f5d3c",`+
		`"iss":"https://id.example/auth"`)
	if _, err := o.JWT.Verify(tb.Context(), token); err != nil {
		tb.Fatal(err)
	}
	return s, bearer(token) + "\r\n"
}

func TestJWT_HitAllocatesNothing(t *testing.T) {
	s, line := jwtSteppers(t)
	basic := "Authorization: Basic " + line[len("Authorization: Bearer "):]
	for _, tt := range [][2]string{{"/depts/10", line}, {"/pay/1", line}, {"/depts?deptno=in.(10,20,30)", line},
		{"/depts/10", basic}, {"/depts/10", ""}} {
		path := tt[0]
		in := []byte("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + tt[1] + "\r\n")
		ok := func(got []byte) bool { return bytes.HasPrefix(got, []byte("HTTP/1.1 200 ")) }
		if n := s.allocs(t, in, ok); n != 0 {
			t.Errorf("a hit of %s with a token allocates %v times", path, n)
		}
	}
}

// BenchmarkLoop_JWT is a hit without sockets, with and without a token that is known: of what
// everybody may read, and of what a role may.
func BenchmarkLoop_JWT(b *testing.B) {
	s, line := jwtSteppers(b)
	for _, tt := range []struct{ name, path, line string }{
		{"token=none", "/depts/10", ""}, {"token=jwt", "/depts/10", line}, {"token=jwt/role=needed", "/pay/1", line},
		{"token=passed over", "/depts/10", "Authorization: Basic " + line[len("Authorization: Bearer "):]},
	} {
		b.Run(tt.name, func(b *testing.B) {
			s.bench(b, []byte("GET "+tt.path+" HTTP/1.1\r\nHost: localhost\r\n"+tt.line+"\r\n"), 1)
		})
	}
}
