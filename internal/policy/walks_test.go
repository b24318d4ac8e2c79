package policy

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// walked matches a function as the walks of ARCHITECTURE.md name it: package.Function, or
// package.Type.Method.
var walked = regexp.MustCompile("`([a-z0-9]+)((?:\\.[A-Za-z]+)+)`")

// TestWalks_NameFunctionsThatExist: the walks of ARCHITECTURE.md are how a newcomer finds the
// way, so a function that was renamed is renamed there.
func TestWalks_NameFunctionsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, walks, found := strings.Cut(string(text), "\n## Four walks\n")
	walks, _, ends := strings.Cut(walks, "\n## ")
	if !found || !ends {
		t.Fatal("ARCHITECTURE.md has no section of four walks")
	}
	declared := make(map[string]bool)
	for _, f := range goFiles(t) {
		dir := f.dir()
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.test {
				continue
			}
			name := fn.Name.Name
			if of := receiver(fn); of != nil {
				name = of.Name + "." + name
			}
			declared[dir[strings.LastIndexByte(dir, '/')+1:]+"."+name] = true
		}
	}
	names := walked.FindAllStringSubmatch(walks, -1)
	if len(names) < 20 {
		t.Errorf("%d functions are named, want 20 at least", len(names))
	}
	for _, n := range names {
		if name := n[1] + n[2]; !declared[name] {
			t.Errorf("ARCHITECTURE.md: there is no function %s", name)
		}
	}
}
