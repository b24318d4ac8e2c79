// Command words renames identifiers of this repository as words.txt says. It renames by
// types, on every system that hotrow is built for; comments follow where they name the
// identifier. A line whose work is done is passed over, so a branch that was made before a
// renaming is carried over by merging nothing and running it: cd tools && GOWORK=off go run ./words
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

//go:embed words.txt
var list string

const module = "github.com/hotrow/hotrow/"

// systems are those whose files are looked at: one of each build constraint.
var systems = []string{"linux", "darwin", "windows"}

// rename is one line of words.txt.
type rename struct {
	pkg, owner, old, new string // owner is the type of a field or method, or empty
	found                bool
}

// edit replaces length bytes of a file at an offset.
type edit struct {
	length int
	text   string
}

type renamer struct {
	lines   []*rename
	files   []file
	vars    []*rename
	prose   []prose
	texts   []file                  // directories, and the packages whose words they have as text
	seen    map[string]bool         // files whose comments have been looked at
	targets map[string]*rename      // of a declaration's place
	edits   map[string]map[int]edit // by file and offset
}

// file is a file that is given another name.
type file struct{ old, new string }

// prose is a word in the comments of a package.
type prose struct {
	pkg      string
	pattern  *regexp.Regexp
	old, new string
}

func main() {
	root := flag.String("root", "..", "the root of the repository")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	r := &renamer{targets: make(map[string]*rename), edits: make(map[string]map[int]edit),
		seen: make(map[string]bool)}
	if err := r.read(list); err != nil {
		return err
	}
	for _, system := range systems {
		if err := r.load(root, system); err != nil {
			return err
		}
	}
	n, err := r.write()
	if err != nil {
		return err
	}
	if err := r.replace(root); err != nil {
		return err
	}
	fmt.Printf("%d files changed\n", n)
	return r.move(root)
}

// read reads lines as words.txt explains them. A # begins a comment.
func (r *renamer) read(list string) error {
	s := bufio.NewScanner(strings.NewReader(list))
	for n := 1; s.Scan(); n++ {
		line, _, _ := strings.Cut(s.Text(), "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "prose" && len(f) >= 4:
			r.prose = append(r.prose, prose{module + f[1], regexp.MustCompile(`(?i)\b` + f[2] + `\b`),
				f[2], strings.Join(f[3:], " ")})
		case f[0] == "var" && len(f) == 4:
			r.vars = append(r.vars, &rename{pkg: module + f[1], old: f[2], new: f[3]})
		case len(f) != 3:
			return fmt.Errorf("words.txt:%d: cannot be read: %q", n, line)
		case f[0] == "text":
			r.texts = append(r.texts, file{f[1], module + f[2]})
		case f[0] == "file":
			r.files = append(r.files, file{f[1], f[2]})
		default:
			owner, old, member := strings.Cut(f[1], ".")
			if !member {
				owner, old = "", f[1]
			}
			r.lines = append(r.lines, &rename{pkg: module + f[0], owner: owner, old: old, new: f[2]})
		}
	}
	return s.Err()
}

// load type-checks the repository for one system and notes what to change.
func (r *renamer) load(root, system string) error {
	config := &packages.Config{
		Mode: packages.NeedName | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedFiles | packages.NeedImports | packages.NeedDeps,
		Dir: root, Tests: system == "linux", ParseFile: parse(root), Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0", "GOWORK="),
	}
	all, err := packages.Load(config, "./...", "./client/...", "./bench/...")
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p *packages.Package) bool {
		return strings.HasSuffix(p.PkgPath, ".test") // made by the go command
	})
	var failed error
	for _, p := range all {
		for _, e := range p.Errors {
			failed = errors.Join(failed, e)
		}
	}
	if failed != nil {
		return fmt.Errorf("%s: %w", system, failed)
	}
	for _, l := range r.lines {
		for _, p := range all {
			if p.PkgPath == l.pkg {
				r.declare(p, l)
			}
		}
	}
	for _, p := range all {
		r.uses(p)
	}
	return nil
}

// parse returns how a file is read: of those of other modules only what they declare.
func parse(root string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
		own := strings.HasPrefix(name, root+string(filepath.Separator))
		mode := parser.SkipObjectResolution
		if own {
			mode |= parser.ParseComments
		}
		f, err := parser.ParseFile(set, name, src, mode)
		if f != nil && !own {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					fn.Body = nil
				}
			}
		}
		return f, err
	}
}

