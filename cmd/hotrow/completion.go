package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionCommand returns hotrow completion.
func completionCommand(p *program) *cobra.Command {
	var shell string
	var cmd *cobra.Command
	cmd = p.command("completion", "Print a script that has a shell complete commands.",
		func(p *program) error {
			switch root := cmd.Root(); shell {
			case "bash":
				return root.GenBashCompletionV2(p.stdout, true)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			default:
				return root.GenFishCompletion(p.stdout, true)
			}
		},
		argument{"<shell>", "bash, zsh or fish.", newOneOf(&shell, "", "bash", "zsh", "fish")})
	return cmd
}

// describeWords tells cobra, when one of its scripts asks what may follow, which words flags
// and arguments take. A flag that takes any value takes the name of a file.
func (p *program) describeWords(root *cobra.Command) {
	if len(p.args) == 0 || !strings.HasPrefix(p.args[0], cobra.ShellCompRequestCmd) {
		return
	}
	words := func(of *oneOf) cobra.CompletionFunc {
		return cobra.FixedCompletions(of.words, cobra.ShellCompDirectiveNoFileComp)
	}
	for _, cmd := range leaves(root) {
		for _, a := range p.arguments[cmd] {
			if of, ok := a.to.(*oneOf); ok {
				cmd.ValidArgsFunction = words(of)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, f.Usage = pflag.UnquoteUsage(f)
			if of, ok := f.Value.(*oneOf); ok {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, words(of)) // the flag is there
			}
		})
	}
}
