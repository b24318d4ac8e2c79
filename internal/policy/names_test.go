package policy

import (
	"slices"
	"strings"
	"testing"
)

// emptyNames say nothing about what is inside, so that anything ends up there.
var emptyNames = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base"}

func TestNames_OfPackagesSayWhatIsInside(t *testing.T) {
	for _, f := range goFiles(t) {
		name := strings.TrimSuffix(f.ast.Name.Name, "_test")
		if slices.Contains(emptyNames, name) {
			t.Errorf("%s: package %s: the name says nothing about what is inside", f.path, name)
		}
		if name != "main" && !isNamedAfter(name, f.dir()) {
			t.Errorf("%s: package %s is in a directory called %s", f.path, name, f.dir())
		}
	}
}

// isNamedAfter reports whether a package has the name of its directory. One
// whose directory is called like a package of the standard library puts the
// directory above behind it: front/http is httpfront.
func isNamedAfter(name, dir string) bool {
	elements := strings.Split(dir, "/")
	last := elements[len(elements)-1]
	return name == last || len(elements) > 1 && name == last+elements[len(elements)-2]
}
