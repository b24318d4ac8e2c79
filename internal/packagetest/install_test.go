//go:build linux

package packagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A folder of a release, with an archive for this system of a program that says its version.
type folder struct{ dir, archive, sums string }

func releaseFolder(t *testing.T, version string) folder {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, e := range [][2]string{{"LICENSE", "free"},
		{"hotrow", "#!/bin/sh\n[ \"$1\" = version ] || exec sleep 1000\necho hotrow " + version + "\n"}} {
		err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e[0], Size: int64(len(e[1])), Mode: 0o755})
		if err == nil {
			_, err = archive.Write([]byte(e[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	f := folder{dir: t.TempDir()}
	name := fmt.Sprintf("hotrow_%s_linux_%s.tar.gz", version, runtime.GOARCH)
	f.archive, f.sums = filepath.Join(f.dir, name), filepath.Join(f.dir, "hotrow_"+version+"_checksums.txt")
	put(t, f.archive, out.String())
	put(t, f.sums, fmt.Sprintf("%x  other.deb\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(out.Bytes()), name))
	return f
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// install runs the script by a shell, as its user does who has no other variable.
func install(t *testing.T, shell, folder string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(shell, "../../scripts/install.sh", folder)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestInstall_FromAReleaseFolder(t *testing.T) {
	for _, shell := range []string{"dash", "bash"} {
		prefix := filepath.Join(t.TempDir(), "a b")
		program := filepath.Join(prefix, "bin/hotrow")
		first := releaseFolder(t, "1.0.0")
		out, err := install(t, shell, first.dir, "PREFIX="+prefix)
		if err != nil || !strings.Contains(out, "hotrow 1.0.0") || !strings.Contains(out, "is not in PATH") {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
		// One that runs keeps its file while another takes its place.
		old := exec.Command(program, "serve")
		if err := old.Start(); err != nil {
			t.Fatal(err)
		}
		out, err = install(t, shell, releaseFolder(t, "1.0.1").dir, "PREFIX="+prefix)
		if err != nil || !strings.Contains(out, "hotrow 1.0.1") {
			t.Errorf("%s: upgrade: %v: %s", shell, err, out)
		}
		_ = old.Process.Kill()
		_ = old.Wait()
		if files, err := os.ReadDir(filepath.Join(prefix, "bin")); err != nil || len(files) != 1 {
			t.Errorf("%s: left behind: %v, %v", shell, files, err)
		}
	}
}

func TestInstall_RefusesWhatIsNotTheRelease(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(f folder)
		says  string
	}{
		"another archive": {func(f folder) { put(t, f.archive, "changed") }, "is not what"},
		"no archive":      {func(f folder) { _ = os.Remove(f.archive) }, "no "},
		"no list":         {func(f folder) { _ = os.Remove(f.sums) }, "no hotrow_VERSION_checksums.txt"},
		"not in the list": {func(f folder) { put(t, f.sums, "") }, "is not in"},
		"two releases": {func(f folder) { put(t, filepath.Join(f.dir, "hotrow_0.9_checksums.txt"), "") },
			"more than one"},
	} {
		f := releaseFolder(t, "1.0.0")
		tt.spoil(f)
		prefix := t.TempDir()
		out, err := install(t, "dash", f.dir, "PREFIX="+prefix)
		if err == nil || !strings.Contains(out, tt.says) {
			t.Errorf("%s: %v: %s", name, err, out)
		}
		if _, err := os.Stat(filepath.Join(prefix, "bin/hotrow")); err == nil {
			t.Errorf("%s: a program was installed", name)
		}
	}
	if out, err := install(t, "dash", filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(out, "no folder") {
		t.Errorf("no folder: %v: %s", err, out)
	}
}
