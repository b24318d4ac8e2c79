// Command hotrow serves the rows of a database from memory, and keeps them
// fresh by following the database's own change feed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hotrow/hotrow/internal/config"
)

// program is what every command gets.
type program struct {
	ctx            context.Context
	stdout, stderr io.Writer
	given          io.Writer // what stdout writes to
	args, env      []string

	sockets map[string]net.Listener // that systemd has opened for serve, by name

	arguments  map[*cobra.Command][]argument // of the commands
	understood bool                          // the command line, and a command runs
	noHelp     error                         // why --help printed none
}

// getenv returns a variable of the environment; "": it is empty or not set.
func (p *program) getenv(name string) string {
	for _, e := range slices.Backward(p.env) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// warn tells what of a configuration is doubtful.
func (p *program) warn(warnings []config.Warning) {
	for _, w := range warnings {
		fmt.Fprintf(p.stderr, "hotrow: warning: %v\n", w)
	}
}

// usageError is an error of whoever started the program: exit status 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func main() {
	ctx, stop := untilSignal()
	defer stop()
	cobra.EnableCommandSorting = false // help has the commands as root lists them
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
}

// untilSignal returns a context that the first signal to stop ends. The second one ends the
// program, as if nobody had asked for signals: it is asked no more before the context ends, so
// whatever follows from the end (a closed listener, a line of the log) can be waited for.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case <-first:
		case <-ctx.Done():
		}
		signal.Stop(first)
		cancel()
	}()
	return ctx, cancel
}

// run runs one command line and returns the exit status: 0 done, 1 failed, 2
// wrong usage or configuration.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, env []string) int {
	args = append([]string{}, args...)      // cobra takes nil for the process's own
	if len(args) > 0 && args[0] == "help" { // as people type it: help serve is serve --help
		args = append(args[1:], "--help")
	}
	if len(args) > 0 && args[0] == "--version" { // as people type it, too
		args[0] = "version"
	}
	out := &checkedWriter{w: stdout}
	p := &program{ctx: ctx, stdout: out, given: stdout, stderr: stderr, args: args, env: env}
	root := p.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = p.noHelp
	}
	if err != nil && !p.understood {
		err = usageError{flagError(cmd, err)}
	}
	if err == nil {
		err = out.lost()
	}
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "hotrow: %v\n", err)
	var problems config.Problems
	if errors.As(err, new(usageError)) || errors.As(err, &problems) {
		return 2
	}
	return 1
}

// root returns the command line: one function, one file, one command.
func (p *program) root() *cobra.Command {
	p.arguments = make(map[*cobra.Command][]argument)
	root := group("hotrow", "Rows of your database at memory speed, kept fresh by its change feed.",
		demoCommand(p), serveCommand(p), initCommand(p), checkCommand(p), doctorCommand(p),
		getCommand(p), typesCommand(p),
		invalidateCommand(p), topCommand(p), tokenCommand(p), proxyCommand(p), linksCommand(p),
		benchCommand(p), completionCommand(p), manCommand(p), versionCommand(p))
	root.PersistentFlags().BoolP("help", "h", false, "Print this help.")
	root.SetHelpFunc(p.help)
	root.SetHelpCommand(&cobra.Command{ // which run replaces by --help
		Use: "help <command>", Short: "Print the help of a command.", Hidden: true,
	})
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SilenceErrors, root.SilenceUsage = true, true // run says what is wrong
	root.TraverseChildren = true                       // a flag follows its command
	p.describeWords(root)
	return root
}
