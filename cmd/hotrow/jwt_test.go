//go:build unix

package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

const jwtSecret = "a-secret-of-the-tests-of-more-than-32-bytes"

// newJWT returns a token of a role, for an hour.
func newJWT(secret, role string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"HS256"}`)) + "." +
		encode(fmt.Appendf(nil, `{"role":"%s","exp":%d}`, role, time.Now().Add(time.Hour).Unix()))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

// The commands of the page run, and print what it says.
func TestJWT_CommandsPrintWhatThePageSays(t *testing.T) {
	t.Parallel()
	dbtest.Program(t, "openssl", "openssl", "/usr/bin")
	page, _, _ := strings.Cut(readPage(t, "../../docs/howto/jwt.md"), "## Keys of an identity provider")
	s := newTutorial(t)
	steps := stepsOf(t, "jwt.md", page)
	if len(steps) < 4 {
		t.Fatalf("%d blocks of commands", len(steps))
	}
	for _, step := range steps {
		s.run(t, step)
	}
}

const jwtTables = "CREATE TABLE pay (id INTEGER PRIMARY KEY, sal INTEGER); INSERT INTO pay VALUES (1, 4711);" +
	"CREATE TABLE news (id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO news VALUES (1, 0)"

// jwtConfig has a resource that only roles of JWTs open, and one that everybody may read and write.
const jwtConfig = `
version: 1
sources: {main: {url: 'sqlite:%s'}}
auth: {jwt: {secret: '%s'%s}}
wire: {perf: true}
links: {base_url: 'https://s.example'}
resources:
  pay: {table: pay, access: {read: [role:reader, role:editor], write: role:editor}}
  news: {table: news, access: {read: public, write: public}}
