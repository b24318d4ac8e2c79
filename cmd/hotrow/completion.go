package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type completionCmd struct{ Shell string }

// completionCommand returns hotrow completion.
func completionCommand(p *program) *cobra.Command {
	c := new(completionCmd)
	var cmd *cobra.Command
	cmd = p.command("completion", "Print a script that has a shell complete commands.",
		func(p *program) error { return c.Run(p, cmd.Root()) },
		argument{"<shell>", "bash, zsh or fish.", newOneOf(&c.Shell, "", "bash", "zsh", "fish")})
	return cmd
}

// Run prints a script that has the shell complete command lines of hotrow.
func (c *completionCmd) Run(p *program, root *cobra.Command) error {
	write := map[string]func([]place) string{
		"bash": completeBash, "zsh": completeZsh, "fish": completeFish,
	}[c.Shell]
	_, err := fmt.Fprint(p.stdout, write(p.places(root)))
	return err
}

// A place is a point in the tree of commands, and what may follow there.
type place struct {
	path     string // the commands that lead there: "links key"
	commands []choice
	flags    []choice
}

// A choice is a word that may follow, and what it means.
type choice struct {
	word, help string
	value      bool     // a flag that takes a value
	values     []string // all that it takes, if they are few
}

// places returns the tree below a command, itself first.
func (p *program) places(cmd *cobra.Command) []place {
	at := place{path: pathOf(cmd)}
	add := func(f *pflag.Flag) {
		_, help := pflag.UnquoteUsage(f)
		flag := choice{word: "--" + f.Name, help: help, value: takesValue(f)}
		if of, ok := f.Value.(*oneOf); ok {
			flag.values = of.words
		}
		at.flags = append(at.flags, flag)
		if f.Shorthand != "" {
			flag.word = "-" + f.Shorthand
			at.flags = append(at.flags, flag)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, a := range p.arguments[cmd] {
		if of, ok := a.to.(*oneOf); ok { // as good as commands
			for _, word := range of.words {
				at.commands = append(at.commands, choice{word: word, help: a.help})
			}
		}
	}
	all := []place{at}
	for _, child := range cmd.Commands() {
		if !child.IsAvailableCommand() {
			continue
		}
		all[0].commands = append(all[0].commands, choice{word: child.Name(), help: child.Short})
		all = append(all, p.places(child)...)
	}
	return all
}

// words returns the words of choices, a blank between them.
func words(choices []choice) string {
	var all []string
	for _, c := range choices {
		all = append(all, c.word)
	}
	return strings.Join(all, " ")
}

// quote quotes a word for bash and zsh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// completeBash returns the script for bash. The commands come first on a line: they say
// which flags may follow. What is no command and no flag is the name of a file.
func completeBash(all []place) string {
	var b strings.Builder
	b.WriteString("# bash completion for hotrow, made by: hotrow completion bash\n\n" +
		"_hotrow_commands() {\n\tcase $1 in\n")
	for _, at := range all {
		fmt.Fprintf(&b, "\t%s) echo %s ;;\n", quote(at.path), quote(words(at.commands)))
	}
	b.WriteString("\tesac\n}\n\n_hotrow_flags() {\n\tcase $1 in\n")
	for _, at := range all {
		fmt.Fprintf(&b, "\t%s) echo %s ;;\n", quote(at.path), quote(words(at.flags)))
	}
	b.WriteString("\tesac\n}\n\n# The values of a flag; fails where any may follow.\n" +
		"_hotrow_values() {\n\tcase $1 in\n")
	for _, at := range all {
		for _, f := range at.flags {
			if f.value {
				fmt.Fprintf(&b, "\t%s) echo %s ;;\n", quote(at.path+" "+f.word),
					quote(strings.Join(f.values, " ")))
			}
		}
	}
	b.WriteString(`	*) return 1 ;;
	esac
}

_hotrow() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local path= found= i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ " $(_hotrow_commands "$path") " == *" ${COMP_WORDS[i]} "* ]] || break
		path=${path:+$path }${COMP_WORDS[i]}
	done
	if [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
	if [[ $cur == "=" ]]; then cur=; fi
	if ! found=$(_hotrow_values "$path $prev"); then
		if [[ $cur == -* ]]; then
			found=$(_hotrow_flags "$path")
		else
			found=$(_hotrow_commands "$path")
		fi
	fi
	COMPREPLY=($(compgen -W "$found" -- "$cur"))
}

complete -o bashdefault -o default -F _hotrow hotrow
`)
	return b.String()
}

// completeZsh returns the script for zsh, which is made as that for bash.
func completeZsh(all []place) string {
	var b strings.Builder
	b.WriteString("#compdef hotrow\n# zsh completion for hotrow, made by: hotrow completion zsh\n" +
		"\n_hotrow_at() {\n\tcase $1 in\n")
	for _, at := range all {
		fmt.Fprintf(&b, "\t%s)\n\t\tcommands=(%s)\n\t\tflags=(%s)\n\t\t;;\n", quote(at.path),
			described(at.commands), described(at.flags))
	}
	b.WriteString("\tesac\n}\n\n# The values of a flag; fails where any may follow.\n" +
		"_hotrow_values() {\n\tcase $1 in\n")
	for _, at := range all {
		for _, f := range at.flags {
			if f.value {
				fmt.Fprintf(&b, "\t%s) values=(%s) ;;\n", quote(at.path+" "+f.word),
					strings.Join(f.values, " "))
			}
		}
	}
	b.WriteString(`	*) return 1 ;;
	esac
}

_hotrow() {
	local at= i flag
	local -a commands flags values
	_hotrow_at ''
	for ((i = 2; i < CURRENT; i++)); do
		[[ -n ${(M)commands:#${words[i]}:*} ]] || break
		at=${at:+$at }${words[i]}
		commands=() flags=()
		_hotrow_at "$at"
	done
	flag=${words[CURRENT-1]}
	if [[ ${words[CURRENT]} == --*=* ]]; then
		flag=${words[CURRENT]%%=*}
		compset -P '*='
	fi
	if _hotrow_values "$at $flag"; then
		if (( $#values )); then compadd -a values; else _files; fi
	elif [[ ${words[CURRENT]} == -* ]]; then
		_describe -o flag flags
	elif (( $#commands )); then
		_describe command commands
	else
		_files
	fi
}

compdef _hotrow hotrow
`)
	return b.String()
}

// described returns choices as zsh's _describe takes them.
func described(choices []choice) string {
	var all []string
	for _, c := range choices {
		all = append(all, quote(c.word+":"+c.help))
	}
	return strings.Join(all, " ")
}

// completeFish returns the script for fish.
func completeFish(all []place) string {
	var b strings.Builder
	b.WriteString(`# fish completion for hotrow, made by: hotrow completion fish

# Whether the words before the cursor begin with these commands, and with how many more at most.
function __hotrow_at
    set -l words (commandline -opc)[2..]
    set -l path (string split -n ' ' -- $argv[1])
    set -l n (count $path)
    test (count $words) -ge $n; or return 1
    test $n -eq 0; or test "$words[1..$n]" = "$path"; or return 1
    test "$argv[2]" != exactly; or test (count $words) -eq $n
end

`)
	quote := func(s string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
	}
	for _, at := range all {
		exactly := quote("__hotrow_at " + quote(at.path) + " exactly")
		for _, c := range at.commands {
			fmt.Fprintf(&b, "complete -c hotrow -f -n %s -a %s -d %s\n", exactly, c.word,
				quote(c.help))
		}
		if len(at.commands) > 0 {
			continue // its flags are those of every command
		}
		for _, f := range at.flags {
			kind, word := "-l", strings.TrimPrefix(f.word, "--")
			if len(f.word) == 2 {
				kind, word = "-s", f.word[1:]
			}
			fmt.Fprintf(&b, "complete -c hotrow -n %s %s %s -d %s",
				quote("__hotrow_at "+quote(at.path)), kind, word, quote(f.help))
			switch {
			case f.values != nil:
				fmt.Fprintf(&b, " -x -a %s", quote(strings.Join(f.values, " ")))
			case f.value:
				b.WriteString(" -r")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
