package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hotrow.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// database makes a SQLite file.
func database(t *testing.T, sql string) string {
	t.Helper()
	path := dbtest.SQLite(t)
	dbtest.SQLiteShell(t, path, sql)
	return path
}

const deptSQL = `CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT, password TEXT);
	INSERT INTO dept VALUES (10, 'ACCOUNTING', 'x');`

// Without tokens a listener is for this machine only, and safe from what a
// browser on it can be made to send.
func TestServe_SafeWithoutTokens(t *testing.T) {
	t.Parallel()
	r := serve(t, database(t, deptSQL), "--writable")
	const jsonType = "Content-Type: application/json"
	tests := []struct {
		name, method, path, body string
		headers                  []string
		code                     int
	}{
		{"plain read", "GET", "/dept/10", "", nil, 200},
		{"foreign host", "GET", "/dept/10", "", []string{"Host: evil.example"}, 421},
		{"foreign host with port", "GET", "/", "", []string{"Host: evil.example:8080"}, 421},
		{"localhost", "GET", "/dept/10", "", []string{"Host: localhost:1"}, 200},
		{"form post", "POST", "/dept", "deptno=1", []string{"Content-Type: text/plain"}, 415},
		{"form put", "PUT", "/dept/10", "{}", nil, 415},
		{"foreign origin", "PATCH", "/dept/10", `{"dname":"X"}`,
			[]string{jsonType, "Origin: http://evil.example"}, 403},
		{"cross-site", "PATCH", "/dept/10", `{"dname":"X"}`,
			[]string{jsonType, "Sec-Fetch-Site: cross-site"}, 403},
		{"plain write", "PATCH", "/dept/10", `{"dname":"X"}`, []string{jsonType}, 200},
		{"hidden column", "PATCH", "/dept/10", `{"password":"X"}`, []string{jsonType}, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := r.do(tt.method, tt.path, tt.body, tt.headers...)
			if a.code != tt.code || strings.Contains(a.body, "password\":\"x") {
				t.Errorf("%s %s = %d %s, want %d", tt.method, tt.path, a.code, a.body, tt.code)
			}
		})
	}
}

func TestServe_OpsChecksHost(t *testing.T) {
	t.Parallel()
	r := serve(t, database(t, deptSQL))
	for _, path := range []string{"/metrics", "/readyz", "/debug/pprof/"} {
		ops := &running{t: t, http: r.ops}
		if a := ops.get(path, "Host: evil.example"); a.code != 421 {
			t.Errorf("%s for a foreign Host = %d, want 421", path, a.code)
		}
		if a := ops.get(path); a.code != 200 {
			t.Errorf("%s = %d", path, a.code)
		}
	}
	if a := r.get("/metrics"); a.code != 404 {
		t.Errorf("/metrics on the public listener = %d, want 404", a.code)
	}
}

// TestServe_OpsHostsReload: a name of the operator's port is answered from the next
// SIGHUP on, and no more after the one that takes it away.
func TestServe_OpsHostsReload(t *testing.T) {
	base := strings.Replace(secureConfig(database(t, deptSQL), "ann"), "  tokens:\n",
		"  tokens:\n"+tokenLine("o", "operator", "operator"), 1)
	file := configFile(t, base)
	r := serve(t, "-c", file)
	for _, hosts := range []string{"", "ops.example", "Other.Example", ""} {
		rewrite(t, file, base+"ops: {hosts: ["+hosts+"]}\n")
		hangUp(t, r, "configuration reloaded")
		for _, name := range []string{"ops.example", "other.example", "localhost"} {
			want := 421
			if name == "localhost" || strings.HasPrefix(strings.ToLower(hosts), name) {
				want = 200
			}
			if got, _ := asked(t, "GET", r.ops+"/livez", "Host", name); got != want {
				t.Errorf("with ops.hosts [%s], %s = %d, want %d", hosts, name, got, want)
			}
		}
	}
}

