// Package browsertest gives tests a real browser: Debian's chromium without windows, which takes
// three fifths of the processor time of the other, driven over its own protocol. A Tab does what
// a visitor does, keeps what the page writes to the console, and takes screenshots that are left
// below build/artifacts for people to look at.
//
// A browser that is not installed skips the test, unless HOTROW_TEST_REQUIRE
// names chromium-headless-shell: then it fails.
package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// pageTimeout is how long a page may take for anything on a quiet machine.
const pageTimeout = 30 * time.Second

// A Browser is a chromium of one test's own, with no history and no cookies. It
// ends with the test.
type Browser struct {
	t   testing.TB
	ctx context.Context
}

// New starts a browser, with more flags of its command line.
func New(t testing.TB, flags ...string) *Browser {
	t.Helper()
	program := dbtest.Program(t, "chromium-headless-shell", "chromium-headless-shell",
		"/usr/lib/chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		// A test's own pages need no sandbox, and as root there is none.
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("lang", "en-US"),
	)
	for _, flag := range flags {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, cancelBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() { cancel(); cancelBrowser() })
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return &Browser{t: t, ctx: ctx}
}

// A View is how a visitor looks at a page.
type View struct {
	Width, Height int
	Dark          bool
	NoScript      bool
}

// The views that pages are made for.
var (
	Desktop = View{Width: 1280, Height: 860}
	Dark    = View{Width: 1280, Height: 860, Dark: true}
	Phone   = View{Width: 360, Height: 740}
)

// A Tab is a page that somebody looks at. All tabs of a browser share its cookies.
type Tab struct {
	t    testing.TB
	ctx  context.Context
	view View

	mu      sync.Mutex // guards console
	console []string
}

// Tab opens a tab.
func (b *Browser) Tab(view View) *Tab {
	b.t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	tab := &Tab{t: b.t, ctx: ctx, view: view}
	tab.do(chromedp.EmulateViewport(int64(view.Width), int64(view.Height)))
	scheme := "light"
	if view.Dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err == nil && view.NoScript {
		_, err = chromedp.Call(ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			tab.mu.Lock()
			tab.console = append(tab.console, fmt.Sprintf("%s: %s", m.Type, m.Text))
			tab.mu.Unlock()
		}
	}()
	return tab
}

// do does steps, each of which may take its time.
func (tab *Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, waittest.Limit(pageTimeout))
	defer cancel()
	// The first step of a tab makes it, and its life must not end with ctx.
	if err := chromedp.Do(tab.ctx); err != nil {
		tab.t.Fatal(err)
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		tab.t.Fatalf("%v\nconsole: %s", err, strings.Join(tab.Console(), "\n"))
	}
}

// Open goes to an address and waits until it is loaded.
func (tab *Tab) Open(url string) { tab.t.Helper(); tab.do(chromedp.Navigate(url)) }

// Click clicks the element of a CSS selector.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.do(chromedp.Click(chromedp.CSS(selector)))
}

// Type types into the element of a CSS selector.
func (tab *Tab) Type(selector, text string) {
	tab.t.Helper()
	tab.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press presses keys, wherever the focus is.
func (tab *Tab) Press(keys string) { tab.t.Helper(); tab.do(chromedp.KeyEvent(keys)) }

// Eval returns the value of a JavaScript expression as JSON decodes it.
func (tab *Tab) Eval(expression string) any {
	tab.t.Helper()
	value, err := tab.eval(expression)
	if err != nil {
		tab.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// eval is Eval that may fail: while one page gives way to the next it does.
func (tab *Tab) eval(expression string) (value any, err error) {
	ctx, cancel := context.WithTimeout(tab.ctx, waittest.Limit(pageTimeout))
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](
		"JSON.stringify(("+expression+") ?? null)"))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(text), &value)
	return value, err
}

// Text returns the text of the first element of a CSS selector, "" for none.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	text, _ := tab.Eval("document.querySelector(" + quote(selector) + ")?.innerText").(string)
	return strings.TrimSpace(text)
}

// Until waits until a JavaScript expression is true.
func (tab *Tab) Until(expression string) {
	tab.t.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		value, err := tab.eval("!!(" + expression + ")")
		if ok, _ := value.(bool); ok && err == nil {
			return
		}
		if waittest.Late(time.Since(begin), pageTimeout) {
			tab.t.Fatalf("waited in vain for %s (%v)\nconsole: %s\nbody: %s", expression, err,
				strings.Join(tab.Console(), "\n"), tab.Text("body"))
		}
	}
}

// Console returns what the page has written to the console so far: its own
// messages, exceptions, and what the browser refused because of a policy.
func (tab *Tab) Console() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return append([]string(nil), tab.console...)
}

// Screenshot takes a picture of the whole page into build/artifacts/NAME.png, and returns
// that file.
func (tab *Tab) Screenshot(name string) string {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, waittest.Limit(pageTimeout))
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	for err != nil && ctx.Err() == nil { // a page that is not laid out yet has no width
		time.Sleep(50 * time.Millisecond)
		picture, err = chromedp.Run(ctx, chromedp.FullScreenshot(100))
	}
	if err != nil {
		tab.t.Fatalf("screenshot %s: %v", name, err)
	}
	path := filepath.Join(root(tab.t), "build", "artifacts", name+".png")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tab.t.Fatal(err)
	}
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		tab.t.Fatal(err)
	}
	return path
}

// root returns the repository's root: where go.mod is.
func root(t testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's directory")
		}
		dir = filepath.Dir(dir)
	}
}

// quote writes a JavaScript string.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}
