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
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/hotrow/hotrow/internal/config"
)

// commands is the command line: one field, one file, one command.
type commands struct {
	Serve      serveCmd      `cmd:"" help:"Serve a database, or the demo when none is given."`
	Init       initCmd       `cmd:"" help:"Print a configuration for the tables of a database."`
	Check      checkCmd      `cmd:"" help:"Check a configuration against its databases."`
	Doctor     doctorCmd     `cmd:"" help:"Say what the change feed of a database needs."`
	Get        getCmd        `cmd:"" help:"Read one document, from the running server or directly."`
	Invalidate invalidateCmd `cmd:"" help:"Have the server forget a document or a resource."`
	Top        topCmd        `cmd:"" help:"Show what a running hotrow does: a frame a second."`
	Token      tokenCmd      `cmd:"" help:"Make a bearer token and its line for the configuration."`
	Proxy      proxyCmd      `cmd:"" help:"Relay HTTP over upstream connections that stay open."`
	Links      linksCmd      `cmd:"" help:"Make, find, import and export short links."`
	Bench      benchCmd      `cmd:"" help:"Load servers with requests and compare them."`
	Completion completionCmd `cmd:"" help:"Print a script that has a shell complete commands."`
	Man        manCmd        `cmd:"" help:"Print the manual page."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// program is what every command gets.
type program struct {
	ctx            context.Context
	stdout, stderr io.Writer
	env            []string

	sockets map[string]net.Listener // that systemd has opened for serve, by name
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Environ()))
}

// run runs one command line and returns the exit status: 0 done, 1 failed, 2
// wrong usage or configuration.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, env []string) int {
	code := -1
	if len(args) > 0 && args[0] == "help" { // as people type it: help serve is serve --help
		args = append(slices.Clone(args[1:]), "--help")
	}
	parser, err := kong.New(new(commands),
		kong.Name("hotrow"),
		kong.Description("Rows of your database at memory speed, kept fresh by its change feed."),
		kong.UsageOnError(), kong.Writers(stdout, stderr),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(c int) { code = c }),
	)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	p := &program{ctx: ctx, stdout: stdout, stderr: stderr, env: env}
	kctx, err := parser.Parse(args)
	if code >= 0 { // --help has been printed
		return code
	}
	if err != nil {
		err = usageError{err}
	} else if err = kctx.Run(p); err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "hotrow: %v\n", err)
	var problems config.Problems
	if errors.As(err, new(usageError)) || errors.As(err, &problems) {
		return 2
	}
	return 1
}
