package policy

import (
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

// Its tests run with the versions that its own module names, and in the workspace with the highest
// of all modules: both are the same.
func TestClient_HasTheVersionsOfTheServer(t *testing.T) {
	const form = "{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}}{{end}}{{end}}"
	list := func() []string {
		all := strings.Fields(goIn(t, filepath.Join(root, "client"), "list", "-deps", "-test", "-f", form,
			"./..."))
		slices.Sort(all)
		return slices.Compact(all)
	}
	want := list()
	t.Setenv("GOWORK", "off")
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Errorf("client/go.mod (+) has other versions than the workspace (-):\n%s", diff)
	}
}
