package webpage

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
)

func TestPages_Tabs(t *testing.T) {
	p := Pages{Rows: "http://127.0.0.1:8080/", Links: "https://s.example/+", Inside: "-/inside/"}
	for host, want := range map[string]string{
		"localhost:9999": `<a href="http://127.0.0.1:8080/">Rows</a>` +
			`<a href="https://s.example/+" aria-current="page">Links</a><a href="-/inside/">Inside</a>`,
		"127.0.0.1": `<a href="http://127.0.0.1:8080/">Rows</a>` +
			`<a href="https://s.example/+" aria-current="page">Links</a><a href="-/inside/">Inside</a>`,
		"s.example": `<a href="https://s.example/+" aria-current="page">Links</a><a href="-/inside/">Inside</a>`,
		"localhost.example:80": `<a href="https://s.example/+" aria-current="page">Links</a>` +
			`<a href="-/inside/">Inside</a>`,
	} {
		if got := NavOf(p.Tabs(host), "Links"); got != want {
			t.Errorf("%s: %s\nwant %s", host, got, want)
		}
	}
	alone := Pages{Rows: "http://[::]:1/", Links: "unix:/run/links.sock/+", Inside: "http://[::1]:8081/"}
	if got := alone.Tabs("localhost"); got != nil {
		t.Errorf("one page alone has tabs: %v", got)
	}
	if got := NavOf([]Tab{{"Rows", `/"><b>`}}, ""); got != `<a href="/&#34;&gt;&lt;b&gt;">Rows</a>` {
		t.Errorf("a text of somebody's: %s", got)
	}
}

func TestFiles_AreSentOnce(t *testing.T) {
	files := Files(fstest.MapFS{"assets/page.js": {Data: []byte("1")}, "assets/x.LICENSE": {}})
	if len(files) != 3 {
		t.Errorf("%d files, want the page's script, the shared sheet and the icon", len(files))
	}
	for name, f := range files {
		first := httptest.NewRecorder()
		f.ServeHTTP(first, httptest.NewRequest("GET", "/", nil))
		if first.Code != http.StatusOK || first.Body.String() != string(f.Body) ||
			first.Header().Get("Content-Type") != f.Type {
			t.Errorf("%s: %d %v", name, first.Code, first.Header())
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("If-None-Match", f.Tag)
		again := httptest.NewRecorder()
		if f.ServeHTTP(again, r); again.Code != http.StatusNotModified {
			t.Errorf("%s again: %d", name, again.Code)
		}
	}
}
