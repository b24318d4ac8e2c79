package page

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/hotrow/hotrow/internal/htmltest"
)

// pagesWith returns every page in its forms, with a text wherever it has one of somebody's.
func pagesWith(text string) map[string]templ.Component {
	scheduled := link{State: "scheduled", StartsAt: &noon}
	used := link{State: "used", MaxClicks: 1, URL: "https://xn--e1afmkfd.xn--p1ai/" + text}
	missed := texts(text, listView{Query: query{Order: "-clicks"}})
	missed.Orphans = []orphan{{Path: text}, {Path: "/" + text}}
	return map[string]templ.Component{
		"the list": listPage(full(text, listView{
			Problem: &problem{Status: 409}, Did: &did{Do: "tag"},
		})),
		"the list, where a URL is refused": listPage(texts(text, listView{
			Problem: &problem{Field: "url"}, Made: &link{}, Did: &did{Codes: []string{""}},
			Links: []row{{link: scheduled}, {link: used}, {}},
		})),
		"the list, where a code is refused": listPage(texts(text, listView{
			Problem: &problem{Field: "code"},
		})),
		"the list, where much is missed": listPage(missed),
		"the list, empty":                listPage(listView{frame: texts(text, frame{})}),
		"a link":                         linkPage(full(text, linkView{})),
		"a link, used up": linkPage(texts(text, linkView{
			Link: used, Chart: chart{Unit: "day"},
			By:    []dimension{{Region: true, Shares: []share{{}}}, {}},
			Edits: []edit{{Changes: []change{{}}}}, Last: []click{{Kind: text}, {Kind: "bot"}},
		})),
		"the import":      importPage(full(text, importView{})),
		"the import form": importPage(texts(text, importView{})),
		"the sign-in":     signInPage(full(text, signInView{})),
	}
}

// texts returns a view with text in each of its strings that is empty.
func texts[T any](text string, view T) T {
	fill(reflect.ValueOf(&view).Elem(), text, false)
	return view
}

// full is texts of a view in which nothing is missing: each list has two members, each pointer
// leads to something, each number is 2, and what may be true is.
func full[T any](text string, view T) T {
	fill(reflect.ValueOf(&view).Elem(), text, true)
	return view
}

func fill(v reflect.Value, text string, all bool) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() == 0 {
			v.SetString(text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() || v.Type().Field(i).Anonymous {
				fill(f, text, all)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && all && v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(v.Index(i), text, all)
		}
	case reflect.Pointer:
		if v.IsNil() && all {
			v.Set(reflect.New(v.Type().Elem()))
		}
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Time]() {
			fill(v.Elem(), text, all)
		}
	case reflect.Bool:
		v.SetBool(v.Bool() || all)
	case reflect.Int, reflect.Int64:
		if v.Int() == 0 && all {
			v.SetInt(2)
		}
	}
}

// drawn returns what a visitor is sent.
func drawn(page templ.Component) string {
	rec := httptest.NewRecorder()
	(&Page{}).render(rec, 200, page)
	return rec.Body.String()
}

// TestPages_HoldEveryTextAsText: whatever somebody calls a link, sends as a referrer or asks
// for, a page is made of the same elements and attributes.
func TestPages_HoldEveryTextAsText(t *testing.T) {
	const site = "https://harmless.example/"
	harmless := make(map[string][]string)
	for _, text := range []string{"harmless", site, "no\x7fURL"} {
		for name, page := range pagesWith(text) {
			harmless[name] = append(harmless[name], drawn(page))
		}
	}
	for _, hostile := range htmltest.Hostile {
		for _, text := range []string{hostile, "harmless" + hostile, site + hostile} {
			for name, page := range pagesWith(text) {
				body := drawn(page)
				htmltest.Same(t, fmt.Sprintf("%s with %q", name, text), body, harmless[name]...)
				htmltest.NothingInline(t, name, body)
				if strings.Contains(text, "\x00") && !strings.Contains(body, "\uFFFD") {
					t.Errorf("%s with %q: the NUL is gone", name, text)
				}
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]templ.SafeURL{
		"https://a.example/b?c=d&e#f": "https://a.example/b?c=d&e#f", "HTTP://a": "HTTP://a",
		"mailto:a@b.example": "mailto:a@b.example", "/+?q=a:b": "/+?q=a:b", "/+": "/+", "": "",
		"javascript:alert(1)": unsafeURL, " javascript:x": unsafeURL, "java\nscript:x": unsafeURL,
		"data:text/html,x": unsafeURL, "tel:1": unsafeURL, "ftp://a/": unsafeURL, ":x": unsafeURL,
		"https://a/ \"'<>()\x00\xffö%41%4": "https://a/%20%22%27%3C%3E%28%29%00%FF%C3%B6%41%254",
	} {
		if got := wholeURL(address); got != want {
			t.Errorf("wholeURL(%q) = %q, want %q", address, got, want)
		}
	}
	if got, want := pathOf("/a?b#c%ö\"", ".svg"), templ.SafeURL("/%2Fa%3Fb%23c%25%C3%B6%22.svg"); got != want {
		t.Errorf("pathOf = %q, want %q", got, want)
	}
	if got, want := withValue("/+?code=", "a &#\"", "#make"), templ.SafeURL("/+?code=a+%26%23%22#make"); got != want {
		t.Errorf("withValue = %q, want %q", got, want)
	}
}

// TestPages_EscapeEverywhere: no component says of a text that it is safe as it is, for which
// templ has functions, nor has a style or a script of its own.
func TestPages_EscapeEverywhere(t *testing.T) {
	files, err := filepath.Glob("*.templ")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"templ.", "<style", "style=", "\ncss ", "\nscript ", "<script>", "SafeURL"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s has %q", file, bad)
			}
		}
	}
}