// declare looks for what a line renames in one package.
func (r *renamer) declare(p *packages.Package, l *rename) {
	var obj types.Object
	if l.owner == "" {
		obj = p.Types.Scope().Lookup(l.old)
	} else if owner := p.Types.Scope().Lookup(l.owner); owner != nil {
		obj = member(owner, l.old)
	}
	if obj == nil || !obj.Pos().IsValid() {
		return
	}
	l.found = true
	r.targets[p.Fset.Position(obj.Pos()).String()] = l
}

// member returns the field or method of a type that it declares itself; nil: it has none.
func member(owner types.Object, name string) types.Object {
	named, ok := types.Unalias(owner.Type()).(*types.Named)
	if !ok {
		return nil
	}
	for m := range named.Methods() {
		if m.Name() == name {
			return m
		}
	}
	switch u := named.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Name() == name {
				return f
			}
		}
	case *types.Interface:
		for m := range u.ExplicitMethods() {
			if m.Name() == name {
				return m
			}
		}
	}
	return nil
}

// uses notes each identifier that is to be renamed, and the comments that name it.
func (r *renamer) uses(p *packages.Package) {
	for id, obj := range p.TypesInfo.Defs {
		r.note(p, id, obj)
	}
	for id, obj := range p.TypesInfo.Uses {
		r.note(p, id, obj)
	}
	for _, f := range p.Syntax {
		name := p.Fset.Position(f.Pos()).Filename
		if r.seen[name] {
			continue
		}
		r.seen[name] = true
		docs := r.documented(p, f)
		for _, group := range f.Comments {
			for _, c := range group.List {
				at := p.Fset.Position(c.Pos())
				text := c.Text
				if l := docs[c]; l != nil {
					text = begin(text, l)
				}
				text = r.comment(strings.TrimSuffix(p.PkgPath, "_test"), text)
				if text != c.Text {
					r.edit(at.Filename, at.Offset, edit{len(c.Text), text})
				}
			}
		}
	}
}

// documented returns the first comments of declarations that are renamed.
func (r *renamer) documented(p *packages.Package, f *ast.File) map[*ast.Comment]*rename {
	docs := make(map[*ast.Comment]*rename)
	note := func(id *ast.Ident, doc *ast.CommentGroup) {
		if l := r.targets[p.Fset.Position(id.Pos()).String()]; l != nil && doc != nil {
			docs[doc.List[0]] = l
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			note(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					note(t.Name, cmp.Or(t.Doc, d.Doc))
				}
			}
		}
	}
	return docs
}

// begin gives a declaration's comment its new first words.
func begin(text string, l *rename) string {
	article := "A "
	if strings.ContainsRune("aeiouAEIOU", rune(l.new[0])) {
		article = "An "
	}
	for _, w := range []struct{ old, new string }{{"", ""}, {"A ", article}, {"An ", article}} {
		if rest, ok := strings.CutPrefix(text, "// "+w.old+l.old+" "); ok {
			return "// " + w.new + l.new + " " + rest
		}
	}
	return text
}

func (r *renamer) note(p *packages.Package, id *ast.Ident, obj types.Object) {
	if obj == nil || !id.Pos().IsValid() {
		return
	}
	l := r.targets[p.Fset.Position(obj.Pos()).String()]
	if v, ok := obj.(*types.Var); ok {
		if t := embedded(v.Type()); v.Embedded() && t != nil { // it is called as its type
			l = r.targets[p.Fset.Position(t.Pos()).String()]
		} else if l == nil && !v.Embedded() {
			l = r.variable(v)
		}
	}
	if l != nil && id.Name == l.old {
		at := p.Fset.Position(id.Pos())
		r.edit(at.Filename, at.Offset, edit{len(id.Name), l.new})
	}
}

// variable returns the line that renames all variables of v's name in its package.
func (r *renamer) variable(v *types.Var) *rename {
	for _, l := range r.vars {
		if v.Name() == l.old && v.Pkg() != nil && strings.TrimSuffix(v.Pkg().Path(), "_test") == l.pkg {
			return l
		}
	}
	return nil
}

