package policy

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFuzz_TargetsHaveSeeds: without a seed, plain go test runs nothing of a
// fuzz target, and the fuzzer begins with the empty input.
func TestFuzz_TargetsHaveSeeds(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Fuzz") || fn.Recv != nil {
				continue
			}
			if !addsSeed(fn) && !hasCorpus(f.dir(), fn.Name.Name) {
				t.Errorf("%s:%d: %s has no seed: neither f.Add nor testdata/fuzz/%s",
					f.path, f.line(fn.Pos()), fn.Name.Name, fn.Name.Name)
			}
		}
	}
}

// addsSeed reports whether a fuzz target calls Add of its parameter, or gives
// the parameter to a function that may.
func addsSeed(fn *ast.FuncDecl) bool {
	params := fn.Type.Params.List
	if len(params) != 1 || len(params[0].Names) != 1 {
		return false
	}
	f, found := params[0].Names[0].Name, false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		found = found || selector(call.Fun) == f+".Add"
		for _, arg := range call.Args {
			id, ok := arg.(*ast.Ident)
			found = found || ok && id.Name == f
		}
		return true
	})
	return found
}

// hasCorpus reports whether a fuzz target has files in testdata.
func hasCorpus(dir, name string) bool {
	entries, err := os.ReadDir(filepath.Join(root, dir, "testdata", "fuzz", name))
	return err == nil && len(entries) > 0
}
