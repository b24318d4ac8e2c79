package jwt

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A keyServer answers with a set of keys, over TLS.
type keyServer struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  atomic.Int64
}

func newKeyServer(t *testing.T, set string) *keyServer {
	t.Helper()
	s := new(keyServer)
	s.set(set)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.mu.Lock()
		answer := s.answer
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *keyServer) does(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

func (s *keyServer) set(set string) {
	s.does(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, set) })
}

func (s *keyServer) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return pool
}

// A clock is what the tests set.
type clock struct{ at atomic.Int64 }

func newClock() *clock               { c := new(clock); c.at.Store(now.Unix()); return c }
func (c *clock) now() time.Time      { return time.Unix(c.at.Load(), 0) }
func (c *clock) add(d time.Duration) { c.at.Add(int64(d / time.Second)) }

// newRemoteVerifier returns a verifier of the keys of s that has them.
func newRemoteVerifier(t *testing.T, s *keyServer, c *clock, log *slog.Logger) *Verifier {
	t.Helper()
	v := newVerifier(t, Options{URL: s.URL + "/jwks", Now: c.now, Fetch: FetchOptions{Roots: s.roots(), Log: log}})
	waittest.Until(t, "the keys are there", func() bool { return v.Stats().Fetch.Known })
	return v
}

func set(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// by returns a token that names a kid.
func by(t *testing.T, alg, kid string) string {
	t.Helper()
	return sign(t, alg, header(alg, `,"kid":"`+kid+`"`), fmt.Sprintf(`{"exp":%d}`, now.Unix()+7*24*3600))
}

// Keys that are added are found by the first token that names one; those that are taken away are
// worth nothing from the next set on.
func TestRemote_Rotates(t *testing.T) {
	s, c := newKeyServer(t, set(jwkOf(t, "ES256", `,"kid":"1"`))), newClock()
	v := newRemoteVerifier(t, s, c, nil)
	old := v.Keys()
	wantVerified(t, v, "the first", by(t, "ES256", "1"), nil)
	s.set(set(jwkOf(t, "ES256", `,"kid":"1"`), jwkOf(t, "EdDSA", `,"kid":"2"`)))
	wantVerified(t, v, "the second", by(t, "EdDSA", "2"), nil)
	if n := s.asked.Load(); n != 2 || v.Keys() == old {
		t.Errorf("%d requests", n)
	}
	s.set(set(jwkOf(t, "EdDSA", `,"kid":"2"`)))
	wantVerified(t, v, "the first, before it is known to be gone", by(t, "ES256", "1"), nil)
	for i := range 50 { // nobody's: one request in 30 s for all
		wantVerified(t, v, "nobody's", by(t, "EdDSA", fmt.Sprint("nobody", i)), UnknownKey)
	}
	if n := s.asked.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	c.add(askEvery)
	for i := range 50 {
		wantVerified(t, v, "nobody's", by(t, "EdDSA", fmt.Sprint("nobody", i)), UnknownKey)
	}
	if n := s.asked.Load(); n != 3 {
		t.Errorf("%d requests", n)
	}
	wantVerified(t, v, "the first, gone", by(t, "ES256", "1"), UnknownKey)
	wantVerified(t, v, "the second", by(t, "EdDSA", "2"), nil)
}

// Tokens that come at once for a new key wait for one request.
func TestRemote_OneRequestForAll(t *testing.T) {
	s, c := newKeyServer(t, set(jwkOf(t, "ES256", `,"kid":"1"`))), newClock()
	v := newRemoteVerifier(t, s, c, nil)
	entered, open := make(chan struct{}, 1), make(chan struct{})
	s.does(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-open
		fmt.Fprint(w, set(jwkOf(t, "EdDSA", `,"kid":"2"`)))
	})
	var all sync.WaitGroup
	token := by(t, "EdDSA", "2")
	for range maxAsking {
		all.Go(func() { wantVerified(t, v, "new", token, nil) })
	}
	<-entered
	waittest.Until(t, "all wait", func() bool { return v.remote.asking.Load() == maxAsking })
	wantVerified(t, v, "one too many", token, UnknownKey)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(gone, token); err != UnknownKey {
		t.Errorf("who has left: %v", err)
	}
	close(open)
	all.Wait()
	if n := s.asked.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// A URL that fails changes nothing for a day; then its keys are worth nothing.
func TestRemote_KeepsTheLastGoodSet(t *testing.T) {
	var out bytes.Buffer
	s, c := newKeyServer(t, set(jwkOf(t, "ES256", `,"kid":"1"`))), newClock()
	v := newRemoteVerifier(t, s, c, slog.New(slog.NewTextHandler(&out, nil)))
	keys := v.Keys()
	large := set(jwkOf(t, "EdDSA", `,"kid":"2"`), `{"x":"`+strings.Repeat("x", maxSet)+`"}`)
	for name, answer := range map[string]http.HandlerFunc{
		"500":       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"no JSON":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"no keys":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) },
		"a secret":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, set(jwkOf(t, "HS256", ""))) },
		"too large": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, large) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) },
		"cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"keys":[`)
		},
	} {
		s.does(answer)
		before := v.Stats().Fetch.Failed
		c.add(askEvery)
		wantVerified(t, v, name, by(t, "EdDSA", "2"), UnknownKey)
		if v.Stats().Fetch.Failed != before+1 || v.Keys() != keys {
			t.Errorf("%s: %+v", name, v.Stats().Fetch)
		}
		wantVerified(t, v, name, by(t, "ES256", "1"), nil)
	}
	if st := v.Stats().Fetch; st.Failing != 7 || !st.Known {
		t.Errorf("%+v", st)
	}
	waittest.Until(t, "no request is under way", func() bool {
		v.remote.mu.Lock()
		defer v.remote.mu.Unlock()
		return v.remote.round == nil
	})
	c.add(keysLast)
	if _, ok := v.Known(by(t, "ES256", "1"), c.now()); ok {
		t.Error("a token is known a day after its key was")
	}
	wantVerified(t, v, "a day later", by(t, "ES256", "1"), NoKeys)
	if v.Stats().Fetch.Known {
		t.Error("the keys count after a day")
	}
	s.set(set(jwkOf(t, "ES256", `,"kid":"1"`)))
	c.add(askEvery)
	wantVerified(t, v, "when the URL is back", by(t, "ES256", "1"), nil)
	if st := v.Stats().Fetch; st.Failing != 0 || !st.Known {
		t.Errorf("%+v", st)
	}
	v.Close()
	for _, want := range []string{"level=WARN", "level=ERROR", "failures=3", "level=INFO"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), encode([]byte(`{"exp"`))[:6]) {
		t.Errorf("the log has a token:\n%s", out.String())
	}
}

