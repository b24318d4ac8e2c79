package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/bench/load"
)

func TestScenario_RefusesWhatCannotBe(t *testing.T) {
	reg := Registry{
		Peers: map[string]Starter{"floor": nil}, Kinds: map[string]Experiment{"feed": nil},
	}
	const good = `"rows": [{"peer": "floor"}], "placements": ["free"], "connections": [1]`
	tests := map[string]bool{
		"{" + good + "}":                                                                               true,
		"{" + good + `, "baseline": "floor"}`:                                                          true,
		"{" + good + `, "baseline": "other"}`:                                                          false,
		"{" + good + `, "rate": {"row": "other"}}`:                                                     false,
		"{" + good + `, "kind": "feed"}`:                                                               true,
		"{" + good + `, "kind": "other"}`:                                                              false,
		"{" + good + `, "alone": true}`:                                                                true,
		"{" + good + `, "alone": true, "rate": {"row": "floor"}}`:                                      false,
		"{" + good + `, "targets": [{"row": "floor", "figure": "p99 µs", "at_most": 0}]}`:              true,
		"{" + good + `, "targets": [{"row": "floor", "figure": "p99 µs"}]}`:                            false,
		"{" + good + `, "targets": [{"row": "floor", "figure": "other", "at_most": 0}]}`:               false,
		"{" + good + `, "targets": [{"row": "other", "figure": "p99 µs", "at_most": 0}]}`:              false,
		`{"rows": [{"peer": "floor", "generator": "ab"}], "placements": ["free"], "connections": [1]}`: false,
		"{" + good + `, "unknown": 1}`:                                                                 false,
		`{"rows": [{"peer": "x"}], "placements": ["free"], "connections": [1]}`:                        false,
		`{"rows": [{"peer": "floor"}, {"peer": "floor"}], "placements": ["free"], "connections": [1]}`: false,
		`{"rows": [{"peer": "floor"}], "placements": ["moon"], "connections": [1]}`:                    false,
		`{"rows": [{"peer": "floor"}], "placements": ["free"]}`:                                        false,
	}
	for text, want := range tests {
		const file = "scenario.json"
		files := fstest.MapFS{file: {Data: []byte(text)}}
		if _, err := readScenario(files, file, &reg); (err == nil) != want {
			t.Errorf("%s: error %v, want good = %v", text, err, want)
		}
	}
}

func TestMedian(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{5, 1, 9}, 5}}
	for _, tt := range tests {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

// reported is a report of two rounds. The second is on a machine half as fast:
// ratios do not change, and neither does what the medians of ratios say.
func reported() *report {
	r := &report{
		scenario: &Scenario{
			Name: ShownScenario, Title: "Hits", Rows: []row{{Name: "floor"}, {Name: "b"}}, Baseline: "floor",
			Placements: []Placement{Pinned}, Connections: []int{shownConnections},
		},
		options:     &Options{Results: "bench/results"},
		Setup:       setup{Rounds: 2},
		Environment: []fact{{"commit", "abc"}, {"kernel", "Linux 6"}},
	}
	for round, speed := range []float64{1, 0.5} {
		for name, rate := range map[string]float64{"floor": 1000, "b": 400} {
			r.add(run{Placement: Pinned, Round: round, Result: &load.Result{
				Name: name, Connections: shownConnections, Rate: rate * speed,
				Reads:  load.Summary{Count: 1, P50: 1 / speed, P99: 10 / speed, P999: 20 / speed},
				Server: &load.CPU{Total: 1e3 / rate, User: 0.5, Peak: 2e6},
			}})
		}
	}
	return r
}

func TestReport_TakesRatiosWithinRounds(t *testing.T) {
	want := [][]string{
		{"floor", "750", "500", "1,000", "1.000", "2", "15", "30", "1.00", "0.50", "1.000", "0.00", "2", "0"},
		{"b", "300", "200", "400", "0.400", "2", "15", "30", "2.50", "0.50", "2.500", "0.00", "2", "0"},
	}
	if diff := cmp.Diff(want, reported().table(Pinned, shownConnections).Rows); diff != "" {
		t.Error(diff)
	}
}

func TestReport_WritesItsFiles(t *testing.T) {
	dir := t.TempDir()
	if err := reported().Write(dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ShownScenario+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(text, &back); err != nil || len(back.Runs) != 4 {
		t.Errorf("%d runs come back, %v", len(back.Runs), err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ShownScenario+".md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# Hits\n", "| b | 300 |", "commit: abc", ShownScenario + "-pinned.svg"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestReport_ShowsFiguresBetweenMarks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "README.md")
	write := func(text string) {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const row = "| b | 300 | 200 | 400 | 0.400 | 0.400 | 0.400 | 15 | 2.50 |"
	read := func() string {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write("a\n" + showBegin + "old\n" + showEnd + "z\n")
	for range 2 { // the second time changes nothing
		if err := reported().Show(page); err != nil {
			t.Fatal(err)
		}
		got := read()
		if !strings.HasPrefix(got, "a\n"+showBegin) || !strings.HasSuffix(got, showEnd+"z\n") ||
			strings.Contains(got, "old") || strings.Count(got, row) != 1 {
			t.Errorf("page:\n%s", got)
		}
	}
	write("no marks\n")
	if err := reported().Show(page); err != nil || read() != "no marks\n" {
		t.Errorf("%v, page:\n%s", err, read())
	}
}

func TestGenerate_ChecksAnswers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, `{"id":%s}`, req.URL.Path[1:])
	}))
	defer s.Close()
	for expect, fails := range map[string]bool{`{"id":{n}`: false, `{"id":1{n}`: true} {
		in, err := json.Marshal(order{Expect: expect, Config: load.Config{
			URL: s.URL + "/{n}", Keys: load.Keys{First: 5, N: 3}, CheckEvery: 1,
			Duration: 50 * time.Millisecond,
		}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Generate(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		var r load.Result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if failed := r.Errors["check"] > 0; failed != fails || r.Answers == 0 {
			t.Errorf("expecting %s: %d answers, errors %v", expect, r.Answers, r.Errors)
		}
	}
}
