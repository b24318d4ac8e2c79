package policy

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who takes the client into a program of theirs compiles these modules, and none of
// the server's: no database, no metrics, no command line.
func TestClient_CompilesFewModules(t *testing.T) {
	want := []string{
		"github.com/cespare/xxhash/v2",
		"github.com/fxamacker/cbor/v2",
		"github.com/klauspost/compress",
		"github.com/vmihailenco/msgpack/v5",
		"github.com/vmihailenco/tagparser/v2",
		"github.com/x448/float16",
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./client/...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", cmd, err)
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("the client's modules (-want +got):\n%s", diff)
	}
}
