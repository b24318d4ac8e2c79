//go:build unix

package main

import (
	"io"
	"os"
	"regexp"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/links/api"
	"github.com/hotrow/hotrow/internal/ops"
)

// An accessPage is docs/explanation/access.md: the lines of its tables.
type accessPage []*accessLine

// An accessLine is a line of a table, and in which forms of its listener it was
// asked.
type accessLine struct {
	heading string
	cells   []string
	asked   map[string]bool
}

// readAccess reads the page.
func readAccess(t *testing.T) (page accessPage) {
	t.Helper()
	text, err := os.ReadFile("../../docs/explanation/access.md")
	if err != nil {
		t.Fatal(err)
	}
	heading, below := "", false // below: the line is under the head of a table
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(line)
		case strings.HasPrefix(line, "|---"):
			below = true
		case !strings.HasPrefix(line, "|"):
			below = false
		case below:
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			page = append(page, &accessLine{heading, cells, make(map[string]bool)})
		}
	}
	if len(page) < 40 {
		t.Fatalf("the tables of the page have %d lines", len(page))
	}
	return page
}

// ask notes that lines were asked whose first cell has the text.
func (page accessPage) ask(t *testing.T, heading, text, form string) {
	t.Helper()
	found := false
	for _, l := range page {
		if l.heading == heading && strings.Contains(l.cells[0], text) {
			l.asked[form], found = true, true
		}
	}
	if !found {
		t.Errorf("docs/explanation/access.md, %s: no line says who may reach %s", heading, text)
	}
}

// A reach is a method of a path: who may ask it, and who else with a setting.
type reach struct {
	line              *accessLine
	method, path, who string
	with              map[string]bool // settings that let anybody ask
}

var (
	codeSpan    = regexp.MustCompile("`([^`]+)`")
	anybodyWith = regexp.MustCompile("with `([^`]+)` anybody")
)

// reaches returns the paths of a section that match.
func (page accessPage) reaches(t *testing.T, heading, match string) (list []reach) {
	t.Helper()
	pattern := regexp.MustCompile(match)
	for _, l := range page {
		if l.heading != heading || len(l.cells) != 3 {
			continue
		}
		with := make(map[string]bool)
		for _, m := range anybodyWith.FindAllStringSubmatch(l.cells[2], -1) {
			with[m[1]] = true
		}
		first, _, _ := strings.Cut(l.cells[2], ";")
		first, _, _ = strings.Cut(strings.TrimPrefix(first, "key: "), ", 20 times")
		who := strings.Split(first, ", ")
		for _, path := range codeSpan.FindAllStringSubmatch(l.cells[0], -1) {
			for i, method := range strings.Split(l.cells[1], ", ") {
				if pattern.MatchString(path[1]) {
					list = append(list, reach{l, method, path[1], who[min(i, len(who)-1)], with})
				}
			}
		}
	}
	if len(list) == 0 {
		t.Fatalf("no paths below %q", heading)
	}
	return list
}

// routesOf returns what a table has, with {} for every name.
func routesOf(list []reach) (routes []string) {
	for _, r := range list {
		routes = append(routes, r.method+" "+regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.path, "{}"))
	}
	return routes
}

// TestAccess_TheTableHasEveryPath: a path that is added needs a line that says who
// may reach it.
func TestAccess_TheTableHasEveryPath(t *testing.T) {
	page := readAccess(t)
	table := page.reaches(t, "## The operator's port", "^/")
	var port []string
	for _, r := range ops.Routes(ops.Options{Transports: func() []string { return nil },
		Transport: func(string) (map[string]uint64, bool) { return nil, false }}) {
		pattern := strings.TrimSuffix(r.Pattern, "{$}")
		port = append(port, pattern)
		i := slices.Index(routesOf(table), pattern)
		want := "operator"
		if r.Who == ops.Anybody {
			want = "anybody"
		}
		if i < 0 || table[i].who != want {
			t.Errorf("docs/explanation/access.md does not say that %s is for %s", pattern, want)
		}
	}
	for name, both := range map[string][2][]string{
		"the operator's port": {port, routesOf(table)},
		"links":               {api.Routes(), routesOf(page.reaches(t, "## Links", "^/api/v1/"))},
	} {
		for i, problem := range []string{"lacks", "has, and nothing answers,"} {
			for _, route := range both[i] {
				if !slices.Contains(both[1-i], route) {
					t.Errorf("docs/explanation/access.md, %s: it %s %s", name, problem, route)
				}
			}
		}
	}
}

// TestAccess_EveryLineIsAsked asks what every line of the page says, as everybody
// and in every form of its listener. Runs alone: it has the process profiled and traced.
func TestAccess_EveryLineIsAsked(t *testing.T) {
	page, ran := readAccess(t), 0
	walks := []struct {
		name string
		walk func(*testing.T, accessPage)
	}{
		{"roles", walkRoles}, {"this machine", walkThisMachine}, {"anybody is meant", walkOpen},
		{"TLS", walkTLS}, {"session", walkSession}, {"shortcut", walkShortcut},
		{"wire", walkWires}, {"Redis", walkRESP}, {"memcached", walkMemcache}, {"proxy", walkProxy},
	}
	// A profile of the CPU takes its time, but where one is being made already.
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		defer pprof.StopCPUProfile()
	}
	for _, w := range walks {
		t.Run(w.name, func(t *testing.T) { ran++; w.walk(t, page) })
	}
	if ran < len(walks) {
		return // only some were meant
	}
	for _, l := range page {
		if len(l.asked) == 0 && l.heading != accessTop {
			t.Errorf("nobody asks the line %s of docs/explanation/access.md, %s", l.cells, l.heading)
		}
		if l.heading != accessTop {
			continue
		}
		for form := range strings.SplitSeq(l.cells[1], ", ") {
			if !l.asked[form] {
				t.Errorf("nobody asks %s by %s", l.cells[0], form)
			}
		}
	}
}

// accessTop is the heading of the table of listeners.
const accessTop = "# Who may reach what"
