package ops_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hotrow/hotrow/internal/ops"
)

// gofastOptions have a hundred connections: gofast's own list panics beyond 80.
func gofastOptions() ops.Options {
	o := options()
	o.Transports = func() []string {
		names := make([]string, 100)
		for i := range names {
			names[i] = "a-rather-long-name"
		}
		return names
	}
	o.Transport = func(name string) (map[string]uint64, bool) {
		return map[string]uint64{"n_tx": 7, "n_rx": 9}, name == "" || name == "wire-1"
	}
	return o
}

func TestGofast_PathsAnswerWithJSON(t *testing.T) {
	o := gofastOptions()
	res, body := ask(ops.New(o), "GET", "/gofast/transports")
	var names []string
	if err := json.Unmarshal([]byte(body), &names); err != nil || len(names) != 100 ||
		res.Header.Get("Content-Type") != "application/json" || !strings.HasSuffix(body, "\n") {
		t.Errorf("transports: %v, %v %.80s", err, res.Header, body)
	}
	var memory struct {
		NumGC   *int
		PauseNs []int
	}
	if _, body := ask(ops.New(o), "GET", "/gofast/memstats"); json.Unmarshal([]byte(body), &memory) != nil ||
		memory.NumGC == nil || memory.PauseNs == nil {
		t.Errorf("memstats: %.200s", body)
	}
	for query, want := range map[string]map[string]uint64{
		"": {"n_tx": 7, "n_rx": 9}, "?name=wire-1&keys=n_rx,nothing": {"n_rx": 9, "nothing": 0},
	} {
		_, body := ask(ops.New(o), "GET", "/gofast/statistics"+query)
		got := make(map[string]uint64)
		if err := json.Unmarshal([]byte(body), &got); err != nil || got["timestamp"] == 0 {
			t.Errorf("statistics%s: %v %s", query, err, body)
		}
		delete(got, "timestamp")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("statistics%s: %s", query, diff)
		}
	}
	res, body = ask(ops.New(o), "GET", "/gofast/statistics?name=x")
	if res.StatusCode != http.StatusInternalServerError || body != "invalid name \"x\"\n" {
		t.Errorf("an unknown name: %d %q", res.StatusCode, body)
	}
}

func TestGofast_IsNotThereWithoutTheWire(t *testing.T) {
	if res, _ := ask(ops.New(options()), "GET", "/gofast/transports"); res.StatusCode != http.StatusNotFound {
		t.Errorf("%d, want 404", res.StatusCode)
	}
}
