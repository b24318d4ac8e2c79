// Command mutants shows that the tests of package fresh can fail: it breaks one
// rule of the protocol after the other and demands that a test notices. The
// files in the tree are not touched: go test -overlay puts a broken copy in the
// place of one file.
//
//	go run ./internal/fresh/mutants [-run REGEXP] [-stages REGEXP] [-v]
//
// It exits with 1 when a mutant survives, or a harmless one does not, and with 2
// when a mutant of the list does not fit the code any more or the tests fail
// without one.
//
// Left out, because no behaviour changes: the invalidation in Begin for Now (Finish
// invalidates the same loads before anybody can have seen more), the drop in Release
// (nothing is stored under a hold, and its settling invalidates), and the order of
// generation and wholes in Invalidation.settle (no lease between the two is stored).
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// workers is how many mutants are tried at one time.
const workers = 2

func main() {
	only := flag.String("run", "", "try only the mutants whose name matches `REGEXP`")
	tests := flag.String("stages", "", "run only the tests of stages whose name matches `REGEXP`")
	verbose := flag.Bool("v", false, "print what the failing test says")
	flag.Parse()
	code, err := run(*only, *tests, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	os.Exit(code)
}

// run tries the mutants and returns the exit code.
func run(only, tests string, verbose bool) (int, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return 2, err
	}
	run, err := regexp.Compile(tests)
	if err != nil {
		return 2, err
	}
	root, err := moduleRoot()
	if err != nil {
		return 2, err
	}
	tmp, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 2, err
	}
	defer os.RemoveAll(tmp)
	t := &trial{root: root, tmp: tmp, stages: run, took: make(map[string]time.Duration)}
	if res := t.try(0, mutant{name: "none"}); res.verdict != survived {
		return 2, fmt.Errorf("the tests fail without a mutant: %s\n%s", res.by, res.output)
	}
	var chosen []mutant
	for _, m := range slices.Concat(mutants, harmless) {
		if match.MatchString(m.name) {
			chosen = append(chosen, m)
		}
	}
	begin := time.Now()
	return report(t.all(chosen), time.Since(begin), verbose)
}

// all tries mutants, several at a time, and prints a line for each.
func (t *trial) all(list []mutant) []result {
	var (
		wg      sync.WaitGroup
		jobs    = make(chan int)
		results = make([]result, len(list))
		mu      sync.Mutex // guards standard output
	)
	for range workers {
		wg.Go(func() {
			for i := range jobs {
				results[i] = t.try(i+1, list[i])
				mu.Lock()
				fmt.Println(results[i])
				mu.Unlock()
			}
		})
	}
	for i := range list {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	return results
}

// report sums up and returns the exit code.
func report(results []result, took time.Duration, verbose bool) (int, error) {
	var n [3]int
	for _, r := range results {
		if isHarmless(r.name) && r.verdict != invalid {
			r.verdict = killed + survived - r.verdict
		}
		n[r.verdict]++
		if verbose && r.verdict == killed || r.verdict == invalid {
			fmt.Printf("\n%s\n%s\n", r.name, r.output)
		}
	}
	fmt.Printf("%d mutants: %d killed, %d survived, %d do not fit, in %v\n",
		len(results), n[killed], n[survived], n[invalid], took.Round(time.Second))
	switch {
	case n[invalid] > 0:
		return 2, errors.New("mend the list: see list_*.go")
	case n[survived] > 0:
		return 1, errors.New("a test is missing for each mutant that survived")
	}
	return 0, nil
}

// isHarmless reports whether a mutant must survive.
func isHarmless(name string) bool {
	return slices.ContainsFunc(harmless, func(m mutant) bool { return m.name == name })
}

// moduleRoot returns the directory of go.mod, from here upwards.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod here or above: run it inside the module")
		}
		dir = up
	}
}
