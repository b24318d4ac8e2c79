package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// dirPrefix begins the name of every directory that dbtest makes; the id of
// the test binary's process follows.
const dirPrefix = "hotrow-dbtest-"

// newDir makes a directory for a server, named after this process.
func newDir() (string, error) {
	sweep(os.TempDir())
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", dirPrefix, os.Getpid()))
}

// sweep removes what earlier test binaries have left in temp because they were
// killed: their directories, and servers in them that were frozen at the time.
func sweep(temp string) {
	dirs, err := filepath.Glob(filepath.Join(temp, dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err != nil || alive(pid) {
			continue
		}
		// Another binary may sweep the same directory: what it has removed
		// before us is no error.
		if kill(within(dir)) == nil {
			_ = os.RemoveAll(dir)
		}
	}
}
