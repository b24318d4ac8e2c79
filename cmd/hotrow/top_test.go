package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/ops"
)

// askedFor serves a file with a table of one word, asked for all the time.
func askedFor(t *testing.T) *running {
	file := filepath.Join(t.TempDir(), "words.db")
	dbtest.SQLiteShell(t, file, "CREATE TABLE word (id INTEGER PRIMARY KEY, de TEXT); "+
		"INSERT INTO word VALUES (1, 'Haus')")
	r := serve(t, file)
	ctx, cancel := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	asking.Go(func() {
		for ctx.Err() == nil {
			_ = status(r.http + "/word/1")
			time.Sleep(5 * time.Millisecond)
		}
	})
	t.Cleanup(func() { cancel(); asking.Wait() })
	return r
}

func TestTop_PrintsOnce(t *testing.T) {
	t.Parallel()
	r := askedFor(t)
	text := mustCommand(t, "top", "--once", r.ops)
	for _, part := range []string{"Fresh: ", "answers/s", "word ", "memory "} {
		if !strings.Contains(text, part) {
			t.Errorf("hotrow top --once does not say %q:\n%s", part, text)
		}
	}
	var f ops.Frame
	line := mustCommand(t, "top", "--once", "--json", r.ops)
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatal(err)
	}
	if f.Answers.Memory < 1 || len(f.Resources) != 1 || f.Resources[0].Name != "word" ||
		strings.Count(line, "\n") != 1 {
		t.Errorf("hotrow top --once --json: %s", line)
	}
	if code, _, stderr := command(t, "top", r.ops); code != 2 || !strings.Contains(stderr, "--once") {
		t.Errorf("into a pipe: %d %s", code, stderr)
	}
	if code, _, stderr := command(t, "top", "--once", "http://127.0.0.1:1"); code != 1 ||
		!strings.Contains(stderr, "is hotrow serving") {
		t.Errorf("where nobody listens: %d %s", code, stderr)
	}
}

// inTerminal runs a command in a terminal of 110 columns and 30 lines. do tells tmux, which has the
// terminal, what to do, and returns what it prints; ended reports whether the command has ended.
func inTerminal(t *testing.T, command string) (do func(args ...string) string, ended func() bool) {
	t.Helper()
	tmux := dbtest.Program(t, "tmux", "tmux", "/usr/bin")
	socket := filepath.Join(t.TempDir(), "tmux")
	do = func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tmux, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).
			CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	do("new-session", "-d", "-x", "110", "-y", "30", "exec "+command)
	t.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() })
	return do, func() bool { return exec.Command(tmux, "-S", socket, "has-session").Run() != nil }
}

func TestTop_InATerminal(t *testing.T) {
	t.Parallel()
	r := askedFor(t)
	do, ended := inTerminal(t, fmt.Sprintf("'%s' top '%s'", os.Args[0], r.ops))
	until(t, r.log, func() bool {
		screen := do("capture-pane", "-p")
		return strings.Contains(screen, "Fresh: ") && strings.Contains(screen, "feed attached") &&
			strings.Contains(screen, "sorted by rate") && strings.Contains(screen, "word  ")
	})
	do("send-keys", "n")
	until(t, r.log, func() bool { return strings.Contains(do("capture-pane", "-p"), "sorted by name") })
	do("resize-window", "-x", "60", "-y", "12")
	until(t, r.log, func() bool {
		lines := strings.Split(strings.TrimRight(do("capture-pane", "-p"), "\n"), "\n")
		return len(lines) <= 12 && strings.Contains(lines[len(lines)-1], "q quit")
	})
	do("send-keys", "q")
	until(t, r.log, ended)
}

func TestRenderTop_SortsAndFits(t *testing.T) {
	f := &ops.Frame{Interval: ops.Seconds(time.Second)}
	for i := range 50 {
		f.Resources = append(f.Resources, ops.ResourceFrame{Name: fmt.Sprintf("r%02d", i),
			Rate: float64(i), HitRatio: float64(i) / 50, Changes: float64(50 - i), Total: 1})
	}
	first := func(by string) string {
		_, after, _ := strings.Cut(renderTop(f, nil, topView{width: 100, sort: by}), "changes/s      answers\n")
		return after[:3]
	}
	for by, want := range map[string]string{"rate": "r49", "name": "r00", "hits": "r00", "changes": "r00"} {
		if got := first(by); got != want {
			t.Errorf("sorted by %s: %s is first, want %s", by, got, want)
		}
	}
	events := make([]ops.Event, 30)
	for i := range events {
		events[i] = ops.Event{Level: "INFO", Message: "line one\nline two " + strings.Repeat("x", 200)}
	}
	text := renderTop(f, events, topView{width: 60, height: 20, sort: "name"})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != 20 {
		t.Errorf("%d lines where 20 have room", len(lines))
	}
	for _, l := range lines {
		if n := len([]rune(l)); n > 60 {
			t.Errorf("a line of %d columns: %s", n, l)
		}
	}
}

func TestReadLive_WhatIsNoStream(t *testing.T) {
	for text, want := range map[string]string{
		"": "ended the stream", "event: frame\ndata: {\n": "a frame",
		"data: " + strings.Repeat("x", maxEvent+1): "token too long",
	} {
		err := (&topCmd{}).print(&program{ctx: t.Context(), stdout: new(output)}, strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}

func TestTopScreen_Keys(t *testing.T) {
	s := &topScreen{view: topView{sort: "rate"}}
	for _, k := range []struct {
		typed, sort string
		goes        bool
	}{
		{"n", "name", true}, {"\x1b[A", "name", true}, {"xh", "hits", true}, {"c", "changes", true},
		{"\x1bOP", "changes", true}, {"r", "rate", true}, {"q", "rate", false}, {"\x03", "rate", false},
		{"\x1b", "rate", false}, {"nq", "name", false},
	} {
		if goes := s.take(topKeys(k.typed)); goes != k.goes || s.view.sort != k.sort {
			t.Errorf("%q: goes on %v, sorted by %s; want %v, %s", k.typed, goes, s.view.sort, k.goes, k.sort)
		}
	}
}

// The name of a table may hold anything, and a terminal obeys.
func TestRenderTop_SendsNoControlCharacters(t *testing.T) {
	f := &ops.Frame{Resources: []ops.ResourceFrame{{Name: "a\x1b]0;title\x07\u009b2J\tb"}}}
	plain := renderTop(f, []ops.Event{{Message: "x\x1b[2Jy\r"}}, topView{width: 100})
	for _, r := range plain {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
			t.Fatalf("%q has the control character %q", plain, r)
		}
	}
	colour := renderTop(f, nil, topView{width: 100, colour: true})
	if !strings.Contains(colour, "\x1b[1mhotrow") || strings.Contains(plain, "\x1b") {
		t.Errorf("styles: %q, without colour %q", colour, plain)
	}
	for env, want := range map[string]bool{"A=1": true, "NO_COLOR=1": false, "NO_COLOR=": true,
		"TERM=dumb": false, "TERM=xterm": true} {
		if got := hasColour(&program{env: []string{env}}); got != want {
			t.Errorf("%s: colours %v", env, got)
		}
	}
}
