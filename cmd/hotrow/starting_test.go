package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hotrow/hotrow/client"
	"github.com/hotrow/hotrow/internal/waittest"
)

// wireURL returns where a server speaks the wire.
func (r *running) wireURL() string {
	r.t.Helper()
	m := regexp.MustCompile(`proto=wire addr=(\S+)`).FindStringSubmatch(r.log.String())
	if m == nil {
		r.t.Fatalf("no listener of the wire:\n%s", r.log)
	}
	return "hotrow://" + m[1]
}

// TestServe_NoAnswerOfATableBeforeTablesAreKnown: a server of a database with many tables
// listens before it has read the catalogue. Nothing is absent then: it is asked
// again, and the Go client does so by itself.
func TestServe_NoAnswerOfATableBeforeTablesAreKnown(t *testing.T) {
	t.Parallel()
	var sql strings.Builder
	for i := range 400 {
		fmt.Fprintf(&sql, "CREATE TABLE t%d (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t%d VALUES (1,'x');\n", i, i)
	}
	r := start(t, nil, database(t, sql.String()))
	for _, base := range []string{r.http, r.wireURL()} {
		c, err := client.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := c.Get(t.Context(), "t399", "1"); err != nil {
			t.Errorf("the first read by %s: %v", base, err)
		}
	}
	codes := map[int]int{}
	until(t, r.log, func() bool {
		codes[status(r.http+"/t7/1")]++
		return codes[200] > 0
	})
	if codes[404] > 0 {
		t.Errorf("answers by status: %v", codes)
	}
}

// TestServe_DatabaseAwayAtStart: the same while the database cannot be reached.
func TestServe_DatabaseAwayAtStart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port on which nobody answers
	if err != nil {
		t.Fatal(err)
	}
	away := l.Addr().String()
	_ = l.Close()
	r := start(t, nil, "postgres://nobody@"+away+"/none?sslmode=disable")
	resp, err := http.Get(r.http + "/depts/10")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("HTTP: %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	limit := waittest.Limit(3 * time.Second)
	for _, base := range []string{r.http, r.wireURL()} {
		c, err := client.Open(base)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		began := time.Now()
		_, err = c.Get(ctx, "depts", "10")
		if !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("%s: %v, want that it is unavailable", base, err)
		}
		if took := time.Since(began); took < limit/2 {
			t.Errorf("%s: gave up after %v of %v", base, took, limit)
		}
	}
}
