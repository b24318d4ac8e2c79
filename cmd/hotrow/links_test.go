package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// fixtures are files as other shorteners export them.
const fixtures = "../../internal/links/transfer/testdata"

// demoLinks starts the demo, whose shortener has links, and returns its URL.
func demoLinks(t *testing.T) (*running, string) {
	t.Helper()
	r := serve(t, "demo", "--file", filepath.Join(t.TempDir(), "demo.db"))
	m := regexp.MustCompile(`proto=links addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		t.Fatalf("links are not served:\n%s", r.log)
	}
	return r, "http://" + m[1]
}

// follow follows a short link and returns where it leads. On a busy machine a read of the
// database may be late, which is 503 and passes by itself.
func follow(t *testing.T, address string) (status int, location string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	var said []byte
	waittest.Until(t, "an answer but 503", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		said, _ = io.ReadAll(resp.Body)
		status, location = resp.StatusCode, resp.Header.Get("Location")
		return status != http.StatusServiceUnavailable
	})
	if status >= 500 {
		t.Errorf("GET %s: %d\n%s", address, status, said)
	}
	return status, location
}

func TestLinksCommand_AddFollowListRemove(t *testing.T) {
	t.Parallel()
	r, server := demoLinks(t)
	at := "--server=" + server
	short := strings.TrimSpace(mustCommand(t, "links", "add", at, "https://example.com/a", "mine",
		"--expire=7d", "--max=100", "--tag=x", "--tag=y", "--title=A title"))
	if short != server+"/mine" {
		t.Errorf("add prints %q", short)
	}
	if status, to := follow(t, server+"/mine"); status != 302 || to != "https://example.com/a" {
		t.Errorf("it is followed by %d %s", status, to)
	}
	made := strings.TrimSpace(mustCommand(t, "links", "add", at, "https://example.com/b"))
	if !strings.HasPrefix(made, server+"/") || len(made) != len(server)+8 {
		t.Errorf("a made up code: %q", made)
	}
	again := strings.TrimSpace(mustCommand(t, "links", "add", at, "https://example.com/b", "--reuse"))
	if again != made {
		t.Errorf("--reuse makes %s beside %s", again, made)
	}
	code, _, stderr := command(t, "links", "add", at, "https://example.com/c", "mine")
	if code != 1 || !strings.Contains(stderr, "another link") {
		t.Errorf("a taken code: exit %d, %s", code, stderr)
	}
	code, _, stderr = command(t, "links", "add", at, "javascript:alert(1)")
	if code != 1 || !strings.Contains(stderr, "javascript") && !strings.Contains(stderr, "scheme") {
		t.Errorf("a forbidden target: exit %d, %s", code, stderr)
	}
	if code, _, _ = command(t, "links", "add", at, "https://example.com/c", "--expire=soon"); code != 2 {
		t.Errorf("a wrong --expire: exit %d", code)
	}
	var l linkDocument
	until(t, r.log, func() bool {
		text := mustCommand(t, "links", "ls", at, "mine", "--json")
		return json.Unmarshal([]byte(strings.SplitN(text, "\n", 2)[0]), &l) == nil && l.Clicks == 1
	})
	if list := mustCommand(t, "links", "ls", at, "--limit=0"); !strings.Contains(list, "mine ") ||
		!strings.Contains(list, "https://example.com/b") {
		t.Errorf("ls prints\n%s", list)
	}
	until(t, r.log, func() bool { // what a click is made of is known once it is in the database
		stats := mustCommand(t, "links", "stats", at, "mine")
		return strings.Contains(stats, "1 clicks, 0 bots") && strings.Contains(stats, "Firefox")
	})
	mustCommand(t, "links", "rm", at, "mine")
	if status, _ := follow(t, server+"/mine"); status != 404 {
		t.Errorf("after rm it is followed by %d", status)
	}
	if code, _, _ = command(t, "links", "rm", at, "mine"); code != 1 {
		t.Errorf("rm of what is gone: exit %d", code)
	}
}

// TestLinksCommand_ImportsExportsResolves moves links of every format in, and out
// again.
func TestLinksCommand_ImportsExportsResolves(t *testing.T) {
	_, server := demoLinks(t)
	at := "--server=" + server
	tests := []struct {
		file, from string
		exit       int
		report     []string
	}{
		{"bitly.csv", "bitly", 1, []string{"5     2none00  there is no target",
			"differs from the code of line 2 only by case"}},
		{"yourls.sql", "auto", 0, nil},
		{"golink.jsonl", "golink", 1, []string{"search", "is a template"}},
		{"kutt.json", "kutt", 1, []string{"secret", "password"}},
		{"shlink-rules.json", "auto", 1, []string{"NOT TAKEN OVER", "ruled", "redirect rules", "other.example",
			"4 of the 7 links"}},
		{"polr.csv", "auto", 1, []string{"hush", "secret ending"}},
	}
	for _, tt := range tests {
		code, stdout, stderr := command(t, "links", "import", at, "--from="+tt.from, filepath.Join(fixtures, tt.file))
		if code != tt.exit {
			t.Errorf("%s: exit %d\n%s%s", tt.file, code, stdout, stderr)
		}
		for _, want := range tt.report {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: the report lacks %q:\n%s", tt.file, want, stdout)
			}
		}
	}
	for code, want := range map[string]string{
		"3tq9xyz": "https://shop.example.com/spring?utm_source=mail", "ozh": "http://ozh.org/", "who": "http://who",
	} {
		if _, to := follow(t, server+"/"+code); to != want {
			t.Errorf("%s leads to %s", code, to)
		}
	}
	list := mustCommand(t, "links", "ls", at, "--json", "--limit=0")
	for _, want := range []string{`"code":"who"`, `"owner":"amelie@example.com"`, `"owner":"ana"`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s: %s", want, list)
		}
	}
	if status, _ := follow(t, server+"/gone"); status != 404 {
		t.Errorf("a link that Polr had switched off is followed by %d", status)
	}
	file := filepath.Join(t.TempDir(), "links.ndjson")
	mustCommand(t, "links", "export", at, "-o", file)
	if got := mustCommand(t, "links", "resolve", file, "https://s.example/ozh"); got != "http://ozh.org/\n" {
		t.Errorf("resolve prints %q", got)
	}
	code, stdout, _ := command(t, "links", "resolve", file, "spam")
	if code != 1 || stdout != "https://spam.example/\n" {
		t.Errorf("a link that is off: exit %d, %q", code, stdout)
	}
	code, stdout, _ = command(t, "links", "import", at, "--json", file)
	var report struct{ Read, Imported int }
	err := json.Unmarshal([]byte(stdout), &report)
	if err != nil || code != 1 || report.Read < 8 || report.Imported != 0 {
		t.Errorf("importing what is there: exit %d, %v\n%s", code, err, stdout)
	}
	// What was exported can be restored where there is nothing.
	_, other := demoLinks(t)
	mustCommand(t, append([]string{"links", "rm", "--server=" + other}, demoCodes(t, other)...)...)
	// With an admin's key, for others do not say whose a link is.
	key := mustCommand(t, "links", "key", "add", "--server="+other, "--role=admin", "me")
	t.Setenv("HOTROW_LINKS_KEY", strings.TrimSpace(key))
	if code, _, stderr := command(t, "links", "import", "--server="+other, file); code != 0 {
		t.Errorf("restore: exit %d\n%s", code, stderr)
	}
	again := mustCommand(t, "links", "export", "--server="+other)
	if text, err := os.ReadFile(file); err != nil || strings.Count(again, "\n") != bytes.Count(text, []byte("\n")) {
		t.Errorf("%d links exported, %d restored, %v", bytes.Count(text, []byte("\n")), strings.Count(again, "\n"), err)
	}
	t.Setenv("HOTROW_LINKS_KEY", "")
	if csv := mustCommand(t, "links", "export", at, "--format=csv"); !strings.HasPrefix(csv, "code,short_url,url") {
		t.Errorf("as CSV: %.60s", csv)
	}
	mustCommand(t, "links", "import", at, "--dry-run", "--domain=s.example", filepath.Join(fixtures, "shlink.json"))
	if list := mustCommand(t, "links", "ls", at, "example.com/a?b=c"); strings.Contains(list, "ry9zd") {
		t.Errorf("--dry-run has imported:\n%s", list)
	}
}

// TestLinksCommand_DryRunIsTheServers: what --dry-run says of a file is what the import
// then says, and nothing is changed by it.
func TestLinksCommand_DryRunIsTheServers(t *testing.T) {
	t.Parallel()
	_, server := demoLinks(t)
	at := "--server=" + server
	mustCommand(t, "links", "add", at, "https://example.com/", "here")
	file := filepath.Join(t.TempDir(), "some.csv")
	table := "code,url,expires_at\nHere,https://example.com/,\nfine,https://example.com/1,\n" +
		"fine,https://example.com/2,\nbad,javascript:alert(1),\na b,https://example.com/,\n" +
		"late,https://example.com/,soon\n"
	if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	clicks := regexp.MustCompile(`"clicks":\d+,"bots":\d+,"last_click_at":[^,]+,`) // which come meanwhile
	export := func() string { return clicks.ReplaceAllString(mustCommand(t, "links", "export", at), "") }
	before := export()
	dryCode, dry, dryErr := command(t, "links", "import", at, "--dry-run", file)
	if after := export(); after != before {
		t.Errorf("--dry-run has changed\n%s\nto\n%s", before, after)
	}
	code, real, realErr := command(t, "links", "import", at, file)
	// The first of two lines of one code is in the way of the second in either case;
	// what each says of that differs.
	dry = strings.Replace(dry, "line 3 has this code already", "there is another link of this code", 1)
	if dry != real || dryCode != 1 || code != 1 {
		t.Errorf("--dry-run: exit %d\n%s%s\nimport: exit %d\n%s%s", dryCode, dry, dryErr, code, real, realErr)
	}
	if !strings.Contains(dryErr, "1 of 6 links would be imported; nothing was changed") ||
		!strings.Contains(realErr, "1 of 6 links imported") || strings.Count(real, "\n") != 6 {
		t.Errorf("--dry-run says\n%s%sthe import\n%s%s", dry, dryErr, real, realErr)
	}
}

func TestLinksCommand_Edits(t *testing.T) {
	t.Parallel()
	_, server := demoLinks(t)
	at := "--server=" + server
	mustCommand(t, "links", "add", at, "https://example.com/1", "one", "--tag=a", "--tag=b", "--max=5")
	mustCommand(t, "links", "add", at, "https://example.com/2", "two")
	mustCommand(t, "links", "edit", at, "one", "two", "--title=A title", "--tag=c", "--untag=a", "--off")
	out := mustCommand(t, "links", "edit", at, "one", "--url=https://example.com/3", "--max=0",
		"--rename=three", "--on", "--expire=7d", "--status=307")
	if out != server+"/three\n" {
		t.Errorf("edit prints %q", out)
	}
	list := mustCommand(t, "links", "ls", at, "--json", "--tag=c", "--order=code")
	for _, want := range []string{
		`"url":"https://example.com/3","status":307,"title":"A title","tags":["b","c"],"enabled":true`,
		`"max_clicks":null`, `"code":"two"`, `"title":"A title","tags":["c"],"enabled":false`, `"state":"off"`} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is not in\n%s", want, list)
		}
	}
	if table := mustCommand(t, "links", "ls", at, "--tag=c"); !strings.Contains(table, "two    off ") {
		t.Errorf("ls prints\n%s", table)
	}
	if status, to := follow(t, server+"/three"); status != 307 || to != "https://example.com/3" {
		t.Errorf("three leads by %d to %s", status, to)
	}
	for _, wrong := range [][]string{
		{"one"}, {"three", "two", "--rename=x"}, {"three", "--expire=soon"}, {"three", "--expire="},
		{"three", "--on", "--off"},
	} {
		if code, _, stderr := command(t, append([]string{"links", "edit", at}, wrong...)...); code != 2 {
			t.Errorf("edit %v: exit %d, %s", wrong, code, stderr)
		}
	}
	if code, _, stderr := command(t, "links", "edit", at, "gone", "two", "--title="); code != 1 ||
		!strings.Contains(stderr, "gone: there is no link of this code") {
		t.Errorf("edit of what is not there: exit %d, %s", code, stderr)
	}
	mustCommand(t, "links", "rm", at, "three")
	mustCommand(t, "links", "restore", at, "three")
	if status, _ := follow(t, server+"/three"); status != 307 {
		t.Errorf("what was restored is followed by %d", status)
	}
	for _, gone := range []string{"three", "never"} {
		if code, _, stderr := command(t, "links", "restore", at, gone); code != 1 {
			t.Errorf("restore %s: exit %d, %s", gone, code, stderr)
		}
	}
	if list := mustCommand(t, "links", "ls", at, "--json", "two"); !strings.Contains(list, `"title":null`) {
		t.Errorf("the other was not changed: %s", list)
	}
}

// demoCodes returns the codes of all links of a server.
func demoCodes(t *testing.T, server string) []string {
	t.Helper()
	var codes []string
	for line := range strings.SplitSeq(mustCommand(t, "links", "export", "--server="+server), "\n") {
		var l linkDocument
		if json.Unmarshal([]byte(line), &l) == nil {
			codes = append(codes, l.Code)
		}
	}
	return codes
}

func TestLinksCommand_TailPrintsClicksUntilItIsInterrupted(t *testing.T) {
	t.Parallel()
	r, server := demoLinks(t)
	mustCommand(t, "links", "add", "--server="+server, "https://example.com/a", "tailed")
	ctx, cancel := context.WithCancel(t.Context())
	var out, errs output
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"links", "tail", "--server=" + server, "tailed"}, &out, &errs, os.Environ())
	}()
	until(t, r.log, func() bool { follow(t, server+"/tailed"); return strings.Contains(out.String(), "tailed") })
	if !strings.Contains(out.String(), "Firefox/Linux") {
		t.Errorf("tail prints %q", out.String())
	}
	cancel()
	select {
	case code := <-done:
		if code != 0 {
			t.Errorf("interrupted: exit %d, %s", code, errs.String())
		}
	case <-time.After(waittest.Limit(20 * time.Second)):
		t.Fatal("tail did not end")
	}
}

func TestLinksCommand_KeysCloseTheDoor(t *testing.T) {
	_, server := demoLinks(t)
	at := "--server=" + server
	key := strings.TrimSpace(mustCommand(t, "links", "key", "add", at, "ana", "--role=admin"))
	if !strings.HasPrefix(key, "hr_") {
		t.Fatalf("the key is %q", key)
	}
	code, _, stderr := command(t, "links", "ls", at)
	if code != 1 || !strings.Contains(stderr, "HOTROW_LINKS_KEY") {
		t.Errorf("without the key: exit %d, %s", code, stderr)
	}
	t.Setenv("HOTROW_LINKS_KEY", key)
	if keys := mustCommand(t, "links", "key", "ls", at); !strings.Contains(keys, "ana") || strings.Contains(keys, key) {
		t.Errorf("key ls prints\n%s", keys)
	}
	mustCommand(t, "links", "key", "rm", at, "1")
	mustCommand(t, "links", "ls", "--server="+server, "--key=")
}

// attack follows a link with a Referer and a User-Agent that are no such things,
// and looks for what they say on the link's page.
func attack(t *testing.T, address string, tab *browsertest.Tab) {
	t.Helper()
	const referrer, agent = `https://x/"><img src=x onerror=alert(1)>`, `<script>alert(1)</script>`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Referer", referrer)
	req.Header.Set("User-Agent", agent)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	for deadline := waittest.Deadline(20 * time.Second); ; {
		tab.Open(address + "+")
		if strings.Contains(tab.Text(".clicks tbody"), "onerror") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the page does not show the attack:\n%s", tab.Text(".clicks tbody"))
		}
	}
	if n := tab.Eval("document.querySelectorAll('img[src=x], script:not([src]), [onerror]').length"); n != 0.0 {
		t.Errorf("the attack has made %v elements", n)
	}
}

