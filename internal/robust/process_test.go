package robust

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// resident returns how much memory the program takes.
func resident(t testing.TB, p *program) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var kib int64
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, is := strings.CutPrefix(line, "VmRSS:"); is {
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				t.Fatal(err)
			}
		}
	}
	return kib << 10
}

// descriptors returns how many files the program has open.
func descriptors(t testing.TB, p *program) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// stopped: the process sleeps while the database goes on.
func stopped(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	for range 3 {
		x.p.signal(syscall.SIGSTOP)
		pause(t.Context(), time.Second)
		x.p.signal(syscall.SIGCONT)
		pause(t.Context(), 500*time.Millisecond)
	}
	return x.end(t)
}

// onTmpfs mounts a small file system and returns where.
func onTmpfs(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Fatalf("mount a file system of %s: %v (root is needed)", size, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// diskFull: the cache on disk has no room.
func diskFull(t *testing.T) string {
	dir := onTmpfs(t, "2m")
	x := newServed(t, pg(nil)(t), setup{disk: filepath.Join(dir, "cache.db"), memory: "1MiB"})
	dbtest.Psql(t, x.d.url, "ALTER TABLE kv ALTER pad SET STORAGE EXTERNAL;"+
		"UPDATE kv SET pad = repeat(md5(id::text), 250)") // 8 kB in each document
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 4<<20), 0o600); err == nil {
		t.Error("the file system is not full")
	}
	pause(t.Context(), 2*time.Second)
	until(t, x.p.text, "a put that finds no room", func() bool {
		return x.p.metric("hotrow_disk_refused_total") > 0 || x.p.metric("hotrow_disk_up") == 0
	})
	if n := strings.Count(x.p.text(), "disk is full"); n > 3 {
		t.Errorf("the log says so %d times", n)
	}
	return fmt.Sprintf("up %.0f, refused %.0f; %s", x.p.metric("hotrow_disk_up"),
		x.p.metric("hotrow_disk_refused_total"), x.end(t))
}

