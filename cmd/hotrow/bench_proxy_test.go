package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// hotrow bench proxy asks an upstream directly and through a proxy, which keeps its
// connections.
func TestBench_Proxy(t *testing.T) {
	out := mustCommand(t, "bench", "proxy", "-c", "2,4", "-d", "200ms", "--warmup", "50ms",
		"--format", "json")
	var rows []proxyFigure
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(rows) != 4 {
		t.Fatalf("%d rows, want direct and proxy for 2 and 4 connections: %s", len(rows), out)
	}
	for i, r := range rows {
		want := []string{"direct", "hotrow proxy"}[i%2]
		if r.Load.Name != want || r.Load.Answers == 0 || r.Load.Failed() > 0 {
			t.Errorf("row %d: %q: %d answers, %d failed; want %q", i, r.Load.Name, r.Load.Answers,
				r.Load.Failed(), want)
		}
		if r.Opened == nil {
			t.Errorf("row %d does not say how many connections were opened", i)
		} else if *r.Opened > int64(2*r.Load.Connections) {
			t.Errorf("row %d: %d connections opened for %d", i, *r.Opened, r.Load.Connections)
		}
	}
}

// An upstream of somebody else's, and a proxy to it: here itself.
func TestBench_ProxyOfOthers(t *testing.T) {
	own := &benchUpstream{}
	url, err := own.serve(100)
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	out := mustCommand(t, "bench", "proxy", "-c", "2", "-d", "100ms", "--warmup", "0s",
		"--upstream", url, "--proxy", "other="+url)
	for _, want := range []string{"direct", "hotrow proxy", "other", "to direct"} {
		if !strings.Contains(out, want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
}