func TestServe_RefusesToListenBeyondLoopback(t *testing.T) {
	t.Setenv("HOTROW_HTTP_LISTEN", "0.0.0.0:0")
	t.Setenv("HOTROW_OPS_LISTEN", "off")
	code, _, stderr := command(t, "serve", database(t, deptSQL))
	if code != 2 || !strings.Contains(stderr, "--open") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// secureConfig has one token of role editor, whose text is "secret-"+name.
func secureConfig(path string, tokens ...string) string {
	text := "version: 1\nauth:\n  tokens:\n"
	for _, name := range tokens {
		sum := sha256.Sum256([]byte("secret-" + name))
		text += fmt.Sprintf("  - {name: %s, sha256: %s, role: editor}\n", name,
			hex.EncodeToString(sum[:]))
	}
	if len(tokens) == 0 {
		text = "version: 1\n"
	}
	return text + fmt.Sprintf(`sources: {main: {url: "sqlite:%s"}}
resources:
  dept:
    table: dept
    access: {read: "role:editor", write: "role:editor"}
`, path)
}

func TestServe_TokensAndReload(t *testing.T) {
	db := database(t, deptSQL)
	file := configFile(t, secureConfig(db, "ann", "bob"))
	r := serve(t, "-c", file)
	const ann, bob = "Authorization: Bearer secret-ann", "Authorization: Bearer secret-bob"
	want := func(code int, headers ...string) {
		t.Helper()
		if a := r.get("/dept/10", headers...); a.code != code {
			t.Errorf("GET with %v = %d %s, want %d", headers, a.code, a.body, code)
		}
	}
	want(401)
	want(401, "Authorization: Bearer wrong")
	want(200, ann)
	want(200, bob)
	if a := r.get("/dept/10", ann); a.header.Get("Cache-Control") != "private, no-cache" &&
		!strings.Contains(a.header.Get("Cache-Control"), "private") {
		t.Errorf("Cache-Control of a protected answer = %q", a.header.Get("Cache-Control"))
	}
	// A bad file changes nothing.
	rewrite(t, file, secureConfig(db, "bob")+"  typo: 1\n")
	hangUp(t, r, "not reloaded")
	want(200, ann)
	// A removed token stops at once, on the open connection too.
	rewrite(t, file, secureConfig(db, "bob"))
	hangUp(t, r, "configuration reloaded")
	want(401, ann)
	want(200, bob)
	if strings.Contains(r.log.String(), "secret-") {
		t.Errorf("a token stands in the log:\n%s", r.log)
	}
	// What needs a restart is told and left alone.
	rewrite(t, file, strings.Replace(secureConfig(db, "bob"), "main: {", "main: {pool: {max: 3}, ", 1))
	hangUp(t, r, "only after a restart")
	want(200, bob)
}

func TestServe_ReloadChangesResources(t *testing.T) {
	db := database(t, deptSQL)
	config := func(resource string) string {
		return fmt.Sprintf("version: 1\nsources: {main: {url: \"sqlite:%s\"}}\nresources:\n"+
			"  %s: {table: dept, fields: {dname: {name: title}}}\n", db, resource)
	}
	file := configFile(t, config("a"))
	r := serve(t, "-c", file)
	r.shows("/a/10", `"title"`, 0)
	rewrite(t, file, config("b"))
	hangUp(t, r, "configuration reloaded")
	r.shows("/b/10", `"title"`, 0)
	if a := r.get("/a/10"); a.code != 404 {
		t.Errorf("the old resource = %d", a.code)
	}
	if _, metrics := get(t, r.ops+"/metrics"); strings.Contains(metrics, `resource="a"`) ||
		!strings.Contains(metrics, `resource="b"`) {
		t.Errorf("the metrics of a, which is no more, or not of b:\n%s", metrics)
	}
	// A key that the table does not have is refused, as it is at the start.
	rewrite(t, file, strings.Replace(config("c"), "{table: dept,", "{table: dept, key: none,", 1))
	hangUp(t, r, "none")
	r.shows("/b/10", `"title"`, 0)
}

// SIGHUP without a configuration looks for new tables; one without resources is
// taken for a file that was cut.
func TestServe_ReloadDiscovers(t *testing.T) {
	db := database(t, deptSQL)
	r := serve(t, db)
	dbtest.SQLiteShell(t, db, "CREATE TABLE late (id INTEGER PRIMARY KEY, v TEXT);"+
		"INSERT INTO late VALUES (1, 'here')")
	hangUp(t, r, "discovered again")
	r.shows("/late/1", "here", showBound)
	dbtest.SQLiteShell(t, db, "DROP TABLE late")
	hangUp(t, r, "discovered again")
	if _, metrics := get(t, r.ops+"/metrics"); strings.Contains(metrics, `resource="late"`) {
		t.Errorf("the metrics of a table that is no more:\n%s", metrics)
	}
	file := configFile(t, secureConfig(db))
	c := serve(t, "-c", file)
	rewrite(t, file, "version: 1\n")
	hangUp(t, c, "has no resource")
}

func rewrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hangUp sends SIGHUP and waits until the log says what came of it.
func hangUp(t *testing.T, r *running, says string) {
	t.Helper()
	before := strings.Count(r.log.String(), says)
	sighup(t)
	until(t, r.log, func() bool { return strings.Count(r.log.String(), says) > before })
}

func TestToken_PrintsOnce(t *testing.T) {
	code, stdout, _ := command(t, "token", "ci", "--role", "reader")
	m := regexp.MustCompile(`^(\S+)\n- \{name: "ci", sha256: "([0-9a-f]{64})", role: "reader"\}\n$`).
		FindStringSubmatch(stdout)
	if code != 0 || m == nil {
		t.Fatalf("exit %d: %s", code, stdout)
	}
	if sum := sha256.Sum256([]byte(m[1])); hex.EncodeToString(sum[:]) != m[2] {
		t.Error("the hash is not that of the token")
	}
}

// While requests under way get their answers, the operator's port says that no
// more should be sent; the ones that take too long are named as the reason.
func TestServe_IsNotReadyWhileItStops(t *testing.T) {
	t.Parallel()
	r := start(t, []string{"HOTROW_HTTP_SHUTDOWN_TIMEOUT=1s"}, database(t, deptSQL), "--writable")
	until(t, r.log, r.complete)
	c, err := net.Dial("tcp", strings.TrimPrefix(r.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "PATCH /dept/10 HTTP/1.1\r\nHost: localhost\r\n"+
		"Content-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 100)); err != nil { // the handler waits for the body
		t.Fatal(err)
	}
	stopped := make(chan int, 1)
	go func() { stopped <- r.stop() }()
	until(t, r.log, func() bool { return status(r.ops+"/readyz") == 503 })
	if code := <-stopped; code != 1 || !strings.Contains(r.log.String(), "http.shutdown_timeout (1s)") {
		t.Errorf("exit %d, and no reason in:\n%s", code, r.log)
	}
}

// What is printed can be tried: a table without rows by its list, no table not
// at all.
func TestServe_GreetsWithWhatThereIs(t *testing.T) {
	r := serve(t, database(t, "CREATE TABLE bare (id INTEGER PRIMARY KEY)"))
	until(t, r.log, func() bool { return strings.Contains(r.out.String(), "/bare\n") })
	r = serve(t, database(t, "CREATE TABLE keyless (a)"))
	until(t, r.log, func() bool { return strings.Contains(r.out.String(), "/: the log says which tables") })
	r = serve(t, database(t, ""))
	until(t, r.log, func() bool { return strings.Contains(r.out.String(), "/: there are no tables") })
}

// TestServe_RefusesAFileThatNamesNothing, as check and doctor do: it is what a failed
// hotrow init URL > FILE leaves.
func TestServe_RefusesAFileThatNamesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hotrow.yaml")
	for _, text := range []string{
		"", "# nothing\n", "version: 1\n", "sources: {main: {url: 'sqlite:" + database(t, deptSQL) + "'}}\n",
		"links: {listen: off}\n", "resp: {listen: '127.0.0.1:0'}\nresources: {}\n",
	} {
		rewrite(t, file, text)
		for _, name := range []string{"serve", "check", "doctor"} {
			code, _, stderr := failing(t, name, "-c", file)
			if code != 2 || !strings.HasPrefix(stderr, "hotrow: "+file+": it names no resource") ||
				!strings.Contains(stderr, "hotrow init URL > FILE") {
				t.Errorf("hotrow %s of %q: exit %d: %s", name, text, code, stderr)
			}
		}
	}
	for _, text := range []string{
		"kv: {store: 'sqlite:kv.db'}\n", "links: {log: {dir: clicks, max: 64MiB}}\n",
		"wire: {perf: true}\n",
	} {
		rewrite(t, file, text)
		mustCommand(t, "check", "-c", file)
		mustCommand(t, "doctor", "-c", file)
		r := serve(t, "-c", file)
		rewrite(t, file, "version: 1\n")
		hangUp(t, r, "it names no resource")
		r.stop()
	}
}