// TestChromium_LinksOfTheDemo is the page over the real thing: a link is made,
// followed and seen to be followed.
func TestChromium_LinksOfTheDemo(t *testing.T) {
	t.Parallel()
	_, server := demoLinks(t)
	tab := browsertest.New(t).Tab(browsertest.Desktop)
	tab.Open(server + "/")
	tab.Type("#f-url", "https://example.com/from-the-page")
	tab.Type("#f-code", "paged")
	tab.Click("#make button.main")
	tab.Until("document.querySelector('.made .short')")
	tab.Until("document.querySelector('#rows tr[data-code=paged]')")
	if status, to := follow(t, server+"/paged"); status != 302 || to != "https://example.com/from-the-page" {
		t.Errorf("it is followed by %d %s", status, to)
	}
	tab.Until("document.querySelector('#tail')?.textContent.includes('paged')")
	tab.Until("document.querySelector('#rows tr[data-code=paged] [data-n=clicks]').textContent === '1'")
	tab.Screenshot("links/demo-list")
	tab.Open(server + "/paged+")
	tab.Until("document.querySelector('.totals [data-n=clicks]').textContent === '1'")
	if got := tab.Text(".clicks tbody"); !strings.Contains(got, "Firefox") {
		t.Errorf("the last clicks are %q", got)
	}
	tab.Type("#f-title", "Of the page")
	tab.Click("#edit button.main")
	tab.Until("document.body.textContent.includes('Saved.')")
	tab.Until("document.querySelector('.edits')?.textContent.includes('Of the page')")
	tab.Screenshot("links/demo-link")
	attack(t, server+"/paged", tab)
	for _, m := range tab.Console() {
		t.Errorf("console: %s", m)
	}
}
