//go:build unix

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildInterop builds the program of a module below interop.
func buildInterop(t *testing.T, name string) string {
	t.Helper()
	mod, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "interop", name)
	program := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "-C", dir, "build", "-o", program, ".")
	build.Env = append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	if err != nil {
		t.Fatalf("build interop/%s: %v: %s", name, err, out)
	}
	return program
}

// TestInterop_Gomemcache reads and writes the demo's rows by Go's client of memcached.
func TestInterop_Gomemcache(t *testing.T) {
	program := buildInterop(t, "memcached")
	r := serve(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	addr := r.dialMemcache().nc.RemoteAddr().(*net.TCPAddr)
	out, err := exec.CommandContext(t.Context(), program, addr.String(), r.http).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
