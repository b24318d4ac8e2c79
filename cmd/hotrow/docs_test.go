package main

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/hotrow/hotrow/internal/config"
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
	text := readPage(t, "../../docs/reference/cli.md")
	links := readPage(t, "../../docs/howto/links.md")
	written := regexp.MustCompile("--[a-z][a-z0-9-]*")
	known := make(map[string]map[string]bool)
	for _, leaf := range leaves(new(program).root()) {
		full := pathOf(leaf)
		name, _, _ := strings.Cut(full, " ")
		page := section(text, "## "+name)
		if name == "links" {
			page += links
		}
		if known[name] == nil {
			known[name] = make(map[string]bool)
		}
		leaf.LocalFlags().VisitAll(func(f *pflag.Flag) {
			known[name]["--"+f.Name] = true
			if !strings.Contains(page, "--"+f.Name) && !f.Hidden {
				t.Errorf("docs/reference/cli.md, %s: there is no --%s", full, f.Name)
			}
		})
	}
	for name, flags := range known {
		for _, f := range written.FindAllString(section(text, "## "+name), -1) {
			if !flags[f] {
				t.Errorf("docs/reference/cli.md, %s: %s is not a flag", name, f)
			}
		}
	}
}

// TestDocs_HaveEveryMetric holds the reference of the metrics and what the demo's
// operator's port gives together.
func TestDocs_HaveEveryMetric(t *testing.T) {
	t.Parallel()
	text := readPage(t, "../../docs/reference/metrics.md")
	r := serve(t, "demo", "--file", t.TempDir()+"/demo.db")
	_, body := get(t, r.ops+"/metrics")
	all := regexp.MustCompile(`(?m)^# TYPE (hotrow_\S+)`).FindAllStringSubmatch(body, -1)
	if len(all) < 20 {
		t.Errorf("%d metrics: the demo does not show them", len(all))
	}
	for _, m := range all {
		if !strings.Contains(text, "`"+m[1]+"`") {
			t.Errorf("docs/reference/metrics.md does not have %s", m[1])
		}
	}
}

// Every variable that a command reads is in one table, of which serve and check
// know what is unknown; the page has those that no key of the file has.
func TestDocs_HaveEveryVariable(t *testing.T) {
	text := readPage(t, "../../docs/reference/cli.md")
	page := section(text, "## Variables")
	known := make(map[string]config.Variable)
	for _, v := range config.Variables() {
		known[v.Name] = v
		key := strings.HasPrefix(v.Name, "HOTROW_") && v.Key != ""
		for _, says := range []string{"| `" + v.Name + "` |", cmp.Or(v.Flag, v.Key) + "`"} {
			if !key && !strings.Contains(page, says) {
				t.Errorf("docs/reference/cli.md does not have %s of %s", says, v.Name)
			}
		}
	}
	read := make(map[string]bool)
	for _, leaf := range leaves(new(program).root()) {
		command, _, _ := strings.Cut(pathOf(leaf), " ")
		leaf.LocalFlags().VisitAll(func(f *pflag.Flag) {
			for _, name := range f.Annotations[variable] {
				read[name] = true
				want := command + " --" + f.Name
				if !slices.Contains(strings.Split(known[name].Flag, ", "), want) {
					t.Errorf("%s of %s is not in config.Variables, which has %+v", name, want, known[name])
				}
			}
		})
	}
	for name, v := range known {
		if v.Flag != "" && !read[name] {
			t.Errorf("config.Variables has %s, which %s does not read", name, v.Flag)
		}
	}
	var env []string
	for name := range known {
		env = append(env, name+"=")
	}
	_, warnings, err := config.Parse("empty", "", env)
	if err != nil || len(warnings) > 0 {
		t.Errorf("documented variables: %v, %v", warnings, err)
	}
}

// TestPages_BeginWithWhatWorks runs the first commands of the pages that begin with some, and with
// what they print, beside the demo.
func TestPages_BeginWithWhatWorks(t *testing.T) {
	t.Parallel()
	s := newTutorial(t)
	s.env = append(s.env, "HOTROW_LINKS_LISTEN="+s.at("9999"), "HOTROW_RESP_LISTEN="+s.at("6380"),
		"HOTROW_MEMCACHE_LISTEN="+s.at("11212"))
	s.serve(t, "hotrow demo --still --file demo.db")
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"dba.md", "queries.md", "hotrow.md", "postgresql.md", "browser.md", // have tests of their own
		"typescript.md", "supabase.md"} // make interop-typescript, interop-postgrest
	n := 0
	for _, page := range pages {
		head, _, _ := strings.Cut(readPage(t, page), "\n## ")
		head, output, ok := strings.Cut(head, "```output\n")
		output, _, _ = strings.Cut(output, "```")
		if !ok || slices.Contains(others, filepath.Base(page)) {
			continue
		}
		n++
		steps := stepsOf(t, page, head+"```output\n"+output+"```")
		t.Run(filepath.Base(page), func(t *testing.T) { s.run(t, steps[0]) })
	}
	if n < 10 {
		t.Errorf("%d pages begin so", n)
	}
}

// readPage returns a page of the docs.
func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
