package robust

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/internal/dbtest"
)

// ask asks for a path with a token, and what is preferred, and returns the answer's code,
// value, token and how long it took.
func (p *program) ask(path, token string, prefer ...string) (
	code int, value int64, next string, took time.Duration,
) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.http+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Hotrow-Min-Position", token)
	}
	if len(prefer) > 0 {
		req.Header["Prefer"] = prefer
	}
	begin := time.Now()
	res, err := client.Do(req)
	if err != nil {
		p.t.Fatalf("GET %s with token %q: %v", path, token, err)
	}
	defer res.Body.Close()
	var row struct{ V int64 }
	if err := json.NewDecoder(res.Body).Decode(&row); err != nil && res.StatusCode == http.StatusOK {
		p.t.Fatal(err)
	}
	next, _, _ = strings.Cut(res.Header.Get("Hotrow-Position"), ";")
	return res.StatusCode, row.V, next, time.Since(begin)
}

// put writes a value and returns the token of the answer.
func (p *program) put(path string, v int64) (token string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut, "http://"+p.http+path,
		strings.NewReader(fmt.Sprintf(`{"v": %d}`, v)))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	token, _, _ = strings.Cut(res.Header.Get("Hotrow-Position"), ";")
	if res.StatusCode >= 300 || token == "" {
		p.t.Fatalf("PUT %s: %s, token %q", path, res.Status, token)
	}
	return token
}

// foreignTokens: tokens of another node, of an epoch that is over, of the future, of
// other sources, and what is none at all. A good one is kept to on any node; no other
// makes a reader wait long, or get an old value.
func foreignTokens(t *testing.T) string {
	o := newOracle(t, 50)
	d := newPostgres(t, o, nil)
	dbtest.Psql(t, d.url, "CREATE TABLE written (id int PRIMARY KEY, v bigint)")
	c := d.config(setup{writable: true, tables: []string{"written"}})
	a, b := serve(t, c), serve(t, c)
	a.awaitReady()
	b.awaitReady()
	w := d.work(o, a, 2)
	const limit = 20 * time.Second // max_wait is 100 ms, and the machine may be busy
	worst, seen := time.Duration(0), 0
	judge := func(what string, p *program, k int, token string, least int64) int {
		code, v, _, took := p.ask(fmt.Sprintf("/kv/%d", k), token)
		if worst = max(worst, took); took > limit {
			t.Errorf("%s: an answer after %v", what, took)
		}
		if code == http.StatusOK && v < least {
			t.Errorf("%s: key %d is %d, the token includes %d", what, k, v, least)
		}
		seen++
		return code
	}
	for i := range 200 { // written by way of one node, read by way of the other
		from, to := a, b
		if i%2 == 1 {
			from, to = b, a
		}
		k, v := 1+rand.IntN(20), int64(i+1)
		token := from.put(fmt.Sprintf("/written/%d", k), v)
		for _, p := range []*program{to, from} {
			code, got, _, took := p.ask(fmt.Sprintf("/written/%d", k), token)
			if code != http.StatusOK || got != v || took > limit {
				t.Errorf("key %d was %d with token %s: %d, %d after %v", k, v, token, code, got, took)
			}
			worst = max(worst, took)
		}
	}
	_, _, token, _ := a.ask("/kv/1", "")
	parts := strings.Split(token, ".")
	now := o.least(1, time.Now().Add(-staleAfter))
	for what, c := range map[string]struct {
		token string
		codes []int
	}{
		"the future's":        {strings.Join(parts[:3], ".") + ".7fffffffffffff", []int{200}},
		"another history's":   {parts[0] + "." + parts[1] + ".0t99." + parts[3], []int{200}},
		"another source's":    {parts[0] + ".other." + parts[2] + "." + parts[3], []int{200}},
		"one without a place": {strings.Join(parts[:3], "."), []int{400}},
		"a long one":          {token + strings.Repeat("0", 5000), []int{400, 431}},
		"garbage":             {"hr1.\x80\xff..;;,,", []int{400}},
	} {
		if code := judge(what, a, 1, c.token, now); code != c.codes[0] && code != c.codes[len(c.codes)-1] {
			t.Errorf("%s: %d, want %v", what, code, c.codes)
		}
	}
	for range 300 { // a byte changed, gone or added
		bad := []byte(token)
		i := rand.IntN(len(bad))
		switch rand.IntN(3) {
		case 0:
			bad[i] = byte(' ' + rand.IntN(95))
		case 1:
			bad = append(bad[:i], bad[i+1:]...)
		default:
			bad = append(bad[:i], append([]byte{byte(' ' + rand.IntN(95))}, bad[i:]...)...)
		}
		code := judge("a changed one", a, 1, string(bad), now)
		if code != http.StatusOK && code != http.StatusBadRequest {
			t.Errorf("token %q: %d", bad, code)
		}
	}
	w.stop()
	o.sweep(a, d.query)
	o.check()
	return fmt.Sprintf("%d tokens, the slowest answer after %v; %s", seen, ms(worst), o.figures())
}