// sqliteFull: the database has no room. Reads go on, writes say why not.
func sqliteFull(t *testing.T) string {
	dir := onTmpfs(t, "1m")
	file := filepath.Join(dir, "app.db")
	o := newOracle(t, 100)
	dbtest.SQLiteShell(t, file, "PRAGMA journal_mode = DELETE;"+o.schema())
	d := &database{t: t, url: "sqlite:" + file}
	p := serve(t, d.config(setup{writable: true}))
	p.awaitReady()
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 4<<20), 0o600); err == nil {
		t.Error("the file system is not full")
	}
	put := func(v int) (int, error) {
		body := fmt.Sprintf(`{"id": 1, "v": %d, "pad": %q}`, v, strings.Repeat("x", 200_000))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut,
			"http://"+p.http+"/kv/1", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	code, err := put(1)
	if err != nil || code != http.StatusInsufficientStorage && code != http.StatusServiceUnavailable {
		t.Errorf("a write to a full disk: %d, %v", code, err)
	}
	if got, _, body := p.get("/kv/2"); got != http.StatusOK {
		t.Errorf("a read: %d %s", got, body)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	until(t, p.text, "a write with room again", func() bool { c, err := put(2); return err == nil && c < 300 })
	return fmt.Sprintf("a write gets %d, reads go on, and writes when there is room", code)
}

// broken: bytes of the cache on disk are flipped, or its end is cut off, at rest
// and while it is open.
func broken(t *testing.T) string {
	o := newOracle(t, 500)
	d := newPostgres(t, o, nil)
	disk := diskFile(t)
	c := d.config(setup{disk: disk, memory: "1MiB", slot: "hotrow_b"})
	rounds := 6
	if depth == "" {
		rounds = 3
	}
	noticed := 0.0
	for i := range rounds {
		p := serve(t, c)
		p.awaitReady()
		w := d.work(o, p, 2)
		pause(t.Context(), 1500*time.Millisecond) // a batch is written each second
		if i%3 == 2 {                             // while it is open
			// It may have been put aside already, as broken.
			if err := os.Truncate(disk, 64<<10); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			pause(t.Context(), 400*time.Millisecond)
		}
		w.stop()
		if p.ended() {
			t.Fatalf("round %d: hotrow has ended:\n%s", i, p.text())
		}
		o.sweep(p, d.query)
		noticed += p.metric("hotrow_disk_broken_total")
		p.kill()
		damage(t, disk, i)
	}
	o.check()
	if noticed == 0 {
		t.Error("no damage was noticed: the row shows nothing")
	}
	return fmt.Sprintf("%.0f times records or the file were broken; %s", noticed, o.figures())
}

// damage flips bytes of documents, cuts the file, or flips bytes anywhere. With the
// first kind all of the file can be read but for what the checksums are there for.
func damage(t *testing.T, path string, i int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		return // it has been put aside, and nothing has taken its place
	}
	pad := []byte("xxxxxxxx")
	switch i % 3 {
	case 0:
		for at := 0; at < len(b); at += len(pad) {
			n := bytes.Index(b[at:], pad)
			if n < 0 {
				break
			}
			at += n
			b[at] = 'y'
			at += 1 << 10 // not every document
		}
	case 1:
		b = b[:rand.IntN(len(b)+1)]
	default:
		for range 50 {
			b[rand.IntN(len(b))] = byte(rand.Uint32())
		}
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// memoryLimit: adversarial values within a control group of 256 MiB.
func memoryLimit(t *testing.T) string {
	group := fmt.Sprintf("/sys/fs/cgroup/memory/hotrow-robust-%d", os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatalf("make a control group: %v (root and cgroup v1 are needed)", err)
	}
	defer func() { // the group can go once its processes have
		until(t, func() string { return group }, "the control group to be empty",
			func() bool { return os.Remove(group) == nil })
	}()
	limit := filepath.Join(group, "memory.limit_in_bytes")
	if err := os.WriteFile(limit, []byte("256M"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOracle(t, 3000)
	d := newPostgres(t, o, nil)
	dbtest.Psql(t, d.url, "UPDATE kv SET pad = repeat(md5(id::text), 1 + id % 900 * 4)")
	p := serve(t, d.config(setup{memory: "96MiB"}))
	procs := filepath.Join(group, "cgroup.procs")
	if err := os.WriteFile(procs, []byte(fmt.Sprint(p.cmd.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	p.awaitReady()
	w := d.work(o, p, 6)
	pause(t.Context(), 5*time.Second)
	w.stop()
	if p.ended() {
		t.Fatalf("hotrow has been killed:\n%s", p.text())
	}
	o.check()
	rss := resident(t, p)
	p.kill()
	return fmt.Sprintf("%d MiB resident of 256; %s", rss>>20, o.figures())
}

// fewFiles: the program may open 64 files only.
func fewFiles(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{source: "    pool: {max: 4}\n"})
	pid := fmt.Sprint(x.p.cmd.Process.Pid)
	limit := fmt.Sprint(descriptors(t, x.p) + 8)
	prlimit := exec.Command("prlimit", "--pid", pid, "--nofile="+limit+":"+limit)
	if out, err := prlimit.CombinedOutput(); err != nil {
		t.Fatalf("prlimit: %v %s", err, out)
	}
	var conns []net.Conn
	for range 200 {
		if c, err := net.DialTimeout("tcp", x.p.http, time.Second); err == nil {
			conns = append(conns, c)
		}
	}
	x.more(t, "answers on connections that were open", &x.o.fresh)
	for _, c := range conns {
		_ = c.Close()
	}
	until(t, x.p.text, "a new connection", func() bool {
		c := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		code, _, _, err := fetch(c, "http://"+x.p.http+"/kv/1")
		return err == nil && code == http.StatusOK
	})
	return fmt.Sprintf("%d connections tried; %s", 200, x.end(t))
}

// leaks: after a thousand connections everything is as before.
func leaks(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	burst := func() {
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{}}
				defer c.CloseIdleConnections()
				_ = x.o.once(c, x.p, 1+rand.IntN(x.o.keys)) // what breaks is counted elsewhere
			})
		}
		wg.Wait()
	}
	rounds, wait := 20, 50*time.Millisecond
	if depth == "soak" {
		rounds, wait = 3600, time.Second
	}
	for range 5 { // after which the pool of connections to the database is full
		burst()
	}
	pause(t.Context(), time.Second)
	files, routines := descriptors(t, x.p), x.p.metric("go_goroutines")
	for range rounds {
		burst()
		pause(t.Context(), wait)
	}
	var filesAfter int
	var routinesAfter float64
	say := func() string { return fmt.Sprint(files, filesAfter, routines, routinesAfter) }
	until(t, say, "as many files and goroutines as before", func() bool {
		filesAfter, routinesAfter = descriptors(t, x.p), x.p.metric("go_goroutines")
		// The pool of 16 connections to the database may have been half full.
		return filesAfter <= files+20 && routinesAfter <= routines+20
	})
	return fmt.Sprintf("files %d, then %d; goroutines %.0f, then %.0f; %s", files, filesAfter,
		routines, routinesAfter, x.end(t))
}

// badReload: a file that is wrong changes nothing.
func badReload(t *testing.T) string {
	x := newServed(t, pg(nil)(t), setup{})
	if x.p.file == "" {
		return badDiscovery(t, x)
	}
	err := os.WriteFile(x.p.file, []byte("version: 1\nresources: {kv: {tabel: kv}}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	x.p.signal(syscall.SIGHUP)
	until(t, x.p.text, "the complaint", func() bool { return strings.Contains(x.p.text(), "tabel") })
	x.more(t, "answers by the old configuration", &x.o.fresh)
	return x.end(t)
}

// badDiscovery: who was started by a URL looks at the tables again, and the
// database is away: what is served stays.
func badDiscovery(t *testing.T, x *served) string {
	x.d.stop(dbtest.Immediate)
	x.p.signal(syscall.SIGHUP)
	until(t, x.p.text, "the complaint",
		func() bool { return strings.Contains(x.p.text(), "not discovered again") })
	x.more(t, "copies of the tables as they were", &x.o.flagged)
	x.d.start()
	x.state(t, true)
	return x.end(t)
}
