// Command bench measures hotrow beside its peers: each a process of its own,
// started here, warmed up, and loaded in interleaved rounds by a generator that
// is a process of its own as well.
//
//	go run ./bench                 all scenarios, in full
//	go run ./bench -quick          every scenario for a moment, to see that it works
//	go run ./bench -run hits       scenarios whose name matches
//	go run ./bench -show           the README's table again, from bench/results
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
)

// generateCommand is the argument that makes this program the generator.
const generateCommand = "generate"

// options are the command line.
type options struct {
	quick    bool
	run      *regexp.Regexp
	rounds   int
	duration time.Duration
	warmup   time.Duration
	keys     int
	at       []int // connections, instead of those that a scenario names
	results  string
	work     string
	hotrow   string
	show     bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	raiseFiles()
	switch {
	case len(os.Args) == 2 && os.Args[1] == generateCommand:
		err = generate(ctx, os.Stdin, os.Stdout)
	case len(os.Args) == 3 && os.Args[1] == tiersCommand:
		err = serveTiers(ctx, os.Args[2])
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
func parse(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&o.quick, "quick", false, "every scenario for a moment; writes below -work")
	run := flags.String("run", "", "only scenarios whose name matches this `regexp`")
	flags.IntVar(&o.rounds, "rounds", 5, "rounds, of which the median is reported")
	flags.DurationVar(&o.duration, "duration", 4*time.Second, "measured of each row and round")
	flags.DurationVar(&o.warmup, "warmup", time.Second, "before it")
	flags.IntVar(&o.keys, "keys", 100_000, "documents")
	flags.StringVar(&o.results, "results", "bench/results", "`directory` for the results")
	flags.StringVar(&o.work, "work", "build/bench", "`directory` for data and programs; kept")
	flags.StringVar(&o.hotrow, "hotrow", "", "a `program` to measure instead of this tree's")
	flags.BoolVar(&o.show, "show", false, "no measuring: pages and plots again, from the JSON")
	flags.Func("connections", "only these, `N,N`: for a look in between", o.connect)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if o.run, err = regexp.Compile(*run); err != nil {
		return nil, err
	}
	if o.quick {
		o.rounds, o.keys = 1, 2000
		o.duration, o.warmup = 300*time.Millisecond, 100*time.Millisecond
		o.results = o.work + "/quick"
	}
	return o, nil
}

// connect reads the numbers of connections.
func (o *options) connect(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of connections", part)
		}
		o.at = append(o.at, n)
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
	scenarios, err := readScenarios("bench/scenarios", o.run)
	if err != nil {
		return fmt.Errorf("%w (run it from the repository's root)", err)
	}
	if o.show {
		return showAgain(scenarios, o)
	}
	for _, s := range scenarios {
		if o.at != nil {
			s.Connections = o.at
		}
		if o.quick {
			s.shorten()
		}
	}
	w, err := newFixture(ctx, o)
	if err != nil {
		return err
	}
	defer w.close()
	for _, s := range scenarios {
		fmt.Printf("== %s\n", s.Name)
		report, err := w.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		if err := report.write(o.results); err != nil {
			return err
		}
		if s.Name == shownScenario && !o.quick {
			if err := report.show("README.md"); err != nil {
				return err
			}
		}
	}
	return nil
}

// showAgain makes the pages and plots of scenarios from their runs, and the
// README's table.
func showAgain(scenarios []*scenario, o *options) error {
	for _, s := range scenarios {
		report, err := readReport(s, o)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := report.write(o.results); err != nil {
			return err
		}
		if s.Name == shownScenario {
			if err := report.show("README.md"); err != nil {
				return err
			}
		}
	}
	return nil
}
