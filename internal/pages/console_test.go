package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/programtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// consoleOf opens the console of r, and waits for its first frames.
func consoleOf(
	t *testing.T, browser *browsertest.Browser, r *programtest.Running, view browsertest.View,
) *browsertest.Tab {
	t.Helper()
	tab := browser.Tab(view)
	tab.Open(r.Ops + "/")
	tab.Until(`document.querySelectorAll('.verdict').length > 0`)
	return tab
}

// TestConsole_SaysThatTheDatabaseIsAway looks at a PostgreSQL that is stopped and started
// again, by the clock of the test.
func TestConsole_SaysThatTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := pg.Database(t, dbtest.Setup("CREATE TABLE word (id int PRIMARY KEY, de text); "+
		"INSERT INTO word SELECT i, 'w' || i FROM generate_series(1, 50) i"))
	r := programtest.Serve(t, url)
	browser := browsertest.New(t)
	tab := consoleOf(t, browser, r, browsertest.Desktop)
	tab.Until(`document.querySelector('.verdict b').textContent.startsWith('Fresh')`)
	for i := range 200 {
		r.Get(fmt.Sprintf("/word/%d", i%50+1))
	}
	tab.Until(`document.querySelector('#resources').textContent.includes('word')`)

	pg.Stop(dbtest.Immediate)
	stopped := time.Now()
	tab.Until(`document.querySelector('.verdict b').textContent.match(/^(Behind|Cut off from) the database/)`)
	// TestConsole_VerdictUnderStress holds it to a second; this machine may be busy.
	if took := time.Since(stopped); waittest.Late(took, 20*time.Second) {
		t.Errorf("the console says that the feed is behind %v after the database has gone", took)
	}
	// It is true: what memory has is flagged from stale_after on.
	if status := r.Get("/word/1").Header.Get("Cache-Status"); !strings.Contains(status, "fwd=stale") {
		t.Errorf("the console says stale, an answer %q", status)
	}
	for i := range 50 {
		r.Get(fmt.Sprintf("/word/%d", i+1))
	}
	tab.Until(`document.querySelector('#events').textContent.includes('WARN')`)
	// The doctor is asked again when a source is not fresh any more.
	tab.Until(`document.querySelector('#doctor').textContent.includes('refused') ||
		document.querySelector('#doctor .error')`)
	tab.Screenshot("console/database-away")
	tab.Axe("console")
	for name, view := range map[string]browsertest.View{
		"dark": browsertest.Dark, "phone": browsertest.Phone, "wide": {Width: 1920, Height: 1080},
	} {
		other := consoleOf(t, browser, r, view)
		other.Until(`document.querySelectorAll('canvas').length == 6`)
		other.Until(`document.querySelector('#events').textContent.includes('WARN')`) // of before it looked
		if width := other.Eval("document.documentElement.scrollWidth"); width != float64(view.Width) {
			t.Errorf("%s: the page is %v pixels wide in a window of %d", name, width, view.Width)
		}
		other.Screenshot("console/database-away-" + name)
		other.Axe("console, " + name)
		for _, m := range other.Console() {
			t.Errorf("%s: console: %s", name, m)
		}
	}
	pg.Start()
	tab.Until(`document.querySelector('.verdict').textContent.match(
		/^Fresh.* ago all that was kept was forgotten: the feed was lost/)`)
	tab.Until(`document.querySelector('#marks').textContent.includes('copies forgotten')`)
	if text := tab.Text(".verdict b") + tab.Text(".verdict p"); strings.ContainsAny(text, "/[") {
		t.Errorf("the headline has an address: %s", text)
	}
	tab.Until(`[...document.querySelectorAll('#events b')].some((b) => b.textContent === 'gap') &&
		[...document.querySelectorAll('#events b')].some((b) => b.textContent === 'epoch')`)
	for _, m := range tab.Console() {
		t.Errorf("console: %s", m)
	}
}

func TestConsole_LooksAtADocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "words.db")
	dbtest.SQLiteShell(t, file, "CREATE TABLE word (id INTEGER PRIMARY KEY, de TEXT); "+
		"INSERT INTO word VALUES (1, 'Haus'), (2, 'Baum')")
	r := programtest.Serve(t, file)
	r.Hit("/word/1")
	tab := consoleOf(t, browsertest.New(t), r, browsertest.Desktop)
	look := func(path, button, says string) {
		t.Helper()
		tab.Eval(`document.querySelector('#path').value = document.querySelector('#found').textContent = ''`)
		tab.Type("#path", path)
		tab.Click("#inspect button[value=" + button + "]")
		tab.Until(`document.querySelector('#found').textContent.includes(` + "`" + says + "`)")
	}
	look("/word/1", "look", `"de": "Haus"`)
	look("word/1", "compare", "the same")
	if n := tab.Eval("document.querySelectorAll('#found pre').length"); n != 2.0 {
		t.Errorf("%v texts beside each other", n)
	}
	look("/word/2", "look", "the next request loads it")
	look("/word/1", "forget", "Forgotten")
	if status := r.Get("/word/1").Header.Get("Cache-Status"); !strings.Contains(status, "uri-miss") {
		t.Errorf("after it was forgotten: %q", status)
	}
	look("/word/2", "look", "none in the last")
	dbtest.SQLiteShell(t, file, "UPDATE word SET de = 'Hof' WHERE id = 1")
	r.Shows("/word/1", "Hof", 2*time.Second)
	look("/word/2", "look", "any row of the table may be meant") // there is no change log
	look("/word?limit=1", "look", "it is a page of all rows")
	look("/nope/1", "look", "no such resource")
	look("/word/abc", "look", "not a key")
	tab.Screenshot("console/inspect")
	tab.Axe("console, a document")
}

