package ops

import (
	"net/http/httptest"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// frozen are the names, types and labels that dashboards and alerts rely on. A
// change here breaks them: it needs a line in the CHANGELOG.
var frozen = []string{
	"hotrow_access_log_dropped_total counter ",
	"hotrow_access_log_lines_total counter ",
	"hotrow_audit_checked_total counter source",
	"hotrow_audit_stale_total counter source",
	"hotrow_build_info gauge commit,go,version",
	"hotrow_cache_bytes gauge tier",
	"hotrow_cache_copies_total counter result",
	"hotrow_cache_copy_bytes gauge tier",
	"hotrow_cache_entries gauge tier",
	"hotrow_cache_evictions_total counter tier",
	"hotrow_cache_fills_total counter resource,result",
	"hotrow_cache_invalidations_total counter origin,resource",
	"hotrow_cache_list_templates gauge source",
	"hotrow_cache_lists_total counter resource,result",
	"hotrow_cache_lookups_total counter resource,result,tier",
	"hotrow_cacheability gauge resource",
	"hotrow_db_pool_idle gauge source",
	"hotrow_db_pool_in_use gauge source",
	"hotrow_db_pool_waiting gauge source",
	"hotrow_db_query_duration_seconds histogram op,source",
	"hotrow_disk_broken_total counter what",
	"hotrow_disk_commit_age_seconds gauge ",
	"hotrow_disk_commit_seconds_total counter ",
	"hotrow_disk_commits_total counter ",
	"hotrow_disk_file_bytes gauge state",
	"hotrow_disk_refused_total counter ",
	"hotrow_disk_up gauge ",
	"hotrow_disk_waiting gauge ",
	"hotrow_feed_events_total counter source",
	"hotrow_feed_fence_failures_total counter source",
	"hotrow_feed_gaps_total counter source",
	"hotrow_feed_lag_seconds gauge source",
	"hotrow_feed_probes_total counter source",
	"hotrow_feed_state gauge source,state",
	"hotrow_feed_up gauge source",
	"hotrow_http2_broken_total counter listener",
	"hotrow_http2_canceled_total counter listener",
	"hotrow_http2_refused_total counter listener",
	"hotrow_http2_streams_total counter listener",
	"hotrow_http_connections gauge listener,version",
	"hotrow_links_clicks_lag_seconds gauge ",
	"hotrow_links_clicks_pending gauge ",
	"hotrow_links_clicks_total counter result",
	"hotrow_links_database_up gauge ",
	"hotrow_links_log_bytes gauge ",
	"hotrow_links_requests_total counter result",
	"hotrow_memcache_batches_total counter ",
	"hotrow_memcache_broken_total counter ",
	"hotrow_memcache_commands_total counter ",
	"hotrow_memcache_connections gauge ",
	"hotrow_memcache_denied_total counter ",
	"hotrow_memcache_rejected_total counter ",
	"hotrow_memcache_unknown_keys_total counter why",
	"hotrow_request_duration_seconds histogram proto,resource",
	"hotrow_requests_total counter code,proto,resource",
	"hotrow_resp_batches_total counter ",
	"hotrow_resp_broken_total counter ",
	"hotrow_resp_commands_total counter ",
	"hotrow_resp_connections gauge ",
	"hotrow_resp_denied_total counter ",
	"hotrow_resp_flushes_total counter ",
	"hotrow_resp_invalidations_total counter ",
	"hotrow_resp_rejected_total counter ",
	"hotrow_resp_tracking_clients gauge ",
	"hotrow_resp_tracking_keys gauge ",
	"hotrow_resp_unknown_keys_total counter why",
	"hotrow_trace_spans_total counter result",
	"hotrow_unsent_bytes gauge ",
	"hotrow_unsent_refused_total counter ",
	"hotrow_unsent_waiting gauge ",
	"hotrow_unsettled_oldest_seconds gauge source",
	"hotrow_warm_keys gauge resource",
	"hotrow_warm_rounds_total counter resource",
	"hotrow_watch_dropped_total counter ",
	"hotrow_watchers gauge ",
	"hotrow_wire_batches_total counter ",
	"hotrow_wire_broken_total counter ",
	"hotrow_wire_bytes_total counter direction",
	"hotrow_wire_connections gauge ",
	"hotrow_wire_events_total counter ",
	"hotrow_wire_frames_total counter direction",
	"hotrow_wire_slow_watchers_total counter ",
	"hotrow_wire_watchers gauge ",
}

func everything() Snapshot {
	h := Histogram{Bounds: []float64{0.001, 0.01}, Counts: []uint64{5, 3, 2}, Sum: 0.5}
	return Snapshot{
		Requests: []Requests{{Proto: "http", Resource: "depts",
			Codes: map[string]uint64{"200": 9, "404": 1}, Duration: h}},
		Resources: []Resource{{Name: "depts", Fills: Fills{Discarded: 4},
			Lookups: []Lookups{{Tier: "memory", Hit: 7, Negative: 3}}, Cacheability: 0.5,
			Warm: &Warm{Keys: 11, Rounds: 1}, Lists: Lists{Moved: 8, Bypassed: 9}}},
		Tiers: []Tier{{Name: "memory", Entries: 3, Bytes: 6000, CopyBytes: 700, Evictions: 1}},
		Disk:  &Disk{Up: true, CommitTime: 1500 * time.Millisecond, BrokenFiles: 1, FreeBytes: 40},
		Feeds: []Feed{{Source: "main", Up: true, State: "fresh", Events: 12,
			Lag: Seconds(4 * time.Millisecond)}},
		Pools:   []Pool{{Source: "main", InUse: 2}},
		Queries: []Queries{{Source: "main", Op: "load", Duration: h}},

		AccessLog: AccessLog{Lines: 8, Dropped: 2},
		Spans:     &Spans{Sent: 4},
		HTTP:      []HTTP{{Listener: "http", Open: 9, Two: 4, Streams: 8, Refused: 1}},
		Wire:      &Wire{Open: 3, FramesIn: 5, FramesOut: 6},
		RESP:      &RESP{Open: 2, Commands: 7},
		Memcache:  &Memcache{Open: 3, Commands: 8},
		Links: &Links{Results: map[string]uint64{"redirect": 5}, Pending: 2,
			Clicks: map[string]uint64{"recorded": 5}},
		Copies: Copies{Made: 6, Refused: 5, Dropped: 4, Late: 3},
	}
}

func collectorOf(s Snapshot) *collector {
	return newCollector(Options{
		Version: "1.0.0", Commit: "abc", Stats: func() Snapshot { return s },
	})
}

func registryOf(t *testing.T, s Snapshot) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry() // compares what is described with what comes
	if err := r.Register(collectorOf(s)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMetrics_NamesAreFrozen(t *testing.T) {
	all, err := registryOf(t, everything()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		sort.Strings(labels)
		got = append(got, f.GetName()+" "+strings.ToLower(f.GetType().String())+" "+
			strings.Join(labels, ","))
	}
	if diff := cmp.Diff(frozen, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestMetrics_PassLint(t *testing.T) {
	all, err := registryOf(t, everything()).Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(all).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// scrape returns the lines of hotrow's own metrics, without comments.
func scrape(t *testing.T, s Snapshot) string {
	t.Helper()
	w := httptest.NewRecorder()
	newMetrics(Options{Version: "1.0.0", Commit: "abc", Stats: func() Snapshot { return s }}).
		ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("GET /metrics = %d %s", w.Code, w.Body)
	}
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "hotrow_") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestMetrics_HaveTheValues(t *testing.T) {
	got := scrape(t, everything())
	for _, want := range []string{
		`hotrow_build_info{commit="abc",go="go`,
		`hotrow_requests_total{code="404",proto="http",resource="depts"} 1` + "\n",
		`hotrow_request_duration_seconds_bucket{proto="http",resource="depts",le="0.001"} 5` + "\n",
		`hotrow_request_duration_seconds_bucket{proto="http",resource="depts",le="0.01"} 8` + "\n",
		`hotrow_request_duration_seconds_bucket{proto="http",resource="depts",le="+Inf"} 10` + "\n",
		`hotrow_request_duration_seconds_sum{proto="http",resource="depts"} 0.5` + "\n",
		`hotrow_request_duration_seconds_count{proto="http",resource="depts"} 10` + "\n",
		`hotrow_cache_lookups_total{resource="depts",result="hit",tier="memory"} 7` + "\n",
		`hotrow_cache_lookups_total{resource="depts",result="negative",tier="memory"} 3` + "\n",
		`hotrow_cache_fills_total{resource="depts",result="discarded"} 4` + "\n",
		`hotrow_cache_bytes{tier="memory"} 6000` + "\n",
		`hotrow_cache_lists_total{resource="depts",result="moved"} 8` + "\n",
		`hotrow_cache_lists_total{resource="depts",result="bypass"} 9` + "\n",
		`hotrow_cache_copy_bytes{tier="memory"} 700` + "\n",
		`hotrow_http_connections{listener="http",version="1"} 5` + "\n",
		`hotrow_http_connections{listener="http",version="2"} 4` + "\n",
		`hotrow_http2_streams_total{listener="http"} 8` + "\n",
		`hotrow_cache_copies_total{result="made"} 6` + "\n",
		`hotrow_cache_copies_total{result="refused"} 5` + "\n",
		`hotrow_cache_copies_total{result="dropped"} 4` + "\n",
		`hotrow_cache_copies_total{result="late"} 3` + "\n",
		`hotrow_feed_lag_seconds{source="main"} 0.004` + "\n",
		`hotrow_feed_up{source="main"} 1` + "\n",
		`hotrow_feed_state{source="main",state="fresh"} 1` + "\n",
		`hotrow_feed_state{source="main",state="down"} 0` + "\n",
		"hotrow_access_log_lines_total 8\n",
		"hotrow_disk_up 1\n",
		"hotrow_disk_commit_seconds_total 1.5\n",
		`hotrow_disk_broken_total{what="file"} 1` + "\n",
		`hotrow_disk_broken_total{what="record"} 0` + "\n",
		`hotrow_disk_file_bytes{state="free"} 40` + "\n",
		"hotrow_access_log_dropped_total 2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A database may have hundreds of tables of which few are asked for.
func TestMetrics_LeaveOutResourcesThatNobodyAsksFor(t *testing.T) {
	idle := Resource{Name: "idle", Lookups: []Lookups{{Tier: "memory"}}, Cacheability: 1,
		Invalidations: Invalidations{Feed: 7, Gap: 1}}
	missed, written, warm := idle, idle, idle
	missed.Name, missed.Lookups = "missed", []Lookups{{Tier: "memory", Miss: 1}}
	written.Name, written.Invalidations.Write = "written", 1
	warm.Name, warm.Warm = "warm", &Warm{}
	got := scrape(t, Snapshot{Resources: []Resource{idle, missed, written, warm}})
	if strings.Contains(got, `"idle"`) {
		t.Errorf("a resource that nobody asks for has series:\n%s", got)
	}
	for _, name := range []string{"missed", "written", "warm"} {
		if n := strings.Count(got, `resource="`+name+`"`); n < 14 {
			t.Errorf("%s has %d series", name, n)
		}
	}
}

func TestMetrics_SurviveOddSnapshots(t *testing.T) {
	tests := []struct {
		name string
		s    Snapshot
		want string
	}{
		{"nothing", Snapshot{}, "hotrow_watchers 0\n"},
		{"name that is not UTF-8", Snapshot{Tiers: []Tier{{Name: "a\xff", Entries: 1}}},
			"hotrow_cache_entries{tier=\"a\uFFFD\"} 1\n"},
		{"empty histogram", Snapshot{Queries: []Queries{{Source: "main", Op: "load"}}},
			`hotrow_db_query_duration_seconds_count{op="load",source="main"} 0` + "\n"},
		{"more bounds than counts", Snapshot{Queries: []Queries{{Source: "main", Op: "load",
			Duration: Histogram{Bounds: []float64{1, 2}, Counts: []uint64{3}}}}},
			`hotrow_db_query_duration_seconds_count{op="load",source="main"} 3` + "\n"},
		{"the same tier twice", Snapshot{Watchers: 5, Tiers: []Tier{{Name: "a"}, {Name: "a"}}},
			"hotrow_watchers 5\n"},
	}
	for _, tt := range tests {
		if got := scrape(t, tt.s); !strings.Contains(got, tt.want) {
			t.Errorf("%s: no %q in\n%s", tt.name, tt.want, got)
		}
	}
}
