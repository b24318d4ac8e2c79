package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// limitsFile has every bound of what a client may have of us, whatever it speaks.
const limitsFile = "internal/front/limits.go"

// boundless are the numbers of fronts that bound nothing that a client has, and what they are.
// A star at the end stands for several names.
var boundless = map[string]string{
	"front/access.go:Slow":               "what is logged",
	"front/outputbudget.go:unknownSize":  "a guess",
	"front/outputbudget.go:forgetLarger": "a part of an average",
	"front/http/accesslog.go:statusGone": "a status",
	"front/http/index.go:exampleAge":     "how often is asked",
	"front/http/loop.go:maxSeen":         "beyond it a map is used",
	"front/http/resttest.go:randomPage":  "a part of what is read",
	"front/http/watch.go:retry*":         "when clients come back",
	"front/http/watches.go:watchTick":    "how often is looked",
	"front/http/watches.go:heartbeat*":   "how often is told",
	"front/http/watches.go:fanout*":      "how much is sent at a time",
	"front/http/watchread.go:watch*":     "how much is read at a time, and how often",
	"front/sql/show.go:oid*":             "PostgreSQL's numbers of types",
	"front/kv/follow.go:gateEvery":       "how often is looked",
	"front/kv/item.go:at*":               "a layout",
	"front/kv/item.go:odd":               "a hash",
	"front/kv/item.go:staleBit":          "a layout",
	"front/kv/item.go:sentBit":           "a layout",
	"front/kv/readers.go:fewReaders":     "beyond it a map is used",
	"front/kv/scan.go:leastPage":         "the least",
	"front/kv/scope.go:maxSeen":          "beyond it a map is used",
	"front/kv/server.go:tickEvery":       "how often is looked",
	"front/kv/session.go:foreignEvery":   "how often is logged",
	"front/links/pages.go:maxPage":       "a guess",
	"front/links/prepared.go:at*":        "a layout",
	"front/memcache/item.go:longestTTL":  "memcached's: beyond it a number is a date",
	"front/memcache/turns.go:all":        "a weight",
	"front/resp/info.go:human":           "units",
	"front/resp/keyspace.go:pieceBytes":  "how much is sent at a time",
	"front/resp/multi.go:head":           "a size of Go's",
	"front/resp/scan.go:defaultCount":    "Redis' default",
	"front/resp/session.go:databases":    "Redis' default",
	"front/resp/table.go:longestName":    "of our own names",
	"front/resp/track.go:flushGap":       "how often is told",
	"front/resp/track.go:repeatAfter":    "when is told again",
	"front/sql/login.go:auth*":           "codes of the protocol",
	"front/sql/message.go:headSize":      "a layout",
	"front/sql/observe.go:fewGroups":     "what an idle session keeps",
	"front/sql/startup.go:*":             "codes of the protocol",
	"front/wire/conn.go:tickEvery":       "how often is looked",
	"front/wire/conn.go:pumpSize":        "how much is sent at a time",
	"front/wire/hub.go:fanout*":          "how much is sent at a time",
	"front/wire/perf.go:produced*":       "defaults of gofast's perf",
	"front/wire/scope.go:maxSeen":        "beyond it a map is used",
	"front/wire/task.go:answerHead":      "a guess",
	"front/wire/wire.go:Drain":           "how often is looked",
}

// TestLimits_StandInOnePlace: a number with a name, a size and a time of a front stands in
// limitsFile, with its reason, or among those that bound nothing. A number is one that the
// compiler knows: of literals, units of time, and other numbers of the same kind.
func TestLimits_StandInOnePlace(t *testing.T) {
	used := make(map[string]bool)
	for _, f := range goFiles(t) {
		if f.test || f.made || f.path == limitsFile || strings.HasPrefix(f.path, "internal/front/fronttest/") ||
			!strings.HasPrefix(f.path, "internal/front/") && !strings.HasPrefix(f.path, "internal/httpserve/") {
			continue
		}
		for _, n := range numbers(f) {
			at, ok := boundlessBy(strings.TrimPrefix(f.path, "internal/") + ":" + n.name)
			if !ok {
				t.Errorf("%s:%d: %s is a number: it stands in %s, with its reason, or in boundless",
					f.path, f.line(n.at), n.name, limitsFile)
			}
			used[at] = true
		}
	}
	for at := range boundless {
		if !used[at] {
			t.Errorf("%s is no number any more", at)
		}
	}
}

// boundlessBy returns the line of boundless that has a name.
func boundlessBy(name string) (line string, ok bool) {
	for line := range boundless {
		part, several := strings.CutSuffix(line, "*")
		if line == name || several && strings.HasPrefix(name, part) {
			return line, true
		}
	}
	return "", false
}

// TestLimits_RuleFindsNumbers: what the rule is for, in each of its forms.
func TestLimits_RuleFindsNumbers(t *testing.T) {
	const text = `package p
const maxKeys = 7
const a, b = iota, "x"
const wait = 3 * time.Second
const sum = front.CodeBytes*3 + 64
var buffer = 1 << 20
var list = []int{1000}
func options() {
	const most = 12
	use(min(n, 4<<10), 10*time.Millisecond, n<<3, 5, 10_000)
	o.Max = 8 << 20
}
`
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range numbers(&goFile{ast: tree, fset: fset}) {
		got = append(got, n.name)
	}
	want := "maxKeys wait sum buffer most options options options options"
	if strings.Join(got, " ") != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// A number is a constant or variable with a number, or a size or time within a function, whose
// name is then that of the function.
type number struct {
	name string
	at   token.Pos
}

// numbers returns those of a file.
func numbers(f *goFile) (list []number) {
	for _, decl := range f.ast.Decls {
		name, inside := "", false
		if fn, ok := decl.(*ast.FuncDecl); ok {
			name, inside = fn.Name.Name, true
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, v := range n.Values {
					if isNumber(v) {
						list = append(list, number{n.Names[min(i, len(n.Names)-1)].Name, n.Pos()})
					}
				}
				return false
			case *ast.BinaryExpr:
				if inside && isNumber(n) && isSize(n) {
					list = append(list, number{name, n.Pos()})
					return false
				}
			case *ast.BasicLit:
				if inside && n.Kind == token.INT && strings.Contains(n.Value, "_") {
					list = append(list, number{name, n.Pos()})
				}
			}
			return true
		})
	}
	return list
}

// isNumber reports whether an expression is made of literals and units of time.
func isNumber(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.INT || e.Kind == token.FLOAT
	case *ast.BinaryExpr:
		return (isNumber(e.X) || isName(e.X)) && (isNumber(e.Y) || isName(e.Y)) &&
			(isNumber(e.X) || isNumber(e.Y))
	case *ast.ParenExpr:
		return isNumber(e.X)
	case *ast.SelectorExpr:
		return strings.HasPrefix(selector(e), "time.")
	}
	return false
}

// isName reports whether an expression is a name, of a package's or of one's own.
func isName(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "iota"
	case *ast.SelectorExpr:
		_, ok := e.X.(*ast.Ident)
		return ok
	}
	return false
}

// isSize reports whether an expression shifts by ten, twenty or thirty bits, or multiplies a
// unit of time.
func isSize(e *ast.BinaryExpr) bool {
	if lit, ok := e.Y.(*ast.BasicLit); ok && e.Op == token.SHL {
		return lit.Value == "10" || lit.Value == "20" || lit.Value == "30"
	}
	return e.Op == token.MUL && (strings.HasPrefix(selector(e.X), "time.") ||
		strings.HasPrefix(selector(e.Y), "time."))
}
