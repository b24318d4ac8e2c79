package robust

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// staleAfter is the contract's bound: an answer that is not flagged includes every
// change that was acknowledged so long before it was asked for.
const staleAfter = 250 * time.Millisecond

// An oracle knows which values a table kv(id, v) has had. The values of a key only
// grow, and no two commits have the same.
type oracle struct {
	t    testing.TB
	keys int

	mu    sync.Mutex // guards what follows
	acked [][]commit // by key, in order
	wrong []string

	lost   map[int64]bool // values that a failover has undone
	lostAt time.Time      // an answer that was asked for later has none of them

	next    atomic.Int64
	commits atomic.Int64
	reads   atomic.Int64
	fresh   atomic.Int64
	disk    atomic.Int64 // of fresh, from the disk
	flagged atomic.Int64
	refused atomic.Int64
	failed  atomic.Int64 // connections that broke
	slowest atomic.Int64 // answer, in ns
}

type commit struct {
	value int64
	at    time.Time
}

func newOracle(t testing.TB, keys int) *oracle {
	return &oracle{t: t, keys: keys, acked: make([][]commit, keys+1)}
}

// schema are the statements that make the table, with the value 0 everywhere.
func (o *oracle) schema() string {
	return fmt.Sprintf("CREATE TABLE kv (id int PRIMARY KEY, v bigint NOT NULL, pad text);"+
		"INSERT INTO kv WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"+
		" WHERE i < %d) SELECT i, 0, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' FROM n;", o.keys)
}

// write changes random keys by exec until ctx ends. What fails may have been
// committed: it allows newer values, and demands none.
func (o *oracle) write(ctx context.Context, exec func(sql string) error, wait time.Duration) {
	for pause(ctx, wait) {
		k, v := 1+rand.IntN(o.keys), o.next.Add(1)
		if exec(fmt.Sprintf("UPDATE kv SET v = %d WHERE id = %d AND v < %d", v, k, v)) != nil {
			continue
		}
		o.commits.Add(1)
		o.mu.Lock()
		o.acked[k] = append(o.acked[k], commit{v, time.Now()})
		o.mu.Unlock()
	}
}

// least returns the oldest value that a read of k which began at a time may see.
func (o *oracle) least(k int, at time.Time) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	least := int64(0)
	for i := len(o.acked[k]) - 1; i >= 0; i-- {
		if c := o.acked[k][i]; !c.at.After(at) {
			least = max(least, c.value)
		}
	}
	return least
}

// forgive says that the database has failed over, and has these values by key: what
// was acknowledged beyond them is lost. Answers that are asked for from a time on may
// not have it. It returns how many values that are.
func (o *oracle) forgive(has map[int]int64, from time.Time) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost, o.lostAt = make(map[int64]bool), from
	for k := range o.acked {
		for n := len(o.acked[k]); n > 0 && o.acked[k][n-1].value > has[k]; n-- {
			o.lost[o.acked[k][n-1].value] = true
			o.acked[k] = o.acked[k][:n-1]
		}
	}
	return len(o.lost)
}

// goneSince says from when on nobody may have what was lost.
func (o *oracle) goneSince(from time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lostAt = from
}

// undone reports whether a read that began at a time has a value that was lost
// before.
func (o *oracle) undone(v int64, at time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost[v] && at.After(o.lostAt)
}

// read asks for random keys until ctx ends.
func (o *oracle) read(ctx context.Context, p *program) {
	c := &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	for ctx.Err() == nil {
		if err := o.once(c, p, 1+rand.IntN(o.keys)); err != nil {
			o.failed.Add(1)
			pause(ctx, 5*time.Millisecond)
		}
		if depth == "" {
			pause(ctx, time.Millisecond) // others run beside these rows
		}
	}
}

