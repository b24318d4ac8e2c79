package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The bounds of what a reader takes in at once.
const (
	maxSentence     = 25  // words
	maxLong         = 177 // sentences of docs that are longer: the number falls, and never rises
	maxFirstSuccess = 14  // lines of a page before its first commands
)

// shortPages are the pages whose sentences are counted: those that a stranger reads first.
func shortPages() []string {
	pages := []string{"README.md"}
	for _, file := range mustList() {
		if path.Dir(file) == "docs/tutorial" && strings.HasSuffix(file, ".md") {
			pages = append(pages, file)
		}
	}
	return pages
}

func TestPages_SentencesAreShort(t *testing.T) {
	for _, page := range shortPages() {
		for _, s := range sentences(pageOf(t, page)) {
			if n := len(strings.Fields(s)); n > maxSentence {
				t.Errorf("%s: %d words, at most %d: %s", page, n, maxSentence, s)
			}
		}
	}
}

// TestPages_LongSentencesGrowFewer: the other pages come from a time without the bound.
func TestPages_LongSentencesGrowFewer(t *testing.T) {
	short, long := shortPages(), make(map[string]int)
	total := 0
	for _, file := range mustList() {
		if !strings.HasPrefix(file, "docs/") || path.Ext(file) != ".md" || slices.Contains(short, file) {
			continue
		}
		for _, s := range sentences(pageOf(t, file)) {
			if len(strings.Fields(s)) > maxSentence {
				long[file]++
				total++
			}
		}
	}
	if total > maxLong {
		t.Errorf("%d sentences of more than %d words, at most %d; by page: %v", total, maxSentence, maxLong, long)
	}
	t.Logf("%d sentences of more than %d words, maxLong is %d", total, maxSentence, maxLong)
}

var (
	// notProse is what a page has besides sentences: blocks of code, tables, comments, markup.
	notProse = regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$|^\\|.*?$|<!--.*?-->|^<[^>]*>$")
	// paragraph ends at an empty line, a heading or the next item.
	paragraph = regexp.MustCompile(`\n(?:\s*(?:#{1,6}|[-*]|\d+\.) |\s*\n)`)
	// sentenceEnd is a mark that white space or the end follows.
	sentenceEnd = regexp.MustCompile(`[.!?:](?:\s+|$)`)
	linkText    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	inlineCode  = regexp.MustCompile("`[^`]*`")
)

// sentences returns those of a page. What is in back-quotes is one word.
func sentences(page string) (all []string) {
	prose := notProse.ReplaceAllString(page, "\n")
	for _, p := range paragraph.Split("\n"+prose, -1) {
		p = inlineCode.ReplaceAllString(linkText.ReplaceAllString(p, "$1"), "CODE")
		for _, s := range sentenceEnd.Split(p, -1) {
			if s = strings.Join(strings.Fields(s), " "); s != "" {
				all = append(all, s)
			}
		}
	}
	return all
}

func TestSentences(t *testing.T) {
	const page = "# A title\n\nOne of `a. b`. [Two\nlines](x.md): three!\n\n    code. code\n- an item\n- another\n" +
		"\n```sh\nx. y\n```\n| a. | b. |\n<p align=\"x\">\n1. first"
	want := []string{"A title", "One of CODE", "Two lines", "three", "an item", "another", "first"}
	if got := sentences(page); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPages_BeginWithAFirstSuccess: a page of the tutorials and of the tasks shows something to
// type near its top.
func TestPages_BeginWithAFirstSuccess(t *testing.T) {
	n := 0
	for _, file := range mustList() {
		if dir := path.Dir(file); dir != "docs/howto" && dir != "docs/tutorial" {
			continue
		}
		n++
		at := firstBlock(pageOf(t, file))
		if at == 0 || at > maxFirstSuccess {
			t.Errorf("%s: the first block of code is at line %d, at most %d", file, at, maxFirstSuccess)
		}
	}
	if n < 30 {
		t.Errorf("%d pages", n)
	}
}

// firstBlock returns the line at which the first block of code of a page begins; 0: none does.
func firstBlock(page string) int {
	lines := strings.Split(page, "\n")
	return 1 + slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "    ")
	})
}
