package htmltest

import (
	"fmt"
	"strings"
	"testing"
)

// A recorder keeps what a test is told.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// TestSame_FindsWhatIsNotEscaped: a page that escapes nothing fails for what a text adds to it.
func TestSame_FindsWhatIsNotEscaped(t *testing.T) {
	for text, want := range map[string]string{
		`x`: "", `"><b>`: "html body a b[]", `" onclick="x`: "[href onclick]", "\x00": "NUL",
		`javascript:x`: "leads to", "java\nscript:x": "leads to", ` JAVASCRIPT:x`: "leads to",
		`https://x`: "", `mailto:x`: "", `/a:b`: "", `?a:b`: "",
	} {
		page := func(text string) string { return `<a href="` + text + `">it</a>` }
		r := &recorder{TB: t}
		Same(r, "the page", page(text), page("harmless"))
		if got := strings.Join(r.said, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestNothingInline(t *testing.T) {
	for page, want := range map[string]int{
		`<script src="/x"></script><p class="x">`: 0, `<script>x</script>`: 1, `<style>x</style>`: 1,
		`<p style="x" onclick="y">`: 2,
	} {
		r := &recorder{TB: t}
		if NothingInline(r, "the page", page); len(r.said) != want {
			t.Errorf("%s: %q", page, r.said)
		}
	}
}
