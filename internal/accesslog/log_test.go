package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// A gate is a sink that takes what it is allowed to.
type gate struct {
	mu     sync.Mutex // guards the rest
	opened sync.Cond
	shut   bool  // Write waits
	err    error // Write fails, after part bytes
	part   int
	b      bytes.Buffer
	writes int
}

func newGate() *gate {
	g := new(gate)
	g.opened.L = &g.mu
	return g
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		g.opened.Wait()
	}
	g.writes++
	if g.err != nil {
		n, _ := g.b.Write(p[:min(g.part, len(p))])
		g.part = 0
		return n, g.err
	}
	return g.b.Write(p)
}

// set changes what the gate does.
func (g *gate) set(shut bool, err error, part int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.err, g.part = shut, err, part
	g.opened.Broadcast()
}

func (g *gate) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.b.String()
}

// open starts a Log with testColumns.
func open(t *testing.T, c Config, s Settings) *Log {
	t.Helper()
	c.Columns = testColumns
	l, err := Open(c, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// eventually polls f until it reports true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	waittest.Until(t, what, f)
}

// one logs a request by the road of those without a ring.
func one(l *Log, path string, always bool) {
	l.Record(time.Now(), time.Millisecond, always, func(r *Ring, weight int64) {
		r.Text(path)
		r.Int(200)
		r.Text("")
		r.Int(weight)
	})
}

func TestLog_WritesFromManyProducers(t *testing.T) {
	out := newGate()
	l := open(t, Config{Stdout: out}, Settings{Mode: All, Format: LTSV})
	const each = 1000
	var all sync.WaitGroup
	for p := range 4 {
		r := l.Ring()
		all.Go(func() {
			for i := range int64(each) {
				record(r, fmt.Sprintf("ring%d", p), "", i, 0)
				r.Publish(time.Millisecond)
			}
		})
		all.Go(func() {
			for i := range each {
				one(l, fmt.Sprintf("shared%d-%d", p, i), false)
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if s := l.Stats(); len(lines) != 8*each || s != (Stats{Lines: 8 * each}) {
		t.Errorf("%d lines and %+v of %d records", len(lines), s, 8*each)
	}
	next := map[string]int{}
	for _, line := range lines {
		got := decode(t, LTSV, line)
		if strings.HasPrefix(got["path"], "ring") {
			if want := fmt.Sprint(next[got["path"]]); got["status"] != want {
				t.Fatalf("%s: %s in place of %s", got["path"], got["status"], want)
			}
			next[got["path"]]++
		}
	}
	if out.writes > len(lines)/10 {
		t.Errorf("%d writes for %d lines", out.writes, len(lines))
	}
}

// Who logs never waits for the sink; what has no room is counted.
func TestLog_BlockedSinkHoldsNobodyUp(t *testing.T) {
	t.Parallel() // it waits
	out := newGate()
	l := open(t, Config{Stdout: out, Buffer: 8 << 10}, Settings{Mode: All})
	out.set(true, nil, 0)
	r := l.Ring()
	const n = 100_000
	for i := range int64(n) {
		record(r, "/", "", i, 0)
		r.Publish(0)
		one(l, "/shared", false)
	}
	if s := l.Stats(); s.Dropped < n {
		t.Fatalf("%d dropped of %d, with a sink that takes nothing", s.Dropped, 2*n)
	}
	if err := l.Configure(Settings{Mode: All}); !errors.Is(err, ErrSlow) {
		t.Errorf("Configure = %v, want ErrSlow", err)
	}
	out.set(false, nil, 0)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lines := uint64(strings.Count(out.String(), "\n"))
	if s := l.Stats(); s.Lines != lines || s.Lines+s.Dropped != 2*n {
		t.Errorf("%+v and %d lines, of %d records", s, lines, 2*n)
	}
}

func TestLog_CloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel() // it waits
	out := newGate()
	l := open(t, Config{Stdout: out}, Settings{Mode: All})
	out.set(true, nil, 0)
	one(l, "/", false)
	if err := l.Close(); !errors.Is(err, ErrSlow) {
		t.Errorf("Close = %v, want ErrSlow", err)
	}
	out.set(false, nil, 0)
}

// A sink that fails is told of once, and once when it works again; a line that
// was cut spoils no other.
func TestLog_TellsOnceThatTheSinkFails(t *testing.T) {
	out, told := newGate(), newGate()
	l := open(t, Config{Stdout: out, Log: slog.New(slog.NewTextHandler(told, nil))},
		Settings{Mode: All, Format: LTSV})
	out.set(false, errors.New("disk full"), 10)
	for i := range uint64(5) {
		one(l, "/lost", false)
		eventually(t, "the line is lost", func() bool { return l.Stats().Dropped == i+1 })
	}
	out.set(false, nil, 0)
	one(l, "/kept", false)
	eventually(t, "a line is written", func() bool { return l.Stats().Lines == 1 })
	eventually(t, "that is told", func() bool { // after it has been counted
		return strings.Count(told.String(), "access log written again") == 1
	})
	log := told.String()
	if strings.Count(log, "access log not written") != 1 || !strings.Contains(log, "disk full") {
		t.Errorf("the log:\n%s", log)
	}
	torn, rest, _ := strings.Cut(out.String(), "\n")
	if len(torn) != 10 || decode(t, LTSV, strings.TrimSuffix(rest, "\n"))["path"] != "/kept" {
		t.Errorf("written: %q", out.String())
	}
}

// A file that was renamed is let go by Configure; no line is lost or torn.
func TestLog_RotationLosesNothing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "access.log")
	s := Settings{Mode: All, Format: JSON, File: file}
	l := open(t, Config{}, s)
	const turns, each = 5, 1000
	for turn := range turns {
		var all sync.WaitGroup
		all.Go(func() {
			for i := range each {
				one(l, fmt.Sprintf("%d-%d", turn, i), false)
			}
		})
		if err := os.Rename(file, fmt.Sprintf("%s.%d", file, turn)); err != nil {
			t.Fatal(err)
		}
		if err := l.Configure(s); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) != turns+1 {
		t.Fatalf("%v, %v", files, err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			got := decode(t, JSON, strings.TrimSuffix(line, "\n"))
			if seen[got["path"]] {
				t.Fatalf("%s is there twice", got["path"])
			}
			seen[got["path"]] = true
		}
	}
	if len(seen) != turns*each || l.Stats().Dropped != 0 {
		t.Errorf("%d lines of %d, %d dropped", len(seen), turns*each, l.Stats().Dropped)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("everybody may read it: %v, %v", info, err)
	}
}

func TestLog_Configure(t *testing.T) {
	out := newGate()
	l := open(t, Config{Stdout: out}, Settings{Mode: Off})
	configure := func(s Settings) {
		t.Helper()
		if err := l.Configure(s); err != nil {
			t.Fatal(err)
		}
	}
	one(l, "/off", true)
	configure(Settings{Mode: Sampled, Every: 1 << 40, Format: LTSV})
	for range 10 { // one in a billion is in the sample
		one(l, "/sampled", false)
	}
	one(l, "/always", true)
	configure(Settings{Mode: All, Format: JSON})
	one(l, "/all", false)
	if err := l.Configure(Settings{Mode: All, File: t.TempDir()}); err == nil {
		t.Error("a directory was opened as a file")
	}
	one(l, "/still", false)
	configure(Settings{Mode: Off})
	one(l, "/off", true)
	if l.On() {
		t.Error("on, although it is off")
	}
	var paths []string
	for line := range strings.Lines(out.String()) {
		f := LTSV
		if line[0] == '{' {
			f = JSON
		}
		got := decode(t, f, strings.TrimSuffix(line, "\n"))
		paths = append(paths, got["path"]+got["weight"])
	}
	if want := "[/always /all /still]"; fmt.Sprint(paths) != want {
		t.Errorf("logged %v, want %s", paths, want)
	}
}

func TestOpen_SaysWhatIsWrongWithAFile(t *testing.T) {
	for file, want := range map[string]string{
		filepath.Join(t.TempDir(), "no", "a.log"): "make the directory first",
		t.TempDir(): "is a directory",
	} {
		_, err := Open(Config{Columns: testColumns}, Settings{Mode: All, File: file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open = %v, want %q", err, want)
		}
	}
}

// The zero value of everything but the columns is usable.
func TestOpen_Defaults(t *testing.T) {
	l := open(t, Config{}, Settings{Mode: All})
	one(l, "/", false)
	eventually(t, "a line is written to nowhere", func() bool { return l.Stats().Lines == 1 })
	if got := len(l.Ring().buf); got != 1<<20 {
		t.Errorf("a ring has %d bytes", got)
	}
}
