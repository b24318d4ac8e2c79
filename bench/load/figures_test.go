package load

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHistogram_QuantilesAreClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a, b Histogram
	var all []int64
	for i := range 20_000 {
		v := int64(math.Exp(rng.Float64() * 25))
		all = append(all, v)
		if i%2 == 0 {
			a.Record(time.Duration(v))
		} else {
			b.Record(time.Duration(v))
		}
	}
	a.Add(&b)
	slices.Sort(all)
	for _, q := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(int(math.Ceil(q*float64(len(all)))), 1)-1]
		if got := int64(a.Quantile(q)); got < want || float64(got) > float64(want)*(1+1.0/perTwo) {
			t.Errorf("quantile %v is %d, want %d or at most 1/%d more", q, got, want, perTwo)
		}
	}
	if a.Count() != 20_000 || a.Quantile(1) != time.Duration(all[len(all)-1]) {
		t.Errorf("%d values up to %d", a.Count(), a.Quantile(1))
	}
}

func TestBucket_HoldsItsValues(t *testing.T) {
	values := []uint64{0, 1, perTwo - 1, perTwo, 2*perTwo - 1, 2 * perTwo, 12345, math.MaxInt64}
	for v := uint64(1); v < math.MaxInt64/3; v = v*3 + 1 {
		values = append(values, v)
	}
	for _, v := range values {
		i := bucket(v)
		if i < 0 || i >= buckets || uint64(highest(i)) < v || i > 0 && uint64(highest(i-1)) >= v {
			t.Errorf("value %d is in bucket %d, which ends at %d", v, i, highest(i))
		}
	}
}

func TestHistogram_OfNothing(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Summary() != (Summary{}) {
		t.Errorf("%v %+v", h.Quantile(0.5), h.Summary())
	}
	if h.Record(-time.Second); h.Quantile(1) != 0 {
		t.Errorf("a negative duration counts as %v", h.Quantile(1))
	}
}

func TestPicker_Distributions(t *testing.T) {
	const n, draws = 100, 100_000
	count := func(d Distribution) []int {
		p := newPicker(Keys{First: 7, N: n, Distribution: d, Skew: 1.2}, 1, 0, 1)
		got := make([]int, n)
		for range draws {
			got[p.next()-7]++
		}
		return got
	}
	if got := count(One); got[0] != draws {
		t.Errorf("one: %v", got)
	}
	if got := count(Scan); slices.Min(got) != draws/n || slices.Max(got) != draws/n {
		t.Errorf("scan: %v", got)
	}
	if got := count(Uniform); slices.Min(got) < draws/n*8/10 || slices.Max(got) > draws/n*12/10 {
		t.Errorf("uniform: %v", got)
	}
	got := count(Zipf)
	if ratio := float64(got[0]) / float64(got[9]); math.Abs(ratio/math.Pow(10, 1.2)-1) > 0.2 {
		t.Errorf("zipf: the first key is drawn %.1f times as often as the tenth, want 10^1.2", ratio)
	}
}

