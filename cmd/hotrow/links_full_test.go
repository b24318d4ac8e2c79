package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
	"github.com/hotrow/hotrow/internal/load"
	"github.com/hotrow/hotrow/internal/waittest"
)

// locked keeps everybody else from writing to a SQLite file until free is called.
func locked(t *testing.T, db string) (free func()) {
	t.Helper()
	cmd := exec.Command("sqlite3", "-cmd", ".timeout 10000", db)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, "BEGIN EXCLUSIVE;\nSELECT 'locked';"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("locked"))); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = in.Close() // which ends the transaction
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// metric reads one metric of a server.
func (r *running) metric(name string) int64 {
	r.t.Helper()
	_, text := get(r.t, r.ops+"/metrics")
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	return int64(n)
}

// What fills a log soon.
var (
	longAgent    = strings.Repeat("agent ", 80)
	longReferrer = "https://example.com/" + strings.Repeat("r", 900)
)

// followedLong is the status of a link that is followed with a record that is as
// long as those of follows: where none of them has room, a shorter one may.
func followedLong(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", longAgent)
	req.Header.Set("Referer", longReferrer)
	req.Close = true // the next request comes to the next loop
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// follows makes requests as fast as the server takes them.
func follows(t *testing.T, url string, keys int64, lasts time.Duration) *load.Result {
	t.Helper()
	result, err := load.Run(t.Context(), load.Config{URL: url, Method: http.MethodGet, Connections: 64,
		Header: []string{"User-Agent: " + longAgent, "Referer: " + longReferrer},
		First:  1, Keys: keys, Duration: lasts, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Past links.log.max, with the database away, hits are dropped or refused as it
// was said, and counted one by one: what was recorded arrives, no more and no
// less.
func TestLinks_FullLogCountsExactly(t *testing.T) {
	t.Parallel()
	for policy, outcome := range map[string]string{"drop": "dropped", "refuse": "refused"} {
		t.Run(policy, func(t *testing.T) {
			r, db := newLinks(t, ", on_full: "+policy)
			base := r.linksAddr()
			if code := makeLink(t, base, `{"code":"a","url":"https://example.com/"}`); code != 201 {
				t.Fatalf("create: %d", code)
			}
			free := locked(t, db)
			clicks := func(kind string) int64 {
				return r.metric(`hotrow_links_clicks_total{result="` + kind + `"}`)
			}
			// Full it is when health says so; before, a loop on a busy machine may need a segment
			// sooner than one is ready. The other loops may have room for thousands yet.
			want := map[string]int{"drop": 302, "refuse": 503}[policy]
			full := func() bool {
				before := clicks(outcome)
				follows(t, base+"/a", 1, 200*time.Millisecond)
				return status(base+"/api/v1/health") == 503 && clicks(outcome) > before &&
					followedLong(t, base+"/a") == want
			}
			for start := time.Now(); !full(); {
				if waittest.Late(time.Since(start), time.Minute) {
					t.Fatalf("the log is never full: %d recorded", clicks("recorded"))
				}
			}
			follows(t, base+"/a", 1, 200*time.Millisecond) // most of these find no room
			// Counts of the loops are seen one after the other: what is under way, or was when
			// they were read, settles.
			var redirects, recorded, lost int64
			settle := func() bool {
				redirects, recorded, lost = settled(t, r), clicks("recorded"), clicks(outcome)
				return policy == "drop" && redirects == recorded+lost ||
					policy == "refuse" && redirects == recorded
			}
			for start := time.Now(); !settle(); {
				if waittest.Late(time.Since(start), 20*time.Second) {
					t.Fatalf("%d redirects, %d recorded and %d %s", redirects, recorded, lost, outcome)
				}
			}
			if code := status(base + "/api/v1/health"); code != 503 {
				t.Errorf("health with a full log = %d", code)
			}
			r.tellsOfLosses(strconv.FormatInt(lost, 10))
			free()
			stored := int64(-1)
			for start := time.Now(); stored < recorded && time.Since(start) < 2*time.Minute; {
				stored = int64(count(t, db, "SELECT count(*) FROM clicks"))
				time.Sleep(20 * time.Millisecond)
			}
			// A segment is given back with the sums of its clicks, after their rows.
			until(t, r.log, func() bool { return status(base+"/api/v1/health") == 200 })
			if code, _ := followed(t, "GET", base+"/a"); code != 302 {
				t.Errorf("GET once there is room = %d", code)
			}
			r.stop()
			if n := count(t, db, "SELECT count(*) FROM clicks"); int64(n) != recorded+1 {
				t.Errorf("%d clicks in the database, %d were recorded", n, recorded+1)
			}
			t.Logf("%d recorded, %d %s", recorded, lost, outcome)
		})
	}
}

// settled returns how many redirects were sent, once no more are under way.
func settled(t *testing.T, r *running) int64 {
	t.Helper()
	last := int64(-1)
	for deadline := waittest.Deadline(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		n := r.metric(`hotrow_links_requests_total{result="redirect"}`)
		if n == last {
			return n
		}
		if last = n; time.Now().After(deadline) {
			t.Fatal("redirects go on for ever")
		}
	}
}

// count returns the number that a query of a SQLite file gives; 0 while the table
// is not there.
func count(t *testing.T, db, sql string) int {
	t.Helper()
	if strings.TrimSpace(dbtest.SQLiteShell(t, db,
		"SELECT count(*) FROM sqlite_master WHERE name = 'clicks'")) == "0" {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(dbtest.SQLiteShell(t, db, sql)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// missing is how many codes that do not exist are asked for: HOTROW_TEST_MISSES, else as many as
// the long tests can wait for, or an ordinary run.
func missing() int64 {
	if n, err := strconv.ParseInt(os.Getenv("HOTROW_TEST_MISSES"), 10, 64); err == nil {
		return n
	}
	if waittest.Long() {
		return 100_000
	}
	return 20_000
}

// fillsMetric counts rows that were read from the database.
const fillsMetric = `hotrow_cache_fills_total{result="stored",source="main"}`

// followAll follows k1 to kN, and returns how many reads of the database that took.
func (r *running) followAll(n int) int64 {
	r.t.Helper()
	before := r.metric(fillsMetric)
	for i := range n {
		if code := followedLong(r.t, fmt.Sprintf("%s/k%d", r.linksAddr(), i+1)); code != 302 {
			r.t.Fatalf("k%d: %d", i+1, code)
		}
	}
	return r.metric(fillsMetric) - before
}

// Who asks for everything makes neither memory nor metrics nor statistics grow, and
// pushes no link out of memory.
func TestLinks_MissesAreBounded(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "links.db")
	r := serve(t, "-c", configFile(t, "version: 1\ncache: {memory: 16MiB}\nlinks:\n  database: 'sqlite:"+
		db+"'\n  rate: {misses: 0}\n  log: {dir: '"+filepath.Join(dir, "clicks")+"', max: 64MiB}\n"))
	base := r.linksAddr()
	const known = 40
	for i := range known {
		body := fmt.Sprintf(`{"code":"k%d","url":"https://example.com/%d"}`, i+1, i)
		if code := makeLink(t, base, body); code != 201 {
			t.Fatalf("create: %d", code)
		}
	}
	// The first click makes a table, and all that is known of the database is read
	// again.
	r.followAll(known)
	drained := func() bool { return r.metric("hotrow_links_clicks_pending") == 0 }
	until(t, r.log, func() bool { return drained() && r.followAll(known) == 0 })
	follows(t, base+"/x{n}", 100, 500*time.Millisecond)
	_, metrics := get(t, r.ops+"/metrics")
	before := heap()
	// All that is known may be dropped for reasons that have nothing to do with
	// misses, such as a feed that is late. Misses would do it each time.
	kept, read, start := false, int64(0), time.Now()
	for asked := int64(0); asked < missing() || !kept && !waittest.Late(time.Since(start), time.Minute); {
		asked += int64(follows(t, base+"/m{n}", missing(), time.Second/2).Answers)
		if r.metric(`hotrow_links_requests_total{result="missing"}`) == 0 {
			t.Fatal("nothing is missed")
		}
		read = r.followAll(known)
		kept = kept || read == 0
	}
	if !kept {
		t.Errorf("%d reads of %d links: they were pushed out of memory, which has evicted %d", read, known,
			r.metric(`hotrow_cache_evictions_total{tier="memory"}`))
	}
	if grown := heap() - before; grown > 64<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
	if _, after := get(t, r.ops+"/metrics"); strings.Count(after, "\n") > strings.Count(metrics, "\n")+20 {
		t.Errorf("%d lines of metrics, there were %d", strings.Count(after, "\n"), strings.Count(metrics, "\n"))
	}
	if n := r.metric(`hotrow_cache_bytes{tier="memory"}`); n > 16<<20 {
		t.Errorf("memory holds %d bytes, more than it may", n)
	}
	missed := r.metric(`hotrow_links_requests_total{result="missing"}`)
	r.stop()
	if n := count(t, db, "SELECT count(*) FROM click_dims WHERE link_id = 0"); n < 1000 || n > 2002 {
		t.Errorf("%d rows of missed paths, at most 1,000 a day and one for the others are kept", n)
	}
	t.Logf("%d misses", missed)
}

// heap returns the bytes of live objects.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
