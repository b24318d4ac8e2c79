package ops_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/ops"
)

// manyTables is a hotrow with n tables, each of which the doctor has a statement for, and
// one finding with a statement for each of them.
func manyTables(t *testing.T, n int) string {
	t.Helper()
	var s ops.Snapshot
	var findings []ops.Finding
	all := ops.Finding{Source: "main", Level: "error", Text: "no table has a trigger" + strings.Repeat(", t", n)}
	for i := range n {
		name := fmt.Sprintf("table_%04d", i)
		s.Resources = append(s.Resources, ops.Resource{Name: name, Source: "main",
			Lookups: []ops.Lookups{{Tier: "memory", Hit: uint64(n - i)}}})
		sql := "CREATE TRIGGER " + name + " -- " + strings.Repeat("a long statement ", 50)
		all.SQL = append(all.SQL, sql)
		findings = append(findings, ops.Finding{Source: "main", Level: "warning",
			Text: name + " has no trigger", Why: "its changes are not seen", SQL: []string{sql}})
	}
	s.Feeds = []ops.Feed{{Source: "main", State: "fresh", Up: true}}
	port := ops.New(ops.Options{
		Stats: func() ops.Snapshot { return s }, Events: new(ops.Events),
		Authorize: func(*http.Request) error { return nil },
		Doctor:    func(context.Context) ([]ops.Finding, error) { return append(findings, all), nil },
	})
	server := httptest.NewServer(port)
	t.Cleanup(func() { port.Stop(); server.Close() })
	return server.URL
}

// TestConsole_OfThousandsOfTables looks at the console of many tables. What a browser lays
// out and is sent does not grow with them.
func TestConsole_OfThousandsOfTables(t *testing.T) {
	browser := browsertest.New(t)
	for _, n := range []int{500, 5000} {
		tab := browser.Tab(browsertest.Desktop)
		tab.Open(manyTables(t, n) + "/")
		tab.Until("document.querySelectorAll('#resources tr').length == 25")
		tab.Until("document.querySelectorAll('#doctor li').length == 10")
		for what, most := range map[string]float64{
			"document.documentElement.scrollHeight": 5000, "document.querySelectorAll('*').length": 1500,
			"document.body.textContent.length": 64 << 10,
		} {
			if got := tab.Eval(what).(float64); got > most {
				t.Errorf("%d tables: %s is %v, want at most %v", n, what, got, most)
			}
		}
		// The worst finding comes first, and says how many statements it does not show.
		tab.Until(fmt.Sprintf(`document.querySelector('#doctor li').textContent.includes('%d statements') &&
			document.querySelector('#doctor li').textContent.includes('more: hotrow doctor --sql')`, n))
		// Every table is found by its name, and by its place.
		last := fmt.Sprintf("table_%04d", n-1)
		tab.Type("#page-resources input", strings.ToUpper(last))
		tab.Until("document.querySelector('#resources').textContent.startsWith('" + last + "')")
		tab.Until(fmt.Sprintf(`document.querySelector('#page-resources span').textContent ==
			'1 to 1 of 1, of %d in all'`, n))
		tab.Type("#page-doctor input", last)
		tab.Until("document.querySelector('#doctor').textContent.includes('" + last + " has no trigger')")
		tab.Eval("document.querySelector('#page-resources input').value = ''")
		tab.Eval("document.querySelector('#page-resources input').dispatchEvent(new Event('input'))")
		tab.Until(fmt.Sprintf("document.querySelector('#page-resources span').textContent == '1 to 25 of %d'", n))
		// A frame of the stream may move the button from below a mouse.
		tab.Eval("document.querySelector('#page-resources button:nth-of-type(2)').click()")
		tab.Until("document.querySelector('#resources').textContent.startsWith('table_0025')")
		tab.Eval("document.querySelector('#page-resources button:nth-of-type(1)').click()")
		tab.Until("document.querySelector('#resources').textContent.startsWith('table_0000')")
		tab.Screenshot(fmt.Sprintf("console/tables-%d", n))
		tab.Axe(fmt.Sprintf("console of %d tables", n))
		for _, m := range tab.Console() {
			t.Errorf("%d tables: console: %s", n, m)
		}
	}
}

// TestPages_AreSmall asks for what the console asks for, and for a page of each list.
func TestPages_AreSmall(t *testing.T) {
	url := manyTables(t, 5000)
	for _, path := range []string{"/-/resources?limit=25", "/-/doctor?limit=10", "/-/cache?limit=25",
		"/-/resources?name=table_49", "/-/cache?name=TABLE_4999", "/-/doctor?from=4990&limit=10"} {
		resp, body := askURL(t, url+path)
		if resp.StatusCode != http.StatusOK || len(body) > 64<<10 || !strings.Contains(body, "table_") {
			t.Errorf("%s: %s and %d bytes", path, resp.Status, len(body))
		}
	}
	for _, path := range []string{"/-/resources?limit=0", "/-/doctor?from=x", "/-/cache?page=1"} {
		if resp, body := askURL(t, url+path); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
	// Without a query programs get all, as ever.
	for path, want := range map[string]int{"/-/cache": 5000, "/-/doctor": 5001} {
		_, body := askURL(t, url+path)
		if n := strings.Count(body, `"name": "table_`) + strings.Count(body, `"level":`); n != want {
			t.Errorf("%s tells of %d, want %d", path, n, want)
		}
	}
}

func askURL(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}
