package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// tellsOfLosses waits until the log, readiness and the console say that clicks are lost,
// and how many.
func (r *running) tellsOfLosses(n string) {
	r.t.Helper()
	says := func(what string, ok func() bool) {
		r.t.Helper()
		for end := waittest.Deadline(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				r.t.Fatalf("%s does not say that %s clicks are lost:\n%s", what, n, r.log)
			}
		}
	}
	says("the log", func() bool {
		return strings.Contains(r.log.String(), `level=ERROR msg="links: clicks are lost"`)
	})
	says("readiness", func() bool {
		code, text := get(r.t, r.ops+"/readyz")
		return code == 200 && strings.Contains(text, "clicks are lost since the start: "+n+" ")
	})
	says("the console", func() bool {
		return strings.Contains(firstFrame(r.t, r.ops), `"alarms":["links: clicks are lost since the start: `+n+` `)
	})
	if said := strings.Count(r.log.String(), "links: clicks are lost"); said > 2 {
		r.t.Errorf("the log says so %d times within a minute", said)
	}
}

// firstFrame returns the first frame that the console gets.
func firstFrame(t *testing.T, ops string) string {
	t.Helper()
	resp, err := http.Get(ops + "/-/live")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), `"version"`) {
			return lines.Text()
		}
	}
	t.Fatalf("no frame: %v", lines.Err())
	return ""
}

// A record that is damaged is as loud as one that had no room.
func TestLinks_ADamagedRecordIsSaid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := configFile(t, "version: 1\nlinks:\n  database: 'sqlite:"+dir+"/l.db'\n  log: {dir: '"+dir+
		"/clicks', max: 64MiB, drain: false}\n")
	r := serve(t, "-c", file)
	if code := makeLink(t, r.linksAddr(), `{"code":"a","url":"https://example.com/"}`); code != 201 {
		t.Fatalf("create: %d", code)
	}
	const marked = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0" // what followed sends
	for range 3 {
		followed(t, "GET", r.linksAddr()+"/a")
	}
	if _, text := get(t, r.ops+"/readyz"); strings.Contains(text, "lost") {
		t.Errorf("before anything is lost: %s", text)
	}
	r.stop()
	files, err := filepath.Glob(dir + "/clicks/*.seg")
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(text), marked)
		if at < 0 || flipped > 0 {
			continue
		}
		text[at+5] ^= 1
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		flipped++
	}
	if flipped != 1 {
		t.Fatalf("no record in %q", files)
	}
	dbtest.SQLiteShell(t, dir+"/l.db", "SELECT 1")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rewrite(t, file, strings.Replace(string(text), ", drain: false", "", 1))
	r = serve(t, "-c", file)
	r.tellsOfLosses("1")
	r.stop()
	if n := count(t, dir+"/l.db", "SELECT count(*) FROM clicks"); n != 2 {
		t.Errorf("%d clicks in the database, want the 2 that are whole", n)
	}
}
