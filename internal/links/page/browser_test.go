package page

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// pictures are the pages that are left for people to look at.
var pictures = []struct{ name, path string }{
	{"list", "/+"}, {"link", "/spring+"}, {"link-hour", "/spring+?unit=hour"},
	{"link-month", "/x7kq2mz+?unit=month"}, {"import", "/+/import"},
}

// quiet fails the test if a page has complained: of a script's error, or of
// something that the policy refuses.
func quiet(t *testing.T, tab *browsertest.Tab) {
	t.Helper()
	for _, m := range tab.Console() {
		t.Errorf("console: %s", m)
	}
}

// fits fails the test if a page is wider than its window.
func fits(t *testing.T, tab *browsertest.Tab, path string, width int) {
	t.Helper()
	if got := tab.Eval("document.documentElement.scrollWidth"); got != float64(width) {
		t.Errorf("%s is %v pixels wide in a window of %d", path, got, width)
	}
}

// legible checks that text and ground are as light and dark as the view wants, and
// differ by 7 to 1 (WCAG 2, success criterion 1.4.6).
func legible(t *testing.T, tab *browsertest.Tab, path string, dark bool) {
	t.Helper()
	got := tab.Eval(`(() => {
		const light = (colour) => {
			const [r, g, b] = colour.match(/[\d.]+/g).map((v) => {
				v /= 255;
				return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
			});
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const style = getComputedStyle(document.body);
		return [light(style.color), light(style.backgroundColor)];
	})()`).([]any)
	ink, ground := got[0].(float64), got[1].(float64)
	if (ink > ground) != dark || (max(ink, ground)+0.05)/(min(ink, ground)+0.05) < 7 {
		t.Errorf("%s, dark %t: text of luminance %.3f on %.3f", path, dark, ink, ground)
	}
}

func TestChromium_PagesAreDrawn(t *testing.T) {
	api, srv := newPage(t)
	browser := browsertest.New(t)
	for name, view := range map[string]browsertest.View{
		"light": browsertest.Desktop, "dark": browsertest.Dark, "narrow": browsertest.Phone,
	} {
		tab := browser.Tab(view)
		for _, p := range pictures {
			tab.Open(srv.URL + p.path)
			if p.name == "list" {
				follow(t, api, tab)
			}
			fits(t, tab, p.path, view.Width)
			legible(t, tab, p.path, name == "dark")
			opens(t, tab, p.path)
			tab.Screenshot("links/" + p.name + "-" + name)
		}
		quiet(t, tab)
	}
}

// opens fails for what can be opened and does not look like it, and for a title that is
// cut although there is room for a second line.
func opens(t *testing.T, tab *browsertest.Tab, path string) {
	t.Helper()
	if n := tab.Eval(`[...document.querySelectorAll('summary')].filter(
		(s) => getComputedStyle(s).display !== 'list-item').length`); n != 0.0 {
		t.Errorf("%s: %v summaries have no triangle", path, n)
	}
	if n := tab.Eval(`[...document.querySelectorAll('#rows .title')].filter(
		(e) => e.scrollWidth > e.clientWidth ||
			e.scrollHeight > e.clientHeight + 2 && e.clientHeight < 30).length`); n != 0.0 {
		t.Errorf("%s: %v titles are cut to one line", path, n)
	}
	if cut := tab.Eval(`[...document.querySelectorAll('#rows .c-code .tag, #rows .c-last time')].filter(
		(e) => e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + .5 -
			parseFloat(getComputedStyle(e.parentElement).paddingRight)).map((e) => e.innerText).join()`); cut != "" {
		t.Errorf("%s: cut off: %v", path, cut)
	}
}

// follow waits for the live tail and sends clicks to it.
func follow(t *testing.T, api *standIn, tab *browsertest.Tab) {
	t.Helper()
	tab.Until("!document.querySelector('#live').hidden")
	deadline := waittest.Deadline(20 * time.Second)
	for i := 0; tab.Eval("document.querySelectorAll('#tail li').length").(float64) < 8; i++ {
		if time.Now().After(deadline) {
			t.Fatal("no click has come through the live tail")
		}
		api.click(map[string]any{
			"at": noon.Add(time.Duration(i) * 417 * time.Millisecond), "kind": []int{0, 0, 1}[i%3],
			"code":    []string{"spring", "x7kq2mz", "handbook"}[i%3],
			"country": []string{"DE", "FR", "US"}[i%3], "browser": []string{"Firefox", "Safari", "Googlebot"}[i%3],
			"os": []string{"Linux", "iOS", ""}[i%3], "referrer": []string{"news.ycombinator.com", "", ""}[i%3],
		})
	}
}

