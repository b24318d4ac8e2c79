package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pkg is where the protocol is, from the root of the module.
const pkg = "internal/fresh"

// A mutant is the protocol with one rule broken.
type mutant struct {
	name  string
	edits []edit
}

// An edit replaces old, which stands in file exactly once.
type edit struct{ file, old, new string }

// stages are the tests that a mutant has to get past, fast ones first.
var stages = []stage{
	{"unit", []string{
		"-test.run=^Test(Versions|Domain|Space|WatchedIn|Answer|Order|Hit|SameVersion|FromDisk|" +
			"OnWhole|Settled|WriteThrough|Waits)"}},
	{"simulation", []string{"-test.run=^TestSimulation$", "-sim.seeds=6000"}},
	{"model", []string{"-test.run=^TestModel(_Resume|_Token.*)?$"}},
	{"versions simulation", []string{"-test.run=^TestSimulationWords$"}},
	{"versions", []string{"-test.run=^TestModelWords$"}},
	{"stress", []string{"-test.run=^TestStress", "-test.short"}},
}

// A stage is some of the tests.
type stage struct {
	name string
	args []string
}

// stages returns the stages in the order in which m is tried: what breaks a rule of lists is
// noticed by no simulation and no model of documents, which would be played first.
func (m *mutant) stages() []stage {
	list := slices.Clone(stages)
	rule, _, _ := strings.Cut(m.name, ":")
	if slices.Contains([]string{"versions", "template", "lists"}, rule) {
		last := func(s stage) bool { return s.name == "simulation" || s.name == "model" }
		slices.SortStableFunc(list, func(a, b stage) int {
			switch {
			case last(a) == last(b):
				return 0
			case last(a):
				return 1
			}
			return -1
		})
	}
	return list
}

const (
	// longest is for a command, and for a stage without a mutant: slow machines take their time.
	longest = 40 * time.Minute

	// hangs is how many times as long a stage may take with a mutant. One that hangs is noticed
	// so, and one that is only slow is not taken for killed.
	hangs   = 6
	atLeast = time.Minute // whatever it took without
)

// verdict is what became of a mutant.
type verdict int

const (
	killed verdict = iota
	survived
	invalid
)

type result struct {
	name    string
	verdict verdict
	by      string
	output  string
	took    time.Duration
}

// String is a line of the table.
func (r result) String() string {
	what := [...]string{"killed by " + r.by, "SURVIVED", "does not fit: " + r.by}[r.verdict]
	return fmt.Sprintf("%-58s %5.1fs  %s", r.name, r.took.Seconds(), what)
}

// A trial tries mutants of the module at root; tmp is its own.
type trial struct {
	root, tmp string
	stages    *regexp.Regexp
	took      map[string]time.Duration // of each stage without a mutant
}

// limit is how long a stage may take.
func (t *trial) limit(stage string) time.Duration {
	if took, known := t.took[stage]; known {
		return min(max(hangs*took, atLeast), longest)
	}
	return longest
}

// try builds the tests with a mutant in and runs them until one fails. Number 0 is no mutant: it
// says how long the others may take.
func (t *trial) try(n int, m mutant) (r result) {
	begin := time.Now()
	defer func() { r.took = time.Since(begin) }()
	r.name = m.name
	dir := filepath.Join(t.tmp, fmt.Sprint(n))
	binary, out, err := t.build(dir, m)
	if err != nil {
		r.verdict, r.by, r.output = invalid, err.Error(), out
		return r
	}
	defer os.RemoveAll(dir)
	for _, s := range m.stages() {
		if !t.stages.MatchString(s.name) {
			continue
		}
		args := append([]string{"-test.failfast"}, s.args...)
		began := time.Now()
		out, err := t.command(t.limit(s.name), filepath.Join(t.root, pkg), binary, args...)
		if n == 0 {
			t.took[s.name] = time.Since(began)
		}
		if err != nil {
			r.by, r.output = s.name, out
			if errors.Is(err, context.DeadlineExceeded) {
				r.by += ", hangs"
			} else if test := failing(out); test != "" {
				r.by += ": " + test
			}
			return r
		}
	}
	r.verdict = survived
	return r
}

// texts returns the files in dir that m changes, by their paths, as they are with m in. It
// returns an error if m does not fit them.
func (m *mutant) texts(dir string) (map[string]string, error) {
	texts := make(map[string]string)
	for _, e := range m.edits {
		path := filepath.Join(dir, e.file)
		text, read := texts[path]
		if !read {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text = string(b)
		}
		if c := strings.Count(text, e.old); c != 1 {
			return nil, fmt.Errorf("its text stands %d times in %s", c, e.file)
		}
		texts[path] = strings.Replace(text, e.old, e.new, 1)
	}
	return texts, nil
}

// build writes the mutated files into dir and compiles the tests with them.
func (t *trial) build(dir string, m mutant) (binary, out string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", "", err
	}
	texts, err := m.texts(filepath.Join(t.root, pkg))
	if err != nil {
		return "", "", err
	}
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for path, text := range texts {
		copied := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			return "", "", err
		}
		overlay.Replace[path] = copied
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", "", err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		return "", "", err
	}
	binary = filepath.Join(dir, "fresh.test")
	out, err = t.command(longest, t.root,
		"go", "test", "-c", "-overlay", list, "-o", binary, "./"+pkg)
	if err != nil {
		return "", out, errors.New("it does not compile")
	}
	return binary, out, nil
}

// command runs a program in dir and returns what it prints.
func (t *trial) command(
	limit time.Duration, dir, name string, args ...string,
) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "HOTROW_TEST_LONG=1") // every scenario
	err := cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), err
}

// failing returns the name of the last test that go test says has failed: the
// innermost.
func failing(out string) string {
	name := ""
	for line := range strings.Lines(out) {
		if _, rest, ok := strings.Cut(line, "--- FAIL: "); ok {
			name, _, _ = strings.Cut(rest, " (")
		}
	}
	return name
}