func TestZipf_DrawsInProportion(t *testing.T) {
	const n, draws = 20, 200_000
	for _, skew := range []float64{0.5, 0.99, 1, 1 + 1e-12, 1.2, 3} {
		draw, err := Keys{N: n, Distribution: Zipf, Skew: skew}.Draw(1, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		var got [n]int
		for range draws {
			got[draw()]++
		}
		total := 0.0
		for k := range n {
			total += math.Pow(float64(k+1), -skew)
		}
		for k, drawn := range got {
			want := draws * math.Pow(float64(k+1), -skew) / total
			if math.Abs(float64(drawn)-want) > 6*math.Sqrt(want)+1 { // six standard deviations
				t.Errorf("skew %v: key %d was drawn %d times, want about %.0f", skew, k, drawn, want)
			}
		}
	}
	if _, err := (Keys{N: -1}).Draw(1, 0, 1); err == nil {
		t.Error("-1 keys are no error")
	}
}

func TestZipf_OfOneKey(t *testing.T) {
	draw, err := Keys{First: 7, N: 1, Distribution: Zipf, Skew: 0.99}.Draw(1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if k := draw(); k != 7 {
			t.Fatalf("%d is drawn of one key, 7", k)
		}
	}
}

func TestPicker_ScansTogether(t *testing.T) {
	keys := Keys{N: 100, Distribution: Scan}
	seen := map[int64]int{}
	for i := range 4 {
		p := newPicker(keys, 1, i, 4)
		for range 25 {
			seen[p.next()]++
		}
	}
	if len(seen) != 100 {
		t.Errorf("four pickers have scanned %d of 100 keys", len(seen))
	}
}

func TestTemplate(t *testing.T) {
	tests := map[string]string{
		"": "", "plain": "plain", "{n}": "5", "a{n}b{i}c{n}": "a5b-7c5", "{m}{n": "{m}{n", "{{n}}": "{5}",
	}
	for in, want := range tests {
		if got := string(newTemplate(in).append(nil, 5, -7)); got != want {
			t.Errorf("template %q gives %q, want %q", in, got, want)
		}
	}
}

func TestPace_KeepsItsRate(t *testing.T) {
	p := newPace(3000, 1, 3)
	var dues []int64
	for range 4 {
		dues = append(dues, p.due())
		p.next++
	}
	if diff := cmp.Diff([]int64{333333, 1333333, 2333333, 3333333}, dues); diff != "" {
		t.Error(diff)
	}
}

func TestProcess_CountsOwnWork(t *testing.T) {
	before, ok := process(os.Getpid())
	if !ok {
		t.Skip("there is no /proc")
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		now, _ := processTree(os.Getpid())
		if now.user+now.system >= before.user+before.system+3*tick && now.peak > 1<<20 {
			return
		}
	}
	t.Error("a minute of work does not show")
}

// What a server's processes use counts, however they are nested.
func TestChildren_AreFoundWhicheverThreadHasThem(t *testing.T) {
	if _, ok := childrenOf(os.Getpid()); !ok {
		t.Skip("there is no /proc")
	}
	outer := exec.CommandContext(t.Context(), "sh", "-c",
		"exec 3<&0; sh -c 'echo $$; read x' <&3 & wait")
	in, err := outer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := outer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // which is then its parent, not always the process's first one
	defer runtime.UnlockOSThread()
	if err := outer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), outer.Wait() }()
	var inner int
	if _, err := fmt.Fscan(out, &inner); err != nil {
		t.Fatal(err)
	}
	if c, _ := childrenOf(os.Getpid()); !slices.Contains(c, outer.Process.Pid) {
		t.Errorf("children %v, want %d among them", c, outer.Process.Pid)
	}
	if c, _ := childrenOf(outer.Process.Pid); !slices.Contains(c, inner) {
		t.Errorf("children of the child %v, want %d among them", c, inner)
	}
	if u, ok := processTree(os.Getpid()); !ok || u.peak < 1<<20 {
		t.Errorf("the tree: %+v, %v", u, ok)
	}
}

// runs are what a report is made of in tests.
var runs = []*Result{
	{Name: "a", Connections: 64, Pipeline: 1, Rate: 185575.4, Seconds: 1,
		Server: &CPU{Total: 4.79, User: 0.3, Peak: 5e6},
		Reads:  Summary{P50: 306, P99: 1414, P999: 2000, Max: 3000.7}},
	{Name: "a", Connections: 256, Pipeline: 1, Rate: 200000,
		Reads: Summary{P50: 1158, P99: 2293, P999: 3000, Max: 9000}},
	{Name: "b <&>", Connections: 64, Pipeline: 1, Rate: 71246,
		Reads:  Summary{P50: 861, P99: 3258, P999: 5000, Max: 10000},
		Errors: map[string]uint64{"status": 3}},
}

func TestResults_Table(t *testing.T) {
	want := strings.TrimPrefix(`
server  connections  answers/s  p50 µs  p99 µs  p99.9 µs  max µs  CPU µs/answer  user  RSS MB  failed
a                64    185,575     306   1,414     2,000   3,001           4.79  0.30       5       -
a               256    200,000   1,158   2,293     3,000   9,000              -     -       -       -
b <&>            64     71,246     861   3,258     5,000  10,000              -     -       -       3
`, "\n")
	if diff := cmp.Diff(want, Results(runs).Text()); diff != "" {
		t.Error(diff)
	}
	markdown := Results(runs[:1]).Markdown()
	if !strings.HasPrefix(markdown, "| server | connections |") || !strings.Contains(markdown, "| --- | ---: |") {
		t.Errorf("markdown:\n%s", markdown)
	}
}

func TestJSON_ComesBack(t *testing.T) {
	text, err := JSON(runs)
	if err != nil {
		t.Fatal(err)
	}
	var got []*Result
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(runs, got); diff != "" {
		t.Error(diff)
	}
}

func TestCount(t *testing.T) {
	tests := map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567.6: "1,234,568", -1000: "-1,000"}
	for v, want := range tests {
		if got := Count(v); got != want {
			t.Errorf("Count(%v) = %q, want %q", v, got, want)
		}
	}
}
