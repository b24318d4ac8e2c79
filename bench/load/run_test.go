package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eachForm runs a test with both forms, as far as this system has them.
func eachForm(t *testing.T, test func(t *testing.T, f engine)) {
	t.Helper()
	if haveLoops {
		t.Run("loops", func(t *testing.T) { test(t, loopEngine) })
	}
	t.Run("goroutines", func(t *testing.T) { test(t, goroutinesEngine) })
}

// serve starts a server for one test.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// mustRun runs c, a short one if it does not say how long.
func mustRun(t *testing.T, c Config) *Result {
	t.Helper()
	setDefault(&c.Duration, 150*time.Millisecond)
	r, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantNoErrors fails the test if requests failed.
func wantNoErrors(t *testing.T, r *Result) {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Errorf("%v %v", err, r.Errors)
	}
	if r.Reads.Count == 0 {
		t.Error("nothing was measured")
	}
}

// document answers with a document that names the key at the path's end.
func document(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	key := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	w.Header().Set("ETag", `"v`+key+`"`)
	fmt.Fprintf(w, `{"id":%s,"filler":%q}`, key, strings.Repeat("x", 500))
}

func TestRun_ClosedLoopCountsExactly(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		var got atomic.Uint64
		url := serve(t, func(w http.ResponseWriter, req *http.Request) {
			got.Add(1)
			document(w, req)
		})
		const connections, depth = 7, 3
		r := mustRun(t, Config{
			URL: url + "/d/{n}", Connections: connections, Pipeline: depth, Loops: 2,
			Keys: Keys{First: 100, N: 50}, engine: f, PID: os.Getpid(),
		})
		wantNoErrors(t, r)
		// Answers still on their way at the end are the only difference, but for
		// those of the moments before the first mark and after the second.
		if n := got.Load(); r.Reads.Count > n || r.Answers > n {
			t.Errorf("%d measured, %d answers; the server was asked %d times only",
				r.Reads.Count, r.Answers, n)
		}
		if r.Statuses[200] != r.Reads.Count || len(r.Statuses) != 1 {
			t.Errorf("statuses %v for %d reads", r.Statuses, r.Reads.Count)
		}
		if r.Bytes < r.Reads.Count*500 {
			t.Errorf("%d bytes of %d answers", r.Bytes, r.Reads.Count)
		}
		if r.Reads.P50 <= 0 || r.Reads.P50 > r.Reads.P99 || r.Reads.P99 > r.Reads.Max {
			t.Errorf("quantiles are out of order: %+v", r.Reads)
		}
	})
}

func TestRun_OpenLoopCountsExactly(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		var got atomic.Uint64
		url := serve(t, func(w http.ResponseWriter, req *http.Request) {
			got.Add(1)
			document(w, req)
		})
		r := mustRun(t, Config{
			URL: url + "/d/{n}", Connections: 10, Loops: 3, Rate: 1000,
			Warmup: 100 * time.Millisecond, Duration: 500 * time.Millisecond, engine: f,
		})
		wantNoErrors(t, r)
		if n := r.Reads.Count; n != 500 {
			t.Errorf("%d requests were measured, want 1000/s for 0.5s", n)
		}
		if n := got.Load() + r.Unfinished; n != 600 {
			t.Errorf("the server was asked %d times, want 600 with the warm-up", n)
		}
	})
}

// TestRun_OpenLoopCountsTheWait: a server that stalls once for half the run
// delays every request that is due meanwhile, sent or not. A closed loop sees
// one slow answer.
func TestRun_OpenLoopCountsTheWait(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		for _, rate := range []float64{500, 0} {
			var once atomic.Bool
			released := make(chan struct{})
			url := serve(t, func(w http.ResponseWriter, req *http.Request) {
				if once.CompareAndSwap(false, true) {
					time.AfterFunc(600*time.Millisecond, func() { close(released) })
					<-released
				}
				document(w, req)
			})
			r := mustRun(t, Config{
				URL: url, Connections: 1, Rate: rate, Duration: 1200 * time.Millisecond, engine: f,
			})
			wantNoErrors(t, r)
			slow := r.Reads.P90 > 400_000
			if open := rate > 0; slow != open {
				t.Errorf("open loop = %v: p90 is %.0f µs, want slow = %v", open, r.Reads.P90, open)
			}
			if r.Reads.Max < 500_000 {
				t.Errorf("the slowest took %.0f µs, want 600 ms", r.Reads.Max)
			}
		}
	})
}

