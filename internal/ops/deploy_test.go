package ops

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotrow/hotrow/internal/dbtest"
)

const deployDir = "../../deploy"

var (
	metricName = regexp.MustCompile(`\bhotrow_[a-z0-9_]+`)
	alertName  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
)

// usedMetrics returns the metrics that an expression, or a file of them, names.
func usedMetrics(text string) []string {
	var names []string
	for _, name := range metricName.FindAllString(text, -1) {
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, suffix)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// exist fails the test for names that no metric has.
func exist(t *testing.T, file string, names []string) {
	t.Helper()
	if len(names) < 5 {
		t.Errorf("%s uses %v: is it read rightly?", file, names)
	}
	known := map[string]bool{}
	for _, f := range families() {
		known["hotrow_"+f.name] = true
	}
	for _, name := range names {
		if !known[name] {
			t.Errorf("%s uses %s, which there is not", file, name)
		}
	}
}

func readDeploy(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deployDir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRules_FireAsTheirTestsSay has promtool judge the rules, and run their tests. Every
// alert is seen to fire, and to be silent while all is well.
func TestRules_FireAsTheirTestsSay(t *testing.T) {
	const rules, tests = "prometheus/hotrow.rules.yaml", "prometheus/hotrow.rules_test.yaml"
	text, cases := readDeploy(t, rules), readDeploy(t, tests)
	exist(t, rules, usedMetrics(text))
	alerts := alertName.FindAllStringSubmatch(text, -1)
	if len(alerts) == 0 {
		t.Fatal("the rules have no alert")
	}
	for _, m := range alerts {
		if !strings.Contains(cases, "{eval_time: 30m, alertname: "+m[1]+"}") ||
			!strings.Contains(cases, "alertname: "+m[1]+"\n        exp_alerts: [{exp_labels") {
			t.Errorf("%s has no test in which it fires, and one in which it does not", m[1])
		}
	}
	promtool := dbtest.Program(t, "promtool", "prometheus", "/usr/bin")
	for _, args := range [][]string{
		{"check", "rules", "hotrow.rules.yaml"}, {"test", "rules", "hotrow.rules_test.yaml"},
	} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(deployDir, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestMetrics_PromtoolHasNoObjection asks for the metrics of a snapshot that has one of
// each.
func TestMetrics_PromtoolHasNoObjection(t *testing.T) {
	promtool := dbtest.Program(t, "promtool", "prometheus", "/usr/bin")
	h := Histogram{Bounds: []float64{0.001, 0.01}, Counts: []uint64{5, 3, 2}, Sum: 0.5}
	s := Snapshot{
		Requests: []Requests{{Proto: "http", Resource: "r", Codes: map[string]uint64{"200": 1}, Duration: h}},
		Resources: []Resource{{Name: "r", Lookups: []Lookups{{Tier: "memory", Hit: 1}},
			Warm: &Warm{}}},
		Tiers: []Tier{{Name: "memory", HitRatio: new(HitRatio), Sizes: make([]Size, 1)}},
		Disk:  new(Disk), Feeds: []Feed{{Source: "main", State: "fresh"}},
		Pools: []Pool{{Source: "main"}}, Queries: []Queries{{Source: "main", Op: "load", Duration: h}},
		Wire: new(Wire), RESP: new(RESP), Memcache: new(Memcache), Links: new(Links),
		SQL: &SQL{Logins: map[string]uint64{"open": 1}, Cancels: map[string]uint64{"passed": 1},
			Reasons: []SQLReason{{Reason: "eligible"}}},
		JWT: &JWT{Fetches: 1}, Fallback: new(Fallback),
		Spans: new(Spans), HTTP: []HTTP{{Listener: "http"}}, Refused: []Refused{{Listener: "http"}},
	}
	port := New(Options{Version: "1", Stats: func() Snapshot { return s },
		Authorize: func(*http.Request) error { return nil }})
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	port.ServeHTTP(w, r)
	if n := len(usedMetrics(w.Body.String())); n < int(numMetrics)-3 {
		t.Errorf("only %d of %d metrics are shown", n, numMetrics)
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = w.Body
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

// TestDashboard_ShowsMetricsThatThereAre reads every expression of the dashboard.
func TestDashboard_ShowsMetricsThatThereAre(t *testing.T) {
	const file = "grafana/hotrow.json"
	var dashboard struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readDeploy(t, file)), &dashboard); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	seen := map[int]bool{}
	for _, p := range dashboard.Panels {
		if p.Title == "" || len(p.Targets) == 0 || seen[p.ID] {
			t.Errorf("panel %d %q has no title, no target or another's id", p.ID, p.Title)
		}
		seen[p.ID] = true
		for _, target := range p.Targets {
			all.WriteString(target.Expr + "\n")
		}
	}
	exist(t, file, usedMetrics(all.String()))
}
