package clients

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// run builds the program of a module below interop, and runs it with the address of a front of
// the demo, which reads and writes its rows, and the demo's URL.
func run(t *testing.T, module, proto string) {
	t.Parallel()
	program, err := programtest.Build(t.TempDir(), filepath.Join("..", "..", "interop", module), ".", "GOWORK=off")
	if err != nil {
		t.Fatal(err)
	}
	r := programtest.Serve(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	front := strings.TrimPrefix(r.Listening(proto), "http://")
	out, err := exec.CommandContext(t.Context(), program, front, r.HTTP).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestRedis: go-redis and rueidis, with and without copies of their own, by every sort of command.
func TestRedis(t *testing.T) { run(t, "redis", "resp") }

// TestMemcached: gomemcache.
func TestMemcached(t *testing.T) { run(t, "memcached", "memcache") }
