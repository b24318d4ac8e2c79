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
	"github.com/hotrow/hotrow/internal/waittest"
)

// binary is hotrow, built once for all rows, or what HOTROW_ROBUST_BINARY names.
var binary string

// depth is how much runs: "": a third of the rows; "all"; "soak": the long forms.
var depth = os.Getenv("HOTROW_ROBUST")

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	waittest.SideBySide(4)
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
	on    string                    // the database; "": none, or any
	file  string                    // why it has no form by URL; "": it has both
	test  func(t *testing.T) string // returns what was seen; nil: see elsewhere
	often bool                      // part of the short run, in one form

	// away says that the database is, or its feed: the short run has both forms.
	away bool

	// elsewhere is the package that sees to the row, and tests are what the names
	// of the tests in it begin with, separated by blanks.
	elsewhere, tests string

	// why is the reason for which the row does not run at all.
	why string
}

// A result is what became of a row.
type result struct{ n, what, on, form, verdict, took, seen string }

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
	fmt.Printf("\n| row | failure | database | form | result | took | seen |\n" +
		"|---|---|---|---|---|---|---|\n")
	counts := make(map[string]int)
	for _, x := range r.list {
		counts[x.verdict]++
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %s |\n", x.n, x.what, x.on, x.form, x.verdict,
			x.took, x.seen)
	}
	fmt.Printf("\n%d ok, %d failed, %d not run\n", counts[ok], counts[failed], counts[notRun])
}

// What may become of a row.
const ok, failed, notRun = "ok", "FAILED", "not run"

// forms are the forms in which depth asks for a row.
func (r *row) forms() []string {
	switch {
	case r.test == nil: // another package's test knows its forms
		return []string{""}
	case r.file != "" && depth == "":
		return []string{inFile}
	case r.away || depth != "":
		return []string{inFile, inURL}
	default: // the one that fewer tests see to elsewhere
		return []string{inURL}
	}
}

// What hotrow is started with.
const inFile, inURL = "file", "URL"

// play runs those of rows that depth asks for.
func play(t *testing.T, rows []row) {
	for _, r := range rows {
		if depth == "" && !r.often && !r.away {
			continue
		}
		if r.why != "" {
			report.add(result{n: r.n, what: r.what, on: r.on, verdict: notRun, seen: r.why})
			continue
		}
		for _, form := range r.forms() {
			x := result{n: r.n, what: r.what, on: r.on, form: form, verdict: notRun, seen: r.file}
			if form == inURL && r.file != "" {
				report.add(x)
				continue
			}
			t.Run(r.name(form), func(t *testing.T) {
				if depth == "" {
					t.Parallel() // it waits for the most part; in the table a row has the machine
				}
				r.run(t, x)
			})
		}
	}
}

// run runs the row in the form of x, and reports what became of it.
func (r *row) run(t *testing.T, x result) {
	x.seen, x.verdict = "", failed
	begin := time.Now()
	defer func() {
		if t.Skipped() {
			x.verdict, x.seen = notRun, "what it needs is missing: "+t.Name()
		}
		x.took = fmt.Sprintf("%.1f s", time.Since(begin).Seconds())
		report.add(x)
	}()
	x.seen = r.see(t)
	if !t.Failed() {
		x.verdict = ok
	}
	t.Log(x.seen)
}

// name is what -run knows the row by, in a form.
func (r *row) name(form string) string {
	name := r.n + " " + r.what
	if r.on != "" {
		name += " (" + r.on + ")"
	}
	if form == inURL {
		name += " by URL"
	}
	return name
}

// see runs the row, and returns what was seen.
func (r *row) see(t *testing.T) string {
	t.Helper()
	if r.test != nil {
		return r.test(t)
	}
	return other(t, r.elsewhere, strings.Fields(r.tests))
}

// other runs tests of another package, which see to a row. A name that no test
// begins with fails.
func other(t *testing.T, pkg string, tests []string) string {
	t.Helper()
	pattern := "^(" + strings.Join(tests, "|") + ")"
	cmd := exec.Command("go", "test", "-count=1", "-timeout", "5m", "-v", "-run", pattern, "../"+pkg)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("%s: no test whose name begins with %s has run", pkg, name)
		}
	}
	return fmt.Sprintf("`%s`: %d tests, %s", pkg, strings.Count(string(out), "\n--- PASS: "),
		strings.Join(tests, ", "))
}
