package ops

import (
	"maps"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newMetrics returns the handler of /metrics: our metrics, and those of the Go runtime and of
// the process, as Prometheus' own library names them. A series that there is twice is left
// out, and all others are told.
func newMetrics(o Options) http.Handler {
	all := describe()
	r := prometheus.NewRegistry()
	r.MustRegister(&collector{&o, &all}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	h := promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept, Accept-Encoding")
		h.ServeHTTP(w, r)
	})
}

// A collector makes the metrics of a Snapshot for each scrape, so that the packages that
// count need no metrics library.
type collector struct {
	o        *Options
	families *[numMetrics]description
}

// Describe tells nothing: which series there are is known when they are collected.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect writes the metrics of now.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.o.Stats()
	e := emitter{c.families, out}
	e.value(buildInfo, 1, c.o.Version, c.o.Commit, runtime.Version())
	e.tables(&s)
	for i := range s.Tiers {
		e.tier(&s.Tiers[i])
	}
	if s.Disk != nil {
		e.disk(s.Disk)
	}
	for i := range s.Feeds {
		e.feed(&s.Feeds[i])
	}
	for _, p := range s.Pools {
		e.value(poolInUse, float64(p.InUse), p.Source)
		e.value(poolIdle, float64(p.Idle), p.Source)
		e.value(poolWaiting, float64(p.Waiting), p.Source)
	}
	for i := range s.Queries {
		q := &s.Queries[i]
		e.histogram(queryDuration, &q.Duration, q.Source, q.Op)
	}
	e.value(watchers, float64(s.Watchers))
	e.value(watchDropped, float64(s.WatchDropped))
	e.copies(&s.Copies)
	e.value(panics, float64(s.Panics))
	e.value(accessLogLines, float64(s.AccessLog.Lines))
	e.value(accessLogDropped, float64(s.AccessLog.Dropped))
	e.spans(s.Spans)
	e.value(unsentBytes, float64(s.Unsent.Bytes))
	e.value(unsentWaiting, float64(s.Unsent.Waiting))
	e.value(unsentRefused, float64(s.Unsent.Refused))
	e.refused(s.Refused)
	e.value(httpWatches, float64(s.Watches.Open))
	e.value(httpWatchEvents, float64(s.Watches.Events))
	e.value(httpWatchesRefused, float64(s.Watches.Refused))
	e.jwt(s.JWT)
	e.fallback(s.Fallback)
	e.http(s.HTTP)
	if s.Wire != nil {
		e.wire(s.Wire)
	}
	if s.RESP != nil {
		e.resp(s.RESP)
	}
	if s.Memcache != nil {
		e.memcache(s.Memcache)
	}
	if s.SQL != nil {
		e.sql(s.SQL)
	}
	if s.Links != nil {
		e.links(s.Links)
	}
}

// copies writes what became of compressed copies.
func (e *emitter) copies(c *Copies) {
	e.value(cacheCopies, float64(c.Made), "made")
	e.value(cacheCopies, float64(c.Refused), "refused")
	e.value(cacheCopies, float64(c.Dropped), "dropped")
	e.value(cacheCopies, float64(c.Late), "late")
}

// spans writes what became of spans; nil: none are sent.
func (e *emitter) spans(s *Spans) {
	if s != nil {
		e.value(traceSpans, float64(s.Sent), "sent")
		e.value(traceSpans, float64(s.Dropped), "dropped")
		e.value(traceSpans, float64(s.Failed), "failed")
	}
}

func (e *emitter) disk(d *Disk) {
	e.value(diskUp, oneIf(d.Up))
	e.value(diskWaiting, float64(d.Waiting))
	e.value(diskWaitingBytes, float64(d.WaitingBytes))
	e.value(diskCommits, float64(d.Commits))
	e.value(diskCommitSeconds, d.CommitTime.Seconds())
	e.value(diskCommitAge, d.CommitAge.Seconds())
	e.value(diskRefused, float64(d.Refused))
	e.value(diskBroken, float64(d.BrokenRecords), "record")
	e.value(diskBroken, float64(d.BrokenFiles), "file")
	e.value(diskFileBytes, float64(d.UsedBytes), "used")
	e.value(diskFileBytes, float64(d.FreeBytes), "free")
}

func (e *emitter) wire(w *Wire) {
	e.value(wireConnections, float64(w.Open))
	e.value(wireFrames, float64(w.FramesIn), "in")
	e.value(wireFrames, float64(w.FramesOut), "out")
	e.value(wireBytes, float64(w.BytesIn), "in")
	e.value(wireBytes, float64(w.BytesOut), "out")
	e.value(wireBroken, float64(w.Broken))
	e.value(wireBatches, float64(w.Batches))
	e.value(wireWatchers, float64(w.Watchers))
	e.value(wireEvents, float64(w.Events))
	e.value(wireSlow, float64(w.SlowWatchersLost))
}

