//go:build linux

package packagetest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// The configuration of the test: rows, links whose clicks are logged, and a cache on disk,
// all where the service may write.
const settings = `version: 1
cache: {disk: {path: /var/lib/hotrow/cache.db, max: 64MiB}}
links: {database: 'sqlite:/var/lib/hotrow/links.db', log: {dir: /var/lib/hotrow/clicks}}
sources: {main: {url: 'sqlite:/var/lib/hotrow/app.db'}}
resources:
  dept: {table: dept}
`

const environment = `# of the test
HOTROW_HTTP_LISTEN=127.0.0.1:0
HOTROW_LINKS_LISTEN=127.0.0.1:0
HOTROW_OPS_LISTEN=127.0.0.1:0
HOTROW_WIRE_LISTEN=off
`

func TestDeb_IsInstalledRunsAndIsUpgraded(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root is needed: dpkg --root and mount namespaces")
	}
	dbtest.Program(t, "dpkg", "dpkg")
	dbtest.Program(t, "setpriv", "util-linux")
	debs := packages(t, "1.0.0", "1.0.1")
	s := newSystem(t)
	s.dpkg("--install", debs[0])
	s.holds()
	s.analyzed()
	s.write("etc/hotrow/hotrow.yaml", settings)
	s.write("etc/default/hotrow", environment)
	dbtest.SQLiteShell(t, s.at("var/lib/hotrow/app.db"), `PRAGMA journal_mode=WAL;
		CREATE TABLE dept (deptno INTEGER PRIMARY KEY, name TEXT); INSERT INTO dept VALUES (10, 'RESEARCH')`)
	begin := time.Now()
	p := s.start()
	answers(p)
	t.Logf("started and answered in %v", time.Since(begin).Round(time.Millisecond))
	p.confined()
	p.hears("WATCHDOG=1")

	s.write("etc/hotrow/hotrow.yaml", settings+"  again: {table: dept}\n")
	p.signal(syscall.SIGHUP) // what ExecReload sends
	p.hears("RELOADING=1")
	p.hears("READY=1")
	p.ask("http", "/again/10", "")

	p.ask("links", "/api/v1/links", `{"url": "https://example.com/", "code": "go"}`)
	follow(p, 100)
	p.signal(syscall.SIGKILL)
	if err := p.ends(); err == nil {
		t.Error("kill -9 has ended it in peace")
	}
	p = s.start() // Restart=on-failure
	answers(p)
	p.until(func() bool { return clicks(p) == 100 })

	follow(p, 50) // when it stops, not all of them are in the database
	p.signal(syscall.SIGTERM)
	p.hears("STOPPING=1")
	if err := p.ends(); err != nil {
		t.Errorf("it ends with %v; the log:\n%s", err, p.said())
	}
	s.dpkg("--install", debs[1])
	if text, _ := os.ReadFile(s.at("etc/hotrow/hotrow.yaml")); !strings.Contains(string(text), "again") {
		t.Error("the upgrade has replaced the configuration")
	}
	p = s.start()
	answers(p)
	p.until(func() bool { return clicks(p) == 150 })
	p.signal(syscall.SIGTERM)
	if err := p.ends(); err != nil {
		t.Errorf("it ends with %v; the log:\n%s", err, p.said())
	}
	removed(s)
}

func answers(p *service) {
	p.s.t.Helper()
	p.until(func() bool { return strings.Contains(p.said(), "proto=http addr=") })
	if body, _ := p.ask("http", "/dept/10", ""); body != `{"deptno":10,"name":"RESEARCH"}` {
		p.s.t.Errorf("/dept/10 is %s", body)
	}
	for range 50 {
		if _, h := p.ask("http", "/dept/10", ""); strings.Contains(h.Get("Cache-Status"), "hit") {
			return
		}
	}
	p.s.t.Errorf("no hit; the log:\n%s", p.said())
}

func follow(p *service, n int) {
	p.s.t.Helper()
	for range n {
		if _, h := p.ask("links", "/go", ""); h.Get("Location") != "https://example.com/" {
			p.s.t.Fatalf("/go leads to %q", h.Get("Location"))
		}
	}
}

func clicks(p *service) int {
	p.s.t.Helper()
	body, _ := p.ask("links", "/api/v1/links/go", "")
	var l struct{ Clicks int }
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		p.s.t.Fatal(err)
	}
	return l.Clicks
}

// removed takes the package away: the configuration goes last, and what the service has
// kept stays.
func removed(s *system) {
	s.t.Helper()
	exists := func(path string) bool {
		_, err := os.Stat(s.at(path))
		return err == nil
	}
	s.dpkg("--remove", "hotrow")
	if exists("usr/bin/hotrow") || !exists("etc/hotrow/hotrow.yaml") {
		s.t.Error("dpkg --remove leaves the program, or not the configuration")
	}
	s.dpkg("--purge", "hotrow")
	if exists("etc/hotrow/hotrow.yaml") || !exists("var/lib/hotrow/links.db") {
		s.t.Error("dpkg --purge leaves the configuration, or not the links")
	}
}

