// Package htmltest looks into HTML pages for tests: what they are made of, and where
// they lead. It asks a parser that reads a page as a browser does.
package htmltest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Hostile are texts that become a part of a page, or run, where they are not escaped as their
// place wants it.
var Hostile = []string{
	`"><script>alert(1)</script>`, `"><script>`, `javascript:alert(1)`, "java\tscript:alert(1)",
	` JavaScript:alert(1)`, `data:text/html,<script>alert(1)</script>`, `vbscript:x`,
	`' onmouseover='alert(1)`, `" autofocus onfocus="alert(1)`, `"><b>`, `' onmouseover=`,
	`</title><script>alert(1)</script>`, `</textarea></select></svg><img src=x onerror=alert(1)>`,
	`<!--`, `]]>`, `{{.}}`, `&quot;&gt;<b>`,
	"<\x00script>", "\x00", "\xff\xfe<b>", "\xc2\"><b>", "\xc0\xbcscript\xc0\xbe",
	"\u2028\u202e<b>", `//evil.example/`, `\\evil.example`, `?a=1&b=2#c`,
	`../..`, `%00%22%3e`, "`><b x=`",
}

// Same fails the test if a page has an element or an attribute that it has not with harmless
// texts, or leads to another scheme than http, https and mailto. Where the texts decide what a
// page is made of, several pages with harmless ones say what may be.
func Same(t testing.TB, name, page string, harmless ...string) {
	t.Helper()
	may := make(map[string]int)
	for _, h := range harmless {
		for part, n := range parts(t, h) {
			may[part] = max(may[part], n)
		}
	}
	for part, n := range parts(t, page) {
		if n > may[part] {
			t.Errorf("%s has %d of %s, and %d with harmless texts", name, n, part, may[part])
		}
	}
	for _, address := range addresses(t, page) {
		s := scheme(address)
		if s != "" && !slices.Contains([]string{"http", "https", "mailto"}, s) {
			t.Errorf("%s leads to %q", name, address)
		}
	}
	if strings.Contains(page, "\x00") {
		t.Errorf("%s has a NUL", name)
	}
}

// NothingInline fails the test if a page has a script or a style of its own.
func NothingInline(t testing.TB, name, page string) {
	t.Helper()
	walk(t, page, func(_ string, n *html.Node) {
		source := slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "src" })
		if n.Data == "style" || n.Data == "script" && !source {
			t.Errorf("%s has an inline %s", name, n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("%s has %s=%q", name, a.Key, a.Val)
			}
		}
	})
}

// parts returns how often each element is in a page. It is named with those that it is in and
// its attributes: "html body a[class href]".
func parts(t testing.TB, page string) map[string]int {
	found := make(map[string]int)
	walk(t, page, func(path string, n *html.Node) {
		var names []string
		for _, a := range n.Attr {
			names = append(names, strings.TrimPrefix(a.Namespace+":"+a.Key, ":"))
		}
		slices.Sort(names)
		found[path+"["+strings.Join(names, " ")+"]"]++
	})
	return found
}

// addresses returns where a page leads to.
func addresses(t testing.TB, page string) []string {
	var found []string
	walk(t, page, func(_ string, n *html.Node) {
		for _, a := range n.Attr {
			if slices.Contains([]string{"href", "src", "action", "formaction"}, a.Key) {
				found = append(found, a.Val)
			}
		}
	})
	return found
}

// inURL matches what a browser takes out of an address before it reads it.
var inURL = regexp.MustCompile("^[\x00-\x20]+|[\t\r\n]")

// schemes matches a scheme at the start of an address.
var schemes = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// scheme returns the scheme that a browser finds in an address; "": it is relative.
func scheme(address string) string {
	found := schemes.FindString(inURL.ReplaceAllString(address, ""))
	return strings.ToLower(strings.TrimSuffix(found, ":"))
}

// walk visits the elements of a page, each with its path.
func walk(t testing.TB, page string, visit func(path string, n *html.Node)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var into func(path string, n *html.Node)
	into = func(path string, n *html.Node) {
		if n.Type == html.ElementNode {
			path = strings.TrimPrefix(path+" "+n.Data, " ")
			visit(path, n)
		}
		for c := range n.ChildNodes() {
			into(path, c)
		}
	}
	into("", root)
}