// memcache writes the metrics of the protocol of memcached.
func (e *emitter) memcache(m *Memcache) {
	e.value(memcacheConnections, float64(m.Open))
	e.value(memcacheRejected, float64(m.Rejected))
	e.value(memcacheBroken, float64(m.Broken))
	e.value(memcacheDenied, float64(m.Denied))
	e.value(memcacheCommands, float64(m.Commands))
	e.value(memcacheBatches, float64(m.Batches))
	e.value(memcacheUnknown, float64(m.Unknown), "no_resource")
	e.value(memcacheUnknown, float64(m.NoKey), "no_key")
}

// sql writes the metrics of sessions of PostgreSQL.
func (e *emitter) sql(q *SQL) {
	e.value(sqlSessions, float64(q.Open))
	for _, result := range slices.Sorted(maps.Keys(q.Logins)) {
		e.value(sqlLogins, float64(q.Logins[result]), result)
	}
	for _, result := range slices.Sorted(maps.Keys(q.Cancels)) {
		e.value(sqlCancels, float64(q.Cancels[result]), result)
	}
	e.value(sqlGroups, float64(q.Hits), "hit")
	e.value(sqlGroups, float64(q.Misses), "miss")
	e.value(sqlGroups, float64(q.Groups-min(q.Groups, q.Hits+q.Misses)), "pass")
	for _, why := range slices.Sorted(maps.Keys(q.Passes)) {
		e.value(sqlPasses, float64(q.Passes[why]), why)
	}
	e.value(sqlCopies, float64(q.Copies))
	e.value(sqlUnlike, float64(q.Older), "older")
	e.value(sqlUnlike, float64(q.Uncompared), "uncompared")
	e.value(sqlWrong, float64(q.Wrong))
	e.value(sqlSaved, q.Saved)
	e.value(sqlClosed, q.Closed)
	e.value(sqlOrphans, float64(q.Orphans))
	e.value(sqlBytes, float64(q.BytesIn), "in")
	e.value(sqlBytes, float64(q.BytesOut), "out")
	e.value(sqlShapes, float64(q.Shapes))
	for _, r := range q.Reasons {
		e.value(sqlStatements, float64(r.Count), r.Reason)
		e.value(sqlStatementSeconds, r.Seconds, r.Reason)
	}
}

// refused writes what listeners have refused.
func (e *emitter) refused(listeners []Refused) {
	for _, r := range listeners {
		e.value(refusedConnections, float64(r.Connections), r.Listener, "connections")
		e.value(refusedConnections, float64(r.OfOne), r.Listener, "address")
		e.value(refusedConnections, float64(r.Handshakes), r.Listener, "handshakes")
	}
}

// http writes the metrics of the listeners of HTTP.
func (e *emitter) http(listeners []HTTP) {
	for i := range listeners {
		h := &listeners[i]
		e.value(httpConnections, float64(max(h.Open-h.Two, 0)), h.Listener, "1")
		e.value(httpConnections, float64(h.Two), h.Listener, "2")
		e.value(http2Streams, float64(h.Streams), h.Listener)
		e.value(http2Refused, float64(h.Refused), h.Listener)
		e.value(http2Canceled, float64(h.Canceled), h.Listener)
		e.value(http2Broken, float64(h.Broken), h.Listener)
	}
}

// resp writes the metrics of the protocol of Redis.
func (e *emitter) resp(r *RESP) {
	e.value(respConnections, float64(r.Open))
	e.value(respRejected, float64(r.Rejected))
	e.value(respBroken, float64(r.Broken))
	e.value(respDenied, float64(r.Denied))
	e.value(respCommands, float64(r.Commands))
	e.value(respBatches, float64(r.Batches))
	e.value(respUnknown, float64(r.Unknown), "no_resource")
	e.value(respUnknown, float64(r.NoKey), "no_key")
	e.value(respTrackingClients, float64(r.TrackingClients))
	e.value(respTrackingKeys, float64(r.TrackingKeys))
	e.value(respInvalidations, float64(r.Invalidations))
	e.value(respFlushes, float64(r.Flushes))
	e.value(respSubscribers, float64(r.Subscribers))
	e.value(respLate, float64(r.Late))
}

func (e *emitter) feed(f *Feed) {
	e.value(feedUp, oneIf(f.Up), f.Source)
	e.value(feedLag, time.Duration(f.Lag).Seconds(), f.Source)
	e.value(feedGaps, float64(f.Gaps), f.Source)
	e.value(feedFailed, float64(f.FenceFailures), f.Source)
	e.value(feedProbes, float64(f.Probes), f.Source)
	e.value(feedElsewhere, float64(f.Elsewhere), f.Source)
	e.value(feedLeftOut, float64(f.LeftOut), f.Source)
	e.value(auditChecked, float64(f.Audited), f.Source)
	e.value(auditStale, float64(f.AuditStale), f.Source)
	e.value(listTemplates, float64(f.ListTemplates), f.Source)
	e.value(feedEvents, float64(f.Events), f.Source)
	e.value(unsettledOldest, time.Duration(f.UnsettledOldest).Seconds(), f.Source)
	e.value(feedMode, 1, f.Source, f.Mode)
	for _, state := range FeedStates() {
		e.value(feedState, oneIf(f.State == state), f.Source, state)
	}
}

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