// once reads one key and judges the answer.
func (o *oracle) once(c *http.Client, p *program, k int) error {
	begin := time.Now()
	res, body, err := answer(c, fmt.Sprintf("http://%s/kv/%d", p.http, k))
	if err != nil {
		return err
	}
	code, status := res.StatusCode, res.Header.Get("Cache-Status")
	o.reads.Add(1)
	took := int64(time.Since(begin))
	for was := o.slowest.Load(); took > was && !o.slowest.CompareAndSwap(was, took); {
		was = o.slowest.Load()
	}
	switch {
	case code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout:
		o.refused.Add(1)
		if code == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
			o.violate("key %d: 503 without Retry-After: %s", k, body)
		}
		return nil
	case code != http.StatusOK:
		o.violate("key %d: %d %s", k, code, body)
		return nil
	case strings.Contains(status, "fwd=stale"):
		o.flagged.Add(1)
		return nil
	}
	o.fresh.Add(1)
	if strings.Contains(status, "detail=disk") {
		o.disk.Add(1)
	}
	var row struct{ ID, V int64 }
	if err := json.Unmarshal([]byte(body), &row); err != nil || row.ID != int64(k) {
		o.violate("key %d: %s", k, body)
		return nil
	}
	if o.undone(row.V, begin) {
		o.violate("key %d: %d (%s), which the failover has undone", k, row.V, status)
	}
	if least := o.least(k, begin.Add(-staleAfter)); row.V < least {
		o.violate("key %d: %d (%s), and %d was acknowledged %v before", k, row.V, status, least,
			staleAfter)
	}
	return nil
}

func (o *oracle) violate(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

// violations returns what was wrong, and how often.
func (o *oracle) violations() (first []string, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wrong[:min(len(o.wrong), 5)], len(o.wrong)
}

// sweep compares every document that is kept with the database, which nobody
// writes to any more: query returns the rows as "id v pad" lines.
func (o *oracle) sweep(p *program, query func(sql string) string) {
	o.t.Helper()
	p.awaitReady()
	pause(o.t.Context(), staleAfter) // all that was written is included from then on
	want := make(map[string][2]string)
	for line := range strings.SplitSeq(query("SELECT concat(id, ' ', v, ' ', pad) FROM kv"), "\n") {
		if f := strings.Fields(line); len(f) == 3 {
			want[f[0]] = [2]string{f[1], f[2]}
		}
	}
	if len(want) != o.keys {
		o.t.Fatalf("the database shows %d rows, want %d", len(want), o.keys)
	}
	for id, has := range want {
		var row struct {
			V   json.Number
			Pad string
		}
		code, status, body := p.fresh("/kv/" + id)
		if code != http.StatusOK || json.Unmarshal([]byte(body), &row) != nil ||
			row.V.String() != has[0] || row.Pad != has[1] {
			o.violate("at rest key %s: %d %.200s (%s), the database has %.200s", id, code, body, status,
				has)
		}
	}
}

// fresh asks for a path until the answer is not one of those that an outage, or a
// machine that is too busy for a fence, explains.
func (p *program) fresh(path string) (code int, status, body string) {
	p.t.Helper()
	until(p.t, p.text, "a fresh answer for "+path, func() bool {
		code, status, body = p.get(path)
		return code != http.StatusServiceUnavailable && !strings.Contains(status, "fwd=stale")
	})
	return code, status, body
}

// check fails the test for every answer that is wrong.
func (o *oracle) check() {
	o.t.Helper()
	first, n := o.violations()
	if n > 0 {
		o.t.Errorf("%d wrong answers, such as\n%s", n, strings.Join(first, "\n"))
	}
	if o.fresh.Load() == 0 {
		o.t.Error("no answer was fresh: the row shows nothing")
	}
}

// figures says what happened.
func (o *oracle) figures() string {
	_, n := o.violations()
	return fmt.Sprintf("%d reads: %d fresh (%d from disk), %d flagged, %d refused, %d cut;"+
		" %d commits; %d wrong", o.reads.Load(), o.fresh.Load(), o.disk.Load(), o.flagged.Load(),
		o.refused.Load(), o.failed.Load(), o.commits.Load(), n)
}
