package policy

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	// inlineLink matches the target of [text](target) and ![alt](target).
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	// markup matches the target of an element: <img src="...">, <source srcset="...">.
	markup = regexp.MustCompile(`(?:src|srcset|href)="([^"\s]+)"`)
	// heading matches a Markdown heading's text.
	heading = regexp.MustCompile(`(?m)^#{1,6}\s+(.+?)\s*#*\s*$`)
	// fence matches a block of code, where brackets are no links.
	fence = regexp.MustCompile("(?ms)^ *```.*?^ *```|`[^`\n]*`")
)

// elsewhere are the links to other sites. No test follows them: look at them by hand.
var elsewhere = []string{
	"http://ltsv.org/",
	"https://github.com/bnclabs/gofast",
	"https://github.com/davidkroell/shortcut",
	"https://github.com/kazeburo/chocon",
	"https://github.com/kazeburo/chocon/pull/35",
	"https://github.com/kazeburo/chocon/pull/37",
	"https://github.com/monperrus/crawler-user-agents",
	"https://github.com/redis/lettuce/issues/3481",
	"https://github.com/romapres2010/resttest",
	"https://github.com/stanaka/go-rest-api-server",
	"https://html.spec.whatwg.org/multipage/server-sent-events.html",
	"https://jedisct1.github.io/minisign/",
	"https://templ.guide",
}

// TestLinks_LeadSomewhere follows every link of a Markdown file to a file of the
// repository, and its anchor to a heading. The others are those of elsewhere.
func TestLinks_LeadSomewhere(t *testing.T) {
	found := make(map[string]bool)
	for _, file := range mustList() {
		if !strings.HasSuffix(file, ".md") || strings.Contains(file, "/testdata/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		prose := fence.ReplaceAllString(string(text), "")
		links := append(inlineLink.FindAllStringSubmatch(prose, -1), markup.FindAllStringSubmatch(prose, -1)...)
		for _, m := range links {
			if why := deadLink(file, m[1]); why != "" {
				t.Errorf("%s: link to %s: %s", file, m[1], why)
			}
			if strings.Contains(m[1], "://") {
				found[m[1]] = true
			}
		}
	}
	if all := slices.Sorted(maps.Keys(found)); !slices.Equal(all, elsewhere) {
		t.Errorf("links to other sites:\n%s\nwant those of the list:\n%s", all, elsewhere)
	}
}

// deadLink says why a link from a file leads nowhere, or "".
func deadLink(from, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	to := path.Join(path.Dir(from), file)
	if file == "" {
		to = from
	}
	if strings.HasPrefix(to, "../") || path.IsAbs(file) {
		return "it leaves the repository"
	}
	info, err := os.Stat(filepath.Join(root, to))
	if err != nil {
		return "there is no such file"
	}
	if anchor == "" || info.IsDir() || !strings.HasSuffix(to, ".md") {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, to))
	if err != nil {
		return err.Error()
	}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		if slug(m[1]) == anchor {
			return ""
		}
	}
	return "there is no such heading"
}

// slug returns the anchor that GitHub gives a heading: lower case, spaces to
// hyphens, other punctuation gone.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestDeadLink(t *testing.T) {
	tests := []struct {
		from, target string
		ok           bool
	}{
		{"README.md", "https://example.org/x", true},
		{"README.md", "ARCHITECTURE.md", true},
		{"README.md", "internal/policy", true},
		{"README.md", "nowhere.md", false},
		{"README.md", "../etc/passwd", false},
		{"README.md", "ARCHITECTURE.md#no-such-heading", false},
		{"docs/x.md", "../README.md", true},
	}
	for _, tt := range tests {
		if why := deadLink(tt.from, tt.target); (why == "") != tt.ok {
			t.Errorf("deadLink(%q, %q) = %q, want alive = %v", tt.from, tt.target, why, tt.ok)
		}
	}
	if got, want := slug("Locks, and their `order` (2)"), "locks-and-their-order-2"; got != want {
		t.Errorf("slug = %q, want %q", got, want)
	}
}
