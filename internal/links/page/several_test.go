package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// widths are how wide windows are in which pages are looked at.
func widths() []int {
	if waittest.Long() {
		return []int{360, 768, 1280}
	}
	return []int{360, 1280}
}

// views calls fn with a tab of every width in either scheme. Each has a browser of its own:
// a live tail holds one of the six connections that a browser opens to a host, and pages
// that it keeps to go back to may hold theirs.
func views(t *testing.T, fn func(t *testing.T, tab *browsertest.Tab, name string, width int)) {
	for _, width := range widths() {
		for _, dark := range []bool{false, true} {
			view := browsertest.View{Width: width, Height: 860, Dark: dark}
			name := fmt.Sprintf("%d-%s", width, map[bool]string{false: "light", true: "dark"}[dark])
			t.Run(name, func(t *testing.T) { fn(t, browsertest.New(t).Tab(view), name, width) })
		}
	}
}

// Nobody is kept out, whatever the width and the scheme: axe finds nothing.
func TestChromium_AxeFindsNothing(t *testing.T) {
	api, srv := newPage(t)
	api2 := newStandIn()
	api2.key = "hr_0123456789abcdef"
	locked := serveStandIn(t, api2)
	views(t, func(t *testing.T, tab *browsertest.Tab, name string, width int) {
		for _, p := range []struct{ name, url string }{
			{"list", srv.URL + "/+?did=delete&codes=a,b"}, {"link", srv.URL + "/x9dk2mp+"},
			{"import", srv.URL + "/+/import"}, {"signin", locked.URL + "/+"},
		} {
			tab.Open(p.url)
			if p.name == "list" {
				follow(t, api, tab)
				tab.Click(".c-tick input")
			}
			if p.name == "link" {
				tab.Click("details summary")
			}
			fits(t, tab, p.url, width)
			tab.Axe(p.name)
			tab.Screenshot("links/axe-" + p.name + "-" + name)
		}
		tab.Open(srv.URL + "/+")
		tab.Type("#f-url", "example.com/page")
		tab.Click("#make button.main")
		tab.Until("document.querySelector('#outcome [name=offer]')")
		tab.Axe("offer")
		tab.Screenshot("links/axe-offer-" + name)
	})
}

// Who leaves https:// out is asked whether that was meant, with and without a script.
func TestChromium_OffersHTTPS(t *testing.T) {
	for _, noScript := range []bool{false, true} {
		_, srv := newPage(t)
		view := browsertest.Desktop
		view.NoScript = noScript
		tab := browsertest.New(t).Tab(view)
		tab.Open(srv.URL + "/+")
		tab.Type("#f-url", "example.com/page")
		tab.Type("#f-code", "mine")
		tab.Click("#make button.main")
		tab.Until("document.querySelector('#outcome [name=offer]')?.textContent === 'Shorten https://example.com/page'")
		tab.Click("#outcome [name=offer]")
		tab.Until("document.querySelector('.made .short')?.textContent === 'https://s.example/mine'")
		if got := tab.Text("#rows tbody tr .target"); got != "example.com/page" {
			t.Errorf("noscript %t: mine leads to %q", noScript, got)
		}
	}
}

// Several links are tagged, switched off and deleted at once, and each is taken back
// by one click, without a script.
func TestChromium_SeveralAtOnce(t *testing.T) {
	api, srv := newPage(t)
	view := browsertest.Desktop
	view.NoScript = true
	tab := browsertest.New(t).Tab(view)
	state := func(code string) string {
		api.mu.Lock()
		defer api.mu.Unlock()
		l := api.find(code)
		if l == nil {
			return "gone"
		}
		return fmt.Sprint(l["enabled"], l["tags"])
	}
	tick := func(codes ...string) {
		tab.Open(srv.URL + "/+")
		for _, code := range codes {
			tab.Click("input[name=code][value=" + code + "]")
		}
	}
	expect := func(said string, want ...string) {
		t.Helper()
		tab.Until("document.querySelector('#outcome .made')?.textContent.includes('" + said + "')")
		for i := 0; i < len(want); i += 2 {
			if got := state(want[i]); got != want[i+1] {
				t.Errorf("%s: %s is %s, want %s", said, want[i], got, want[i+1])
			}
		}
	}
	tick("spring", "autumn", "x7kq2mz")
	tab.Click(".several [value=off]")
	expect("2 links are switched off.", "spring", "false [mail]", "autumn", "false [mail]", "x7kq2mz", "false [docs]")
	tab.Click("#outcome .made button")
	expect("2 links are switched on.", "spring", "true [mail]", "autumn", "false [mail]")
	tick("spring", "x7kq2mz")
	tab.Type("#s-tag", "mail")
	tab.Click(".several [value=tag]")
	expect("x7kq2mz is tagged with mail.", "x7kq2mz", "true [docs mail]", "spring", "true [mail]")
	tab.Click("#outcome .made button")
	expect("x7kq2mz is no longer tagged with mail.", "x7kq2mz", "true [docs]", "spring", "true [mail]")
	tick("spring", "x7kq2mz")
	tab.Click(".several [value=delete]")
	expect("2 links are deleted.", "spring", "gone", "x7kq2mz", "gone")
	tab.Click("#outcome .made button")
	expect("2 links are back, with all clicks.", "spring", "true [mail]", "x7kq2mz", "true [docs]")
	if n := tab.Eval("document.querySelectorAll('#outcome .made button').length"); n != 0.0 {
		t.Error("an undo is offered that deletes")
	}
	tick("spring")
	tab.Click(".several [value=tag]")
	tab.Until("document.querySelector('#outcome .problem')?.textContent.includes('Say which tag.')")
}

// A form that names too many links, or what nobody can do, changes nothing.
func TestPage_SeveralRefusesWhatItCannotDo(t *testing.T) {
	api, srv := newPage(t)
	many := make([]string, pageSize+1)
	for i := range many {
		many[i] = "spring"
	}
	for _, form := range []url.Values{
		{"do": {"delete"}}, {"do": {"burn"}, "code": {"spring"}}, {"do": {"delete"}, "code": many},
		{"code": {"spring"}}, {"do": {"tag"}, "tag": {" "}, "code": {"spring"}},
	} {
		resp, body := send(t, request(t, "POST", srv.URL+"/+/several", form))
		if resp.StatusCode != 422 || !strings.Contains(body, "Nothing is changed") || api.find("spring") == nil {
			t.Errorf("%.80v: %d", form, resp.StatusCode)
		}
	}
	resp, body := send(t, request(t, "POST", srv.URL+"/+/several",
		url.Values{"do": {"delete"}, "code": {"spring", "never"}, "back": {"https://evil.example/"}}))
	if resp.StatusCode != 404 || !strings.Contains(body, "never: no such link") ||
		!strings.Contains(body, "<b>spring</b> is deleted.") {
		t.Errorf("one of two: %d", resp.StatusCode)
	}
	resp, _ = send(t, request(t, "POST", srv.URL+"/+/several",
		url.Values{"do": {"off"}, "code": {"fresh"}, "back": {"https://evil.example/"}}))
	if to := resp.Header.Get("Location"); !strings.HasPrefix(to, "/+?") {
		t.Errorf("it leads to %s", to)
	}
}
