package policy

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The sizes that a reader can hold. A line's columns count a tab as four.
const (
	maxFunction     = 60
	maxTestFunction = 120 // a table test is mostly its table
	maxFile         = 500
	maxColumns      = 100
	maxTestColumns  = 120 // and a row of it is one line
	tabWidth        = 4
	maxRootEntries  = 21
)

func TestSizes_OfFunctions(t *testing.T) {
	for _, f := range writtenFiles(t) {
		limit := maxFunction
		if f.test {
			limit = maxTestFunction
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := f.line(fn.End()) - f.line(fn.Pos()) + 1; n > limit {
				t.Errorf("%s:%d: function %s has %d lines, at most %d", f.path, f.line(fn.Pos()),
					fn.Name.Name, n, limit)
			}
		}
	}
}

func TestSizes_OfFilesAndLines(t *testing.T) {
	for _, f := range writtenFiles(t) {
		limit := maxColumns
		if f.test {
			limit = maxTestColumns
		}
		checkLines(t, f.path, f.text, limit)
	}
	for _, path := range mustList() {
		if !strings.HasSuffix(path, ".templ") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		checkLines(t, path, text, maxColumns)
	}
}

// checkLines fails the test if a file has too many lines, or too long ones.
func checkLines(t *testing.T, path string, text []byte, limit int) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	if len(lines) > maxFile {
		t.Errorf("%s has %d lines, at most %d", path, len(lines), maxFile)
	}
	for i, line := range lines {
		if n := columns(string(line)); n > limit {
			t.Errorf("%s:%d has %d columns, at most %d", path, i+1, n, limit)
		}
	}
}

// columns returns the width of a line.
func columns(line string) int {
	n := 0
	for _, r := range line {
		if r == '\t' {
			n += tabWidth - n%tabWidth
			continue
		}
		n++
	}
	return n
}

func TestColumns(t *testing.T) {
	tests := map[string]int{"": 0, "ab": 2, "\t": 4, "a\tb": 5, "\t\tb": 9, "é─": 2}
	for line, want := range tests {
		if got := columns(line); got != want {
			t.Errorf("columns(%q) = %d, want %d", line, got, want)
		}
	}
}

// TestSizes_OfTheRoot keeps the first thing that a visitor sees readable.
func TestSizes_OfTheRoot(t *testing.T) {
	entries, err := os.ReadDir(filepath.Clean(root))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		// go makes go.work.sum, which is ignored; .git is a file where a repository has several trees.
		if e.IsDir() && skippedDir(e.Name()) || e.Name() == "go.work.sum" || e.Name() == ".git" {
			continue
		}
		names = append(names, e.Name())
	}
	if len(names) > maxRootEntries {
		t.Errorf("the root has %d entries, at most %d: %v", len(names), maxRootEntries, names)
	}
}
