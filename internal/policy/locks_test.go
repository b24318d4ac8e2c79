package policy

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// lockRow matches a row of the table of locks: package.Type.field.
var lockRow = regexp.MustCompile("(?m)^\\| `([a-z0-9]+\\.[A-Za-z0-9]+\\.[A-Za-z]+)`")

// TestLocks_OfTheTableExist: who orders two locks by the table finds them in the code.
func TestLocks_OfTheTableExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/explanation/locks.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := lockRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 20 {
		t.Errorf("%d locks are listed, want 20 at least", len(rows))
	}
	declared := make(map[string]bool)
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, name := range locksOf(s) {
					declared[f.ast.Name.Name+"."+spec.Name.Name+"."+name] = true
				}
			}
			return true
		})
	}
	for _, row := range rows {
		if !declared[row[1]] {
			t.Errorf("docs/explanation/locks.md: no mutex is called %s", row[1])
		}
	}
}

// locksOf returns the names of the fields of a struct that are mutexes, or wrap one.
func locksOf(s *ast.StructType) []string {
	var names []string
	for _, field := range s.Fields.List {
		switch selector(field.Type) {
		case "sync.Mutex", "sync.RWMutex":
			for _, name := range field.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}