func TestChromium_CreateCopySearch(t *testing.T) {
	_, srv := newPage(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open(srv.URL + "/+")
	tab.Eval(`(navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }, 1)`)

	tab.Press("n")
	tab.Until("document.activeElement.id === 'f-url'")
	// The driver sends the letter apart from its key, so that it is typed here;
	// a keyboard's is not, for the key's default is prevented.
	tab.Eval("document.activeElement.value = ''")
	tab.Type("#f-url", "https://example.com/a-long-one")
	tab.Type("#f-code", "short1")
	tab.Click("#make button.main")
	tab.Until("document.querySelector('.made .short')?.textContent === 'https://s.example/short1'")
	tab.Until("document.querySelector('#rows tbody tr').dataset.code === 'short1'")
	if got := tab.Eval("document.activeElement.className"); got != "copy" {
		t.Errorf("after it is made the focus is on %v, not on its copy button", got)
	}
	tab.Press("\r")
	tab.Until("window.copied === 'https://s.example/short1'")
	tab.Until("document.querySelector('#said').textContent.includes('short1')")

	// A code that is taken is said to be, and nothing that was typed is lost.
	tab.Type("#f-url", "https://example.com/other")
	tab.Type("#f-code", "spring")
	tab.Click("#make button.main")
	tab.Until("document.querySelector('[role=alert]')?.textContent.includes('already points to another URL')")
	if got := tab.Eval("[document.activeElement.id, document.querySelector('#f-url').value]"); fmt.Sprint(got) !=
		"[f-code https://example.com/other]" {
		t.Errorf("after the refusal: %v", got)
	}
	tab.Screenshot("links/taken-light")

	tab.Eval("(document.activeElement.blur(), 1)")
	tab.Press("/")
	tab.Until("document.activeElement.id === 'q'")
	tab.Eval("document.activeElement.value = ''")
	tab.Type("#q", "handb")
	tab.Until("document.querySelectorAll('#rows tbody tr').length === 1")
	if got := tab.Eval("location.search"); got != "?q=handb&order=-created_at" {
		t.Errorf("the address is %v", got)
	}
	tab.Eval("(document.activeElement.blur(), 1)")
	tab.Press("j")
	tab.Press("c")
	tab.Until("window.copied === 'https://s.example/handbook'")
	tab.Press("?")
	tab.Until("document.querySelector('#keys').open")
	tab.Screenshot("links/keys-light")
	expect := 0
	for _, m := range tab.Console() {
		// The refusal's own status is no complaint of the page.
		if strings.Contains(m, "409") {
			expect++
			continue
		}
		t.Errorf("console: %s", m)
	}
	if expect > 1 {
		t.Errorf("%d refusals", expect)
	}
}

func TestChromium_LiveTailCounts(t *testing.T) {
	api, srv := newPage(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open(srv.URL + "/+")
	follow(t, api, tab)
	tab.Until("document.querySelector('#rows tr[data-code=spring] [data-n=clicks]').textContent !== '12,934'")
	tab.Press("p")
	tab.Until("document.querySelector('#pause').getAttribute('aria-pressed') === 'true'")
	n := tab.Eval("document.querySelectorAll('#tail li').length")
	before := tab.Eval("document.querySelector('#rows tr[data-code=fresh] [data-n=clicks]').textContent")
	api.click(map[string]any{"at": noon, "kind": 0, "code": "fresh"})
	tab.Until("document.querySelector('#rows tr[data-code=fresh] [data-n=clicks]').textContent === '1'")
	if got := tab.Eval("document.querySelectorAll('#tail li').length"); got != n || before != "0" {
		t.Errorf("paused, the tail has %v lines, then %v; the count was %v", n, got, before)
	}
	quiet(t, tab)
}

// TestChromium_ShowsAttacksAsText: every text that others can choose comes out as
// it is, nothing runs, and the policy has nothing to refuse.
func TestChromium_ShowsAttacksAsText(t *testing.T) {
	api, srv := newPage(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	for path, want := range map[string][]string{
		"/+": {evilTitle, evilTag, "/<script>alert(1)</script>", "xn--80ak6aa92e.com",
			"пример.рф", "xn--e1afmkfd.xn--p1ai"},
		"/evil+":                                 {evilTitle, evilTag, evilAgent, evilReferrer},
		"/idn+":                                  {"пример.рф", "xn--e1afmkfd.xn--p1ai"},
		"/+?q=%3Cscript%3Ealert(1)%3C/script%3E": {"“<script>alert(1)</script>”"},
	} {
		tab.Open(srv.URL + path)
		text := tab.Text("body")
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s does not show %q", path, w)
			}
		}
		if strings.Contains(text, "аррӏе") {
			t.Errorf("%s shows a host that looks like another", path)
		}
		made := tab.Eval("document.querySelectorAll('script:not([src]), b b, img[src=x], [onerror]').length")
		if n := made; n != 0.0 {
			t.Errorf("%s has %v elements that an attack has made", path, n)
		}
	}
	tab.Open(srv.URL + "/+")
	tab.Until("!document.querySelector('#live').hidden")
	for deadline := waittest.Deadline(20 * time.Second); !strings.Contains(tab.Text("#tail"), evilAgent); {
		if time.Now().After(deadline) {
			t.Fatalf("the tail shows %q", tab.Text("#tail"))
		}
		api.click(map[string]any{
			"at": noon, "kind": 0, "path": "/<img src=x>", "browser": evilAgent, "referrer": evilReferrer,
		})
	}
	if n := tab.Eval("document.querySelectorAll('#tail img, #tail script').length"); n != 0.0 {
		t.Errorf("the tail has %v elements that an attack has made", n)
	}
	quiet(t, tab)
}

func TestChromium_WorksWithoutScripts(t *testing.T) {
	_, srv := newPage(t)
	view := browsertest.Desktop
	view.NoScript = true
	tab := browsertest.New(t).Tab(view)
	tab.Open(srv.URL + "/+")
	if n := tab.Eval("[...document.querySelectorAll('button.copy')].filter((b) => b.offsetWidth).length"); n != 0.0 {
		t.Errorf("%v copy buttons are shown that do nothing", n)
	}
	if n := tab.Eval("document.querySelectorAll('#rows tbody tr').length"); n != 13.0 {
		t.Errorf("%v links are listed", n)
	}
	tab.Type("#f-url", "https://example.com/plain")
	tab.Type("#f-code", "plain")
	tab.Click("#make button.main")
	tab.Until("location.search === '?made=plain' && document.querySelector('.made .short')")
	tab.Screenshot("links/noscript-light")
	tab.Open(srv.URL + "/plain+")
	tab.Type("#f-title", "A title")
	tab.Click("#edit button.main")
	tab.Until("document.body.innerText.includes('Saved.')")
	if got := tab.Text(".hero .title"); got != "A title" {
		t.Errorf("the title is %q", got)
	}
	tab.Click(".danger summary")
	tab.Click("button.bad")
	tab.Until("document.body.textContent.includes('plain is deleted.')")
	tab.Click("#outcome .made button")
	tab.Until("document.body.textContent.includes('plain is back')")
	quiet(t, tab)
}

// TestChromium_SignsIn: a key opens the page, and no script can read it.
func TestChromium_SignsIn(t *testing.T) {
	api := newStandIn()
	api.key = "hr_0123456789abcdef"
	p, err := New(Options{API: api, BaseURL: "http://s.example"})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open(srv.URL + "/spring+")
	tab.Type("#key", "hr_wrong0123456789")
	tab.Click("main button")
	tab.Until("document.querySelector('[role=alert]')?.textContent.includes('does not know this key')")
	tab.Screenshot("links/signin-light")
	tab.Type("#key", api.key)
	tab.Click("main button")
	tab.Until("location.pathname === '/spring+' && document.querySelector('.hero')")
	if got := tab.Eval("document.cookie"); got != "" {
		t.Errorf("a script sees the cookie %v", got)
	}
	tab.Click(".out button")
	tab.Until("document.querySelector('#key')")
}
