package dbtest

import (
	"fmt"
	"testing"
)

// Program returns the path of a program that a test runs and that is no database:
// a browser, a reader of QR codes. It is looked for in PATH and then in dirs; a
// package has it.
func Program(t testing.TB, name, debianPackage string, dirs ...string) string {
	t.Helper()
	notShort(t)
	path, err := lookProgram(name, dirs...)
	if err != nil {
		missing(t, name, fmt.Errorf("%w; install the package %s", err, debianPackage))
	}
	return path
}
