package explore_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/explore"
)

// TestExplore_IsSmall: all files together have less than 60 KB.
func TestExplore_IsSmall(t *testing.T) {
	all := 0
	for name, f := range explore.Files {
		all += len(f.Body)
		if f.Type == "" || f.Tag == "" {
			t.Errorf("%s: %q, %q", name, f.Type, f.Tag)
		}
	}
	if all >= 60_000 {
		t.Errorf("%d bytes in all", all)
	}
}

// cells is the text of a column of the table.
const cells = `[...document.querySelectorAll('table.rows > tbody > tr')].map((r) => r.children[%N%].innerText)`

func column(tab *browsertest.Tab, n string) string {
	return strings.Join(strings.Fields(tab.Eval(strings.Replace(cells, "%N%", n, 1)+".join(' ')").(string)), " ")
}

// TestChromium_CSVCells: a cell that a spreadsheet could run has an apostrophe, in every form that
// input and normalization make of what begins a formula.
func TestChromium_CSVCells(t *testing.T) {
	s := newStand(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/")
	tab.Eval(`(import('./-/explore/copy.js').then((m) => { window.csv = m.csv; }), 1)`)
	tab.Until(`window.csv`)
	for value, want := range map[string]string{
		`"=1+1"`: "'=1+1", `"+1"`: "'+1", `"-1"`: "'-1", `"@a"`: "'@a",
		`"\uff1d1"`: "'\uff1d1", `"\ufe62x"`: "'\ufe62x",
		`"\u207b1"`: "'\u207b1", `"\u22121"`: "'\u22121", `" \u200b=1"`: "' \u200b=1", `"\tx"`: "'\tx",
		`"a=1"`: "a=1", `-1`: "-1", `"a,\"b\""`: `"a,""b"""`, `null`: "", `[1,2]`: `"[1,2]"`, `"\n"`: "\"'\n\"",
	} {
		if got := tab.Eval("csv(" + value + ")"); got != want {
			t.Errorf("csv(%s) = %q, want %q", value, got, want)
		}
	}
}

func TestChromium_Rows(t *testing.T) {
	s := newStand(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/")
	tab.Until(`[...document.querySelectorAll('.table-card')].some((c) => c.innerText.includes('120 rows'))`)
	text := strings.ToLower(tab.Text("body"))
	for _, word := range []string{"resource", "tier", "epoch", "fence", "position", "unsettled"} {
		if strings.Contains(text, word) {
			t.Errorf("the first screen says %q", word)
		}
	}
	if strings.Contains(text, "wages") {
		t.Error("a table is shown that needs a token")
	}
	tab.Screenshot("explore/tables-light")

	tab.Eval(`[...document.querySelectorAll('.table-card a')].find((a) => a.innerText === 'products').click()`)
	tab.Until(`document.querySelectorAll('table.rows > tbody > tr').length === 50`)
	tab.Until(`document.querySelector('#count').innerText === '120 rows'`)
	tab.Until(`/^asked the database/.test(document.querySelector('#from').innerText)`)
	if got := column(tab, "7"); !strings.HasPrefix(got, "9007199254740994 9007199254740995 ") {
		t.Errorf("large numbers are %.60s", got)
	}

	// Sorted down by price, which no index has: the table is small.
	sort := `[...document.querySelectorAll('button.sort')].find((b) => b.innerText.startsWith('price')).click()`
	tab.Eval(sort)
	tab.Until(`document.querySelector('th[aria-sort=ascending]')`)
	tab.Eval(sort)
	tab.Until(`document.querySelector('th[aria-sort=descending]') &&
		document.querySelector('table.rows td').innerText === '120'`)
	if got := tab.Eval("location.hash"); got != "#/products?order=price.desc" {
		t.Errorf("the address is %v", got)
	}

	// Filtered, page by page.
	tab.Eval(`(document.querySelector('select[aria-label=column]').value = 'stock',
		document.querySelector('select[aria-label=column]').dispatchEvent(new Event('change')),
		document.querySelector('select[aria-label=comparison]').value = 'gte', 1)`)
	tab.Type("#find", "5\r")
	tab.Until(`document.querySelector('.chip')?.innerText.startsWith('stock ≥ 5')`)
	tab.Until(`document.querySelector('#count').innerText === '105 rows'`)
	first := column(tab, "0")
	tab.Click("#next")
	tab.Until(`location.hash.includes('after=')`)
	tab.Until(`document.querySelector('.pager')?.innerText.includes('First rows')`)
	if second := column(tab, "0"); second == first || second == "" {
		t.Errorf("the second page is %q", second)
	}
	shared := tab.Eval("location.href").(string)
	before := column(tab, "0")
	other := browsertest.New(t).Tab(browsertest.Desktop)
	other.Open(shared)
	other.Until(`document.querySelectorAll('table.rows > tbody > tr').length > 1`)
	if got := column(other, "0"); got != before {
		t.Errorf("who is sent the address sees %q, not %q", got, before)
	}
	quiet(t, other)

	// Embedded, and a row.
	s.open(tab, "/products?category=eq.books")
	tab.Until(`document.querySelectorAll('table.rows > tbody > tr').length === 30`)
	tab.Eval(`[...document.querySelectorAll('.embeds label')].find((l) => l.innerText.trim() === 'reviews').click()`)
	tab.Until(`document.querySelector('.nested')?.innerText.includes('Review')`)
	tab.Screenshot("explore/embedded-light")
	tab.Click("table.rows tbody a")
	tab.Until(`document.querySelector('dl.values')?.innerText.includes('Product 4')`)
	tab.Until(`document.querySelector('.related')?.innerText.includes('reviews')`)
	tab.Screenshot("explore/row-light")
	tab.Eval(`[...document.querySelectorAll('.related a')].find((a) => a.innerText === 'reviews').click()`)
	tab.Until(`document.querySelector('table.rows') &&
		document.querySelector('.chip').innerText.startsWith('product_id = 4')`)
	tab.Click("table.rows tbody a[href='#/products/4']")
	tab.Until(`document.querySelector('dl.values')?.innerText.includes('Product 4')`)
	s.open(tab, "/order_lines")
	tab.Until(`document.querySelector('table.rows tbody a')`)
	tab.Click("table.rows tbody a")
	tab.Until(`document.querySelector('dl.values')?.innerText.includes('quantity')`)
	quiet(t, tab)
}

// TestChromium_Refused: what the database would have to read a whole table for is said to be
// refused, with the index that would admit it.
func TestChromium_Refused(t *testing.T) {
	s := newStand(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/visits?seconds=eq.5")
	tab.Until(`document.querySelector('.problem code')?.innerText.startsWith('CREATE INDEX')`)
	tab.Screenshot("explore/refused-light")
	s.Exec(tab.Text(".problem code"))
	tab.Until(`(() => {
		const again = [...document.querySelectorAll('.problem button')].find((b) => b.innerText === 'Ask again');
		if (again) again.click();
		return document.querySelectorAll('table.rows > tbody > tr').length === 35;
	})()`)
	quiet(t, tab, "400")
}

func TestChromium_Watch(t *testing.T) {
	s := newStand(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/products?category=eq.books")
	tab.Until(`document.querySelector('#watch')`)
	tab.Click("#watch")
	tab.Until(`document.querySelector('#from .live')`)
	s.Exec(`UPDATE products SET name = 'Seen' WHERE id = 8`)
	tab.Until(`[...document.querySelectorAll('td.flash')].map((c) => c.innerText).join() === 'Seen'`)
	tab.Screenshot("explore/watch-light")
	s.Exec(`DELETE FROM reviews WHERE product_id = 8`, `DELETE FROM order_lines WHERE product_id = 8`,
		`DELETE FROM products WHERE id = 8`)
	tab.Until(`document.querySelectorAll('table.rows > tbody > tr').length === 29`)

	// It stays on, for a row too.
	tab.Click(`table.rows a[href='#/products/4']`)
	tab.Until(`document.querySelector('dl.values') && document.querySelector('#from .live')`)
	s.Exec(`UPDATE products SET price = 99.5 WHERE id = 4`)
	tab.Until(`document.querySelector('dd.flash')?.innerText.startsWith('99.5')`)
	tab.Until(`document.querySelector('#from').innerText.includes('1 change')`)
	s.Exec(`DELETE FROM reviews WHERE product_id = 4`, `DELETE FROM order_lines WHERE product_id = 4`,
		`DELETE FROM products WHERE id = 4`)
	tab.Until(`document.querySelector('dl.values').innerText.includes('not there any more')`)
	quiet(t, tab)
}

func TestChromium_Edit(t *testing.T) {
	s := newStand(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/products/10")
	tab.Until(`document.querySelector('[aria-label="edit name"]')`)
	tab.Click(`[aria-label="edit name"]`)
	tab.Eval(`(document.querySelector('textarea').value = '', 1)`)
	tab.Type("textarea", "Mine")
	s.Exec(`UPDATE products SET name = 'Theirs' WHERE id = 10`)
	tab.Click(".edit button.main")
	tab.Until(`document.querySelector('.conflict')?.innerText.includes('Theirs')`)
	tab.Screenshot("explore/conflict-light")
	tab.Eval(`[...document.querySelectorAll('.conflict button')].find((b) => b.innerText.startsWith('Save')).click()`)
	tab.Until(`!document.querySelector('textarea') && document.querySelector('dl.values').innerText.includes('Mine')`)

	// A number keeps its digits, and a large one is not rounded.
	tab.Click(`[aria-label="edit serial"]`)
	tab.Eval(`(document.querySelector('textarea').value = '9007199254740999', 1)`)
	tab.Click(".edit button.main")
	tab.Until(`!document.querySelector('textarea') &&
		document.querySelector('dl.values').innerText.includes('9007199254740999')`)
	tab.Click(`[aria-label="edit stock"]`)
	tab.Click(`.edit input[type=checkbox]`)
	tab.Click(".edit button.main")
	tab.Until(`!document.querySelector('textarea') && document.querySelector('dl.values .null')`)
	quiet(t, tab, "412")
}

// TestChromium_Token: the page opens without one, is not told of what needs one, and keeps one
// in its memory alone.
func TestChromium_Token(t *testing.T) {
	s := newStand(t)
	s.tokens.Allow(map[string]string{"reader": "reader"})
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/wages")
	tab.Until(`document.querySelector('.problem')?.innerText.includes('token')`)
	tab.Eval(`[...document.querySelectorAll('.problem button')].find((b) => b.innerText === 'Type a token').click()`)
	tab.Until(`document.activeElement.id === 'token'`)
	tab.Type("#token", "secret-reader\r")
	tab.Until(`document.querySelector('table.rows')?.innerText.includes('100')`)
	tab.Click("#watch")
	tab.Until(`document.querySelector('#from .live')`)
	s.Exec(`UPDATE wages SET amount = 123`)
	tab.Until(`document.querySelector('td.flash')?.innerText === '123'`)
	tab.Click("table.rows tbody a")
	tab.Until(`document.querySelector('dl.values')`)
	if n := tab.Eval(`document.querySelectorAll('dl.values button').length`); n != 0.0 {
		t.Errorf("%v values can be edited by who may not", n)
	}
	kept := tab.Eval(`location.href + document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) +
		document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((i) => i.value)`).(string)
	if strings.Contains(kept, "secret-reader") {
		t.Error("the token is kept outside the page's memory")
	}
	quiet(t, tab)
}

// TestChromium_HostileTexts: nothing of the database runs, or is asked for elsewhere, and what
// is copied from the page gives the row and does nothing else.
func TestChromium_HostileTexts(t *testing.T) {
	s := newStand(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	s.open(tab, "/odd")
	tab.Until(`document.querySelectorAll('table.rows > tbody > tr').length > 10`)
	tab.Eval(`(window.alert = () => { window.alerted = true; }, 1)`)
	tab.Screenshot("explore/hostile-light")
	tab.Click("#watch")
	tab.Until(`document.querySelector('#from .live')`)
	// The key of every row leads to it.
	hashes := tab.Eval(`[...document.querySelectorAll('table.rows > tbody > tr')].map(
		(r) => r.querySelector('a[href^="#/odd/"]')?.hash)`).([]any)
	dir := t.TempDir()
	for i, h := range hashes {
		hash, _ := h.(string)
		if hash == "" {
			t.Errorf("row %d has no address", i)
			continue
		}
		tab.Open(s.url + "/" + hash)
		tab.Until(`document.querySelector('dl.values dd bdi') && document.querySelector('[data-kind=curl] code')`)
		key := tab.Eval(`document.querySelector('dl.values dd bdi').textContent`).(string)
		command := tab.Eval(`document.querySelector('[data-kind=curl] code').textContent`).(string)
		for _, shell := range []string{"sh", "bash"} {
			var got struct{ Note string }
			body := run(t, dir, shell, command)
			if err := json.Unmarshal([]byte(body), &got); err != nil || got.Note != key {
				t.Errorf("%s, %q: %s gives %.200s", shell, key, command, body)
			}
		}
		script := tab.Eval(`document.querySelector('[data-kind=JavaScript] code').textContent`).(string)
		if strings.ContainsFunc(script, func(r rune) bool { return r > 0x7e || r < ' ' && r != '\n' }) {
			t.Errorf("%q: the script is %q", key, script)
		}
	}
	made := tab.Eval(`document.querySelectorAll('img, main svg, script:not([src]), main script').length`)
	if made != 0.0 {
		t.Errorf("%v elements are made of texts", made)
	}
	others := tab.Eval(`performance.getEntriesByType('resource').map((e) => e.name).filter(
		(n) => !n.startsWith(location.origin + '/'))`)
	if list := others.([]any); len(list) > 0 {
		t.Errorf("asked elsewhere: %v", list)
	}
	if tab.Eval("window.alerted ?? false") != false {
		t.Error("a dialog was opened")
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("a command has made %v", files)
	}
	quiet(t, tab)
}

// run runs a command as somebody does who has copied it.
func run(t *testing.T, dir, shell, command string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), shell, "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "none"))
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
	return string(out)
}

// TestChromium_Views: every view fits its window and reads well in both schemes, from a phone's
// width to a large screen's.
func TestChromium_Views(t *testing.T) {
	s := newStand(t)
	browser := browsertest.New(t)
	for name, view := range map[string]browsertest.View{
		"light": browsertest.Desktop, "dark": browsertest.Dark, "phone": browsertest.Phone,
		"390-light": {Width: 390, Height: 844}, "390-dark": {Width: 390, Height: 844, Dark: true},
		"1920": {Width: 1920, Height: 1080},
	} {
		tab := browser.Tab(view)
		for _, v := range []struct{ name, hash, until string }{
			{"tables", "/", `/row/.test(document.querySelector('.table-card .n')?.innerText)`},
			{"list", "/products?category=eq.toys&order=id.desc",
				`/^30 rows/.test(document.querySelector('#count')?.innerText)`},
			{"row", "/products/20", `document.querySelector('.related a')`},
			{"odd", "/odd", `document.querySelector('#count')?.innerText === '21 rows'`},
			{"refused", "/visits?seconds=eq.5", `document.querySelector('.problem code')`},
		} {
			s.open(tab, v.hash)
			tab.Until(v.until)
			tab.Eval(`document.querySelector('.request')?.setAttribute('open', '')`)
			if got := tab.Eval("document.documentElement.scrollWidth"); got != float64(view.Width) {
				t.Errorf("%s, %s is %v pixels wide", v.name, name, got)
			}
			tab.Screenshot("explore/" + v.name + "-" + name)
			tab.Axe(v.name)
		}
		quiet(t, tab, "400")
	}
}
