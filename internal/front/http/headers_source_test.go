package httpfront

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/wire/http2"
)

// The event loop passes over every header that is not on the list of package http1. So code
// behind net/http must read no other, or an answer would depend on which of the two has read
// the request. These tests find in the source which headers are read.

// ofStandard are the headers that methods of net/http read.
var ofStandard = map[string][]string{
	"Check": {"Origin", "Sec-Fetch-Site"}, "BasicAuth": {"Authorization"}, "Cookie": {"Cookie"},
	"Cookies": {"Cookie"}, "CookiesNamed": {"Cookie"}, "UserAgent": {"User-Agent"}, "Referer": {"Referer"},
	// Who asks for the console, or the page's tabs: all that comes by net/http. What proxies add counts
	// for its owner alone, who asks by HTTP/1.1, of which net/http has every header.
	"Tabs": {"Authorization"}, "Console": {"Authorization"},
	"ServeHTTP": {"Authorization", "Accept", "Origin", "Sec-Fetch-Site", "If-None-Match", "Range"},
}

// TestHeaders_ThatAreReadAreOnTheList, or are searched for in the head where they are logged.
func TestHeaders_ThatAreReadAreOnTheList(t *testing.T) {
	s := newSourceReads()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "relay") {
			continue // what is relayed is read of the head as it came, too: TestFallback_Headers
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s.add(t, name, string(text))
	}
	s.find()
	for _, what := range s.unknown {
		t.Errorf("%s: which header is read? Name it by a literal, a constant or a table", what)
	}
	if len(s.reads) < 24 || !s.reads["Origin"] || !s.reads["X-Http-Method-Override"] || !s.reads["Digest"] {
		t.Fatalf("what is read is not found: %v", slices.Sorted(maps.Keys(s.reads)))
	}
	for name := range s.reads {
		if !isListed(name) && !s.inHead[strings.ToLower(name)] {
			t.Errorf("%s is read behind net/http, and passed over by http1: see its kinds", name)
		}
		if !passesHTTP2(name) {
			t.Errorf("%s does not come through HTTP/2", name)
		}
	}
}

// TestHeaders_FinderFinds: each way to read a header is found, and what cannot be told is said.
func TestHeaders_FinderFinds(t *testing.T) {
	s := newSourceReads()
	s.add(t, "x.go", `package x
const third = "X-Third"
var table = [...]string{"X-Fourth", "X-Fifth"}
func a(r *http.Request, h http.Header) {
	r.Header.Get("X-First"); h.Values("X-Second"); r.Header.Get(third)
	for _, name := range table { h.Get(name) }
	for _, e := range []struct{name string; n int}{{"X-Sixth", 1}, {name: "X-Seventh"}} { r.Header.Values(e.name) }
	_ = r.Header["X-Eighth"]
	inner(r.Header)
	r.Cookie("c")
	w.Header().Set("X-Answer", "")
	headerText(head, "x-ninth:")
}
func inner(h http.Header) { h.Get("X-Tenth") }
func bad(r *http.Request, any string) { r.Header.Get(any); for range r.Header {}; other.F(r.Header)
	g := r.Header; other.G(r) }
`)
	s.find()
	want := "Cookie X-Eighth X-Fifth X-First X-Fourth X-Second X-Seventh X-Sixth X-Tenth X-Third"
	if got := strings.Join(slices.Sorted(maps.Keys(s.reads)), " "); got != want || !s.inHead["x-ninth"] {
		t.Errorf("found %s, %v, want %s", got, s.inHead, want)
	}
	if len(s.unknown) != 5 {
		t.Errorf("not told: %q, want 5", s.unknown)
	}
	for name, on := range map[string]bool{"X-First": false, "User-Agent": false, "Cookie": false, "Origin": true,
		"Access-Control-Request-Method": true, "Access-Control-Request-Headers": true, "Last-Event-ID": true,
		"Sec-Fetch-Site": true, "Accept-Profile": true, "Content-Profile": true, "Digest": true} {
		if isListed(name) != on {
			t.Errorf("%s is on the list: %v, want %v", name, !on, on)
		}
	}
}

// isListed reports whether http1 reads a header: a request with it is another than without,
// or is handed over.
func isListed(name string) bool {
	const page = "Origin: http://a\r\nAccess-Control-Request-Method: PUT\r\n"
	for _, head := range []string{"GET / HTTP/1.1\r\nHost: a\r\n", "POST / HTTP/1.1\r\nHost: a\r\n",
		"OPTIONS / HTTP/1.1\r\nHost: a\r\n" + page} {
		var with, without http1.Request
		text := []byte(head + name + ": b\r\n\r\n")
		n, v := with.Parse(text)
		_, _, whole := with.Body(text)
		_, asks := with.Preflight(text)
		plain := []byte(head + "\r\n")
		m, w := without.Parse(plain)
		_, _, plainWhole := without.Body(plain)
		_, plainAsks := without.Preflight(plain)
		if v != w || whole != plainWhole || asks != plainAsks || n > 0 && m == 0 || differ(&with, &without) {
			return true
		}
		twice := []byte(head + name + ": b\r\n" + name + ": b\r\n\r\n") // and what is only counted
		with.Parse(twice)
		if _, asks := with.Preflight(twice); asks != plainAsks {
			return true
		}
	}
	return false
}

// differ compares what others see of two requests.
func differ(a, b *http1.Request) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		if x.Type().Field(i).IsExported() && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			return true
		}
	}
	return false
}

