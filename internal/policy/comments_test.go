package policy

import (
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// maxPackageComment is how many lines say what a package does and does not do.
const maxPackageComment = 15

func TestComments_EveryPackageHasOne(t *testing.T) {
	found := map[string]string{}
	for _, f := range writtenFiles(t) {
		if _, seen := found[f.dir()]; !seen {
			found[f.dir()] = ""
		}
		if f.ast.Doc == nil || strings.HasSuffix(f.ast.Name.Name, "_test") {
			continue
		}
		if other := found[f.dir()]; other != "" {
			t.Errorf("%s and %s both have a package comment", other, f.path)
		}
		found[f.dir()] = f.path
		n := f.line(f.ast.Doc.End()) - f.line(f.ast.Doc.Pos()) + 1
		if n > maxPackageComment {
			t.Errorf("%s: the package comment has %d lines, at most %d",
				f.path, n, maxPackageComment)
		}
	}
	for dir, path := range found {
		if path == "" {
			t.Errorf("%s: no package comment says what the package does, and what not", dir)
		}
	}
}

// TestComments_ExportedSymbolsHaveOne: a group of constants or variables may
// share one, and methods of unexported types are free.
func TestComments_ExportedSymbolsHaveOne(t *testing.T) {
	for _, f := range writtenFiles(t) {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, name := range undocumented(decl) {
				t.Errorf("%s:%d: exported %s has no comment", f.path, f.line(name.Pos()), name.Name)
			}
		}
	}
}

// undocumented returns the exported names that a declaration leaves without a
// comment.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT || d.Doc != nil {
			return nil
		}
		var names []*ast.Ident
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

// undocumentedSpec is undocumented for one line of a declaration.
func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil && s.Names[0].IsExported() {
			return s.Names[:1]
		}
	}
	return nil
}

// exportedReceiver reports whether a function is none's, or an exported type's.
func exportedReceiver(fn *ast.FuncDecl) bool {
	of := receiver(fn)
	return fn.Recv == nil || of != nil && of.IsExported()
}

// receiver returns the type that fn is a method of; nil: it is none.
func receiver(fn *ast.FuncDecl) *ast.Ident {
	if fn.Recv == nil {
		return nil
	}
	typ := fn.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.IndexListExpr:
			typ = x.X
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}

// TestComments_LocksSayWhatTheyGuard wants a comment at every mutex, or one of
// its struct that speaks of the lock.
func TestComments_LocksSayWhatTheyGuard(t *testing.T) {
	for _, f := range writtenFiles(t) {
		if f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, field := range unexplainedLocks(decl) {
				t.Errorf("%s:%d: a lock has no comment that says what it guards",
					f.path, f.line(field.Pos()))
			}
		}
	}
}

// unexplainedLocks returns the mutexes of a declaration that nothing explains.
func unexplainedLocks(decl ast.Decl) []*ast.Field {
	if d, ok := decl.(*ast.GenDecl); ok && strings.Contains(d.Doc.Text(), "lock") {
		return nil
	}
	var locks []*ast.Field
	ast.Inspect(decl, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		typ := selector(field.Type)
		if (typ == "sync.Mutex" || typ == "sync.RWMutex") &&
			field.Doc == nil && field.Comment == nil {
			locks = append(locks, field)
		}
		return true
	})
	return locks
}

// later matches the words by which work is put off.
var later = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX|HA` + `CK)\b`)

// TestComments_PutNothingOff: what is missing belongs in an issue.
func TestComments_PutNothingOff(t *testing.T) {
	for _, f := range writtenFiles(t) {
		for _, group := range f.ast.Comments {
			if word := later.FindString(group.Text()); word != "" {
				t.Errorf("%s:%d: %s: what is missing belongs in an issue",
					f.path, f.line(group.Pos()), word)
			}
		}
	}
}
