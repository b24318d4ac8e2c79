package robust

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/waittest"
)

// kills is how often the program is killed.
func kills(t testing.TB) int {
	if n, err := strconv.Atoi(os.Getenv("HOTROW_ROBUST_KILLS")); err == nil {
		return n
	}
	switch depth {
	case "soak":
		return 1000
	case "all":
		return 100
	}
	return 6
}

// killed kills hotrow again and again under writes and reads, with a cache on disk
// that is used again each time: nothing is stale, nothing is broken. kill ends the
// program, and does to the disk what happens meanwhile.
func killed(
	t *testing.T, newDatabase func(*oracle) *database, slot, disk string, kill func(*program),
) string {
	o := newOracle(t, 500)
	d := newDatabase(o)
	c := d.config(setup{disk: disk, memory: "1MiB", slot: slot})
	var ready []time.Duration
	resumed := 0
	n := kills(t)
	// A machine that is busy may have no answer from disk in all of them: it goes on.
	shown := func() bool { return o.disk.Load() > 0 && resumed >= (n-1)/2 }
	for i, last := 0, false; !last; i++ {
		p := serve(t, c)
		ready = append(ready, p.awaitReady())
		w := d.work(o, p, 2)
		pause(t.Context(), time.Duration(50+rand.IntN(400))*time.Millisecond)
		if i == 0 { // there is a state to go on from
			until(t, p.text, "a commit on disk",
				func() bool { return p.metric("hotrow_disk_commits_total") > 0 })
		}
		if last = i >= n-1 && shown() || i >= 10*n; last {
			w.stop()
			o.sweep(p, d.query)
		}
		kill(p) // under load
		w.stop()
		if strings.Contains(p.text(), "where an earlier process stopped") {
			resumed++
		}
		if strings.Contains(p.text(), "broken") {
			t.Errorf("round %d: the cache on disk is broken:\n%s", i, p.text())
		}
		if first, wrong := o.violations(); wrong > 0 {
			t.Fatalf("round %d: %d wrong answers, such as\n%s\n%s", i, wrong,
				strings.Join(first, "\n"), p.text())
		}
	}
	o.check()
	if !shown() {
		t.Errorf("%d answers from disk, %d of %d starts went on: the row shows little",
			o.disk.Load(), resumed, len(ready)-1)
	}
	slices.Sort(ready)
	worst := ready[len(ready)-1]
	// The fastest tenth counts: the machine may be busy with other things.
	if fast := ready[len(ready)/10]; waittest.Late(fast, 2*time.Second) {
		t.Errorf("ready after %v at best", fast)
	}
	return fmt.Sprintf("%d kills, %d resumed; ready after %v median, %v worst; %s", len(ready), resumed,
		ready[len(ready)/2].Round(time.Millisecond), worst.Round(time.Millisecond), o.figures())
}

// largeDisk fills a cache on disk by warming, kills the program, and looks how soon
// the next one is ready and answers from it.
func largeDisk(t *testing.T) string {
	keys := 1_000_000
	if n, err := strconv.Atoi(os.Getenv("HOTROW_ROBUST_ROWS")); err == nil {
		keys = n
	}
	o := newOracle(t, keys)
	d := newPostgres(t, o, nil)
	c := d.config(setup{disk: diskFile(t), max: "4GiB", memory: "16MiB",
		slot: "hotrow_l", kv: ", warm: all"})
	p := serve(t, c)
	p.awaitReady()
	begin := time.Now()
	for p.metric("hotrow_warm_rounds_total") == 0 {
		if p.ended() || !pause(t.Context(), time.Second) ||
			waittest.Late(time.Since(begin), 20*time.Minute) {
			t.Fatalf("warming does not end:\n%s", p.text())
		}
	}
	took := time.Since(begin)
	held := p.metric("hotrow_cache_entries", `tier="disk"`)
	pause(t.Context(), time.Second) // the last batch is committed
	ready := time.Duration(math.MaxInt64)
	for range 3 { // the machine may be busy with other things
		p.kill()
		p = serve(t, c)
		ready = min(ready, p.awaitReady())
	}
	until(t, p.text, "an answer from disk", func() bool {
		_, status, _ := p.get(fmt.Sprintf("/kv/%d", 1+rand.IntN(keys)))
		return strings.Contains(status, "detail=disk")
	})
	if held < 0.99*float64(keys) || waittest.Late(ready, 2*time.Second) {
		t.Errorf("%.0f documents of %d on disk, ready after %v", held, keys, ready)
	}
	return fmt.Sprintf("%.0f documents on disk, warmed in %v; after a kill ready in %v, and answers"+
		" from disk %v after the start", held, took.Round(time.Second), ms(ready),
		ms(time.Since(p.started)))
}

func postgresKilled(t *testing.T) string {
	return killed(t, func(o *oracle) *database { return newPostgres(t, o, nil) },
		"hotrow_r", diskFile(t), (*program).kill)
}

func mariaDBKilled(t *testing.T) string {
	return killed(t, maria(t), "", diskFile(t), (*program).kill)
}
