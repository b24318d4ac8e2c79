package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An argument follows a command by its place.
type argument struct {
	use  string // <name>, [<name>] if it may be left out; ... in it: several may be given
	help string
	to   any // *string, pflag.Value, or *[]string for several
}

// required reports whether a command line must have it.
func (a argument) required() bool { return !strings.HasPrefix(a.use, "[") }

// command returns a command that runs run. Its flags are for the caller to add.
func (p *program) command(
	name, short string, run func(*program) error, arguments ...argument,
) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short,
		Args: func(_ *cobra.Command, args []string) error { return take(arguments, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.complete(cmd.Flags()); err != nil {
				return err
			}
			p.understood = true
			return run(p)
		},
	}
	cmd.Flags().SortFlags = false
	for _, a := range arguments {
		cmd.Use += " " + a.use
	}
	p.arguments[cmd] = arguments
	return cmd
}

// take gives a command the arguments that follow it.
func take(arguments []argument, args []string) error {
	if i := slices.Index(args, ""); i >= 0 && len(arguments) > 0 {
		use := arguments[min(i, len(arguments)-1)].use // the last may be several
		return fmt.Errorf("%s is empty: is a variable not set?", use)
	}
	var missing []string
	for _, a := range arguments {
		if len(args) == 0 {
			if a.required() {
				missing = append(missing, a.use)
			}
			continue
		}
		switch to := a.to.(type) {
		case *string:
			*to, args = args[0], args[1:]
		case pflag.Value:
			if err := to.Set(args[0]); err != nil {
				return fmt.Errorf("%s %q: %w", a.use, args[0], err)
			}
			args = args[1:]
		case *[]string:
			*to, args = args, nil
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("expected %q", strings.Join(missing, " "))
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %s", args[0])
	}
	return nil
}

// group returns a command that is followed by one of commands.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " <command>", Short: short, DisableFlagsInUseLine: true, RunE: noCommand,
	}
	cmd.AddCommand(commands...)
	return cmd
}

// noCommand says that a group is followed by none of its commands.
func noCommand(group *cobra.Command, args []string) error {
	var names []string
	for _, c := range group.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(args) == 0 {
		return fmt.Errorf("expected one of %s", strings.Join(names, ", "))
	}
	return fmt.Errorf("unknown command %s%s", args[0], didYouMean(args[0], names))
}

// leaves returns the commands below cmd that no other follows.
func leaves(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		switch {
		case !c.IsAvailableCommand():
		case c.HasSubCommands():
			all = append(all, leaves(c)...)
		default:
			all = append(all, c)
		}
	}
	return all
}

// pathOf returns the words that lead to a command: "links key add".
func pathOf(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// helpWidth is how many columns help has.
const helpWidth = 80

// help prints what --help says of a command.
func (p *program) help(cmd *cobra.Command, _ []string) {
	if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
		p.noHelp = noCommand(cmd, args)
		return
	}
	out := tabwriter.NewWriter(p.stdout, 0, 0, 4, ' ', 0)
	defer func() { _ = out.Flush() }() // run says what is lost
	fmt.Fprintf(out, "Usage: %s\n\n%s\n", cmd.UseLine(), cmd.Short)
	if len(p.arguments[cmd]) > 0 {
		fmt.Fprintln(out, "\nArguments:")
	}
	for _, a := range p.arguments[cmd] {
		fmt.Fprintf(out, "  %s\t%s\n", a.use, a.help)
	}
	fmt.Fprintf(out, "\nFlags:\n%s", cmd.Flags().FlagUsagesWrapped(helpWidth))
	if !cmd.HasSubCommands() {
		return
	}
	fmt.Fprintln(out, "\nCommands:")
	for _, c := range leaves(cmd) {
		fmt.Fprintf(out, "  %s\t%s\n", pathOf(c), c.Short)
	}
	fmt.Fprintf(out, "\nRun \"%s <command> --help\" for more about a command.\n", cmd.CommandPath())
}
