package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/waittest"
)

var ignoreDoc = cmpopts.IgnoreUnexported(Config{})

// full says something about every section.
const full = `version: 1
http: {listen: "127.0.0.1:0", hosts: [api.example], max_body: 2MiB, base_path: /api}
ops: {listen: "unix:/run/hotrow/ops.sock"}
log: {level: "${LEVEL:-warn}", format: json}
auth:
  tokens:
    - name: ci
      sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
      role: editor
cache: {memory: 64MiB}
sources:
  main:
    url: postgres://u:${PW}@h/db
    pool: {max: 4}
    feed: {mode: logical, publication: pub}
resources:
  depts:
    table: dept
    key: deptno
    fields:
      deptno: {name: deptNumber}
      dname: {name: deptName, required: true}
    embed:
      emps: {resource: emps, on: deptno, order: [empno]}
      notes: {table: note, on: [deptno]}
    access: {write: role:editor}
    require_if_match: true
  emps:
    table: emp
    fields:
      hiredate: {format: rfc3339}
      mgr: {omit_null: true}
    tiers: []
    formats: [json, msgpack]
  users:
    query: |
      SELECT name, mail FROM "user:s" WHERE id = :key AND x::text = 'a:b' -- :no
    key: id
    depends: [{table: user, key: id}, {table: city}]
    ttl: 5s
`

func mustLoad(t *testing.T, text string, env ...string) *Config {
	t.Helper()
	c, _, err := load("hotrow.yaml", text, env)
	if err != nil {
		t.Fatalf("load:\n%v", err)
	}
	return c
}

func TestLoad_ReadsEverySection(t *testing.T) {
	c := mustLoad(t, full, "PW=p}w$x")
	if got, want := c.Sources["main"].URL.Reveal(), "postgres://u:p}w$x@h/db"; got != want {
		t.Errorf("url: got %q, want %q", got, want)
	}
	if c.Log.Level != "warn" || c.Cache.Memory != 64<<20 || c.HTTP.BasePath != "/api" {
		t.Errorf("log, cache, http: got %+v %+v %+v", c.Log, c.Cache, c.HTTP)
	}
	if got := time.Duration(c.Sources["main"].Feed.StaleAfter); got != 250*time.Millisecond {
		t.Errorf("a source keeps the defaults of what it does not say: stale_after is %s", got)
	}
	if got := c.Resources["depts"].Methods; len(got) != 6 {
		t.Errorf("methods of a resource that may be written: %v", got)
	}
	if got := c.Resources["emps"].Methods; !cmp.Equal(got, []string{"get", "list"}) {
		t.Errorf("methods of a resource that nobody may write: %v", got)
	}
	if c.Resources["emps"].Source != "main" {
		t.Errorf("source: got %q", c.Resources["emps"].Source)
	}
}

