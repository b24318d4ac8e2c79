package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// systems returns those for which everything must compile besides this one, as the Makefile
// says.
func systems(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(text), "\nCROSS := ")
	line, _, _ = strings.Cut(line, "\n")
	list := strings.Fields(line)
	if len(list) == 0 {
		t.Fatal("the Makefile has no CROSS")
	}
	return list
}

// TestCross_CompilesElsewhere: all packages are right for the other systems, as far as the
// compiler's front says. What it would make of them is not asked for, nor is what they
// import compiled: that takes minutes.
func TestCross_CompilesElsewhere(t *testing.T) {
	ours, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	p := &parsed{ours: ours + string(filepath.Separator), files: make(map[string]*ast.File)}
	fset := token.NewFileSet()
	for _, system := range systems(t) {
		goos, arch, _ := strings.Cut(system, "/")
		t.Run(system, func(t *testing.T) {
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
					packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
					packages.NeedTypesSizes | packages.NeedEmbedFiles | packages.NeedModule,
				Dir: root, Fset: fset, ParseFile: p.parse,
				Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS="),
			}, "./...", "./client/...", "./bench/...")
			if err != nil {
				t.Fatal(err)
			}
			if len(loaded) < 50 {
				t.Errorf("only %d packages", len(loaded))
			}
			packages.Visit(loaded, nil, func(p *packages.Package) {
				for _, err := range p.Errors {
					// Without the bodies, what only they use is imported for nothing.
					if p.Module == nil || !p.Module.Main {
						if strings.Contains(err.Msg, "imported and not used") ||
							strings.Contains(err.Msg, "imported as") {
							continue
						}
					}
					t.Errorf("%s: %v", p.PkgPath, err)
				}
			})
		})
	}
}

// parsed are files as the checker of types reads them: each is parsed once for all systems, and
// those of others have no bodies of functions, but where it asks for one.
type parsed struct {
	ours  string     // what the paths of our own begin with
	mu    sync.Mutex // guards files
	files map[string]*ast.File
}

func (p *parsed) parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	p.mu.Lock()
	file := p.files[name]
	p.mu.Unlock()
	if file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return file, err
	}
	if !strings.HasPrefix(name, p.ours) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Name.Name != "init" && f.Name.Name != "main" && f.Type.TypeParams == nil {
				f.Body = nil
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[name] = file
	return file, nil
}
