package robust

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// diskErrors: the disk gives EIO, when it is synced, written to or read from. What
// has failed is not tried again: the cache on disk is off until the next start, and
// memory goes on.
func diskErrors(x faults) func(t *testing.T) string {
	return func(t *testing.T) string {
		fs := newFaultFS(t)
		o := newOracle(t, 500)
		d := newPostgres(t, o, nil)
		c := d.config(setup{disk: filepath.Join(fs.dir, "cache.db"), memory: "1MiB",
			slot: "hotrow_e"})
		fill(t, o, serve(t, c))
		p := serve(t, c) // with nothing in memory
		p.awaitReady()
		if p.metric("hotrow_disk_up") != 1 || p.metric("hotrow_cache_entries", `tier="disk"`) == 0 {
			t.Fatalf("nothing is on disk:\n%s", p.text())
		}
		fs.set(x)
		w := d.work(o, p, 3)
		until(t, p.text, "the cache on disk to be off",
			func() bool { return p.ended() || p.metric("hotrow_disk_up") == 0 })
		if p.ended() {
			t.Fatalf("hotrow has ended:\n%s", p.text())
		}
		const off = "has failed and is off"
		until(t, p.text, "the log", func() bool { return strings.Contains(p.text(), off) })
		pause(t.Context(), time.Second) // what was under way then has failed, too
		tries, before := fs.errors(), o.fresh.Load()
		until(t, p.text, "answers without the cache on disk",
			func() bool { return o.fresh.Load() >= before+100 })
		if again := fs.errors() - tries; again > 0 {
			t.Errorf("the broken disk was asked %d times more", again)
		}
		if n := strings.Count(p.text(), off); n != 1 {
			t.Errorf("the log says %d times that it is off:\n%s", n, p.text())
		}
		w.stop()
		o.sweep(p, d.query)
		p.kill()
		fs.set(faults{})
		p = serve(t, c)
		p.awaitReady()
		if p.metric("hotrow_disk_up") != 1 {
			t.Errorf("the disk is well again, and not used:\n%s", p.text())
		}
		o.sweep(p, d.query)
		o.check()
		return fmt.Sprintf("off after %d errors, up again at the next start; %s", tries, o.figures())
	}
}

// fill has every document kept on disk, and kills the program. What is read while
// the machine is too busy for a fence is not kept: it is read again.
func fill(t *testing.T, o *oracle, p *program) {
	t.Helper()
	p.awaitReady()
	until(t, p.text, "all documents on disk", func() bool {
		for k := range o.keys {
			if code, _, body := p.get(fmt.Sprintf("/kv/%d", k+1)); code != http.StatusOK {
				t.Fatalf("key %d: %d %s", k+1, code, body)
			}
		}
		pause(t.Context(), 100*time.Millisecond) // for a batch
		return p.metric("hotrow_cache_entries", `tier="disk"`) >= float64(o.keys)
	})
	p.kill()
}

// powerLost: hotrow and the disk under its cache lose their power again and again.
// What was not synced is gone, or there in parts.
func powerLost(t *testing.T) string {
	fs := newFaultFS(t)
	lost := 0
	figures := killed(t, func(o *oracle) *database { return newPostgres(t, o, nil) },
		"hotrow_p", filepath.Join(fs.dir, "cache.db"), func(p *program) {
			reached, release := fs.holdSync()
			select {
			case <-reached: // so that there is something to lose
			case <-time.After(5 * time.Second): // all is at rest
			}
			p.signal(syscall.SIGKILL)
			release()
			p.kill()
			lost += fs.powerCut()
		})
	if lost == 0 {
		t.Error("all was synced each time: the row shows nothing")
	}
	return fmt.Sprintf("%d unsynced sectors lost; %s", lost, figures)
}

// otherFormat: the cache on disk was written by a later hotrow, by an earlier one or
// by something else: it begins anew, and says so.
func otherFormat(t *testing.T) string {
	o := newOracle(t, 100)
	d := newPostgres(t, o, nil)
	disk := diskFile(t)
	started := d.config(setup{disk: disk, memory: "1MiB", slot: "hotrow_v"})
	version := []byte("hotrow cache ")
	for _, c := range []struct {
		what, said string
		change     func(file string) string
	}{
		{"a later version", "another version", func(file string) string {
			return strings.ReplaceAll(file, string(version)+"2", string(version)+"9")
		}},
		{"an earlier version", "another version", func(file string) string {
			return strings.ReplaceAll(file, string(version)+"2", string(version)+"1")
		}},
		{"no cache", "broken", func(string) string { return strings.Repeat("no cache\n", 5000) }},
		{"an empty file", "", func(string) string { return "" }},
	} {
		fill(t, o, serve(t, started))
		file, err := os.ReadFile(disk)
		if err != nil {
			t.Fatal(err)
		}
		changed := c.change(string(file))
		if changed == string(file) {
			t.Fatalf("%s: the file does not name its version", c.what)
		}
		if err := os.WriteFile(disk, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		p := serve(t, started)
		p.awaitReady()
		if !strings.Contains(p.text(), c.said) {
			t.Errorf("%s: the log does not say %q:\n%s", c.what, c.said, p.text())
		}
		w := d.work(o, p, 2)
		pause(t.Context(), 300*time.Millisecond)
		w.stop()
		o.sweep(p, d.query)
		if _, status, _ := p.get(fmt.Sprintf("/kv/%d", 1+rand.IntN(o.keys))); strings.Contains(status,
			"detail=disk") {
			t.Errorf("%s: an answer comes from it: %s", c.what, status)
		}
		p.kill()
		if err := os.Remove(disk); err != nil {
			t.Fatal(err)
		}
	}
	o.check()
	return o.figures()
}
