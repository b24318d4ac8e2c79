package harness

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/bench/load"
)

func ptr(v float64) *float64 { return &v }

func TestReport_ListsItsTargets(t *testing.T) {
	r := reported()
	r.scenario.Targets = []target{
		{Row: "b", To: "floor", Figure: "answers/s", AtLeast: ptr(0.5)},
		{Row: "b", To: "floor", Figure: "CPU µs", AtMost: ptr(2.5)},
		{Row: "b", Figure: "p99 µs", AtMost: ptr(15)},
		{Row: "b", Figure: "p99 µs", AtMost: ptr(15), Connections: []int{1}}, // not measured
		{Row: "b", Figure: "p99 µs", AtMost: ptr(15), Placement: Free},
	}
	want := [][]string{
		{"b: answers/s, to that of floor", "pinned, 256", "≥ 0.5", "0.4", "0.4", "0.4",
			"no"},
		{"b: CPU µs, to that of floor", "pinned, 256", "≤ 2.5", "2.5", "2.5", "2.5", "yes"},
		{"b: p99 µs", "pinned, 256", "≤ 15", "15", "10", "20", reachedSpread},
	}
	if diff := cmp.Diff(want, r.targets().Rows); diff != "" {
		t.Error(diff)
	}
}

// The rounds decide whether a target is reached, not the median alone.
func TestTarget_Reached(t *testing.T) {
	tests := []struct {
		target target
		rounds []float64
		want   string
	}{
		{target{AtMost: ptr(1.5)}, []float64{1.1, 1.3, 1.4}, reachedYes},
		{target{AtMost: ptr(1.5)}, []float64{1.1, 1.3, 2}, reachedSpread},
		{target{AtMost: ptr(1.5)}, []float64{0.48, 1.32, 195}, reachedSpread},
		{target{AtMost: ptr(1.5)}, []float64{1.6, 1.7, 195}, reachedNo},
		{target{AtMost: ptr(0)}, []float64{0, 0, 0}, reachedYes},
		{target{AtMost: ptr(0)}, []float64{0, 0, 1}, reachedSpread},
		{target{AtLeast: ptr(0.9)}, []float64{0.87, 0.95, 1.04}, reachedSpread},
		{target{AtLeast: ptr(0.9)}, []float64{0.2, 0.95, 1.2}, reachedSpread},
		{target{AtLeast: ptr(0.9)}, []float64{0.95, 3, 9}, reachedYes}, // none below it
		{target{AtLeast: ptr(0.9)}, []float64{0.8, 0.85, 0.95}, reachedNo},
	}
	for _, tt := range tests {
		if got := tt.target.reached(tt.rounds); got != tt.want {
			t.Errorf("%s of %v: %q, want %q", tt.target.wanted(), tt.rounds, got, tt.want)
		}
	}
}

func TestReport_ShowsSamples(t *testing.T) {
	r := reported()
	r.Runs = nil
	r.scenario.Targets = []target{{Row: "b", Figure: "pause ms", AtMost: ptr(0)}}
	for round, v := range []float64{3, 1, 2} {
		r.Samples = append(r.Samples, sample{Pinned, round, "b", "pause ms", v},
			sample{Pinned, round, "b", "other", 2000 * v})
	}
	want := load.Table{
		Columns: []string{"row", "pause ms", "other"}, Rows: [][]string{{"b", "2", "4,000"}},
	}
	if diff := cmp.Diff(want, r.sampleTable(Pinned)); diff != "" {
		t.Error(diff)
	}
	if panels := r.samplePanels(Pinned, nil); len(panels) != 1 || panels[0].Lines[0].Y[0] != 2 {
		t.Errorf("panels: %+v", panels)
	}
	if rows := r.targets().Rows; len(rows) != 1 ||
		!slices.Equal(rows[0][2:], []string{"≤ 0", "2", "1", "3", "no"}) {
		t.Errorf("targets: %v", rows)
	}
}

func TestParseWrk(t *testing.T) {
	const said = `Running 2s test @ http://127.0.0.1:1/depts/1
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   241.21us  131.80us   4.56ms   94.69%
  Latency Distribution
     50%  228.00us
     75%  264.00us
     90%  292.00us
     99%    1.50ms
  276755 requests in 2.00s, 428.10MB read
  Socket errors: connect 0, read 3, write 0, timeout 2
  Non-2xx or 3xx responses: 7
Requests/sec: 138241.82
`
	got, err := ParseWrk([]byte(said))
	if err != nil {
		t.Fatal(err)
	}
	want := &load.Result{
		Answers: 276755, Seconds: 2, Rate: 276755.0 / 2,
		Reads:  load.Summary{Count: 276755, P50: 228, P90: 292, P99: 1500},
		Errors: map[string]uint64{"read": 3, "timeout": 2, "Non-2xx or 3xx responses": 7},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := ParseWrk([]byte("unable to connect")); err == nil {
		t.Error("no requests are no error")
	}
}
