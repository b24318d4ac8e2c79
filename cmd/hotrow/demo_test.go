package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// TestDemo_TellsItsStoryWhileSomebodyLooks asks for a list until rows have changed by
// themselves. With --still none does.
func TestDemo_TellsItsStoryWhileSomebodyLooks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.db")
	const list = "/products?order=id&limit=24"
	r := serve(t, "demo", "--file", file)
	first := r.get(list).body
	until(t, r.log, func() bool { return r.get(list).body != first })
	r.stop()

	still := serve(t, "demo", "--still", "--file", file)
	first = still.get(list).body
	written := func() string {
		return dbtest.SQLiteShell(t, file, "SELECT sum(stock), sum(price) FROM products")
	}
	before, requests := written(), 0
	until(t, still.log, func() bool { still.get(list); requests++; return requests > 20 })
	if after := written(); after != before || still.get(list).body != first {
		t.Errorf("rows have changed in a demo that is still: %s, then %s", before, after)
	}
}

// TestDemo_HasTheClicksOfAMonth looks at the statistics of a link as its page does.
func TestDemo_HasTheClicksOfAMonth(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "demo.db")
	r := serve(t, "demo", "--still", "--file", file)
	days := func() string {
		return dbtest.SQLiteShell(t, file, "SELECT count(DISTINCT bucket) FROM click_time WHERE unit = 'd'")
	}
	until(t, r.log, func() bool { return days() >= "30" && len(days()) == 2 })
	r.stop()
	again := serve(t, "demo", "--still", "--file", file)
	clicks := "SELECT clicks + bots FROM link_stats WHERE link_id = -1"
	n := dbtest.SQLiteShell(t, file, clicks)
	if a := again.get("/depts/10"); a.code != 200 {
		t.Errorf("GET /depts/10: %d", a.code)
	}
	if more := dbtest.SQLiteShell(t, file, clicks); more != n {
		t.Errorf("%s clicks, and %s after the second start", n, more)
	}
}

// TestDemo_GreetsWithLinesThatWork runs what the greeting says, as a shell does.
func TestDemo_GreetsWithLinesThatWork(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "it's a demo.db") // a name that a shell would cut
	r := serve(t, "demo", "--still", "--file", file)
	until(t, r.out, func() bool { return strings.Contains(r.out.String(), "Stop with Ctrl-C.") })
	tries := regexp.MustCompile(`(?m)^  ((?:curl|sqlite3|redis-cli) .*)$`).FindAllStringSubmatch(r.out.String(), -1)
	if len(tries) != 3 {
		t.Fatalf("%d lines to try, want 3:\n%s", len(tries), r.out)
	}
	for _, line := range tries {
		out, err := exec.Command("sh", "-c", line[1]).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", line[1], err, out)
		}
		if !strings.HasPrefix(line[1], "sqlite3") && !strings.Contains(string(out), `"Oak napkin"`) {
			t.Errorf("%s: %s", line[1], out)
		}
	}
	if n := strings.Count(r.out.String(), "\n"); n > 18 {
		t.Errorf("the greeting has %d lines:\n%s", n, r.out)
	}
	r.stop()
	without := begin(t, []string{"HOTROW_RESP_LISTEN=off", "HOTROW_OPS_LISTEN=off"},
		"demo", "--still", "--file", file)
	until(t, without.out, func() bool { return strings.Contains(without.out.String(), "Stop with Ctrl-C.") })
	for _, what := range []string{"redis-cli", "console"} {
		if strings.Contains(without.out.String(), what) {
			t.Errorf("a line about what is not bound, %s:\n%s", what, without.out)
		}
	}
}

// TestTerminal_GreetingComesFirst starts the demo on a terminal.
func TestTerminal_GreetingComesFirst(t *testing.T) {
	t.Parallel()
	tmux := dbtest.Program(t, "tmux", "tmux", "/usr/bin")
	dir := t.TempDir()
	socket := filepath.Join(dir, "tmux")
	line := fmt.Sprintf("exec env %s=1 HOTROW_HTTP_LISTEN=127.0.0.1:0 HOTROW_OPS_LISTEN=127.0.0.1:0 "+
		"HOTROW_WIRE_LISTEN=off HOTROW_RESP_LISTEN=off HOTROW_MEMCACHE_LISTEN=off HOTROW_LINKS_LISTEN=off "+
		"'%s' demo --file '%s'", commandProgram, os.Args[0], filepath.Join(dir, "demo.db"))
	do := func(args ...string) string {
		out, err := exec.Command(tmux, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	begun := time.Now()
	do("new-session", "-d", "-x", "150", "-y", "40", line)
	t.Cleanup(func() { // it outlives its terminal, whose end is a SIGHUP
		defer func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() }()
		do("send-keys", "C-c")
		until(t, new(output), func() bool { return exec.Command(tmux, "-S", socket, "has-session").Run() != nil })
	})
	var screen string
	until(t, new(output), func() bool {
		screen = do("capture-pane", "-p", "-e")
		return strings.Contains(screen, "feed attached") && strings.Contains(screen, "hotrow serves a shop")
	})
	greeting, log := strings.Index(screen, "hotrow serves a shop"), strings.Index(screen, "listening")
	slow := time.Since(begun) > heldFor // then the log does not wait
	if log < greeting && !slow {
		t.Errorf("the log comes before the greeting:\n%s", screen)
	}
	if !regexp.MustCompile(`\x1b\[2m\d\d:\d\d:\d\d listening proto=http`).MatchString(screen) {
		t.Errorf("the log is not short and dimmed:\n%q", screen)
	}
}

func TestTerminalLog_HoldsUntilAWarning(t *testing.T) {
	var out bytes.Buffer
	to := newTerminalLog(&out, false)
	log := slog.New(to.handler(slog.LevelInfo)).With("source", "main")
	log.Debug("not this")
	log.Info("held", "n", 1)
	if out.Len() > 0 {
		t.Errorf("written before the greeting: %q", out.String())
	}
	log.Warn("wrong\x1b[2J", "err", traced{})
	log.WithGroup("of").Info("after", "k", "v w")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{`held source=main n=1`, `WARN "wrong\x1b[2J" source=main err="it broke"`,
		`after source=main of.k="v w"`} {
		if i >= len(lines) || !strings.HasSuffix(lines[i], " "+want) {
			t.Errorf("line %d of %q: want %q", i, lines, want)
		}
	}
}
