//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// exported is what exporter's links are, in the form of an export.
const exported = `{"code":"a"}` + "\n"

// exporter returns a server of one link.
func exporter(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, exported)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// fifo makes one, and returns what is written to it.
func fifo(t *testing.T) (name string, text <-chan string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		b, err := os.ReadFile(name)
		read <- fmt.Sprint(string(b), errors.Join(err))
	}()
	return name, read
}

// isFIFO fails the test if somebody has put another file in the place of a FIFO.
func isFIFO(t *testing.T, name string) {
	t.Helper()
	if info, err := os.Lstat(name); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("%s is no FIFO any more: %v, %v", name, info, err)
	}
}

// An export into a file that is there replaces what is in it, and nothing else of it.
func TestLinksExport_KeepsModeOwnerAndLinks(t *testing.T) {
	server, dir := exporter(t), t.TempDir()
	file, link := filepath.Join(dir, "links.ndjson"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	owner := os.Geteuid()
	if owner == 0 {
		owner = 12345
		if err := os.Chown(file, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(file, 0o664), os.Symlink("links.ndjson", link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link} {
		if err := os.WriteFile(file, []byte("old"), 0); err != nil {
			t.Fatal(err)
		}
		mustCommand(t, "links", "export", "--server", server, "-o", name)
		info, err := os.Lstat(file)
		if err != nil {
			t.Fatal(err)
		}
		uid := info.Sys().(*syscall.Stat_t).Uid
		if text, err := os.ReadFile(file); string(text) != exported || info.Mode() != 0o664 ||
			int(uid) != owner {
			t.Errorf("-o %s: the file of %d, want %d, is %v and has %q, %v", name, uid, owner, info.Mode(),
				text, err)
		}
	}
	if to, err := os.Readlink(link); to != "links.ndjson" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// A link may lead to a file that is not there yet, through others.
func TestLinksExport_FollowsALinkToNothing(t *testing.T) {
	server, dir := exporter(t), t.TempDir()
	first, there := filepath.Join(dir, "first"), filepath.Join(dir, "there")
	if err := errors.Join(os.Mkdir(there, 0o700), os.Symlink("second", first),
		os.Symlink(filepath.Join("there", "new"), filepath.Join(dir, "second"))); err != nil {
		t.Fatal(err)
	}
	mustCommand(t, "links", "export", "--server", server, "-o", first)
	if text, err := os.ReadFile(filepath.Join(there, "new")); string(text) != exported {
		t.Errorf("the new file has %q, %v", text, err)
	}
	entries, err := os.ReadDir(there)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it is %v, %v", entries, err)
	}
}

func TestLinksExport_WritesToAFIFO(t *testing.T) {
	name, text := fifo(t)
	mustCommand(t, "links", "export", "--server", exporter(t), "-o", name)
	isFIFO(t, name)
	if got := <-text; !strings.HasPrefix(got, exported) {
		t.Errorf("its reader has %q", got)
	}
}

// A FIFO that nobody reads keeps an export waiting, until it is interrupted.
func TestLinksExport_WaitsForAReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := replaceFile(ctx, name, 0o600, func(io.Writer) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	isFIFO(t, name)
	if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil { // which ends the waiting
		_ = f.Close()
	}
}

// The usual name of the standard output is no file.
func TestLinksExport_WritesToTheStandardOutput(t *testing.T) {
	server := exporter(t)
	t.Chdir(t.TempDir())
	if got := mustCommand(t, "links", "export", "--server", server, "-o", "-"); got != exported {
		t.Errorf("-o - prints %q", got)
	}
	if _, err := os.Lstat("-"); err == nil {
		t.Error("there is a file called -")
	}
}

func TestProxy_WritesItsNumberToAFIFO(t *testing.T) {
	name, text := fifo(t)
	_, out, stop := startProxy(t, "--upstream", hello(t), "--pid-file", name)
	until(t, out, func() bool { return len(text) == 1 })
	if got := <-text; !strings.HasPrefix(got, strconv.Itoa(os.Getpid())+"\n") {
		t.Errorf("its reader has %q", got)
	}
	isFIFO(t, name)
	stop()
}
