package policy

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// clientModule is the module that programs take.
const clientModule = module + "/client"

// Who takes the client into a program of theirs compiles these modules, and none of
// the server's: no database, no metrics, no command line.
func TestClient_CompilesFewModules(t *testing.T) {
	want := []string{
		"github.com/fxamacker/cbor/v2",
		"github.com/klauspost/compress",
		"github.com/vmihailenco/msgpack/v5",
		"github.com/vmihailenco/tagparser/v2",
		"github.com/x448/float16",
	}
	got := strings.Fields(goIn(t, filepath.Join(root, "client"), "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./..."))
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("the client's modules (-want +got):\n%s", diff)
	}
}

// Its tests run with the versions that its own module names, and with the server's
// when they run from there: both are the same.
func TestClient_HasTheVersionsOfTheServer(t *testing.T) {
	const form = "{{with .Module}}{{if and (not .Main) (not .Replace)}}{{.}}{{end}}{{end}}"
	list := func(dir string) []string {
		return strings.Fields(strings.ReplaceAll(goIn(t, dir, "list", "-deps", "-test", "-f", form,
			clientModule+"/..."), " v", "@v"))
	}
	got, want := list(filepath.Join(root, "client")), list(root)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
		t.Errorf("client/go.mod (+) has other versions than go.mod (-):\n%s", diff)
	}
}

// A stranger's program takes the client by its tag, from a module proxy that has
// nothing of the server, compiles it and knows none of the server's modules.
func TestClient_IsTakenByGoGet(t *testing.T) {
	const version = "v0.1.0"
	proxy := clientProxy(t, version)
	cache := strings.TrimSpace(goIn(t, root, "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", fileURL(proxy)+","+fileURL(filepath.Join(cache, "cache", "download")))
	t.Setenv("GOSUMDB", "off") // which knows no modules that are in a file
	t.Setenv("GOFLAGS", "-modcacherw -trimpath")
	t.Setenv("GOMODCACHE", t.TempDir())
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

// clientProxy returns a directory that is laid out as a module proxy, with the client.
func clientProxy(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, filepath.FromSlash(clientModule), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "client", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "list"), version+"\n")
	write(t, filepath.Join(at, version+".mod"), string(mod))
	write(t, filepath.Join(at, version+".info"), `{"Version":"`+version+`"}`)
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	err = filepath.WalkDir(filepath.Join(root, "client"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(filepath.Join(root, "client"), path)
		if err != nil {
			return err
		}
		w, err := z.Create(clientModule + "@" + version + "/" + filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
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
