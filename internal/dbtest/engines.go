package dbtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// enginesEnv holds the directory where scripts/install-engines keeps servers.
const enginesEnv = "ENGINES"

// NewPostgresSince is NewPostgres for what a version begins to have, such as 16: where the
// server that other tests use is older, one of scripts/install-engines is taken.
func NewPostgresSince(t testing.TB, version int, settings map[string]string) *Server {
	t.Helper()
	notShort(t)
	bin, err := postgresBin()
	if err == nil {
		if is, e := versionIn(bin); e != nil || is < version {
			bin, err = engineBin(version)
		}
	}
	if err != nil {
		missing(t, "postgres", err)
	}
	return newPostgresIn(t, bin, settings)
}

// engineBin returns the programs of the first server of scripts/install-engines that is of
// a version, or of a later one.
func engineBin(version int) (string, error) {
	dir := os.Getenv(enginesEnv)
	if dir == "" && os.Getuid() == 0 {
		dir = "/var/cache/hotrow-engines"
	} else if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "hotrow-engines")
	}
	bins, err := filepath.Glob(filepath.Join(dir, "postgresql-*", "bin"))
	for _, bin := range bins {
		if is, e := versionIn(bin); e == nil && is >= version {
			return bin, nil
		}
	}
	return "", errors.Join(err, fmt.Errorf("no PostgreSQL %d or later in %s;"+
		" scripts/install-engines installs one", version, dir))
}

// aVersion is what postgres --version says.
var aVersion = regexp.MustCompile(`PostgreSQL\) (\d+)`)

// versionIn asks the programs in a directory for their major version.
func versionIn(bin string) (int, error) {
	out, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return 0, err
	}
	m := aVersion.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("postgres --version: %q", out)
	}
	return strconv.Atoi(string(m[1]))
}
