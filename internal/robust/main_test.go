package robust

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// binary is hotrow, built once for all rows, or what HOTROW_ROBUST_BINARY names.
var binary string

// depth is how much runs: "": a third of the rows; "all"; "soak": the long forms.
var depth = os.Getenv("HOTROW_ROBUST")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if binary = os.Getenv("HOTROW_ROBUST_BINARY"); binary != "" {
		code := dbtest.Wrap(m).Run()
		report.print()
		return code
	}
	dir, err := os.MkdirTemp("", "hotrow-robust-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "hotrow")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/hotrow")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build hotrow: %v\n%s", err, out)
		return 1
	}
	code := dbtest.Wrap(m).Run()
	report.print()
	return code
}

// A row is one line of the failure matrix.
type row struct {
	n     string // as in the matrix
	what  string
	test  func(t *testing.T) string // returns figures; nil: see elsewhere
	often bool                      // part of the short run

	// elsewhere is the package, and the tests in it, that see to the row.
	elsewhere, tests string

	// why is the reason for which the row does not run at all.
	why string
}

// A result is what became of a row.
type result struct{ n, what, verdict, figures string }

// results are those of all rows, for the table.
type results struct {
	mu   sync.Mutex // guards list
	list []result
}

var report results

func (r *results) add(x result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

// print writes the table.
func (r *results) print() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return
	}
	slices.SortStableFunc(r.list, func(a, b result) int {
		return strings.Compare(fmt.Sprintf("%4s", a.n), fmt.Sprintf("%4s", b.n))
	})
	fmt.Printf("\n| row | failure | result | seen |\n|---|---|---|---|\n")
	for _, x := range r.list {
		fmt.Printf("| %s | %s | %s | %s |\n", x.n, x.what, x.verdict, x.figures)
	}
}

// play runs those of rows that depth asks for.
func play(t *testing.T, rows []row) {
	for _, r := range rows {
		if depth == "" && !r.often {
			continue
		}
		if r.why != "" {
			report.add(result{r.n, r.what, "not run", r.why})
			continue
		}
		name := fmt.Sprintf("%s %s", r.n, r.what)
		ran, figures := false, ""
		begin := time.Now()
		passed := t.Run(name, func(t *testing.T) {
			ran = true
			if r.test != nil {
				figures = r.test(t)
				t.Log(figures)
				return
			}
			figures = r.elsewhere + " " + r.tests
			other(t, r.elsewhere, r.tests)
		})
		if !ran {
			continue // -run names others
		}
		verdict := "ok"
		if !passed {
			verdict = "FAILED"
		}
		report.add(result{r.n, r.what, fmt.Sprintf("%s, %.1f s", verdict,
			time.Since(begin).Seconds()), figures})
	}
}

// other runs tests of another package, which see to a row. A pattern that names no
// test fails.
func other(t *testing.T, pkg, tests string) {
	t.Helper()
	cmd := exec.Command("go", "test", "-count=1", "-timeout", "5m", "-v", "-run", tests, "../"+pkg)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%s: no test is called %s", pkg, tests)
	}
}
