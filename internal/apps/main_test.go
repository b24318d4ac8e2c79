package apps

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// binary is hotrow, built once for all tests.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hotrow-apps-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "hotrow")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/hotrow")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build hotrow: %v\n%s", err, out)
		return 1
	}
	return dbtest.Wrap(m).Run()
}
