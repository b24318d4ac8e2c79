package linksfront

import (
	"strings"
	"testing"
)

// Visitors of a public shortener are not led to pages that ask them for a key.
func TestPages_LeadNobodyToTheOperatorsSignIn(t *testing.T) {
	for _, tt := range []struct {
		o           *settings
		about, home bool
	}{
		{&settings{}, false, false},
		{nil, false, false},
		{&settings{Settings: Settings{Root: "https://example.com/"}}, false, true},
		{&settings{Settings: Settings{Own: true}}, true, true},
	} {
		for _, p := range []*page{&notFound, &gone, &unread, &tooMany} {
			html := string(p.appendHTML(nil, []byte("sprng"), tt.o))
			if strings.Contains(html, `"/sprng+"`) != tt.about || strings.Contains(html, `"/"`) != tt.home {
				t.Errorf("%s, %+v: %s", p.status, tt.o, html)
			}
			if strings.Contains(html, "Try again<") != p.again {
				t.Errorf("%s leads to itself: %s", p.status, html)
			}
			bare := string(p.appendHTML(nil, nil, tt.o))
			if strings.Contains(bare, "<code>") || strings.Contains(bare, "/+") ||
				!strings.HasSuffix(bare, pageEnd) || len(html) > maxPage {
				t.Errorf("%s without a code: %s", p.status, bare)
			}
		}
	}
}
