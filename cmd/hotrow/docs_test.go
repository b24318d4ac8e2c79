package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// section returns what a page has below the heading, which ends at the next of
// its rank.
func section(page, heading string) string {
	_, text, _ := strings.Cut(page, "\n"+heading+"\n")
	rank, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+rank+" ")
	return text
}

// TestDocs_HaveEveryFlag holds the reference of the commands and the command line
// together: a flag has its place in the section of its command, and what the section
// calls a flag is one.
func TestDocs_HaveEveryFlag(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	links, err := os.ReadFile("../../docs/howto/links.md")
	if err != nil {
		t.Fatal(err)
	}
	parser := kong.Must(new(commands), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	written := regexp.MustCompile("--[a-z][a-z0-9-]*")
	known := make(map[string]map[string]bool)
	for _, leaf := range parser.Model.Leaves(true) {
		full := strings.TrimSpace(strings.TrimPrefix(leaf.Path(), parser.Model.Name))
		name, _, _ := strings.Cut(full, " ")
		page := section(string(text), "## "+name)
		if name == "links" {
			page += string(links)
		}
		if known[name] == nil {
			known[name] = make(map[string]bool)
		}
		for _, f := range leaf.Flags {
			known[name]["--"+f.Name] = true
			if !strings.Contains(page, "--"+f.Name) && !f.Hidden {
				t.Errorf("docs/reference/cli.md, %s: there is no --%s", full, f.Name)
			}
		}
	}
	for name, flags := range known {
		for _, f := range written.FindAllString(section(string(text), "## "+name), -1) {
			if !flags[f] {
				t.Errorf("docs/reference/cli.md, %s: %s is no flag", name, f)
			}
		}
	}
}

// TestDocs_HaveEveryMetric holds the reference of the metrics and what the demo's
// operator's port gives together.
func TestDocs_HaveEveryMetric(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, "--demo-file", t.TempDir()+"/demo.db")
	_, body := get(t, r.ops+"/metrics")
	all := regexp.MustCompile(`(?m)^# TYPE (hotrow_\S+)`).FindAllStringSubmatch(body, -1)
	if len(all) < 20 {
		t.Errorf("%d metrics: the demo does not show them", len(all))
	}
	for _, m := range all {
		if !strings.Contains(string(text), "`"+m[1]+"`") {
			t.Errorf("docs/reference/metrics.md does not have %s", m[1])
		}
	}
}
