package policy

import (
	"os"
	"path/filepath"
	"strings"
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
	for _, system := range systems(t) {
		goos, arch, _ := strings.Cut(system, "/")
		t.Run(system, func(t *testing.T) {
			loaded, err := packages.Load(&packages.Config{
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
					packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
					packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedEmbedFiles,
				Dir: root,
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
					t.Errorf("%s: %v", p.PkgPath, err)
				}
			})
		})
	}
}
