package ops

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"runtime"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// newMetrics returns the handler of /metrics: our metrics, and those of the Go runtime and of
// the process, which the library of VictoriaMetrics writes under the usual names.
//
// The text is ours: with Prometheus' library the program is 2.3 MB larger, most of it
// protobuf. Tests read it by that library.
func newMetrics(o Options) http.Handler {
	metrics.ExposeMetadata(true)
	all := families()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = collect(&o, &all).WriteTo(&b) // memory takes all
		metrics.WriteProcessMetrics(&b)
		metrics.WriteFDMetrics(&b)
		w.Header().Set("Content-Type", expositionType)
		w.Header().Set("Vary", "Accept-Encoding")
		if !acceptsGzip(r) {
			_, _ = w.Write(b.Bytes()) // a scraper that has gone needs no answer
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(b.Bytes())
		_ = z.Close()
	})
}

// collect makes the metrics of one Snapshot, so that the packages that count need no metrics
// library.
func collect(o *Options, all *[numMetrics]family) *exposition {
	s := o.Stats()
	e := emitter{&exposition{families: all, seen: make(map[string]bool)}}
	e.value(buildInfo, 1, o.Version, o.Commit, runtime.Version())
	for i := range s.Requests {
		e.requests(&s.Requests[i])
	}
	for i := range s.Resources {
		if r := &s.Resources[i]; r.asked() {
			e.resource(r)
		}
	}
	for i := range s.Tiers {
		t := &s.Tiers[i]
		e.value(cacheEntries, float64(t.Entries), t.Name)
		e.value(cacheBytes, float64(t.Bytes), t.Name)
		e.value(cacheEvictions, float64(t.Evictions), t.Name)
		e.value(cacheCopyBytes, float64(t.CopyBytes), t.Name)
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
	if s.Links != nil {
		e.links(s.Links)
	}
	return e.exposition
}

// An emitter writes the metrics of one scrape.
type emitter struct{ *exposition }

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

func (e *emitter) requests(r *Requests) {
	for code, n := range r.Codes {
		e.value(requestsTotal, float64(n), r.Proto, r.Resource, code)
	}
	e.histogram(requestDuration, &r.Duration, r.Proto, r.Resource)
}

// asked reports whether anybody has asked for a document of r, or has written one. A
// resource of which nobody has says nothing worth fourteen series, and a database may
// have hundreds of tables.
func (r *Resource) asked() bool {
	n := r.Fills.Stored + r.Fills.Discarded + r.Fills.Collapsed + r.Fills.Error +
		r.Fills.Written + r.Invalidations.Write + r.Invalidations.Admin +
		r.Lists.Hits + r.Lists.Absent
	for _, l := range r.Lookups {
		n += l.Hit + l.Miss + l.Stale + l.Negative
	}
	return n > 0 || r.Warm != nil
}

func (e *emitter) resource(r *Resource) {
	for _, l := range r.Lookups {
		e.value(cacheLookups, float64(l.Hit), r.Name, l.Tier, "hit")
		e.value(cacheLookups, float64(l.Miss), r.Name, l.Tier, "miss")
		e.value(cacheLookups, float64(l.Stale), r.Name, l.Tier, "stale")
		e.value(cacheLookups, float64(l.Negative), r.Name, l.Tier, "negative")
	}
	e.value(cacheFills, float64(r.Fills.Stored), r.Name, "stored")
	e.value(cacheFills, float64(r.Fills.Discarded), r.Name, "discarded")
	e.value(cacheFills, float64(r.Fills.Collapsed), r.Name, "collapsed")
	e.value(cacheFills, float64(r.Fills.Error), r.Name, "error")
	e.value(cacheFills, float64(r.Fills.Written), r.Name, "written")
	if r.Words != nil {
		e.value(cacheCoarse, float64(r.Words.Coarse), r.Name)
	}
	e.value(cacheInvalidations, float64(r.Invalidations.Feed), r.Name, "feed")
	e.value(cacheInvalidations, float64(r.Invalidations.Write), r.Name, "write")
	e.value(cacheInvalidations, float64(r.Invalidations.Admin), r.Name, "admin")
	e.value(cacheInvalidations, float64(r.Invalidations.Gap), r.Name, "gap")
	e.value(cacheability, r.Cacheability, r.Name)
	e.value(cacheLists, float64(r.Lists.Hits), r.Name, "hit")
	e.value(cacheLists, float64(r.Lists.Absent), r.Name, "absent")
	e.value(cacheLists, float64(r.Lists.Evicted), r.Name, "evicted")
	e.value(cacheLists, float64(r.Lists.Moved), r.Name, "moved")
	e.value(cacheLists, float64(r.Lists.Dirty), r.Name, "dirty")
	e.value(cacheLists, float64(r.Lists.Bypassed), r.Name, "bypass")
	e.value(cacheLists, float64(r.Lists.Once), r.Name, "once")
	e.value(cacheLists, float64(r.Lists.TooLarge), r.Name, "too_large")
	e.value(cacheLists, float64(r.Lists.Discarded), r.Name, "discarded")
	e.value(cacheLists, float64(r.Lists.Unchanged), r.Name, "unchanged")
	if r.Warm != nil {
		e.value(warmKeys, float64(r.Warm.Keys), r.Name)
		e.value(warmRounds, float64(r.Warm.Rounds), r.Name)
	}
}

func (e *emitter) disk(d *Disk) {
	e.value(diskUp, oneIf(d.Up))
	e.value(diskWaiting, float64(d.Waiting))
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

func (e *emitter) value(id metricID, v float64, labels ...string) {
	e.add(id, "", "", v, labels)
}

// histogram writes the buckets of h, their sum and their count, of which Prometheus wants
// each bucket with all before it; Histogram has them without.
func (e *emitter) histogram(id metricID, h *Histogram, labels ...string) {
	total := uint64(0)
	for i, n := range h.Counts {
		total += n
		if i < len(h.Bounds) {
			le := string(appendNumber(nil, h.Bounds[i]))
			e.add(id, "_bucket", le, float64(total), labels)
		}
	}
	e.add(id, "_bucket", "+Inf", float64(total), labels)
	e.add(id, "_sum", "", h.Sum, labels)
	e.add(id, "_count", "", float64(total), labels)
}
