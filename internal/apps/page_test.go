package apps

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/questions.md anew")

// page is where the tables are that the tests prove.
const page = "../../docs/reference/questions.md"

// TestPage: the page says what the other tests prove.
func TestPage(t *testing.T) {
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(was), "<!-- questions -->\n")
	_, after, ended := strings.Cut(rest, "<!-- /questions -->\n")
	if !ok || !ended {
		t.Fatalf("%s has no place for the tables", page)
	}
	is := before + "<!-- questions -->\n" + tables() + "<!-- /questions -->\n" + after
	switch {
	case is == string(was):
	case *update:
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s says something else; go test ./internal/apps -run Page -update writes it", page)
	}
}

// tables are the questions of all programs, in Markdown.
func tables() string {
	var b strings.Builder
	for _, p := range programs() {
		fmt.Fprintf(&b, "\n## %s\n\n| question | asked as | answered from |\n|---|---|---|\n", p.name)
		for i := range p.questions {
			q := &p.questions[i]
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", q.asks, q.shown(), q.answered())
		}
	}
	return b.String() + "\n"
}

// shown is the question as the page writes it.
func (q *question) shown() string {
	s := strings.ReplaceAll(q.path, "%20", "+")
	if q.next {
		s += "&after=..."
	}
	if q.prefer != "" {
		s += "` with `Prefer: " + q.prefer
	}
	return s
}

// answered says where the answer comes from.
func (q *question) answered() string {
	says := [...]string{precise: "memory, **precise**", coarse: "memory, coarse", refused: "400"}[q.kept]
	if q.why != "" {
		says += ": " + q.why
	}
	return says
}