// Before the first set nobody is refused for good, and keys of the configuration count.
func TestRemote_NoneYet(t *testing.T) {
	s, c := newKeyServer(t, ""), newClock()
	s.does(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	v := newVerifier(t, Options{URL: s.URL, Now: c.now, Keys: []Key{keyOf(t, "HS256")},
		Fetch: FetchOptions{Roots: s.roots()}})
	wantVerified(t, v, "of the URL", by(t, "ES256", "1"), NoKeys)
	wantVerified(t, v, "of the configuration", by(t, "HS256", "1"), nil)
	wantVerified(t, v, "broken", "a.b.c", Malformed)
	s.set(set(jwkOf(t, "ES256", `,"kid":"1"`)))
	c.add(askEvery)
	wantVerified(t, v, "of the URL", by(t, "ES256", "1"), nil)
	wantVerified(t, v, "of the configuration", by(t, "HS256", "1"), nil)
}

// A certificate that nobody vouches for is no server of keys.
func TestRemote_AsksWhoItKnows(t *testing.T) {
	s, c := newKeyServer(t, set(jwkOf(t, "ES256", `,"kid":"1"`))), newClock()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	v := newVerifier(t, Options{URL: s.URL, Now: c.now})
	wantVerified(t, v, "by an unknown certificate", by(t, "ES256", "1"), NoKeys)
	if s.asked.Load() != 0 || v.Stats().Fetch.Failed == 0 {
		t.Errorf("%+v", v.Stats().Fetch)
	}
}

func TestCheckURL(t *testing.T) {
	for text, want := range map[string]bool{
		"https://id.example/jwks.json": true, "https://10.0.0.1/jwks": true, "http://127.0.0.1:8080/jwks": true,
		"http://localhost/jwks": true, "http://[::1]:1/jwks": true, "http://id.example/jwks": false,
		"http://127.0.0.1.example/": false, "ftp://id.example/": false, "file:///etc/passwd": false,
		"id.example":                      false,
		"https://user:secret@id.example/": false, "https://": false, "https://id.example/#x": false,
	} {
		if err := CheckURL(text, false); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := CheckURL("http://id.example/jwks", true); err != nil {
		t.Error(err)
	}
	for addr, want := range map[string]bool{"10.0.0.1:443": true, "169.254.169.254:80": false,
		"127.0.0.1:80": false,
		"[::1]:80":     false, "[fe80::1]:80": false, "0.0.0.0:80": false, "[::ffff:127.0.0.1]:80": false} {
		if err := mayDial(addr, false); (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if mayDial("127.0.0.1:80", true) != nil || mayDial("169.254.169.254:80", true) == nil {
		t.Error("a URL of this machine")
	}
}
