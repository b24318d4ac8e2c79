package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the import path of the repository's root.
const module = "github.com/hotrow/hotrow"

// root is the repository's root, seen from this package.
var root = filepath.Join("..", "..")

// A goFile is one Go source file of the repository.
type goFile struct {
	path string // from the root, with slashes
	test bool
	made bool // by a generator: it is what that makes of a file that people write
	text []byte
	ast  *ast.File
	fset *token.FileSet
}

// dir returns the package's directory from the root: "internal/row".
func (f *goFile) dir() string { return strings.TrimSuffix(f.path, "/"+f.base()) }

// base returns the file's name.
func (f *goFile) base() string { return f.path[strings.LastIndexByte(f.path, '/')+1:] }

// line returns the line of a position in the file.
func (f *goFile) line(p token.Pos) int { return f.fset.Position(p).Line }

// parseAll parses the Go files of the workspace's modules once for all rules.
var parseAll = sync.OnceValues(func() ([]*goFile, error) {
	var files []*goFile
	for _, path := range mustList() {
		if !strings.HasSuffix(path, ".go") || inOtherModule(path) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return nil, err
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, &goFile{
			path: path, test: strings.HasSuffix(path, "_test.go"),
			made: ast.IsGenerated(tree), text: text, ast: tree, fset: fset,
		})
	}
	return files, nil
})

// goFiles returns every Go file of the workspace's modules.
func goFiles(t *testing.T) []*goFile {
	t.Helper()
	files, err := parseAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found only %d Go files below %s: the rules look at the wrong place",
			len(files), root)
	}
	return files
}

// writtenFiles returns those that people write and read. The rules about sizes and comments are
// for readers, so they are not for a generator's files, which begin with a line "// Code
// generated ... DO NOT EDIT.". All other rules are for both.
func writtenFiles(t *testing.T) []*goFile {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(goFiles(t)), func(f *goFile) bool { return f.made })
}

// mustList returns all files of the repository, from the root, with slashes.
// What git does not keep (bin, build) and hidden directories are left out, but
// for .ci.
func mustList() []string {
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() && rel != "." && skippedDir(filepath.ToSlash(rel)) {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			paths = append(paths, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		panic("BUG: list the repository: " + err.Error())
	}
	return paths
}

// skippedDir reports whether a directory is none of the repository's.
func skippedDir(rel string) bool {
	if rel == "bin" || rel == "build" {
		return true
	}
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	return strings.HasPrefix(name, ".") && rel != ".ci"
}

// inOtherModule reports whether a file belongs to a module that is outside the workspace: tools
// and peers. Their code is bound by fewer rules than the server, the client and the benchmarks.
func inOtherModule(path string) bool {
	dir := moduleOf(path)
	return dir != "" && dir != "client" && dir != "bench"
}

// moduleOf returns the directory of the module that a file belongs to, from the root: "" is the
// root's.
func moduleOf(path string) string {
	for dir := path; strings.Contains(dir, "/"); {
		dir = dir[:strings.LastIndexByte(dir, '/')]
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return dir
		}
	}
	return ""
}

// packageDirs returns the directories that hold a package, sorted.
func packageDirs(files []*goFile) []string {
	var dirs []string
	for _, f := range files {
		dirs = append(dirs, f.dir())
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