`

// What only roles of JWTs may read is served over HTTP alone: no other listener serves it, names it, or
// tells of its changes, whatever token is sent.
func TestJWT_OtherFrontsNeitherServeNorTell(t *testing.T) {
	t.Parallel()
	db := database(t, jwtTables)
	r := serve(t, "-c", configFile(t, fmt.Sprintf(jwtConfig, db, jwtSecret, "")))
	editor := "Authorization: Bearer " + newJWT(jwtSecret, "editor")
	if a := r.get("/pay/1", editor); a.code != 200 || a.body != `{"id":1,"sal":4711}` {
		t.Fatalf("over HTTP: %d %s", a.code, a.body)
	}
	for _, token := range []string{"", newJWT(jwtSecret, "editor"), jwtSecret} {
		jwtOverWire(t, r, token)
		jwtOverRESP(t, r, token)
		jwtOverMemcache(t, r, token)
	}
	jwtTold(t, r, editor)
	for _, path := range []string{"/pay/1", "/pay", "/api/v1/links/pay"} {
		if code, body := get(t, "http://"+r.dial("links").RemoteAddr().String()+path); strings.Contains(body, "4711") {
			t.Errorf("links: %s: %d %s", path, code, body)
		}
	}
	if logged := r.log.String(); strings.Contains(logged, "eyJ") || strings.Contains(logged, jwtSecret) {
		t.Errorf("the log has a token:\n%s", logged)
	}
}

func jwtOverWire(t *testing.T, r *running, token string) {
	for _, l := range letters() {
		data, code := r.dialWire(token).send(l)
		if strings.Contains(string(data), "pay") || strings.Contains(string(data), "sal") {
			t.Errorf("wire: %s: %q", l.name, data)
		}
		if l.name != "Info" && !strings.HasPrefix(l.name, "Echo") && code != gofast.Unauthenticated {
			t.Errorf("wire: %s: %v", l.name, code)
		}
	}
}

func jwtOverRESP(t *testing.T, r *running, token string) {
	p := r.dialRESP()
	if token != "" {
		if got := p.do("AUTH " + token); got[0] != '-' {
			t.Errorf("Redis: AUTH: %q", got)
		}
	}
	for _, text := range []string{"GET pay:1", "MGET pay:1 news:1", "HGETALL pay:1", "HGET pay:1 sal", "EXISTS pay:1",
		"TYPE pay:1", "TTL pay:1", "STRLEN pay:1", "SCAN 0", "SCAN 0 MATCH pay:*", "KEYS *", "DBSIZE", "RANDOMKEY",
		"SET pay:1 {}", "DEL pay:1", "HSET pay:1 sal 1", "OBJECT ENCODING pay:1", "INFO", "GETEX pay:1"} {
		got := p.do(text)
		if strings.Contains(got, "4711") || strings.Contains(got, "pay:1") && got[0] != '-' {
			t.Errorf("Redis: %s: %q", text, got)
		}
	}
	if got := p.do("GET pay:1"); !strings.HasPrefix(got, "-NOPERM") {
		t.Errorf("Redis: GET: %q", got)
	}
}

func jwtOverMemcache(t *testing.T, r *running, token string) {
	c := r.dialMemcache()
	if token != "" {
		c.do(fmt.Sprintf("set x 0 0 %d\r\njwt %s", len(token)+4, token))
	}
	for _, text := range []string{"get pay:1", "gets pay:1 news:1", "mg pay:1 v k", "me pay:1", "delete pay:1",
		"touch pay:1 0", "gat 0 pay:1", "md pay:1"} {
		if got := c.do(text); strings.Contains(got, "4711") || strings.Contains(got, "VALUE pay") ||
			strings.HasPrefix(got, "DELETED") || strings.HasPrefix(got, "HD") {
			t.Errorf("memcached: %s: %q", text, got)
		}
	}
}

// jwtTold has clients of Redis hear of all changes, of which those of pay are none.
func jwtTold(t *testing.T, r *running, editor string) {
	sub, track := r.dialRESP(), r.dialRESP()
	sub.do("SUBSCRIBE __keyspace@0__:pay:1")
	sub.do("PSUBSCRIBE *")
	track.do("HELLO 3")
	track.do("CLIENT TRACKING ON BCAST")
	for i := range 5 {
		body := fmt.Sprintf(`{"sal":%d}`, 4711+i)
		if a := r.do("PATCH", "/pay/1", body, "Content-Type: application/json", editor); a.code >= 300 {
			t.Fatalf("PATCH: %d %s", a.code, a.body)
		}
	}
	if a := r.do("PATCH", "/news/1", `{"n":1}`, "Content-Type: application/json"); a.code >= 300 {
		t.Fatalf("PATCH: %d %s", a.code, a.body)
	}
	for name, p := range map[string]*respPeer{"subscriber": sub, "tracker": track} {
		heard := readUntil(t, p.nc, p.r, "news:1")
		if strings.Contains(heard, "pay:1") && strings.Contains(heard, "message") || strings.Contains(heard, "sal") ||
			name == "tracker" && strings.Contains(heard, "pay") {
			t.Errorf("the %s hears %q", name, heard)
		}
	}
}

// readUntil reads from a connection until a text has come.
func readUntil(t *testing.T, nc net.Conn, in *bufio.Reader, text string) string {
	t.Helper()
	_ = nc.SetDeadline(waittest.Deadline(20 * time.Second))
	var b strings.Builder
	for !strings.Contains(b.String(), text) {
		line, err := in.ReadString('\n')
		b.WriteString(line)
		if err != nil {
			t.Errorf("%v after %q", err, b.String())
			break
		}
	}
	return b.String()
}

// A reload of another secret counts for the next request; a file that is wrong changes nothing.
func TestJWT_Reload(t *testing.T) {
	db := database(t, jwtTables)
	file := configFile(t, fmt.Sprintf(jwtConfig, db, jwtSecret, ""))
	r := serve(t, "-c", file)
	const other = "another secret of the tests, of more than 32"
	wants := func(secret string, code int) {
		t.Helper()
		until(t, r.log, func() bool {
			return r.get("/pay/1", "Authorization: Bearer "+newJWT(secret, "reader")).code == code
		})
	}
	reload := func(text, logged string) {
		t.Helper()
		before := strings.Count(r.log.String(), logged)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		until(t, r.log, func() bool { return strings.Count(r.log.String(), logged) > before })
	}
	wants(jwtSecret, 200)
	wants(other, 401)
	reload(fmt.Sprintf(jwtConfig, db, other, ""), "configuration reloaded")
	wants(jwtSecret, 401)
	wants(other, 200)
	reload(fmt.Sprintf(jwtConfig, db, "short", ""), "configuration not reloaded")
	wants(other, 200)
	reload(strings.Replace(fmt.Sprintf(jwtConfig, db, jwtSecret, ""), "auth:", "#", 1), "configuration reloaded")
	wants(other, 401)
	if a := r.get("/news/1", "Authorization: Bearer "+newJWT(other, "reader")); a.code != 200 {
		t.Errorf("without JWTs a token that nobody knows is %d for what is public", a.code)
	}
}

// check names what is wrong with the keys of a URL, and metrics count.
func TestJWT_CheckAndMetrics(t *testing.T) {
	t.Parallel()
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a",`+
			`"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},{"kty":"RSA","use":"enc","kid":"b"}]}`)
	}))
	config := func(jwks string) string {
		return configFile(t, fmt.Sprintf(jwtConfig, database(t, jwtTables), jwtSecret,
			", issuer: i, audience: a, jwks: '"+jwks+"'"))
	}
	file := config(keys.URL)
	out := mustCommand(t, "check", "-c", file)
	if !strings.Contains(out, "auth.jwt.jwks: 1 keys") || !strings.Contains(out, `kid "b"`) {
		t.Errorf("check:\n%s", out)
	}
	if out := mustCommand(t, "check", "-c", file, "--dump-config"); strings.Contains(out, jwtSecret) ||
		!strings.Contains(out, keys.URL) {
		t.Errorf("the dump:\n%s", out)
	}
	r := serve(t, "-c", file)
	until(t, r.log, func() bool {
		_, text := get(t, r.ops+"/metrics")
		return strings.Contains(text, "hotrow_jwt_keys 2") &&
			strings.Contains(text, `hotrow_jwt_key_fetches_total{result="ok"} 1`)
	})
	r.get("/news/1", "Authorization: Bearer x")
	if _, text := get(t, r.ops+"/metrics"); !strings.Contains(text, `hotrow_jwt_tokens_total{result="malformed"} 1`) {
		t.Errorf("the metrics do not count:\n%s", text)
	}
	keys.Close()
	if out := mustCommand(t, "check", "-c", file); !strings.Contains(out, "warning") ||
		!strings.Contains(out, "auth.jwt.jwks") {
		t.Errorf("check without keys:\n%s", out)
	}
}