// fits holds that a page, with what the doctor says, is not wider than the window.
func fits(t *testing.T, tab *browsertest.Tab, view browsertest.View) {
	t.Helper()
	tab.Until("document.querySelector('#doctor pre')")
	tab.Eval("document.querySelectorAll('#doctor details').forEach((d) => d.open = true)")
	if width := tab.Eval("document.documentElement.scrollWidth"); width != float64(view.Width) {
		t.Errorf("the page is %v pixels wide in a window of %d", width, view.Width)
	}
}

// TestConsole_TellsWhatIsHot reads one document, changes another, and looks at both, and at
// what the doctor says of the file.
func TestConsole_TellsWhatIsHot(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "words.db")
	dbtest.SQLiteShell(t, file, "CREATE TABLE word (id INTEGER PRIMARY KEY, de TEXT); "+
		"INSERT INTO word VALUES (1, 'Haus'), (2, 'Baum')")
	r := programtest.Serve(t, file, "--writable")
	r.Hit("/word/1")
	r.Hit("/word/2")
	browser := browsertest.New(t)
	tab := consoleOf(t, browser, r, browsertest.Desktop)
	tab.Eval("(document.querySelector('#hottest').scrollIntoView(), 1)") // what nobody sees is not drawn
	hot := func(id, row string) string {
		return fmt.Sprintf("document.querySelector('#%s tr').textContent.startsWith('%s')", id, row)
	}
	programtest.Until(t, r.Log, func() bool {
		for range 20 {
			r.Get("/word/1")
			r.Do("PATCH", "/word/2", `{"de":"Baum"}`, "Content-Type: application/json")
			r.Do("PATCH", "/word/2", `{"de":"Wald"}`, "Content-Type: application/json")
		}
		return tab.Eval(hot("hottest", "/word/1")+" && "+hot("changed", "/word/2")) == true
	})
	tab.Until("document.querySelector('#doctor').textContent.includes('PRAGMA journal_mode=WAL;')")
	tab.Screenshot("console/hottest")
	tab.Axe("console, hottest keys")
	// A statement longer than the page scrolls within its box.
	fits(t, tab, browsertest.Desktop)
	fits(t, consoleOf(t, browser, r, browsertest.Phone), browsertest.Phone)
	tab.Until("document.querySelector('#asof').textContent.match(/, as of [0-9:]{8}$/)")
	// The charts' legends say the latest figures while nobody points at one.
	tab.Until("[...document.querySelectorAll('.legend')][0].querySelector('b').textContent !== '–'")
	if same := tab.Eval("getComputedStyle(document.querySelector('#hottest button')).backgroundColor === " +
		"getComputedStyle(document.querySelector('#again')).backgroundColor"); same != false {
		t.Error("a document in the table looks like the button of a form")
	}
	tab.Click("#hottest button")
	tab.Until("document.querySelector('#found').textContent.includes('`de`: `Haus`'.replaceAll('`', '\"'))")
	if text := programtest.MustCommand(t, "top", "--once", r.Ops); !strings.Contains(text, "/word/1 ") {
		t.Errorf("hotrow top --once names no key:\n%s", text)
	}
}

// TestConsole_AsksForTheToken signs in where the port is not for this machine alone.
func TestConsole_AsksForTheToken(t *testing.T) {
	t.Parallel()
	db, file := dbtest.SQLite(t), filepath.Join(t.TempDir(), "hotrow.yaml")
	dbtest.SQLiteShell(t, db, "CREATE TABLE dept (deptno INTEGER PRIMARY KEY, dname TEXT); "+
		"INSERT INTO dept VALUES (10, 'ACCOUNTING')")
	err := os.WriteFile(file, []byte("version: 1\nsources: {main: {url: 'sqlite:"+db+"'}}\n"+
		"resources: {depts: {table: dept}}\nauth:\n  tokens:\n"+
		programtest.TokenLine("o", "s3cret", "operator")), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r := programtest.Start(t, nil, "-c", file)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open(r.Ops + "/")
	tab.Until(`!document.querySelector('#signin').hidden`)
	tab.Type("#token", "wrong")
	tab.Press("\r")
	tab.Until(`document.querySelector('#refused').textContent.includes('operator')`)
	tab.Screenshot("console/signin")
	tab.Axe("console, sign in")
	tab.Type("#token", "s3cret")
	tab.Press("\r")
	tab.Until(`document.querySelectorAll('.verdict').length > 0`)
	kept := tab.Eval(`location.href + document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) +
		document.documentElement.outerHTML + [...document.querySelectorAll('input')].map((i) => i.value)`).(string)
	if strings.Contains(kept, "s3cret") {
		t.Error("the token is kept outside the page's memory")
	}
	tab.Open(r.Ops + "/")
	tab.Until(`!document.querySelector('#signin').hidden`)
}