func embedded(t types.Type) types.Object {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

func (r *renamer) edit(file string, offset int, e edit) {
	if r.edits[file] == nil {
		r.edits[file] = make(map[int]edit)
	}
	r.edits[file][offset] = e
}

// comment returns a comment of a package with the new words: those with their package or type
// before them, and plain ones that cannot be words of English.
func (r *renamer) comment(pkg, text string) string {
	for _, l := range slices.Concat(members(r.lines, true), members(r.lines, false)) {
		if !l.found || !strings.Contains(text, l.old) {
			continue
		}
		base := l.pkg[strings.LastIndexByte(l.pkg, '/')+1:]
		switch {
		case l.owner != "":
			if pkg == l.pkg {
				text = word(l.owner+"."+l.old).ReplaceAllString(text, "${1}"+l.owner+"."+l.new)
			}
			text = word(base+"."+l.owner+"."+l.old).ReplaceAllString(text, "${1}"+base+"."+l.owner+"."+l.new)
		case pkg == l.pkg && strings.IndexFunc(l.old, upper) >= 0:
			text = word(l.old).ReplaceAllString(text, "${1}"+l.new)
		}
		if l.owner == "" {
			text = word(base+"."+l.old).ReplaceAllString(text, "${1}"+base+"."+l.new)
		}
		if l.owner == "" && pkg == l.pkg {
			text = regexp.MustCompile(`(^|[^\w.])`+l.old+`(\.\w)`).ReplaceAllString(text, "${1}"+l.new+"${2}")
		}
	}
	for _, w := range r.prose {
		if w.pkg == pkg {
			text = w.pattern.ReplaceAllStringFunc(text, func(s string) string {
				if upper(rune(s[0])) {
					return strings.ToUpper(w.new[:1]) + w.new[1:]
				}
				return w.new
			})
		}
	}
	return text
}

// members returns the lines of fields and methods, or the others.
func members(list []*rename, are bool) []*rename {
	return slices.DeleteFunc(slices.Clone(list), func(l *rename) bool { return (l.owner != "") != are })
}

func upper(c rune) bool { return c >= 'A' && c <= 'Z' }

var patterns = make(map[string]*regexp.Regexp)

// word returns the pattern of a whole word that follows no dot and no letter.
func word(w string) *regexp.Regexp {
	if patterns[w] == nil {
		patterns[w] = regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(w) + `\b`)
	}
	return patterns[w]
}

// write makes the changes, and formats the files that it changes.
func (r *renamer) write() (int, error) {
	for name, edits := range r.edits {
		text, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		offsets := make([]int, 0, len(edits))
		for offset := range edits {
			offsets = append(offsets, offset)
		}
		slices.Sort(offsets)
		slices.Reverse(offsets)
		for _, offset := range offsets {
			e := edits[offset]
			text = slices.Replace(text, offset, offset+e.length, []byte(e.text)...)
		}
		if text, err = format.Source(text); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return 0, err
		}
	}
	return len(r.edits), nil
}

// replace changes what is told of packages elsewhere: documents, which name them by package
// and identifier, and files that have parts of them as text.
func (r *renamer) replace(root string) error {
	documents, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		return err
	}
	more, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil {
		return err
	}
	for _, name := range append(documents, more...) {
		if err := change(name, func(text string) string { return r.comment("", text) }); err != nil {
			return err
		}
	}
	for _, t := range r.texts {
		files, err := filepath.Glob(filepath.Join(root, t.old, "*.go"))
		if err != nil {
			return err
		}
		for _, name := range files {
			if err := change(name, func(text string) string { return r.text(t.new, text) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// text returns a text with all of a package's words replaced.
func (r *renamer) text(pkg, text string) string {
	for _, f := range r.files {
		text = strings.ReplaceAll(text, `"`+filepath.Base(f.old)+`"`, `"`+filepath.Base(f.new)+`"`)
	}
	for _, l := range slices.Concat(r.lines, r.vars) {
		if l.pkg == pkg {
			text = regexp.MustCompile(`\b`+l.old+`\b`).ReplaceAllString(text, l.new)
		}
	}
	return text
}

func change(name string, how func(string) string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if text := how(string(old)); text != string(old) {
		return os.WriteFile(name, []byte(text), 0o644)
	}
	return nil
}

// move gives files their new names.
func (r *renamer) move(root string) error {
	for _, f := range r.files {
		if _, err := os.Stat(filepath.Join(root, f.old)); err != nil {
			continue
		}
		out, err := exec.Command("git", "-C", root, "mv", f.old, f.new).CombinedOutput()
		if err != nil {
			return fmt.Errorf("git mv %s: %w: %s", f.old, err, out)
		}
	}
	return nil
}