func TestRun_ChecksAnswers(t *testing.T) {
	check := func(a Answer) error {
		if want := fmt.Sprintf(`{"id":%d,`, a.Key); !strings.HasPrefix(string(a.Body), want) {
			return fmt.Errorf("body %.20q, want %s", a.Body, want)
		}
		if want := fmt.Sprintf(`"v%d"`, a.Key); string(a.ETag) != want {
			return fmt.Errorf("etag %q, want %s", a.ETag, want)
		}
		return nil
	}
	eachForm(t, func(t *testing.T, f engine) {
		wrong := func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/d/7" {
				req.URL.Path = "/d/8"
			}
			document(w, req)
		}
		for _, tt := range []struct {
			name  string
			h     http.HandlerFunc
			fails bool
		}{{"right", document, false}, {"wrong", wrong, true}} {
			r := mustRun(t, Config{
				URL: serve(t, tt.h) + "/d/{n}", Connections: 3, Pipeline: 2, CheckEvery: 5, Check: check,
				Keys: Keys{N: 10}, engine: f,
			})
			if failed := r.Errors["check"] > 0; failed != tt.fails {
				t.Errorf("%s bodies: errors %v (%s)", tt.name, r.Errors, r.FirstError)
			}
			if want := r.Answers / 20; r.Checked < want {
				t.Errorf("%d of %d answers were checked, want one of five", r.Checked, r.Answers)
			}
		}
	})
}

func TestRun_MixesWrites(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		var reads, writes, odd atomic.Int64
		var seen [100_000]atomic.Bool
		url := serve(t, func(w http.ResponseWriter, req *http.Request) {
			if req.Method == "GET" {
				reads.Add(1)
				document(w, req)
				return
			}
			writes.Add(1)
			var key, seq int64
			body, _ := io.ReadAll(req.Body)
			_, err := fmt.Sscanf(string(body), `{"id":%d,"seq":%d}`, &key, &seq)
			if err != nil || req.Method != "PUT" || req.URL.Path != fmt.Sprintf("/w/%d", key) ||
				req.Header.Get("Content-Type") != "application/json" || req.Header.Get("X-A") != "b" {
				odd.Add(1)
			}
			if seq < int64(len(seen)) && seen[seq].Swap(true) {
				odd.Add(1) // a sequence number for the second time
			}
			w.WriteHeader(http.StatusNoContent)
		})
		r := mustRun(t, Config{
			URL: url + "/d/{n}", Connections: 4, Loops: 2, Keys: Keys{N: 1000}, engine: f,
			Header: []string{"X-A: b"},
			Write:  Write{Percent: 25, Path: "/w/{n}", Body: `{"id":{n},"seq":{i}}`},
		})
		wantNoErrors(t, r)
		if odd.Load() > 0 {
			t.Errorf("%d writes were not what was asked for", odd.Load())
		}
		share := float64(writes.Load()) / float64(reads.Load()+writes.Load())
		if share < 0.15 || share > 0.35 {
			t.Errorf("%.2f of the requests were writes, want 0.25", share)
		}
		if r.Writes.Count == 0 || r.Statuses[204] != r.Writes.Count {
			t.Errorf("%d writes measured, statuses %v", r.Writes.Count, r.Statuses)
		}
	})
}

func TestRun_WritesOnceOnEachConnection(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		var writes, reads atomic.Int64
		url := serve(t, func(w http.ResponseWriter, req *http.Request) {
			if req.Method == http.MethodPut {
				writes.Add(1)
				w.WriteHeader(http.StatusNoContent)
				return
			}
			reads.Add(1)
			document(w, req)
		})
		r := mustRun(t, Config{
			URL: url + "/d/{n}", Connections: 5, Loops: 2, Write: Write{Once: true, Body: "{}"}, engine: f,
		})
		wantNoErrors(t, r)
		if writes.Load() != 5 || reads.Load() == 0 {
			t.Errorf("%d writes and %d reads on 5 connections", writes.Load(), reads.Load())
		}
	})
}

