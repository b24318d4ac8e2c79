// Command bench measures hotrow beside its peers: each a process of its own,
// started here, warmed up, and loaded in interleaved rounds by a generator that
// is a process of its own as well. It runs in the repository, whose programs it builds.
//
//	go run ./bench                 all scenarios, in full
//	go run ./bench -quick          every scenario for a moment, to see that it works
//	go run ./bench -run hits       scenarios whose name matches
//	go run ./bench -show           pages and plots again, from bench/results
//	go run ./bench wire            gofast's published runs at a server that is there
//
// What is measured is written to bench/results: a table, the runs as JSON and
// plots, with what is needed to judge them. Figures that are held to something are
// listed with it; missing it is no error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hotrow/hotrow/bench/harness"
	"github.com/hotrow/hotrow/bench/scenarios"
	"github.com/hotrow/hotrow/bench/tiers"
	"github.com/hotrow/hotrow/bench/wirebench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	harness.RaiseFiles()
	switch {
	case len(os.Args) == 2 && os.Args[1] == harness.GenerateCommand:
		err = harness.Generate(ctx, os.Stdin, os.Stdout)
	case len(os.Args) > 1 && os.Args[1] == wirebench.Command:
		err = benchWire(ctx, os.Args[2:], os.Stdout, os.Stderr)
	case len(os.Args) == 3 && os.Args[1] == tiers.Command:
		err = tiers.Serve(ctx, os.Args[2])
	default:
		err = bench(ctx, os.Args[1:])
	}
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (*harness.Options, error) {
	o := &harness.Options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.Quick, "quick", false, "every scenario for a moment; writes below -work")
	run := flags.String("run", "", "only scenarios whose name matches this `regexp`")
	flags.IntVar(&o.Rounds, "rounds", 5, "rounds, of which the median is reported")
	flags.DurationVar(&o.Duration, "duration", 4*time.Second, "measured of each row and round")
	flags.DurationVar(&o.Warmup, "warmup", time.Second, "before it")
	flags.IntVar(&o.Keys, "keys", 100_000, "documents")
	flags.StringVar(&o.Results, "results", "bench/results", "`directory` for the results")
	flags.StringVar(&o.Work, "work", "build/bench", "`directory` for data and programs; kept")
	flags.StringVar(&o.Hotrow, "hotrow", "", "a `program` to measure instead of this tree's")
	flags.BoolVar(&o.Show, "show", false, "no measuring: pages and plots again, from the JSON")
	flags.Func("connections", "only these, `N,N`: for a look in between",
		func(text string) error { return connect(o, text) })
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if o.Run, err = regexp.Compile(*run); err != nil {
		return nil, err
	}
	if o.Quick {
		o.Rounds, o.Keys = 1, 2000
		o.Duration, o.Warmup = 300*time.Millisecond, 100*time.Millisecond
		o.Results = o.Work + "/quick"
	}
	return o, nil
}

// connect reads the numbers of connections.
func connect(o *harness.Options, text string) error {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of connections", part)
		}
		o.At = append(o.At, n)
	}
	return nil
}

// bench runs the scenarios.
func bench(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the bench needs Linux: it pins processes and reads /proc; " +
			"hotrow bench http works anywhere")
	}
	registry := scenarios.NewRegistry()
	all, err := harness.ReadScenarios(scenarios.Files, o.Run, registry)
	if err != nil {
		return err
	}
	if o.Show {
		return showAgain(all, o)
	}
	for _, s := range all {
		if o.At != nil {
			s.Connections = o.At
		}
		if o.Quick {
			s.Shorten()
		}
	}
	w, err := harness.NewFixture(ctx, o, registry)
	if err != nil {
		return err
	}
	defer w.Close()
	for _, s := range all {
		fmt.Printf("== %s\n", s.Name)
		report, err := w.Measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := report.Write(o.Results); err != nil {
			return err
		}
		if s.Name == harness.ShownScenario && !o.Quick {
			if err := report.Show("README.md"); err != nil {
				return err
			}
		}
	}
	return nil
}

// showAgain makes the pages and plots of scenarios from their runs, and the
// README's table.
func showAgain(all []*harness.Scenario, o *harness.Options) error {
	for _, s := range all {
		report, err := harness.ReadReport(s, o)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := report.Write(o.Results); err != nil {
			return err
		}
		if s.Name == harness.ShownScenario {
			if err := report.Show("README.md"); err != nil {
				return err
			}
		}
	}
	return nil
}
