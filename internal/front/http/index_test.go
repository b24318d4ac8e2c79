package httpfront

import (
	"fmt"
	"testing"

	"github.com/hotrow/hotrow/internal/htmltest"
)

// indexWith returns the index with a text wherever it has one.
func indexWith(text string) string {
	return string(indexPage([]entry{
		{Name: text, Key: []string{text, text}, URL: text, Example: text, Methods: []string{text}},
		{Name: text, URL: "/" + text},
	}))
}

// TestIndex_HoldsEveryTextAsText: whatever a table or a column is called, the page is made of
// the same elements and attributes.
func TestIndex_HoldsEveryTextAsText(t *testing.T) {
	for _, text := range htmltest.Hostile {
		htmltest.Same(t, fmt.Sprintf("the index with %q", text), indexWith(text), indexWith("harmless"))
	}
	for address, want := range map[string]string{
		"/depts": "/depts", "https://a.example/": "https://a.example/", "mailto:a@b": "mailto:a@b",
		"/a:b": "/a:b", "javascript:x": "#ZgotmplZ", "java\nscript:x": "#ZgotmplZ", "x:y": "#ZgotmplZ",
	} {
		if got := htmlAnchor(address, "it"); got != `<a href="`+want+`">it</a>` {
			t.Errorf("%q leads to %s", address, got)
		}
	}
}
