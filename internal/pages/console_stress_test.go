package pages

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/browsertest"
	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/programtest"
	"github.com/hotrow/hotrow/internal/waittest"
)

// A beats is a row that is counted up in the database, beside hotrow, and read from hotrow
// all the time.
type beats struct {
	t       *testing.T
	r       *programtest.Running
	url     string
	stop    atomic.Bool
	writing sync.Mutex // held by the writer while it writes
	done    sync.WaitGroup

	mu        sync.Mutex // guards what follows
	committed []time.Time
	flagged   []answered
	plain     []answered
}

// An answered is an answer: when it was asked for, and what it says.
type answered struct {
	asked time.Time
	n     int
}

// late is what a busy machine may add to stale_after.
var late = waittest.Limit(500 * time.Millisecond)

func beat(t *testing.T, r *programtest.Running, url string) *beats {
	b := &beats{t: t, r: r, url: url, committed: []time.Time{time.Now()}}
	b.done.Go(func() {
		for n := 1; !b.stop.Load(); n++ {
			b.writing.Lock()
			dbtest.Psql(t, url, fmt.Sprintf("UPDATE beat SET n = %d; UPDATE word SET de = de WHERE id = %d", n, n%50+1))
			b.writing.Unlock()
			b.mu.Lock()
			b.committed = append(b.committed, time.Now())
			b.mu.Unlock()
		}
	})
	for range 4 {
		b.done.Go(func() {
			for pace := time.NewTicker(2 * time.Millisecond); !b.stop.Load(); <-pace.C {
				b.read()
			}
		})
	}
	t.Cleanup(func() { b.stop.Store(true); b.done.Wait() })
	return b
}

