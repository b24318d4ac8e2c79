package harness

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// A fact is something that one needs to know to judge figures.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// environment returns what figures depend on.
func environment(ctx context.Context) []fact {
	commit := says(ctx, `\S+`, "git", "describe", "--always", "--dirty", "--abbrev=12")
	facts := []fact{
		{"commit", commit},
		{"date", time.Now().UTC().Format("2006-01-02 15:04 UTC")},
		{"CPU", cpuModel() + ", " + says(ctx, `\d+`, "nproc") + " cores"},
		{"kernel", says(ctx, `.+`, "uname", "-sr")},
		{"Go", runtime.Version()},
	}
	for _, p := range []struct {
		name, pattern string
		command       []string
	}{
		{"nginx", `[\d.]+`, []string{"nginx", "-v"}},
		{"Varnish", `varnish-([\d.]+)`, []string{"varnishd", "-V"}},
		{"h2o", `version ([\d.]+)`, []string{"h2o", "--version"}},
		{"PostgreSQL", `[\d.]+`, []string{"postgres", "--version"}},
		{"fasthttp", `fasthttp v([\d.]+)`, []string{"cat", "bench/peers/go.mod"}},
	} {
		program, err := Look(p.command[0])
		if err != nil {
			continue
		}
		facts = append(facts, fact{p.name, says(ctx, p.pattern, program, p.command[1:]...)})
	}
	return facts
}

// says returns what a program says that matches, or its first group.
func says(ctx context.Context, pattern, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	match := regexp.MustCompile(pattern).FindSubmatch(bytes.TrimSpace(out))
	if len(match) == 0 || err != nil && len(out) == 0 {
		return "unknown"
	}
	return string(match[len(match)-1])
}

// cpuModel returns the name of the processor.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