// packages builds the program once, and the package of it in each of the versions.
func packages(t *testing.T, versions ...string) (debs []string) {
	t.Helper()
	begin := time.Now()
	dir := t.TempDir()
	binary := filepath.Join(dir, "hotrow")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "./cmd/hotrow")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	must(t, build)
	// What packages hold, without what other builds may be writing.
	tree := filepath.Join(dir, "tree")
	if err := os.CopyFS(filepath.Join(tree, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"LICENSE", "CHANGELOG.md", "hotrow.example.yaml"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, exec.Command("../../scripts/release-files", binary,
		filepath.Join(tree, "build/release-files")))
	arch := strings.TrimSpace(must(t, exec.Command("dpkg", "--print-architecture")))
	t.Logf("the program and its files after %v", time.Since(begin))
	for _, version := range versions {
		deb := filepath.Join(dir, version+".deb")
		pack := exec.Command("go", "run", "-C", "../../tools/release", "./pack", "-binary", binary,
			"-arch", arch, "-version", version, "-root", tree, "-out", deb)
		pack.Env = append(os.Environ(), "GOWORK=off")
		must(t, pack)
		debs = append(debs, deb)
	}
	t.Logf("its packages after %v", time.Since(begin))
	return debs
}

func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, errs.Bytes())
	}
	return string(out)
}

// A system is a Debian with nothing in it but what the package's scripts need.
type system struct {
	t    *testing.T
	root string
}

func newSystem(t *testing.T) *system {
	t.Helper()
	s := &system{t: t, root: t.TempDir()}
	if err := os.Chmod(s.root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"usr/bin", "usr/lib", "usr/lib64", "etc", "run", "tmp",
		"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/log"} {
		s.make(dir)
	}
	for _, dir := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+dir, s.at(dir)); err != nil {
			t.Fatal(err)
		}
	}
	s.write("var/lib/dpkg/status", "")
	for _, program := range []string{"sh", "mkdir"} {
		s.take("/bin/" + program)
	}
	return s
}

func (s *system) at(path string) string { return filepath.Join(s.root, path) }

func (s *system) make(dir string) {
	s.t.Helper()
	if err := os.MkdirAll(s.at(dir), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) write(path, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.at(path), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// take copies a program of this machine with the libraries that it needs.
func (s *system) take(program string) {
	s.t.Helper()
	libraries := regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(
		must(s.t, exec.Command("ldd", program)), -1)
	for _, path := range append(libraries, []string{"", program}) {
		s.make(filepath.Dir(path[1]))
		must(s.t, exec.Command("cp", "-L", path[1], s.at(path[1])))
	}
}

func (s *system) dpkg(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("dpkg", append([]string{"--root=" + s.root, "--force-confold"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C")
	return must(s.t, cmd)
}

// unit returns what a key of the installed unit says.
func (s *system) unit(key string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.at("usr/lib/systemd/system/hotrow.service"))
	if err != nil {
		s.t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + key + `=(.*)$`).FindSubmatch(text)
	if m == nil {
		s.t.Fatalf("the unit has no %s", key)
	}
	return string(m[1])
}

// holds looks at modes and that nothing lies where no package may put it.
func (s *system) holds() {
	s.t.Helper()
	for path, mode := range map[string]fs.FileMode{
		"usr/bin/hotrow": 0o755, "etc/hotrow/hotrow.yaml": 0o644, "etc/default/hotrow": 0o600,
		"usr/share/man/man1/hotrow.1.gz": 0o644, "usr/share/doc/hotrow/NOTICES.txt": 0o644,
		"usr/share/bash-completion/completions/hotrow":    0o644,
		"usr/share/zsh/vendor-completions/_hotrow":        0o644,
		"usr/share/fish/vendor_completions.d/hotrow.fish": 0o644,
		"var/lib/hotrow": fs.ModeDir | 0o700, "var/log/hotrow": fs.ModeDir | 0o700,
	} {
		if info, err := os.Stat(s.at(path)); err != nil || info.Mode() != mode {
			s.t.Errorf("/%s: %v, want %v", path, info, mode)
		}
	}
	if conf := s.dpkg("--status", "hotrow"); !strings.Contains(conf, "install ok installed") ||
		!strings.Contains(conf, " /etc/hotrow/hotrow.yaml ") ||
		!strings.Contains(conf, " /etc/default/hotrow ") {
		s.t.Errorf("dpkg says of the package:\n%s", conf)
	}
}

// analyzed holds that systemd takes the installed units, and that the service is not
// exposed.
func (s *system) analyzed() {
	s.t.Helper()
	program := dbtest.Program(s.t, "systemd-analyze", "systemd")
	const at = "/usr/lib/systemd/system/hotrow"
	for _, kind := range []string{"target", "slice"} { // what the units stand among
		theirs, err := filepath.Glob("/usr/lib/systemd/system/*." + kind)
		if err != nil || theirs == nil {
			s.t.Fatalf("systemd's own units: %v, %v", theirs, err)
		}
		must(s.t, exec.Command("cp", append(theirs, s.at(filepath.Dir(at)))...))
	}
	for _, args := range [][]string{
		{"verify", "--man=no", at + ".service", at + ".socket", at + "-wire.socket",
			at + "-resp.socket"},
		{"security", "--offline=true", "--threshold=20", "--no-pager", "hotrow.service"},
	} {
		out := must(s.t, exec.Command(program, append(args, "--root="+s.root)...))
		if m := regexp.MustCompile(`Overall exposure.*`).FindString(out); m != "" {
			s.t.Log(m)
		}
	}
}