// read reads a word, and the row: an answer that is not flagged has every change that was
// committed stale_after before it was asked for.
func (b *beats) read() {
	if resp, err := http.Get(fmt.Sprintf("%s/word/%d", b.r.HTTP, rand.IntN(50)+1)); err == nil {
		_ = resp.Body.Close()
	}
	a := answered{asked: time.Now()}
	resp, err := http.Get(b.r.HTTP + "/beat/1")
	if err != nil {
		b.t.Error(err)
		return
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if _, scanned := fmt.Sscanf(string(body), `{"id":1,"n":%d}`, &a.n); err != nil || scanned != nil {
		return // an error is no stale answer
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if strings.Contains(resp.Header.Get("Cache-Status"), "fwd=stale") {
		b.flagged = append(b.flagged, a)
		return
	}
	b.plain = append(b.plain, a)
	if next := a.n + 1; next < len(b.committed) {
		if old := a.asked.Sub(b.committed[next]); old > 250*time.Millisecond+late {
			b.t.Errorf("an answer that is not flagged is %v behind", old)
		}
	}
}

// count returns how many of the answers were asked for after from.
func (b *beats) count(list *[]answered, from time.Time) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := len(*list) - 1; i >= 0 && (*list)[i].asked.After(from); i-- {
		n++
	}
	return n
}

var notComplete = regexp.MustCompile(
	`^(\S+): (?:Behind|Cut off from) the database.* by up to ([0-9.]+) (m?s)`)

// says cuts, and returns how long it takes the page to say so. What it says is true.
func (b *beats) says(tab *browsertest.Tab, cut func()) time.Duration {
	b.t.Helper()
	began := time.Now()
	cut()
	for {
		text, _ := tab.Eval(`(v => v.dataset.at + ': ' + v.textContent)(document.querySelector('.verdict'))`).(string)
		said := time.Now()
		if m := notComplete.FindStringSubmatch(text); m != nil {
			at, err := time.Parse(time.RFC3339Nano, m[1])
			behind, failed := time.ParseDuration(m[2] + m[3])
			if err != nil || failed != nil {
				b.t.Fatal(err, failed)
			}
			b.verify(text, began, said, at.Add(-behind))
			return said.Sub(began)
		}
		if waittest.Late(time.Since(began), time.Minute) {
			b.t.Fatalf("a minute after the cut the page says %q", text)
		}
	}
}

// verify holds what the page said to what was committed and answered: that answers are
// flagged from then on, and that they have all that was committed until complete, which is
// the cut or, while nothing was committed, later.
func (b *beats) verify(text string, cut, said, complete time.Time) {
	b.t.Helper()
	programtest.Until(b.t, b.r.Log, func() bool { return b.count(&b.flagged, said) >= 100 })
	b.mu.Lock()
	defer b.mu.Unlock()
	if complete.Before(cut.Add(-late)) {
		b.t.Errorf("%q: complete until %v before the cut", text, cut.Sub(complete))
	}
	if last := b.plain[len(b.plain)-1]; last.asked.After(said) {
		b.t.Errorf("%q, and an answer of %v later is not flagged", text, last.asked.Sub(said))
	}
	want := 0
	for n, at := range b.committed {
		if !at.After(complete) {
			want = n
		}
	}
	if last := b.flagged[len(b.flagged)-1]; last.n < want {
		b.t.Errorf("%q, and an answer has change %d, want %d", text, last.n, want)
	}
}

// TestConsole_VerdictUnderStress: while rows are read and written the feed is cut, and the
// database is stopped. The page says so within a second, and what it says is true by the
// clock of the test.
func TestConsole_VerdictUnderStress(t *testing.T) {
	pg := dbtest.NewPostgres(t, map[string]string{"wal_level": "logical"})
	url := pg.Database(t, dbtest.Setup("CREATE TABLE beat (id int PRIMARY KEY, n int); "+
		"INSERT INTO beat VALUES (1, 0); CREATE TABLE word (id int PRIMARY KEY, de text); "+
		"INSERT INTO word SELECT i, 'w' || i FROM generate_series(1, 50) i"))
	r := programtest.Serve(t, url)
	tab := consoleOf(t, browsertest.New(t), r, browsertest.Desktop)
	b := beat(t, r, url)
	mended := func() {}
	t.Cleanup(func() { mended() }) // or the writer would wait for ever after a failure
	// kept has the writer wait until memory has the row, and keeps it: a change that is not
	// settled keeps a copy away, and without one there is nothing to flag. What was committed
	// before has been applied when there were hits for stale_after.
	kept := func() {
		t.Helper()
		b.writing.Lock()
		mended = b.writing.Unlock
		missed := time.Now()
		programtest.Until(t, r.Log, func() bool {
			asked := time.Now()
			if !strings.Contains(r.Get("/beat/1").Header.Get("Cache-Status"), "hotrow; hit") {
				missed = time.Now()
			}
			return asked.Sub(missed) > 250*time.Millisecond
		})
	}
	goOn := func() { mended(); mended = func() {} }
	fresh := func() {
		t.Helper()
		tab.Until(`document.querySelector('.verdict b').textContent.startsWith('Fresh')`)
		from := time.Now()
		programtest.Until(t, r.Log, func() bool { return b.count(&b.plain, from) >= 300 })
	}
	fresh()
	tab.Screenshot("console/stress-fresh")
	quickest := func(what string, cut, mend func()) {
		t.Helper()
		best := time.Minute
		// One, or more on a busy machine, may be slow: then one of ten must not be.
		for i := 0; i < 2 || i < 10 && waittest.Late(best, time.Second); i++ {
			kept()
			took := b.says(tab, cut)
			t.Logf("%s: the page says so after %v", what, took)
			best = min(best, took)
			tab.Screenshot("console/stress-" + strings.ReplaceAll(what, " ", "-"))
			mend()
			fresh()
		}
		if waittest.Late(best, time.Second) {
			t.Errorf("%s: the page says so after %v", what, best)
		}
	}
	var frozen []int
	quickest("feed cut", func() { frozen = pg.PauseSenders(); goOn() },
		func() { pg.Resume(frozen...) })
	quickest("database stopped", func() { pg.Stop(dbtest.Immediate) },
		func() { pg.Start(); goOn() })
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Logf("%d answers without a flag, %d with one, %d commits", len(b.plain), len(b.flagged), len(b.committed))
	for _, m := range tab.Console() {
		t.Errorf("console: %s", m)
	}
}
