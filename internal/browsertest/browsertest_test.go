package browsertest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(m.Run()) }

// TestChromium_SeesWhatAPageDoes covers what the tests of pages rely on.
func TestChromium_SeesWhatAPageDoes(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "script-src 'sha256-none'")
		_, _ = w.Write([]byte(`<!doctype html><p>hello</p><input><script>console.error("x")</script>`))
	}))
	defer srv.Close()
	tab := New(t).Tab(View{Width: 400, Height: 300, Dark: true})
	tab.Open(srv.URL)
	if got := tab.Text("p"); got != "hello" {
		t.Errorf("the text is %q", got)
	}
	if dark := tab.Eval("matchMedia('(prefers-color-scheme: dark)').matches"); dark != true {
		t.Errorf("dark is %v", dark)
	}
	tab.Type("input", "abc")
	tab.Until("document.querySelector('input').value === 'abc'")
	tab.Until("true")
	refused := func(s string) bool { return strings.Contains(s, "Content Security Policy") }
	for !slices.ContainsFunc(tab.Console(), refused) && t.Context().Err() == nil {
		tab.Eval("1")
	}
	tab.Screenshot("browsertest/hello")
	if _, err := os.Stat(filepath.Join(root(t), "build/artifacts/browsertest/hello.png")); err != nil {
		t.Error(err)
	}
}
