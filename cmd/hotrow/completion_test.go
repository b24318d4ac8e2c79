package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// Each program prints what the shell makes of the words of a line, the last of which is
// to be completed. $SCRIPT is the completion.
var shells = map[string]string{
	// What the package bash-completion has for scripts is one function here.
	"bash": `_get_comp_words_by_ref() {
			words=("${COMP_WORDS[@]}") cword=$COMP_CWORD cur=${words[cword]} prev=${words[cword-1]}
		}
		compopt() { :; } # there is no line that is completed
		source $SCRIPT; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); __start_hotrow
		echo "${COMPREPLY[@]}"`,
	"fish": `source $SCRIPT; complete -C "$argv" | cut -f 1`,
	// It has no way to ask for completions but to type a tab.
	"zsh": `zmodload zsh/zpty; zpty z zsh -f -i
		zpty -w z "autoload -U compinit; compinit -u -D; source $SCRIPT; PS1= ; unsetopt beep"
		zpty -w z 'show() { print -r -- "<<$BUFFER>>" }; zle -N show; bindkey "^X" show'
		zpty -w z 'print ready''ness'
		while zpty -r z line; do [[ $line == readyness* ]] && break; done
		zpty -n -w z "$*"$'\t\030'
		while zpty -r z line; do [[ $line == *'<<'*'>>'* ]] && break; done
		zpty -d z
		line=${${line##*<<}%%>>*}; line=${line% }; print -r -- ${line##* }`,
}

func TestCompletion_CompletesInEveryShell(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{"hotrow ser", "serve"},
		{"hotrow links k", "key"},
		{"hotrow links key a", "add"},
		{"hotrow demo --sc", "--scale"},
		{"hotrow serve --feed log", "logical"},
		{"hotrow links export --format c", "csv"},
		{"hotrow completion f", "fish"},
	}
	bin := programDir(t)
	for shell, program := range shells {
		path := dbtest.Program(t, shell, shell)
		script := filepath.Join(t.TempDir(), "script")
		text := mustCommand(t, "completion", shell)
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tt := range tests {
			args := []string{"-c", program}
			if shell != "fish" {
				args = append(args, shell) // $0
			}
			cmd := exec.CommandContext(t.Context(), path, append(args, strings.Fields(tt.line)...)...)
			cmd.Env = append(os.Environ(), "SCRIPT="+script, "HOME="+t.TempDir(), "TERM=dumb",
				"PATH="+bin+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != tt.want {
				t.Errorf("%s, %q: %q, %v, want %q", shell, tt.line, got, err, tt.want)
			}
		}
	}
	if code, _, stderr := command(t, "completion", "tcsh"); code != 2 ||
		!strings.Contains(stderr, `must be one of "bash","zsh","fish"`) {
		t.Errorf("tcsh: exit %d, %s", code, stderr)
	}
}

func TestMan_HasEveryCommand(t *testing.T) {
	man := dbtest.Program(t, "man", "man-db")
	cmd := exec.CommandContext(t.Context(), man, "--warnings", "-l", "-")
	cmd.Env = append(os.Environ(), "MANWIDTH=100", "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(mustCommand(t, "man"))
	var warnings strings.Builder
	cmd.Stderr = &warnings
	page, err := cmd.Output()
	if err != nil || warnings.Len() > 0 {
		t.Errorf("man: %v, %s", err, &warnings)
	}
	for _, want := range []string{"serve [<target>] [flags]", "links key add", "-c, --config=FILE",
		"HOTROW_TOKEN", "/etc/hotrow/hotrow.yaml"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not have %q:\n%s", want, page)
		}
	}
}