// passesHTTP2 reports whether a header is in the HTTP/1.1 that a request of HTTP/2 becomes.
func passesHTTP2(name string) bool {
	var h http2.Head
	h.Reset(false)
	lower := strings.ToLower(name)
	d := http2.NewDecoder(&h)
	for _, text := range []string{":method", "GET", ":scheme", "http", ":authority", "a", ":path", "/", lower, "b"} {
		if text[0] == ':' || text == lower {
			_, _ = d.Write([]byte{0}) // a literal that enters no table (RFC 7541 6.2.2)
		}
		_, _ = d.Write(append([]byte{byte(len(text))}, text...))
	}
	return h.Check(true) == "" && strings.Contains(string(h.Append(nil, true)), "\r\n"+lower+": b\r\n")
}

// A sourceReads is which headers of requests some source reads.
type sourceReads struct {
	fset    *token.FileSet
	files   []*ast.File
	values  map[string]ast.Expr // constants and variables of packages, by name
	funcs   map[string]bool     // functions of the packages
	reads   map[string]bool     // by canonical name
	inHead  map[string]bool     // searched for in the head as it came, in lower case
	unknown []string
}

func newSourceReads() *sourceReads {
	return &sourceReads{fset: token.NewFileSet(), values: map[string]ast.Expr{}, funcs: map[string]bool{},
		reads: map[string]bool{}, inHead: map[string]bool{}}
}

// add adds a file.
func (s *sourceReads) add(t *testing.T, name, text string) {
	t.Helper()
	f, err := parser.ParseFile(s.fset, name, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.files = append(s.files, f)
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if i < len(n.Values) {
					s.values[id.Name] = n.Values[i]
				}
			}
		case *ast.FuncDecl:
			s.funcs[n.Name.Name] = true
		}
		return true
	})
}

// find goes through all functions.
func (s *sourceReads) find() {
	for _, f := range s.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				s.findIn(fn)
			}
		}
	}
}

// findIn finds what one function reads. headers and requests are its parameters of these
// types of net/http, and ranged what its loops go over, by the name of the variable.
func (s *sourceReads) findIn(fn *ast.FuncDecl) {
	headers, requests, ranged := map[string]bool{}, map[string]bool{}, map[string]ast.Expr{}
	for _, p := range fn.Type.Params.List {
		for _, id := range p.Names {
			star, ok := p.Type.(*ast.StarExpr)
			headers[id.Name] = text(p.Type) == "http.Header"
			requests[id.Name] = ok && text(star.X) == "http.Request"
		}
	}
	isHeader := func(e ast.Expr) bool {
		if sel, ok := e.(*ast.SelectorExpr); ok {
			return sel.Sel.Name == "Header" && text(e) != "http.Header"
		}
		id, ok := e.(*ast.Ident)
		return ok && headers[id.Name]
	}
	told := map[ast.Expr]bool{} // uses of a Header that are understood
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if id, ok := n.Value.(*ast.Ident); ok {
				ranged[id.Name] = n.X
			}
		case *ast.IndexExpr:
			if isHeader(n.X) {
				told[n.X] = true
				s.name(n.Index, ranged)
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				told[sel] = sel.Sel.Name == "Header" // of an answer
				if isHeader(sel.X) && (sel.Sel.Name == "Get" || sel.Sel.Name == "Values") {
					told[sel.X] = true
					s.name(n.Args[0], ranged)
				}
				for _, name := range ofStandard[sel.Sel.Name] {
					s.reads[name] = true
				}
			}
			id, ok := n.Fun.(*ast.Ident)
			own := ok && s.funcs[id.Name]
			for _, arg := range n.Args {
				told[arg] = told[arg] || own
				name := text(arg)
				if requests[name] || strings.HasSuffix(name, ".http") {
					if !own && ofStandard[lastOf(text(n.Fun))] == nil {
						s.doubt(arg)
					}
				}
			}
			if ok && (id.Name == "headerText" || id.Name == "headerOf") {
				for _, arg := range n.Args {
					if lit, ok := literal(arg); ok {
						s.inHead[strings.TrimSuffix(lit, ":")] = true
					}
				}
			}
		case ast.Expr:
			if isHeader(n) && !told[n] {
				s.doubt(n)
			}
		}
		return true
	})
}

// name notes the header that an expression names.
func (s *sourceReads) name(e ast.Expr, ranged map[string]ast.Expr) {
	if lit, ok := literal(e); ok {
		s.reads[http.CanonicalHeaderKey(lit)] = true
		return
	}
	id, ok := e.(*ast.Ident)
	if sel, isField := e.(*ast.SelectorExpr); isField {
		id, ok = sel.X.(*ast.Ident)
	}
	if ok && ranged[id.Name] != nil {
		table := ranged[id.Name]
		if of, ok := table.(*ast.Ident); ok && s.values[of.Name] != nil {
			table = s.values[of.Name]
		}
		if list, ok := table.(*ast.CompositeLit); ok {
			for _, element := range list.Elts {
				s.name(first(element), nil)
			}
			return
		}
	}
	if ok && s.values[id.Name] != nil {
		s.name(s.values[id.Name], nil)
		return
	}
	s.doubt(e)
}

func (s *sourceReads) doubt(e ast.Expr) {
	s.unknown = append(s.unknown, s.fset.Position(e.Pos()).String()+" "+text(e))
}

// lastOf returns what stands behind the last point of a name.
func lastOf(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// first returns what an element of a table begins with.
func first(e ast.Expr) ast.Expr {
	if row, ok := e.(*ast.CompositeLit); ok && len(row.Elts) > 0 {
		e = row.Elts[0]
	}
	if pair, ok := e.(*ast.KeyValueExpr); ok {
		e = pair.Value
	}
	return e
}

// literal returns the text of a literal.
func literal(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// text returns "a.B" for that expression, and something for any other.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return text(e.X) + "." + e.Sel.Name
	}
	return "an expression"
}