func TestRun_SpeaksTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(document))
	t.Cleanup(s.Close)
	wantNoErrors(t, mustRun(t, Config{URL: s.URL + "/d/{n}", Connections: 2}))
}

func TestRun_CountsBadStatuses(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		r := mustRun(t, Config{URL: serve(t, http.NotFound), Connections: 2, engine: f})
		if n := r.Errors["status"]; n == 0 || r.Statuses[404] == 0 || r.Failed() != n {
			t.Errorf("errors %v, statuses %v", r.Errors, r.Statuses)
		}
	})
}

func TestRun_EndsWithItsContext(t *testing.T) {
	eachForm(t, func(t *testing.T, f engine) {
		hold := make(chan struct{})
		url := serve(t, func(http.ResponseWriter, *http.Request) { <-hold })
		defer close(hold)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := Run(ctx, Config{URL: url, Duration: time.Hour, Timeout: 200 * time.Millisecond, engine: f})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}

func TestRun_SaysThatNobodyListens(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	if _, err := Run(t.Context(), Config{URL: s.URL}); err == nil {
		t.Error("no error for a server that is not there")
	}
}

func TestRun_ReportsProgress(t *testing.T) {
	var calls atomic.Int32
	mustRun(t, Config{
		URL: serve(t, document) + "/1", Duration: 1200 * time.Millisecond,
		Progress: func(p Progress) {
			if calls.Add(1); p.Answers == 0 || p.Rate <= 0 || p.Elapsed > p.Total {
				t.Errorf("progress %+v", p)
			}
		},
	})
	if calls.Load() == 0 {
		t.Error("Progress was not called")
	}
}

func TestConfig_RefusesWhatCannotBe(t *testing.T) {
	ok := Config{URL: "http://127.0.0.1:1/x"}
	tests := map[string]func(*Config){
		"no url":       func(c *Config) { c.URL = "" },
		"scheme":       func(c *Config) { c.URL = "ftp://x/" },
		"space":        func(c *Config) { c.URL = "http://x/a b" },
		"method":       func(c *Config) { c.Method = "BREW" },
		"connections":  func(c *Config) { c.Connections = -1 },
		"pipeline":     func(c *Config) { c.Pipeline = maxPipeline + 1 },
		"rate":         func(c *Config) { c.Rate = -1 },
		"duration":     func(c *Config) { c.Duration = -1 },
		"percent":      func(c *Config) { c.Write.Percent = 101 },
		"header":       func(c *Config) { c.Header = []string{"nothing"} },
		"header lines": func(c *Config) { c.Header = []string{"a: b\r\nc: d"} },
		"keys":         func(c *Config) { c.Keys.N = -1 },
		"distribution": func(c *Config) { c.Keys.Distribution = "normal" },
		"skew":         func(c *Config) { c.Keys = Keys{Distribution: Zipf, Skew: -1} },
		"steep":        func(c *Config) { c.Keys = Keys{Distribution: Zipf, Skew: maxSkew + 1} },
	}
	if _, _, err := ok.withDefaults(); err != nil {
		t.Errorf("%+v: %v", ok, err)
	}
	for name, spoil := range tests {
		c := ok
		if spoil(&c); !refused(c) {
			t.Errorf("%s: %+v is not refused", name, c)
		}
	}
}

func refused(c Config) bool {
	_, _, err := c.withDefaults()
	return err != nil
}

func TestParseTarget(t *testing.T) {
	tests := map[string]target{
		"http://h:80":                {network: "h:80", host: "h:80", path: "/"},
		"http://h/depts/{n}?a={i}#f": {network: "h:80", host: "h", path: "/depts/{n}?a={i}"},
		"https://h?x=/y":             {tls: true, network: "h:443", host: "h", path: "/?x=/y"},
		"http://[::1]:8080/":         {network: "[::1]:8080", host: "[::1]:8080", path: "/"},
	}
	for raw, want := range tests {
		if got, err := parseTarget(raw); err != nil || got != want {
			t.Errorf("parseTarget(%q) = %+v, %v; want %+v", raw, got, err, want)
		}
	}
}
