package ops

import "github.com/prometheus/client_golang/prometheus"

// A family is one metric. Names, types and labels are a promise to those who
// have dashboards (TestMetrics_NamesAreFrozen).
type family struct {
	name   string // without "hotrow_"
	kind   kind
	labels []string
	help   string
}

type kind uint8

const (
	counter kind = iota
	gauge
	histogram
)

// metricID is the index of a family.
type metricID int

const (
	buildInfo metricID = iota
	requestsTotal
	requestDuration
	cacheLookups
	cacheFills
	cacheInvalidations
	cacheEntries
	cacheBytes
	cacheEvictions
	cacheability
	feedUp
	feedLag
	feedGaps
	feedEvents
	feedState
	unsettledOldest
	poolInUse
	poolIdle
	poolWaiting
	queryDuration
	watchers
	watchDropped
	numMetrics
)

// families returns every metric of ours.
func families() [numMetrics]family {
	source, resource := []string{"source"}, "resource"
	tier := []string{"tier"}
	return [numMetrics]family{
		buildInfo: {"build_info", gauge, []string{"version", "commit", "go"},
			"Always 1; the labels say what runs."},
		requestsTotal: {"requests_total", counter, []string{"proto", resource, "code"},
			"Requests answered."},
		requestDuration: {"request_duration_seconds", histogram, []string{"proto", resource},
			"Time from the whole request read to the answer made."},
		cacheLookups: {"cache_lookups_total", counter, []string{resource, "tier", "result"},
			"Look-ups in a tier: hit, miss, stale or negative (a hit that says no row)."},
		cacheFills: {"cache_fills_total", counter, []string{resource, "result"},
			"Loads after a miss. discarded: a change had overtaken the load."},
		cacheInvalidations: {"cache_invalidations_total", counter, []string{resource, "origin"},
			"Documents dropped because of a feed, a write, an operator or a gap."},
		cacheEntries: {"cache_entries", gauge, tier, "Documents held, absences included."},
		cacheBytes: {"cache_bytes", gauge, tier,
			"Bytes that the documents take, keys and bookkeeping included."},
		cacheEvictions: {"cache_evictions_total", counter, tier,
			"Documents forgotten to stay within the bound."},
		cacheability: {"cacheability", gauge, []string{resource},
			"Share of the fills that may be stored, 0 to 1."},
		feedUp:  {"feed_up", gauge, source, "1 while the feed follows its database."},
		feedLag: {"feed_lag_seconds", gauge, source, "Time since the feed was known complete."},
		feedGaps: {"feed_gaps_total", counter, source,
			"Times that the feed may have missed a change and the cache was flushed."},
		feedEvents: {"feed_events_total", counter, source, "Changes of rows delivered."},
		feedState: {"feed_state", gauge, []string{"source", "state"},
			"1 for the state that the feed is in, 0 for the others."},
		unsettledOldest: {"unsettled_oldest_seconds", gauge, source,
			"Age of the oldest change that reads may not see yet; 0 for none."},
		poolInUse: {"db_pool_in_use", gauge, source, "Connections in use."},
		poolIdle:  {"db_pool_idle", gauge, source, "Connections open and not in use."},
		poolWaiting: {"db_pool_waiting", gauge, source,
			"Callers that wait for a connection."},
		queryDuration: {"db_query_duration_seconds", histogram, []string{"source", "op"},
			"Time of a query."},
		watchers: {"watchers", gauge, nil, "Clients that watch for changes."},
		watchDropped: {"watch_dropped_total", counter, nil,
			"Watchers cut off because they did not keep up."},
	}
}

// desc returns the family as the library describes it.
func (f *family) desc() *prometheus.Desc {
	return prometheus.NewDesc("hotrow_"+f.name, f.help, f.labels, nil)
}
