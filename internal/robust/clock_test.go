package robust

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// jumpy returns hotrow built with a wall clock that jumps every second, by an hour
// to and fro, in every part of it: the standard library's time.Now does. To set the
// machine's own clock would be a test of everything else that runs there.
func jumpy(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(strings.TrimSpace(string(out)), "src", "time", "time.go")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), reading) != 1 {
		t.Fatalf("%s of %s does not read the clock as this test expects", file, runtime.Version())
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, "time.go")
	text := strings.Replace(string(source), reading, reading+
		"\tsec += [4]int64{0, 3600, 0, -3600}[mono/1e9%4]\n", 1)
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "hotrow")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", program,
		"../../cmd/hotrow")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build hotrow with another clock: %v\n%s", err, out)
	}
	return program
}

// clockJumps: the wall clock jumps by an hour every second. Answers are as fresh as
// ever, and copies with a ttl live as long as that says. When nothing comes from the
// database any more, the gate closes, wherever the wall clock is.
func clockJumps(t *testing.T) string {
	program := jumpy(t)
	o := newOracle(t, 100)
	d := newPostgres(t, o, nil)
	const ttl = 2 * time.Second
	relay, url := through(t, d.url)
	c := d.config(setup{url: url, source: fmt.Sprintf("  old: {url: %q, feed: {mode: none}}\n", d.url),
		more: fmt.Sprintf("  aged: {source: old, table: kv, ttl: %v}\n", ttl), kv: ", source: main"})
	p := launchBy(t, []string{program}, c).awaitListeners()
	p.awaitReady()
	w := d.work(o, p, 3)
	hits, reads := 0, 0
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); reads++ {
		begin := time.Now()
		code, status, body := p.get("/aged/1")
		var row struct{ V int64 }
		if err := json.Unmarshal([]byte(body), &row); err != nil || code != http.StatusOK {
			t.Fatalf("aged: %d %s", code, body)
		}
		if strings.Contains(status, "hit") {
			hits++
		}
		if least := o.least(1, begin.Add(-ttl-staleAfter)); row.V < least {
			t.Errorf("aged: %d (%s), and %d was acknowledged %v before", row.V, status, least, ttl)
		}
		pause(t.Context(), 10*time.Millisecond)
	}
	if hits*2 < reads {
		t.Errorf("%d of %d reads found the copy that lives %v", hits, reads, ttl)
	}
	x := &served{o: o, d: d, relay: relay, p: p, w: w}
	for range 3 {
		relay.set(true, 0, false)
		x.state(t, false)
		pause(t.Context(), 1500*time.Millisecond) // over a jump
		relay.set(false, 0, false)
		x.state(t, true)
	}
	w.stop()
	o.sweep(p, d.query)
	o.check()
	return fmt.Sprintf("%d of %d reads of a copy with a ttl were hits; %s", hits, reads, o.figures())
}
