package policy

import (
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	modversion "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// goMod reads the go.mod of a directory from the root.
func goMod(t *testing.T, dir string) *modfile.File {
	t.Helper()
	path := filepath.Join(root, dir, "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse(path, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// clientVersion returns the version of the client that the program requires: the tag of the client
// that a release of the program needs.
func clientVersion(t *testing.T) string {
	t.Helper()
	for _, r := range goMod(t, ".").Require {
		if r.Mod.Path == clientModule {
			return r.Mod.Version
		}
	}
	t.Fatal("go.mod requires no client")
	return ""
}

// go install refuses a program whose module replaces another one, and go get passes a replacement
// by. Either would be seen only by users of a tag.
func TestModules_ReplaceNothing(t *testing.T) {
	for _, dir := range []string{".", "client"} {
		file := goMod(t, dir)
		if len(file.Replace) > 0 || len(file.Exclude) > 0 {
			t.Errorf("%s/go.mod replaces or excludes modules: go.work is the place", dir)
		}
	}
}

// taken has go commands take modules of this repository as if HEAD were their tag: from a module
// proxy in a directory, and all else from the cache of modules. That cache gets none of ours.
func taken(t *testing.T, version string, dirs ...string) {
	t.Helper()
	proxy := t.TempDir()
	for _, dir := range dirs {
		publish(t, proxy, dir, version)
	}
	cache := strings.TrimSpace(goIn(t, root, "env", "GOMODCACHE"))
	elsewhere := strings.TrimSpace(goIn(t, root, "env", "GOPROXY")) // for what was never needed here
	t.Setenv("GOPROXY", fileURL(proxy)+","+fileURL(filepath.Join(cache, "cache", "download"))+","+elsewhere)
	t.Setenv("GOSUMDB", "off") // which knows no modules that are in a file
	t.Setenv("GOFLAGS", "-modcacherw -trimpath")
	t.Setenv("GOMODCACHE", linkedCache(t, cache))
	t.Setenv("GOWORK", "")
}

// linkedCache returns a cache of modules that shows what another one has, but for modules of this
// repository: to unpack the others again would take longer than to compile the program.
func linkedCache(t *testing.T, cache string) string {
	t.Helper()
	dir := t.TempDir()
	const host = "github.com"
	for _, at := range []string{"", host, "cache/download", "cache/download/" + host} {
		at = filepath.FromSlash(at)
		entries, err := os.ReadDir(filepath.Join(cache, at))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, at), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := e.Name(); name != "cache" && name != host && name != "hotrow" {
				if err := os.Symlink(filepath.Join(cache, at, name), filepath.Join(dir, at, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return dir
}

// publish adds the module of a directory to a directory that is laid out as a module proxy.
func publish(t *testing.T, proxy, dir, version string) {
	t.Helper()
	mod := goMod(t, dir)
	at := filepath.Join(proxy, filepath.FromSlash(mod.Module.Mod.Path), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "list"), version+"\n")
	write(t, filepath.Join(at, version+".mod"), string(text))
	write(t, filepath.Join(at, version+".info"), `{"Version":"`+version+`"}`)
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	prefix := strings.TrimPrefix(dir+"/", "./")
	var files []zip.File
	for _, path := range mustList() {
		if rel, inside := strings.CutPrefix(path, prefix); inside && moduleOf(path) == strings.Trim(prefix, "/") {
			files = append(files, moduleFile{rel, filepath.Join(root, path)})
		}
	}
	if err := zip.Create(f, modversion.Version{Path: mod.Module.Mod.Path, Version: version}, files); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A moduleFile is a file as the zip of a module has it.
type moduleFile struct{ rel, path string }

func (f moduleFile) Path() string                 { return f.rel }
func (f moduleFile) Lstat() (os.FileInfo, error)  { return os.Lstat(f.path) }
func (f moduleFile) Open() (io.ReadCloser, error) { return os.Open(f.path) }

// The program is installed by its tag in a directory that has nothing of this repository. It says
// that version, and its modules are those that a build in the workspace has. HOTROW_INSTALL=run
// compiles it (a minute), else the go command says how it would.
func TestProgram_IsTakenByGoInstall(t *testing.T) {
	const form = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}"
	version := clientVersion(t)
	want := append(strings.Fields(goIn(t, root, "list", "-deps", "-f", form, "./cmd/hotrow")),
		clientModule+"@"+version)
	taken(t, version, ".", "client")
	info := wouldInstall(t, version)
	if os.Getenv("HOTROW_INSTALL") == "run" {
		info = install(t, version)
	}
	if info.Main.Version != version {
		t.Errorf("what is installed has version %s, want %s", info.Main.Version, version)
	}
	var got []string
	for _, m := range info.Deps {
		got = append(got, m.Path+"@"+m.Version)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("what is installed (+) has other modules than a build in the workspace (-):\n%s", diff)
	}
}

// wouldInstall returns what go install would have the program say of itself. All of its source is
// loaded for that, and nothing is compiled.
func wouldInstall(t *testing.T, version string) *debug.BuildInfo {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "install", "-n", module+"/cmd/hotrow@"+version)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, out)
	}
	_, rest, _ := strings.Cut(string(out), "\nmodinfo ")
	line, _, _ := strings.Cut(rest, "\n")
	text, err := strconv.Unquote(line)
	if err != nil || len(text) < 32 {
		t.Fatalf("%s tells nothing of modules (%v): %.500s", cmd, err, line)
	}
	info, err := debug.ParseBuildInfo(text[16 : len(text)-16]) // between what marks it in a program
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// install installs the program, runs it, and returns what it says of itself.
func install(t *testing.T, version string) *debug.BuildInfo {
	t.Helper()
	bin := t.TempDir()
	t.Setenv("GOBIN", bin)
	goIn(t, t.TempDir(), "install", module+"/cmd/hotrow@"+version)
	programs, err := filepath.Glob(filepath.Join(bin, "hotrow*"))
	if err != nil || len(programs) != 1 {
		t.Fatalf("programs %v, %v", programs, err)
	}
	out, err := exec.CommandContext(t.Context(), programs[0], "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "hotrow "+version+" (") {
		t.Errorf("hotrow version = %q, %v; want %s", out, err, version)
	}
	info, err := buildinfo.ReadFile(programs[0])
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// A stranger's program takes the client by its tag, from a module proxy that has
// nothing of the server, compiles it and knows none of the server's modules.
func TestClient_IsTakenByGoGet(t *testing.T) {
	version := clientVersion(t)
	taken(t, version, "client")
	program := t.TempDir()
	write(t, filepath.Join(program, "main.go"), `package main

import "github.com/hotrow/hotrow/client"

func main() {
	c, err := client.Open("hotrow://127.0.0.1:1", client.WithRetries(0))
	if err != nil {
		panic(err)
	}
	_ = c.Close()
	println("opened")
}
`)
	goIn(t, program, "mod", "init", "example.org/program")
	goIn(t, program, "get", clientModule+"@"+version)
	binary := filepath.Join(program, "program.exe")
	goIn(t, program, "build", "-o", binary, ".")
	if out, err := exec.Command(binary).CombinedOutput(); string(out) != "opened\n" {
		t.Errorf("the program: %v, %q", err, out)
	}
	sums, err := os.ReadFile(filepath.Join(program, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{module + " ", "pgx", "sqlite", "prometheus", "cobra"} {
		if strings.Contains(string(sums), m) {
			t.Errorf("the program's go.sum has %s:\n%s", m, sums)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fileURL returns a directory as GOPROXY names it.
func fileURL(dir string) string {
	path := filepath.ToSlash(dir)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return "file://" + path
}

// goIn runs go in a directory, and returns what it prints.
func goIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", cmd, err, stderr.String())
	}
	return string(out)
}
