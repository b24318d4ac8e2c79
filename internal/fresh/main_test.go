package fresh

import (
	"os"
	"runtime/debug"
	"testing"
)

// The exhaustive checks make worlds by the million and keep next to none: collecting them less
// often takes a sixth of the work away, and some 100 MB more.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
