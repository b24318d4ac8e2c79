// Package load asks an HTTP/1.1 server over connections that stay, and says how many answers a
// second it gives and how long they take. Each connection has a goroutine.
//
// A closed loop asks again as soon as it is answered: that finds the peak, and its latencies
// are those of a queue. With a rate requests are due at equal distances, and a latency counts
// from when its request was due: a server that stalls cannot hide it.
//
// It is for a look at a server. The laboratory's generator is bench/load.
package load

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Config says what is asked, and how often.
type Config struct {
	URL    string   // http://127.0.0.1:8080/depts/{n}, or https: {n} is a random key
	Method string   // GET or HEAD
	Header []string // further header lines, "Name: value"

	First, Keys int64   // the keys: so many from First on, one at least
	Connections int     // open at once, one at least
	Rate        float64 // requests a second; 0: a closed loop

	Duration, Warmup time.Duration // what is measured, and before it
	Timeout          time.Duration // after which an answer counts as lost

	PID int // a server whose CPU time is told; 0: none
}

// A Result is what a run has measured. Latencies are in microseconds.
type Result struct {
	Name        string  `json:"name"`
	URL         string  `json:"url"`
	Connections int     `json:"connections"`
	Offered     float64 `json:"offered,omitempty"` // requests a second
	Seconds     float64 `json:"seconds"`
	Answers     int     `json:"answers"`
	Rate        float64 `json:"rate"` // answers a second
	P50         float64 `json:"p50_us"`
	P99         float64 `json:"p99_us"`
	P999        float64 `json:"p999_us"`
	Max         float64 `json:"max_us"`
	CPU         float64 `json:"cpu_us,omitempty"` // of the server, an answer

	// Of the whole run: answers by their status, and what failed, with the status of 400 and
	// more among it.
	Statuses   map[int]int    `json:"statuses"`
	Errors     map[string]int `json:"errors,omitempty"`
	FirstError string         `json:"first_error,omitempty"`
}

// Failed returns how many requests failed.
func (r *Result) Failed() (failed int) {
	for _, n := range r.Errors {
		failed += n
	}
	return failed
}

// Err returns an error if requests failed.
func (r *Result) Err() error {
	failed := r.Failed()
	if failed == 0 {
		return nil
	}
	return fmt.Errorf("%d requests failed; the first: %s", failed, r.FirstError)
}

// A run is a Config that is under way.
type run struct {
	Config
	address string
	tls     bool
	request []string  // what is sent, cut where the key goes
	began   time.Time // with the warm-up
	from    time.Time // what is measured
	till    time.Time
}

// Run asks until the time is over or ctx ends.
func Run(ctx context.Context, c Config) (*Result, error) {
	c.Connections, c.Keys = max(c.Connections, 1), max(c.Keys, 1)
	r := &run{Config: c}
	if err := r.target(); err != nil {
		return nil, err
	}
	first := &caller{run: r}
	if err := first.dial(ctx); err != nil { // nobody listens: that is no measurement
		return nil, err
	}
	r.began = time.Now()
	r.from = r.began.Add(c.Warmup)
	r.till = r.from.Add(c.Duration)
	callers := make([]*caller, c.Connections)
	var done sync.WaitGroup
	for i := range callers {
		callers[i] = newCaller(r, i)
		if i == 0 {
			callers[i].conn, callers[i].in, callers[i].stop = first.conn, first.in, first.stop
		}
		done.Go(func() { callers[i].loop(ctx) })
	}
	pause(ctx, r.from)
	before, _ := cpuOf(c.PID)
	pause(ctx, r.till)
	after, known := cpuOf(c.PID)
	done.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	res := r.result(callers)
	if known {
		res.CPU = micros(after-before) / float64(max(res.Answers, 1))
	}
	return res, nil
}

// target reads the URL, and makes the request.
func (r *run) target() error {
	u, err := url.Parse(strings.ReplaceAll(r.URL, "{n}", "0"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("url %q: want http://host:port/path", r.URL)
	}
	r.address, r.tls = u.Host, u.Scheme == "https"
	if u.Port() == "" {
		r.address += ":" + u.Scheme // the name of its port
	}
	_, rest, _ := strings.Cut(r.URL, "://")
	path := "/"
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		path = "/" + strings.TrimPrefix(rest[i:], "/")
	}
	path, _, _ = strings.Cut(path, "#")
	text := r.Method + " " + path + " HTTP/1.1\r\nHost: " + u.Host + "\r\n"
	for _, h := range r.Header {
		if name, _, ok := strings.Cut(h, ":"); !ok || name == "" || strings.ContainsAny(h, "\r\n") {
			return fmt.Errorf("header %q: want \"Name: value\"", h)
		}
		text += h + "\r\n"
	}
	if strings.ContainsAny(path, " \r\n\t") {
		return fmt.Errorf("url %q has white space in it: escape it", r.URL)
	}
	r.request = strings.Split(text+"\r\n", "{n}")
	return nil
}

// result adds up what callers have, which have ended.
func (r *run) result(callers []*caller) *Result {
	res := &Result{Name: r.URL, URL: r.URL, Connections: r.Connections, Offered: r.Rate,
		Seconds: r.Duration.Seconds(), Statuses: make(map[int]int)}
	var times []uint32
	for _, c := range callers {
		times = append(times, c.times...)
		for status, n := range c.statuses {
			res.Statuses[status] += n
		}
		for kind, n := range c.errors {
			if res.Errors == nil {
				res.Errors = make(map[string]int)
			}
			res.Errors[kind] += n
		}
		if res.FirstError == "" && c.first != nil {
			res.FirstError = c.first.Error()
		}
	}
	slices.Sort(times)
	at := func(share float64) float64 {
		if len(times) == 0 {
			return 0
		}
		return float64(times[int(share*float64(len(times)-1))])
	}
	res.P50, res.P99, res.P999, res.Max = at(0.5), at(0.99), at(0.999), at(1)
	res.Answers = len(times)
	res.Rate = float64(res.Answers) / res.Seconds
	return res
}

// pause waits until then, or until ctx ends.
func pause(ctx context.Context, then time.Time) {
	select {
	case <-time.After(time.Until(then)):
	case <-ctx.Done():
	}
}

// micros returns d in microseconds.
func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// cpuOf returns the CPU time that a process has used; false where there is no /proc, or no
// such process.
func cpuOf(pid int) (used time.Duration, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, ok := bytes.Cut(text, []byte(") ")) // behind the name
	f := bytes.Fields(rest)
	if err != nil || !ok || len(f) < 13 {
		return 0, false
	}
	for _, ticks := range f[11:13] { // user and system, of 10 ms each
		n, err := strconv.ParseInt(string(ticks), 10, 64)
		if err != nil {
			return 0, false
		}
		used += time.Duration(n) * 10 * time.Millisecond
	}
	return used, true
}
