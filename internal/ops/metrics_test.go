package ops

import (
	"compress/gzip"
	"io"
	"maps"
	"math"
	"net/http/httptest"
	"runtime"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
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
	"hotrow_cache_coarse_total counter source",
	"hotrow_cache_copies_total counter result",
	"hotrow_cache_copy_bytes gauge tier",
	"hotrow_cache_entries gauge tier",
	"hotrow_cache_eviction_age_seconds gauge ",
	"hotrow_cache_evictions_total counter tier",
	"hotrow_cache_fills_total counter result,source",
	"hotrow_cache_hit_ratio gauge memory",
	"hotrow_cache_invalidations_total counter origin,source",
	"hotrow_cache_limbo_bytes gauge ",
	"hotrow_cache_list_templates gauge source",
	"hotrow_cache_lists_total counter result,source",
	"hotrow_cache_lookups_total counter resource,result,tier",
	"hotrow_cache_size_bytes gauge state,up_to",
	"hotrow_cache_source_bytes gauge source",
	"hotrow_cache_waste_bytes gauge ",
	"hotrow_cacheability gauge resource",
	"hotrow_connections_refused_total counter listener,why",
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
	"hotrow_disk_waiting_bytes gauge ",
	"hotrow_feed_events_total counter source",
	"hotrow_feed_fence_failures_total counter source",
	"hotrow_feed_gaps_total counter source",
	"hotrow_feed_lag_seconds gauge source",
	"hotrow_feed_left_out_tables gauge source",
	"hotrow_feed_mode gauge mode,source",
	"hotrow_feed_probes_total counter source",
	"hotrow_feed_reads_elsewhere_total counter source",
	"hotrow_feed_state gauge source,state",
	"hotrow_feed_up gauge source",
	"hotrow_http2_broken_total counter listener",
	"hotrow_http2_canceled_total counter listener",
	"hotrow_http2_refused_total counter listener",
	"hotrow_http2_streams_total counter listener",
	"hotrow_http_connections gauge listener,version",
	"hotrow_http_fallback_left_alone gauge ",
	"hotrow_http_fallback_requests gauge ",
	"hotrow_http_fallback_requests_total counter result",
	"hotrow_http_watch_events_total counter ",
	"hotrow_http_watches gauge ",
	"hotrow_http_watches_refused_total counter ",
	"hotrow_jwt_key_fetches_failing gauge ",
	"hotrow_jwt_key_fetches_total counter result",
	"hotrow_jwt_keys gauge ",
	"hotrow_jwt_keys_age_seconds gauge ",
	"hotrow_jwt_tokens_total counter result",
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
	"hotrow_panics_total counter ",
	"hotrow_request_duration_seconds histogram proto,source",
	"hotrow_requests_total counter code,proto,source",
	"hotrow_resource_request_duration_seconds summary resource",
	"hotrow_resp_batches_total counter ",
	"hotrow_resp_broken_total counter ",
	"hotrow_resp_commands_total counter ",
	"hotrow_resp_connections gauge ",
	"hotrow_resp_denied_total counter ",
	"hotrow_resp_flushes_total counter ",
	"hotrow_resp_invalidations_total counter ",
	"hotrow_resp_late_subscribers_total counter ",
	"hotrow_resp_rejected_total counter ",
	"hotrow_resp_subscribers gauge ",
	"hotrow_resp_tracking_clients gauge ",
	"hotrow_resp_tracking_keys gauge ",
	"hotrow_resp_unknown_keys_total counter why",
	"hotrow_sql_bytes_total counter direction",
	"hotrow_sql_cancels_total counter result",
	"hotrow_sql_closed_seconds_total counter ",
	"hotrow_sql_copies gauge ",
	"hotrow_sql_groups_total counter result",
	"hotrow_sql_logins_total counter result",
	"hotrow_sql_orphans gauge ",
	"hotrow_sql_saved_seconds_total counter ",
	"hotrow_sql_sessions gauge ",
	"hotrow_sql_shapes gauge ",
	"hotrow_sql_statement_seconds_total counter reason",
	"hotrow_sql_statements_total counter reason",
	"hotrow_sql_unlike_total counter why",
	"hotrow_sql_wrong_total counter ",
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
		JWT: &JWT{Good: 5, Refused: map[string]uint64{"expired": 2}, Keys: 3, Fetches: 9, Failed: 4, Failing: 1,
			Age: time.Minute},
		Fallback: &Fallback{Answered: 4, Away: 1, UnderWay: 1, Open: true},
		Requests: []Requests{{Proto: "http", Resource: "depts",
			Codes: map[string]uint64{"200": 9, "404": 1}, Duration: h}},
		Resources: []Resource{{Name: "depts", Source: "main", Fills: Fills{Discarded: 4},
			Lookups: []Lookups{{Tier: "memory", Hit: 7, Negative: 3}}, Cacheability: 0.5,
			Warm: &Warm{Keys: 11, Rounds: 1}, Lists: Lists{Moved: 8, Bypassed: 9},
			Words: &Words{Coarse: 6}, Memory: []Share{{Bytes: 4000}, {Bytes: 1000}}}},
		Tiers: []Tier{{Name: "memory", Entries: 3, Bytes: 6000, CopyBytes: 700, Evictions: 1,
			EvictionAge: Seconds(time.Minute), HitRatio: &HitRatio{.5, .75, .875},
			Sizes: []Size{{Bytes: 4000}, {Most: 2048, Bytes: 3000, Free: 1000}}}},
		Disk: &Disk{Up: true, CommitTime: 1500 * time.Millisecond, BrokenFiles: 1, FreeBytes: 40},
		Feeds: []Feed{{Source: "main", Mode: "logical", Up: true, State: "fresh", Events: 12,
			Lag: Seconds(4 * time.Millisecond)}},
		Pools:   []Pool{{Source: "main", InUse: 2}},
		Queries: []Queries{{Source: "main", Op: "load", Duration: h}},

		Panics:    7,
		AccessLog: AccessLog{Lines: 8, Dropped: 2},
		Spans:     &Spans{Sent: 4},
		Refused:   []Refused{{Listener: "http", OfOne: 2}},
		HTTP:      []HTTP{{Listener: "http", Open: 9, Two: 4, Streams: 8, Refused: 1}},
		Wire:      &Wire{Open: 3, FramesIn: 5, FramesOut: 6},
		RESP:      &RESP{Open: 2, Commands: 7},
		Memcache:  &Memcache{Open: 3, Commands: 8},
		SQL: &SQL{Open: 4, Logins: map[string]uint64{"open": 6}, Cancels: map[string]uint64{"passed": 2},
			Groups: 9, BytesIn: 10, BytesOut: 11,
			Shapes: 1, Reasons: []SQLReason{{Reason: "eligible", Count: 3, Seconds: 0.5}}},
		Links: &Links{Results: map[string]uint64{"redirect": 5}, Pending: 2,
			Clicks: map[string]uint64{"recorded": 5}},
		Copies: Copies{Made: 6, Refused: 5, Dropped: 4, Late: 3},
	}
}

