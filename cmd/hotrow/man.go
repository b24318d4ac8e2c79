package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hotrow/hotrow/internal/config"
)

// manCommand returns hotrow man.
func manCommand(p *program) *cobra.Command {
	var cmd *cobra.Command
	cmd = p.command("man", "Print the manual page.",
		func(p *program) error { return p.printMan(cmd.Root()) })
	return cmd
}

// printMan prints the manual page hotrow(1), for man(1).
func (p *program) printMan(root *cobra.Command) error {
	var b strings.Builder
	v, _ := buildVersion()
	fmt.Fprintf(&b, ".TH HOTROW 1 \"\" %s\n", roffQuote("hotrow "+v))
	fmt.Fprintf(&b, ".SH NAME\nhotrow \\- %s\n", roff("rows of a database at memory speed"))
	b.WriteString(".SH SYNOPSIS\n.B hotrow\n.I command\n[\\fIflags\\fR]\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n\\fBhotrow demo\\fR serves data to try "+
		"it with on 127.0.0.1:8080.\n", roff(root.Short))
	b.WriteString(".SH COMMANDS\n")
	for _, cmd := range leaves(root) {
		p.manSection(&b, cmd)
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range config.Variables() {
		if v.Flag != "" {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(v.Name), roff("as if given by "+v.Flag))
		} else if v.Key != "" {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(v.Name), roff("the configuration's "+v.Key))
		}
	}
	b.WriteString(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage or configuration.\n" +
		".SH FILES\n.TP\n.I /etc/hotrow/hotrow.yaml\nThe configuration of the service.\n" +
		".TP\n.I /etc/default/hotrow\nVariables of the service: passwords.\n" +
		".TP\n.I /var/lib/hotrow\nWhat the service keeps.\n")
	_, err := fmt.Fprint(p.stdout, b.String())
	return err
}

// manSection appends the part of one command.
func (p *program) manSection(b *strings.Builder, cmd *cobra.Command) {
	_, usage, _ := strings.Cut(cmd.UseLine(), " ") // after the program's name
	fmt.Fprintf(b, ".SS %s\n%s\n", roffQuote(usage), roff(cmd.Short))
	for _, a := range p.arguments[cmd] {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roff(a.use), roff(a.help))
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value, help := pflag.UnquoteUsage(f)
		if takesValue(f) {
			name += "=" + value
		}
		if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) {
			help += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(help))
	})
}

// roff escapes text: a backslash, a hyphen that is to be one, and what would be a request
// at the beginning of a line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// roffQuote returns text as one argument of a request.
func roffQuote(s string) string { return `"` + strings.ReplaceAll(roff(s), `"`, `\(dq`) + `"` }