func TestLoad_EmptyFileIsTheDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "http:\nsources: {}\n"} {
		if diff := cmp.Diff(Default(), mustLoad(t, text), ignoreDoc); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestLoad_ExpandsVariables(t *testing.T) {
	env := environment{"A": "a", "EMPTY": ""}
	cases := map[string]string{
		"x${A}y${A}": "xaya", "${EMPTY}": "", "${EMPTY:-d}": "d", "${NO:-}": "", "$${A}": "${A}",
		"${A:-d}": "a", "$A $": "$A $", "${NO:-x:-y}": "x:-y",
	}
	for in, want := range cases {
		got, err := env.expand(in, func(string) {})
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
	// A variable is text: it cannot bring keys into the file.
	c := mustLoad(t, "http:\n  cache_control: ${CC}\n", "CC=private}, base_path: /x")
	if c.HTTP.BasePath != "/" || c.HTTP.CacheControl != "private}, base_path: /x" {
		t.Errorf("http: got %+v", c.HTTP)
	}
}

func TestLoad_AliasesStandForTheirAnchors(t *testing.T) {
	c := mustLoad(t, "http: {hosts: &h [a.example]}\nops: {hosts: *h}\n")
	if diff := cmp.Diff([]string{"a.example"}, c.Ops.Hosts); diff != "" {
		t.Error(diff)
	}
}

func TestLoad_BoundsWhatAliasesMultiply(t *testing.T) {
	var b strings.Builder
	b.WriteString("sources:\n  main:\n    url: sqlite:a.db\nresources:\n")
	for i := range 30 {
		fmt.Fprintf(&b, "  r%d:\n    table: t\n    key: &k%d [", i, i)
		for j := range 10 {
			if j > 0 {
				b.WriteString(", ")
			}
			if i == 0 {
				b.WriteString("a")
			} else {
				fmt.Fprintf(&b, "*k%d", i-1)
			}
		}
		b.WriteString("]\n")
	}
	start := time.Now()
	_, _, err := load("bomb.yaml", b.String(), nil)
	if err == nil {
		t.Fatal("a file whose aliases stand for 10^30 values loads")
	}
	if d := time.Since(start); waittest.Late(d, 5*time.Second) {
		t.Errorf("refused only after %s", d)
	}
}

func TestLoad_RefusesHugeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(path, []byte(strings.Repeat("# x\n", maxFile/4+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := Load(path, nil)
	if err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	_, _, err = Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	if err == nil || !strings.Contains(err.Error(), "hotrow init") {
		t.Errorf("a file that is not there: got %v", err)
	}
}

func TestLoad_RefusesWhatIsNotUTF8(t *testing.T) {
	_, _, err := load("hotrow.yaml", "http: {cache_control: \"\xff\"}\n", nil)
	if err == nil || !strings.Contains(err.Error(), "not valid UTF-8") {
		t.Errorf("got %v", err)
	}
}

func TestLoad_EnvironmentOverridesTheFile(t *testing.T) {
	c := mustLoad(t, "http: {listen: \"127.0.0.1:1\"}\n",
		"HOTROW_HTTP_LISTEN=127.0.0.1:2", "HOTROW_OPS_LISTEN=off", "HOTROW_LOG_LEVEL=debug",
		"HOTROW_CACHE_MEMORY=1GiB", "HOTROW_HTTP_HOSTS=a.example, b.example", "PORT=3",
		"HOTROW_LOG_FORMAT=", "DATABASE_URL=postgres://h/d")
	want := Default()
	want.HTTP.Listen.Address = "127.0.0.1:2"
	want.HTTP.Hosts = []string{"a.example", "b.example"}
	want.Ops.Listen = Listener{}
	want.Log.Level = "debug"
	want.Cache = Cache{Memory: 1 << 30, Disk: defaultDisk()}
	want.Sources["main"] = DefaultSource()
	want.Sources["main"].URL = "postgres://h/d"
	if diff := cmp.Diff(want, c, ignoreDoc); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoad_PortAndDatabaseURLAreFallbacks(t *testing.T) {
	env := []string{"PORT=9000", "DATABASE_URL=postgres://other/db"}
	c := mustLoad(t, "sources: {main: {url: \"sqlite:a.db\"}}\n", env...)
	if c.HTTP.Listen.Address != ":9000" || c.Sources["main"].Driver() != "sqlite" {
		t.Errorf("got %s, %s", c.HTTP.Listen, c.Sources["main"].URL)
	}
	c = mustLoad(t, "http: {listen: \"127.0.0.1:1\"}\n", env...)
	if c.HTTP.Listen.Address != "127.0.0.1:1" {
		t.Errorf("PORT overrides the file: %s", c.HTTP.Listen)
	}
}

func TestLoad_WarnsOfUnknownVariables(t *testing.T) {
	text := "http: {cache_control: \"${HOTROW_CC:-x}\"}\n"
	_, got, err := load("hotrow.yaml", text, []string{
		"HOTROW_HTTP_LISEN=1", "HOTROW_TEST_REQUIRE=postgres", "HOTROW_CC=y",
		"HOTROW_ZZZZZZZZZZZZ=1", "HOTROW_LOG_LEVEL=info",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Warning{
		{"HOTROW_HTTP_LISEN", `unknown variable, ignored; did you mean "HOTROW_HTTP_LISTEN"?`},
		{"HOTROW_ZZZZZZZZZZZZ", "unknown variable, ignored"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoad_WarnsOfVariablesOfLinksThatThereAreNot(t *testing.T) {
	env := []string{"HOTROW_LINKS_STATUS=301", "HOTROW_LINKS_LISTEN=127.0.0.1:0",
		"HOTROW_LINKS_LOG_DIR=", "HOTROW_LINKS_URL=http://x"}
	const text = `ignored: the file has no section "links", without which there are no short links`
	for _, tt := range []struct {
		file string
		env  []string
		want []Warning
	}{
		{"", env, []Warning{{"HOTROW_LINKS_LISTEN", text}, {"HOTROW_LINKS_STATUS", text}}},
		{"links: {}\n", env, nil},
		{"links:\n", env, nil},
		{"", []string{"HOTROW_LINKS_LISTEN=off"}, nil},
		{"http: {cache_control: \"${HOTROW_LINKS_STATUS}\"}\n", []string{"HOTROW_LINKS_STATUS=301"}, nil},
	} {
		_, got, err := load("hotrow.yaml", tt.file, tt.env)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q: -want +got:\n%s", tt.file, diff)
		}
	}
	_, got, err := FromURL("sqlite:app.db", env[:1])
	want := []Warning{{"HOTROW_LINKS_STATUS", `ignored: short links need a file (-c FILE) that has a section "links"`}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v; -want +got:\n%s", err, diff)
	}
}

func TestLoad_WarnsOfWhatHasNoEffect(t *testing.T) {
	const text = `sources: {main: {url: "sqlite:a.db"}, other: {url: "sqlite:b.db"}}
auth: {tokens: [{name: ci, role: editor, sha256: HASH}]}
resources:
  depts: {table: dept, access: {write: "role:edtor"}}
`
	hash := strings.Repeat("ab", 32)
	_, got, err := load("hotrow.yaml", strings.Replace(text, "HASH", hash, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Warning{
		{"hotrow.yaml:4:40", `resources.depts.access.write: no token has the role "edtor", ` +
			`so every request is refused; did you mean "editor"?`},
		{"hotrow.yaml:1:39", "sources.other: no resource uses this source"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoad_SecretFiles(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "url")
	if err := os.WriteFile(secret, []byte("postgres://u:pw@h/db\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hotrow.yaml")
	if err := os.WriteFile(file, []byte("sources: {main: {url: file:url}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Sources["main"].URL.Reveal(); got != "postgres://u:pw@h/db" {
		t.Errorf("got %q", got)
	}
	if err := os.Chmod(secret, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(file, nil); err == nil || !strings.Contains(err.Error(), "chmod o-r") {
		t.Errorf("a secret that everybody can read: got %v", err)
	}
}

func TestFromURL_TakesPathsAndURLs(t *testing.T) {
	cases := map[string]string{
		"app.db": "sqlite", "./a b.db": "sqlite", "/x/y.db": "sqlite", "sqlite:a.db": "sqlite",
		"postgres://u@h/d": "postgres", "postgresql:///d": "postgres",
	}
	for url, driver := range cases {
		c, _, err := FromURL(url, []string{"HOTROW_LOG_LEVEL=debug", "DATABASE_URL=postgres://x/y"})
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := c.Sources["main"].Driver(); got != driver || c.Log.Level != "debug" {
			t.Errorf("%s: got driver %q, level %q", url, got, c.Log.Level)
		}
	}
	for _, url := range []string{"", "oracle://u@h/d", "mysql:x", "postgres:x", "sqlite:"} {
		if _, _, err := FromURL(url, nil); err == nil {
			t.Errorf("%q is taken", url)
		}
	}
	for _, file := range []string{"hotrow.yaml", "/etc/hotrow/a b.yml"} {
		if _, _, err := FromURL(file, nil); err == nil || !strings.Contains(err.Error(), "-c "+file) {
			t.Errorf("a configuration in place of a database: %v", err)
		}
	}
}

func TestDump_LoadsBackAndShowsNoPassword(t *testing.T) {
	c := mustLoad(t, full, "PW=hunter2")
	dump, err := c.Dump()
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(dump), fmt.Sprintf("%v %+v %#v", c.Sources["main"],
		*c.Sources["main"], *c.Sources["main"])} {
		if strings.Contains(shown, "hunter2") {
			t.Errorf("shows the password:\n%s", shown)
		}
	}
	again := mustLoad(t, string(dump))
	c.Sources["main"].URL = "postgres://u:****@h/db"
	if diff := cmp.Diff(c, again, ignoreDoc, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-dumped +loaded:\n%s\n%s", diff, dump)
	}
}

func TestListener_KnowsWhatIsLocal(t *testing.T) {
	cases := []struct {
		in, out string
		local   bool
	}{
		{"127.0.0.1:80", "127.0.0.1:80", true}, {"127.9.9.9:1", "127.9.9.9:1", true},
		{"[::1]:80", "[::1]:80", true}, {"localhost:80", "localhost:80", true},
		{"[::ffff:127.0.0.1]:80", "[::ffff:127.0.0.1]:80", true},
		{"unix:/run/x.sock", "unix:/run/x.sock", true}, {"off", "off", true},
		{":0", "127.0.0.1:0", true}, {":80", ":80", false}, {"0.0.0.0:80", "0.0.0.0:80", false},
		{"[::]:80", "[::]:80", false}, {"10.0.0.1:80", "10.0.0.1:80", false},
		{"localhost.example:80", "localhost.example:80", false},
		{"127.0.0.1.example:80", "127.0.0.1.example:80", false},
	}
	for _, c := range cases {
		l, err := ParseListener(c.in)
		if err != nil || l.String() != c.out || l.Local() != c.local {
			t.Errorf("%s: got %s, local %v, %v", c.in, l, l.Local(), err)
		}
	}
}

func TestSizeAndDuration_GiveTheirTextBack(t *testing.T) {
	for _, s := range []string{"0B", "1B", "1023B", "1KiB", "1536KiB", "512MiB", "16TiB"} {
		var z Size
		if err := z.setText(s); err != nil || z.String() != s {
			t.Errorf("%s: got %s, %v", s, z, err)
		}
	}
	for _, s := range []string{"0s", "250ms", "10s", "1m", "1h", "1h30m", "1m1s", "20m", "10h"} {
		var d Duration
		if err := d.setText(s); err != nil || d.String() != s {
			t.Errorf("%s: got %s, %v", s, d, err)
		}
	}
}

func TestSpecs_ResolveEmbeds(t *testing.T) {
	specs, err := mustLoad(t, full, "PW=x").Specs()
	if err != nil {
		t.Fatal(err)
	}
	emps := &source.Spec{Name: "emps", Table: "emp", Fields: map[string]source.FieldSpec{
		"hiredate": {RFC3339: true}, "mgr": {OmitNull: true},
	}}
	want := []ResourceSpec{{
		Name: "depts", Source: "main", Memory: true, Formats: []row.Format{row.FormatJSON},
		Methods:  []string{"get", "list", "post", "put", "patch", "delete"},
		Writable: true, RequireIfMatch: true, MaxLimit: 1000, Read: "public", Write: "role:editor",
		OnLag: "stale",
		Spec: &source.Spec{
			Name: "depts", Table: "dept", Key: []string{"deptno"},
			Fields: map[string]source.FieldSpec{
				"deptno": {Name: "deptNumber"}, "dname": {Name: "deptName", Required: true},
			},
			Embeds: []source.Embed{
				{Name: "emps", Spec: emps, On: []string{"deptno"}, Order: []string{"empno"}},
				{Name: "notes", On: []string{"deptno"},
					Spec: &source.Spec{Name: "depts.notes", Table: "note"}},
			},
		},
	}, {
		Name: "emps", Source: "main", Formats: []row.Format{row.FormatJSON, row.FormatMsgPack},
		Methods: []string{"get", "list"}, MaxLimit: 1000, Read: "public", Write: "none", Spec: emps,
		OnLag: "stale",
	}, {
		Name: "users", Source: "main", Memory: true, Formats: []row.Format{row.FormatJSON},
		Methods: []string{"get"}, MaxLimit: 1000, Read: "public", Write: "none",
		TTL:   5 * time.Second,
		OnLag: "stale",
		Spec: &source.Spec{
			Name: "users", Key: []string{"id"}, Timed: true,
			Query:   `SELECT name, mail FROM "user:s" WHERE id = :key AND x::text = 'a:b' -- :no`,
			Depends: []source.Dep{{Table: "user", Columns: []string{"id"}}, {Table: "city"}},
		},
	}}
	if diff := cmp.Diff(want, specs, cmp.AllowUnexported(ResourceSpec{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSpecs_RefuseCyclesMadeInCode(t *testing.T) {
	c := Default()
	for _, embedded := range []string{"a", "b"} {
		a, b := DefaultResource(), DefaultResource()
		a.Embed = map[string]*Embed{"x": {Resource: embedded}}
		b.Embed = map[string]*Embed{"x": {Resource: "a"}}
		c.Resources = map[string]*Resource{"a": a, "b": b}
		if _, err := c.Specs(); err == nil {
			t.Errorf("a embeds %s, b embeds a: no error", embedded)
		}
	}
}

func TestNeedsRestart_TellsRestartFromReload(t *testing.T) {
	old, now := mustLoad(t, full, "PW=a"), mustLoad(t, full, "PW=a")
	if got := NeedsRestart(old, now); got != nil {
		t.Errorf("the same file: %v", got)
	}
	now.Resources["depts"].Table = "other"
	now.Log.Level = "debug"
	now.Auth.Tokens = nil
	now.HTTP.MaxBody = 1
	if got := NeedsRestart(old, now); got != nil {
		t.Errorf("what a reload changes: %v", got)
	}
	now.HTTP.Listen.Address = ":1"
	now.Cache.Memory++
	now.Sources["main"].Pool.Max++
	want := []string{"http.listen", "cache.memory", "sources"}
	if diff := cmp.Diff(want, NeedsRestart(old, now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDidYouMean_SuggestsTheNearest(t *testing.T) {
	words := []string{"listen", "hosts", "level", "memory"}
	cases := map[string]string{
		"lisetn": "listen", "Listen": "listen", "host": "hosts", "levle": "level", "x": "",
		"zzzzzz": "", "memroy": "memory", strings.Repeat("a", 100): "", "": "",
	}
	for word, want := range cases {
		if want != "" {
			want = fmt.Sprintf("; did you mean %q?", want)
		}
		if got := row.DidYouMean(word, words); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(full, "PW=x")
	f.Add("http: {listen: ${A:-off}}\n", "HOTROW_HTTP_HOSTS=a,b")
	f.Add("a: &a [*a, ? b, !!str c]\n<<: *a\n", "PORT=1")
	f.Add("x: |\n  y\n z: \"\\u0000\"\n", "DATABASE_URL=sqlite:x")
	f.Fuzz(func(t *testing.T, text, env string) {
		if strings.Contains(text+env, "file:") {
			return // no reading of files that the fuzzer thinks of
		}
		c, _, err := load("hotrow.yaml", text, strings.Split(env, "\n"))
		if err != nil {
			_ = err.Error()
			return
		}
		_ = c.CheckExposure(false)
		if _, err := c.Specs(); err != nil {
			t.Errorf("a file that loads has no specs: %v", err)
		}
		if _, err := c.Dump(); err != nil {
			t.Errorf("a file that loads cannot be dumped: %v", err)
		}
	})
}