// gathered returns the families of a scrape as Prometheus' own library reads them, and
// fails where one has a series twice, as Prometheus does.
func gathered(t *testing.T, s Snapshot) []*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(body(t, s, "")))
	if err != nil {
		t.Fatal(err)
	}
	var ours []*dto.MetricFamily
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "hotrow_") {
			ours = append(ours, all[name])
		}
	}
	return ours
}

func TestMetrics_NamesAreFrozen(t *testing.T) {
	var got []string
	for _, f := range gathered(t, everything()) {
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

// Every sample has the labels of its family, in every place that makes one.
func TestMetrics_HaveTheLabelsOfTheirFamilies(t *testing.T) {
	all := families()
	byName := make(map[string][]string)
	for _, f := range all {
		byName["hotrow_"+f.name] = slices.Sorted(slices.Values(f.labels))
	}
	for _, f := range gathered(t, everything()) {
		for _, m := range f.GetMetric() {
			got := []string(nil)
			for _, l := range m.GetLabel() {
				got = append(got, l.GetName())
			}
			if !slices.Equal(got, byName[f.GetName()]) {
				t.Errorf("%s has the labels %v, want %v", f.GetName(), got, byName[f.GetName()])
			}
		}
	}
}

func TestMetrics_PassLint(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(strings.Join(
		ourLines(body(t, everything(), ""), true), ""))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// The metrics of the runtime and of the process have the names that Prometheus' library
// gives them, which dashboards know.
func TestMetrics_HaveThoseOfTheProcess(t *testing.T) {
	got := body(t, Snapshot{}, "")
	want := []string{
		"go_goroutines", "go_threads", "go_info", "go_gc_duration_seconds",
		"go_memstats_alloc_bytes", "go_memstats_heap_inuse_bytes", "go_memstats_sys_bytes",
	}
	if runtime.GOOS == "linux" {
		want = append(want, "process_cpu_seconds_total", "process_resident_memory_bytes",
			"process_virtual_memory_bytes", "process_start_time_seconds", "process_open_fds",
			"process_max_fds")
	}
	for _, name := range want {
		if !strings.Contains(got, "\n# TYPE "+name+" ") {
			t.Errorf("no %s in\n%s", name, got)
		}
	}
}

func TestMetrics_AreCompressedForWhoTakesThat(t *testing.T) {
	for accept, packed := range map[string]bool{
		"": false, "gzip": true, "deflate, gzip;q=0.5": true, "gzip;q=0": false, "br": false,
		"zstd, gzip;q=0.000": false,
	} {
		w := answer(t, everything(), accept)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("Accept-Encoding %q: compressed %v, want %v", accept, got, packed)
		}
		if got := body(t, everything(), accept); !strings.Contains(got, "hotrow_disk_up 1\n") {
			t.Errorf("Accept-Encoding %q: no hotrow_disk_up 1 in\n%s", accept, got)
		}
	}
}

// answer returns the answer to a scrape.
func answer(t *testing.T, s Snapshot, accept string) *httptest.ResponseRecorder {
	t.Helper()
	w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)
	if accept != "" {
		r.Header.Set("Accept-Encoding", accept)
	}
	newMetrics(Options{Version: "1.0.0", Commit: "abc", Stats: func() Snapshot { return s }}).
		ServeHTTP(w, r)
	if w.Code != 200 {
		t.Fatalf("GET /metrics = %d %s", w.Code, w.Body)
	}
	return w
}

// body returns the text of a scrape.
func body(t *testing.T, s Snapshot, accept string) string {
	t.Helper()
	w := answer(t, s, accept)
	if w.Header().Get("Content-Encoding") == "" {
		return w.Body.String()
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ourLines returns the lines of hotrow's own metrics, with comments or without.
func ourLines(text string, comments bool) (lines []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "hotrow_") || comments && strings.Contains(line, " hotrow_") {
			lines = append(lines, line)
		}
	}
	return lines
}

// scrape returns the lines of hotrow's own metrics, without comments.
func scrape(t *testing.T, s Snapshot) string {
	t.Helper()
	return strings.Join(ourLines(body(t, s, ""), false), "")
}

// A name of a table may hold any bytes.
func FuzzMetrics_LabelsAreReadBack(f *testing.F) {
	for _, s := range []string{"", "a\"b", `a\`, "a\nb", "\xff", "\u00e9", "{le=\"1\"} 3\n", "\r"} {
		f.Add(s, 1.5)
	}
	f.Add("a", math.Inf(1))
	f.Fuzz(func(t *testing.T, name string, sum float64) {
		s := Snapshot{Queries: []Queries{{Source: name, Op: "load", Duration: Histogram{Sum: sum,
			Bounds: []float64{0.001}, Counts: []uint64{1, 2}}}}}
		for _, f := range gathered(t, s) {
			if f.GetName() != "hotrow_db_query_duration_seconds" {
				continue
			}
			m := f.GetMetric()[0]
			got, want := m.GetLabel()[1].GetValue(), strings.ToValidUTF8(name, "\uFFFD")
			if len(f.GetMetric()) != 1 || got != want {
				t.Errorf("the source %q is read as %q of %d", want, got, len(f.GetMetric()))
			}
			h := m.GetHistogram()
			if v := h.GetSampleSum(); v != sum && !(math.IsNaN(v) && math.IsNaN(sum)) {
				t.Errorf("the sum %v is read as %v", sum, v)
			}
			if b := h.GetBucket(); h.GetSampleCount() != 3 || len(b) != 2 ||
				b[0].GetCumulativeCount() != 1 || b[1].GetCumulativeCount() != 3 {
				t.Errorf("buckets of 1 and 2 are read as %v", h)
			}
		}
	})
}

func TestMetrics_HaveTheValues(t *testing.T) {
	got := scrape(t, everything())
	for _, want := range []string{
		`hotrow_build_info{commit="abc",go="go`,
		`hotrow_requests_total{code="404",proto="http",source="main"} 1` + "\n",
		`hotrow_request_duration_seconds_bucket{proto="http",source="main",le="0.001"} 5` + "\n",
		`hotrow_request_duration_seconds_bucket{proto="http",source="main",le="0.01"} 8` + "\n",
		`hotrow_request_duration_seconds_bucket{proto="http",source="main",le="+Inf"} 10` + "\n",
		`hotrow_request_duration_seconds_sum{proto="http",source="main"} 0.5` + "\n",
		`hotrow_request_duration_seconds_count{proto="http",source="main"} 10` + "\n",
		`hotrow_resource_request_duration_seconds_sum{resource="depts"} 0.5` + "\n",
		`hotrow_resource_request_duration_seconds_count{resource="depts"} 10` + "\n",
		`hotrow_cache_lookups_total{resource="depts",result="miss",tier="lists"} 17` + "\n",
		`hotrow_cache_lookups_total{resource="depts",result="hit",tier="memory"} 7` + "\n",
		`hotrow_cache_lookups_total{resource="depts",result="negative",tier="memory"} 3` + "\n",
		`hotrow_cache_fills_total{result="discarded",source="main"} 4` + "\n",
		`hotrow_cache_coarse_total{source="main"} 6` + "\n",
		`hotrow_cache_bytes{tier="memory"} 6000` + "\n",
		`hotrow_cache_eviction_age_seconds 60` + "\n",
		`hotrow_cache_hit_ratio{memory="twice"} 0.875` + "\n",
		`hotrow_cache_source_bytes{source="main"} 5000` + "\n",
		`hotrow_cache_size_bytes{state="used",up_to="more"} 4000` + "\n",
		`hotrow_cache_size_bytes{state="free",up_to="2048"} 1000` + "\n",
		`hotrow_cache_lists_total{result="moved",source="main"} 8` + "\n",
		`hotrow_cache_lists_total{result="bypass",source="main"} 9` + "\n",
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
		`hotrow_feed_mode{mode="logical",source="main"} 1` + "\n",
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

// A table that uses all that there is, over every protocol, has twelve series.
func TestMetrics_ATableHasAtMostTwelveSeries(t *testing.T) {
	h := Histogram{Bounds: []float64{0.001, 0.01}, Counts: []uint64{5, 3, 2}, Sum: 0.5}
	s := Snapshot{Resources: []Resource{{Name: "all", Source: "main", Warm: &Warm{Keys: 1},
		Words: &Words{Coarse: 1}, Lists: Lists{Hits: 1, Once: 1}, Watchers: 1,
		Lookups: []Lookups{{Tier: "memory", Hit: 1}, {Tier: "disk", Hit: 1}},
		Memory:  []Share{{Format: "json"}, {Format: "cbor"}}}}}
	for _, proto := range []string{"http", "wire", "resp", "memcache"} {
		s.Requests = append(s.Requests, Requests{Proto: proto, Resource: "all", Duration: h,
			Codes: map[string]uint64{"200": 1, "304": 1, "404": 1, "503": 1}})
	}
	if n := strings.Count(scrape(t, s), `resource="all"`); n != 12 {
		t.Errorf("a table has %d series, want 12", n)
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
		if n := strings.Count(got, `resource="`+name+`"`); n < 7 || n > 12 {
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