// hugeValues: rows of 64 MB and lists of them, beside ordinary ones. They are served
// or refused, not kept, and memory does not grow with them.
func hugeValues(t *testing.T) string {
	o := newOracle(t, 200)
	d := newPostgres(t, o, nil)
	dbtest.Psql(t, d.url, "CREATE TABLE big (id int PRIMARY KEY, v bigint, pad text); INSERT INTO big"+
		" SELECT i, i, repeat(md5(i::text), 64 * 1024 * 1024 / 32) FROM generate_series(1, 3) i;"+
		" CREATE TABLE many (id int PRIMARY KEY, pad text); INSERT INTO many"+
		" SELECT i, repeat('y', 1000) FROM generate_series(1, 100000) i")
	p := serve(t, d.config(setup{memory: "32MiB", tables: []string{"big", "many"}}))
	p.awaitReady()
	w := d.work(o, p, 2)
	before := resident(t, p)
	peak := int64(0)
	var answers []string
	for _, path := range []string{"/big/1", "/big/2", "/big/3", "/big?limit=3", "/many?limit=100000",
		"/many?limit=1000", "/big/1"} {
		code, n := 0, int64(0)
		until(t, p.text, path, func() bool { // a busy machine may be too slow for a statement
			code, n = p.drain(path)
			return code != http.StatusServiceUnavailable
		})
		switch {
		case code == http.StatusOK && n < 64<<20 && strings.HasPrefix(path, "/big/"):
			t.Errorf("%s: 200 with %d bytes", path, n)
		case code != http.StatusOK && code != http.StatusRequestEntityTooLarge &&
			code != http.StatusInsufficientStorage && code != http.StatusBadRequest:
			t.Errorf("%s: %d", path, code)
		}
		peak = max(peak, resident(t, p))
		if peak > 512<<20 {
			t.Errorf("%s: %d MiB are resident", path, peak>>20)
		}
		answers = append(answers, fmt.Sprintf("%s %d, %d MiB", path, code, n>>20))
	}
	if held := p.metric("hotrow_cache_bytes", `tier="memory"`); held > 32<<20 {
		t.Errorf("%.0f MiB are kept of 32", held/(1<<20))
	}
	if p.ended() {
		t.Fatalf("hotrow has ended:\n%s", p.text())
	}
	w.stop()
	o.sweep(p, d.query)
	o.check()
	return fmt.Sprintf("%s; %d MiB resident before, %d at most; %s", strings.Join(answers, "; "),
		before>>20, peak>>20, o.figures())
}

// drain asks for a path and throws the body away; it returns how long that was.
func (p *program) drain(path string) (code int, n int64) {
	p.t.Helper()
	res, err := client.Get("http://" + p.http + path)
	if err != nil {
		p.t.Fatalf("GET %s: %v", path, err)
	}
	defer res.Body.Close()
	if n, err = io.Copy(io.Discard, res.Body); err != nil {
		p.t.Fatalf("GET %s, after %d bytes: %v", path, n, err)
	}
	return res.StatusCode, n
}
