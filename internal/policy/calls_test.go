package policy

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sleepers are the files of tests that may call time.Sleep outside a poll, each
// with the reason.
var sleepers = map[string]string{}

// configured are the packages outside main that may read the environment or
// define flags, each with the reason.
var configured = map[string]string{
	"internal/config":          "that is what it is for",
	"internal/dbtest":          "tests have no other way to be told",
	"internal/waittest":        "tests have no other way to be told",
	"internal/testbed":         "tests have no other way to be told",
	"internal/source/postgres": "libpq's variables (PGSSLMODE...) are part of what its URLs mean",
}

// TestCalls_PanicMeansABug: bad input, a lost database or a full disk is an
// error. http.ErrAbortHandler is how net/http wants a handler to give up.
func TestCalls_PanicMeansABug(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		calls(f, func(call *ast.CallExpr, around []ast.Node) {
			if id, ok := call.Fun.(*ast.Ident); !ok || id.Name != "panic" || len(call.Args) != 1 {
				return
			}
			if !isBug(call.Args[0]) && !isAbort(call.Args[0], around) {
				t.Errorf("%s:%d: panic is for bugs alone, and its text begins with BUG:",
					f.path, f.line(call.Pos()))
			}
		})
	}
}

// isBug reports whether the first string in an expression begins with "BUG:".
func isBug(e ast.Expr) bool {
	first := ""
	ast.Inspect(e, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || first != "" {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil {
			first = text
		}
		return true
	})
	return strings.HasPrefix(first, "BUG:")
}

// isAbort reports whether a panic is http.ErrAbortHandler, or hands it on.
func isAbort(arg ast.Expr, around []ast.Node) bool {
	const abort = "http.ErrAbortHandler"
	if selector(arg) == abort {
		return true
	}
	return slices.ContainsFunc(around, func(n ast.Node) bool {
		cond, ok := n.(*ast.IfStmt)
		if !ok {
			return false
		}
		test, ok := cond.Cond.(*ast.BinaryExpr)
		return ok && test.Op == token.EQL && selector(test.Y) == abort
	})
}

// TestCalls_TestsDoNotSleep: a sleep is too short on a slow machine and too long
// on every other. Pausing within a poll that has an end is fine, and so is the
// fake time of testing/synctest.
func TestCalls_TestsDoNotSleep(t *testing.T) {
	for _, f := range goFiles(t) {
		r, _ := roomOf(f.dir())
		if !f.test && !r.tool || importsSynctest(f) || sleepers[f.path] != "" {
			continue
		}
		calls(f, func(call *ast.CallExpr, around []ast.Node) {
			if selector(call.Fun) == "time.Sleep" && !inPoll(f, around) {
				t.Errorf("%s:%d: tests do not sleep: poll for what is awaited, with a deadline",
					f.path, f.line(call.Pos()))
			}
		})
	}
	for path, reason := range sleepers {
		if !slices.ContainsFunc(goFiles(t), func(f *goFile) bool { return f.path == path }) {
			t.Errorf("%s, which may sleep (%s), does not exist", path, reason)
		}
	}
}

// importsSynctest reports whether a file's tests run in fake time.
func importsSynctest(f *goFile) bool {
	return slices.ContainsFunc(f.ast.Imports, func(s *ast.ImportSpec) bool {
		return s.Path.Value == `"testing/synctest"`
	})
}

// inPoll reports whether the innermost loop around a call has an end in time
// or with a context.
func inPoll(f *goFile, around []ast.Node) bool {
	for _, n := range slices.Backward(around) {
		loop, ok := n.(*ast.ForStmt)
		if !ok {
			continue
		}
		start, end := f.fset.Position(loop.Pos()).Offset, f.fset.Position(loop.End()).Offset
		text := string(f.text[start:end])
		return slices.ContainsFunc(
			[]string{"time.Now()", "time.Since(", "time.Until(", ".Err()", ".Done()", "waittest."},
			func(s string) bool { return strings.Contains(text, s) })
	}
	return false
}

// TestCalls_OnlyConfigReadsTheEnvironment: what a package does is decided by its
// caller, so that two of them in one process can differ.
func TestCalls_OnlyConfigReadsTheEnvironment(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || f.ast.Name.Name == "main" || configured[f.dir()] != "" {
			continue
		}
		calls(f, func(call *ast.CallExpr, _ []ast.Node) {
			name := selector(call.Fun)
			if name == "os.Getenv" || name == "os.LookupEnv" || strings.HasPrefix(name, "flag.") {
				t.Errorf("%s:%d: %s: main and internal/config read flags and the environment; "+
					"let the caller pass what is needed", f.path, f.line(call.Pos()), name)
			}
		})
	}
}

// TestCalls_NoInit: importing a package has no effects.
func TestCalls_NoInit(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s:%d: func init: importing a package must have no effects",
					f.path, f.line(fn.Pos()))
			}
		}
	}
}

// calls visits every call of a file with the nodes around it, outermost first.
func calls(f *goFile, visit func(call *ast.CallExpr, around []ast.Node)) {
	ast.PreorderStack(f.ast, nil, func(n ast.Node, around []ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			visit(call, around)
		}
		return true
	})
}

// selector returns "a.B" for that expression, else "".
func selector(e ast.Expr) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return x.Name + "." + sel.Sel.Name
}

// TestCalls_ProtocolsAreTestedWithPoison: who implements the event loop's Protocol tests
// that it keeps none of the buffers that it is shown.
func TestCalls_ProtocolsAreTestedWithPoison(t *testing.T) {
	steps, poisons := make(map[string]bool), make(map[string]bool)
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !f.test && isStep(fn) {
				steps[f.dir()] = true
			}
		}
		calls(f, func(call *ast.CallExpr, _ []ast.Node) {
			poisons[f.dir()] = poisons[f.dir()] || f.test && selector(call.Fun) == "eventloop.PoisonBuffers"
		})
	}
	if len(steps) == 0 {
		t.Error("no Protocol is found")
	}
	for dir := range steps {
		if !poisons[dir] {
			t.Errorf("%s: its tests do not call eventloop.PoisonBuffers", dir)
		}
	}
}

// isStep reports whether fn is the Step of a Protocol.
func isStep(fn *ast.FuncDecl) bool {
	if fn.Name.Name != "Step" || fn.Recv == nil || fn.Type.Params.NumFields() == 0 {
		return false
	}
	star, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	return ok && selector(star.X) == "eventloop.Conn"
}
