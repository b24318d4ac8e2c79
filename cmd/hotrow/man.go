package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/hotrow/hotrow/internal/config"
)

type manCmd struct{}

// Run prints the manual page hotrow(1), for man(1).
func (*manCmd) Run(p *program, k *kong.Context) error {
	var b strings.Builder
	v, _ := buildVersion()
	fmt.Fprintf(&b, ".TH HOTROW 1 \"\" %s\n", roffQuote("hotrow "+v))
	fmt.Fprintf(&b, ".SH NAME\nhotrow \\- %s\n", roff("rows of a database at memory speed"))
	b.WriteString(".SH SYNOPSIS\n.B hotrow\n.I command\n[\\fIflags\\fR]\n")
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\nWithout a configuration \\fBhotrow serve\\fR serves a "+
		"demo on 127.0.0.1:8080.\n", roff(k.Model.Help))
	b.WriteString(".SH COMMANDS\n")
	for _, n := range k.Model.Leaves(true) {
		manCommand(&b, n)
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

// manCommand appends the part of one command.
func manCommand(b *strings.Builder, n *kong.Node) {
	fmt.Fprintf(b, ".SS %s\n%s\n", roffQuote(n.Summary()), roff(n.Help))
	for _, arg := range n.Positional {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", roff(arg.Summary()), roff(arg.Help))
	}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		name := "--" + f.Name
		if f.Short != 0 {
			name = "-" + string(f.Short) + ", " + name
		}
		if !f.IsBool() && !f.IsCounter() {
			name += "=" + f.FormatPlaceHolder()
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(f.Help))
	}
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
