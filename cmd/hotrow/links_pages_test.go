package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	linksfront "github.com/hotrow/hotrow/internal/front/links"
)

// Who follows a link that leads nowhere sees which one it was, what has happened and
// a way on: in either scheme, at any width, and with nothing that keeps people out.
func TestChromium_LinksThatLeadNowhere(t *testing.T) {
	t.Parallel()
	r, _ := newLinks(t, "")
	base := r.linksAddr()
	resp, err := http.Post(base+"/api/v1/links", "application/x-ndjson", strings.NewReader(
		`{"code":"easter","url":"https://example.com/","created_at":"2020-01-01T00:00:00Z",`+
			`"expires_at":"2021-01-01T00:00:00Z"}`))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	away := httptest.NewServer(linksfront.Waiting())
	t.Cleanup(away.Close)
	browser := browsertest.New(t)
	for _, width := range []int{360, 768, 1280} {
		for _, dark := range []bool{false, true} {
			tab := browser.Tab(browsertest.View{Width: width, Height: 740, Dark: dark})
			for _, p := range []struct{ name, url, code, says, on string }{
				{"404", base + "/sprng", "/sprng", "There is no such link", "/sprng+"},
				{"410", base + "/easter", "/easter", "This link is no longer in use", "/easter+"},
				{"503", away.URL + "/spring", "/spring", "Links cannot be read at present", "/spring"},
			} {
				tab.Open(p.url)
				if got := tab.Text("main code"); got != p.code || tab.Text("h1") != p.says {
					t.Errorf("%s is about %q and says %q", p.name, got, tab.Text("h1"))
				}
				if on := tab.Eval("document.querySelector('nav a').getAttribute('href')"); on != p.on {
					t.Errorf("%s leads on to %v, want %s", p.name, on, p.on)
				}
				back := tab.Eval("getComputedStyle(document.body).backgroundColor")
				if want := map[bool]string{false: "rgb(246, 245, 242)", true: "rgb(22, 21, 19)"}[dark]; back != want {
					t.Errorf("%s, dark %t: the ground is %v: its style does not count", p.name, dark, back)
				}
				tab.Axe(p.name)
				if width != 768 {
					tab.Screenshot("links/" + p.name + map[bool]string{false: "-light", true: "-dark"}[dark] +
						map[int]string{360: "-narrow", 1280: ""}[width])
				}
			}
		}
	}
}
