package ops

import (
	"strconv"
	"time"
)

// The metrics of tables. A database may have hundreds, so a table has few series: at most
// twelve, and none until somebody asks for it. What else is counted of tables is told of
// their source.

// sourceCounts are what the tables of one source count together.
type sourceCounts struct {
	fills         Fills
	invalidations Invalidations
	lists         Lists
	coarse        uint64
	memory        uint64 // bytes
}

// tables writes the metrics of the tables and of their sources.
func (e *emitter) tables(s *Snapshot) {
	sources := make(map[string]string, len(s.Resources)) // by resource
	counts := make(map[string]*sourceCounts, len(s.Feeds))
	for i := range s.Feeds {
		counts[s.Feeds[i].Source] = new(sourceCounts)
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		sources[r.Name] = r.Source
		if counts[r.Source] == nil {
			counts[r.Source] = new(sourceCounts)
		}
		counts[r.Source].add(r)
		if r.asked() {
			e.table(r)
		}
	}
	for source, c := range counts {
		e.source(source, c)
	}
	e.requests(s.Requests, sources)
}

// asked reports whether anybody has asked for a document of r, or has written one.
func (r *Resource) asked() bool {
	n := r.Fills.Stored + r.Fills.Discarded + r.Fills.Collapsed + r.Fills.Error +
		r.Fills.Written + r.Invalidations.Write + r.Invalidations.Admin +
		r.Lists.Hits + r.Lists.misses()
	for _, l := range r.Lookups {
		n += l.Hit + l.Miss + l.Stale + l.Negative
	}
	return n > 0 || r.Warm != nil
}

// misses are the lists that memory had no answer for.
func (l *Lists) misses() uint64 {
	return l.Absent + l.Evicted + l.Moved + l.Dirty + l.Bypassed
}

// table writes what a table has series of its own for.
func (e *emitter) table(r *Resource) {
	m, d := lookups(r)
	e.value(cacheLookups, float64(m.Hit), r.Name, "memory", "hit")
	e.value(cacheLookups, float64(m.Miss), r.Name, "memory", "miss")
	e.value(cacheLookups, float64(m.Stale), r.Name, "memory", "stale")
	e.value(cacheLookups, float64(m.Negative), r.Name, "memory", "negative")
	e.value(cacheLookups, float64(r.Lists.Hits), r.Name, "lists", "hit")
	e.value(cacheLookups, float64(r.Lists.misses()), r.Name, "lists", "miss")
	if d.Tier != "" { // its misses are those of memory without its hits
		e.value(cacheLookups, float64(d.Hit), r.Name, d.Tier, "hit")
	}
	e.value(cacheability, r.Cacheability, r.Name)
	if r.Warm != nil {
		e.value(warmKeys, float64(r.Warm.Keys), r.Name)
		e.value(warmRounds, float64(r.Warm.Rounds), r.Name)
	}
}

// requests writes the requests of each protocol for the tables of each source, and the
// durations of those for each table.
func (e *emitter) requests(list []Requests, sources map[string]string) {
	type group struct{ proto, source, code string } // the code of durations is empty
	codes, durations := make(map[group]uint64), make(map[group]*Histogram)
	tables := make(map[string]*Histogram)
	for i := range list {
		r := &list[i]
		g := group{proto: r.Proto, source: sources[r.Resource]}
		addTo(durations, g, r.Duration)
		if r.Resource != "" && len(r.Codes) > 0 {
			addTo(tables, r.Resource, r.Duration)
		}
		for code, n := range r.Codes {
			g.code = code
			codes[g] += n
		}
	}
	for g, n := range codes {
		e.value(requestsTotal, float64(n), g.proto, g.source, g.code)
	}
	for g, h := range durations {
		e.histogram(requestDuration, h, g.proto, g.source)
	}
	for name, h := range tables {
		e.summary(resourceDuration, h, name)
	}
}

// addTo adds h to the histogram that m has of k.
func addTo[K comparable](m map[K]*Histogram, k K, h Histogram) {
	if m[k] == nil {
		m[k] = new(Histogram)
	}
	m[k].add(h)
}

// add adds what r counts.
func (c *sourceCounts) add(r *Resource) {
	c.fills.Stored += r.Fills.Stored
	c.fills.Discarded += r.Fills.Discarded
	c.fills.Collapsed += r.Fills.Collapsed
	c.fills.Error += r.Fills.Error
	c.fills.Written += r.Fills.Written
	c.invalidations.Feed += r.Invalidations.Feed
	c.invalidations.Write += r.Invalidations.Write
	c.invalidations.Admin += r.Invalidations.Admin
	c.invalidations.Gap += r.Invalidations.Gap
	c.lists.Hits += r.Lists.Hits
	c.lists.Absent += r.Lists.Absent
	c.lists.Evicted += r.Lists.Evicted
	c.lists.Moved += r.Lists.Moved
	c.lists.Dirty += r.Lists.Dirty
	c.lists.Bypassed += r.Lists.Bypassed
	c.lists.Once += r.Lists.Once
	c.lists.TooLarge += r.Lists.TooLarge
	c.lists.Discarded += r.Lists.Discarded
	c.lists.Unchanged += r.Lists.Unchanged
	for i := range r.Memory {
		c.memory += r.Memory[i].Bytes
	}
	if r.Words != nil {
		c.coarse += r.Words.Coarse
	}
}

// source writes what the tables of a source count together.
func (e *emitter) source(source string, c *sourceCounts) {
	e.value(cacheFills, float64(c.fills.Stored), source, "stored")
	e.value(cacheFills, float64(c.fills.Discarded), source, "discarded")
	e.value(cacheFills, float64(c.fills.Collapsed), source, "collapsed")
	e.value(cacheFills, float64(c.fills.Error), source, "error")
	e.value(cacheFills, float64(c.fills.Written), source, "written")
	e.value(cacheCoarse, float64(c.coarse), source)
	e.value(cacheSourceBytes, float64(c.memory), source)
	e.value(cacheInvalidations, float64(c.invalidations.Feed), source, "feed")
	e.value(cacheInvalidations, float64(c.invalidations.Write), source, "write")
	e.value(cacheInvalidations, float64(c.invalidations.Admin), source, "admin")
	e.value(cacheInvalidations, float64(c.invalidations.Gap), source, "gap")
	e.value(cacheLists, float64(c.lists.Hits), source, "hit")
	e.value(cacheLists, float64(c.lists.Absent), source, "absent")
	e.value(cacheLists, float64(c.lists.Evicted), source, "evicted")
	e.value(cacheLists, float64(c.lists.Moved), source, "moved")
	e.value(cacheLists, float64(c.lists.Dirty), source, "dirty")
	e.value(cacheLists, float64(c.lists.Bypassed), source, "bypass")
	e.value(cacheLists, float64(c.lists.Once), source, "once")
	e.value(cacheLists, float64(c.lists.TooLarge), source, "too_large")
	e.value(cacheLists, float64(c.lists.Discarded), source, "discarded")
	e.value(cacheLists, float64(c.lists.Unchanged), source, "unchanged")
}

// tier emits what a tier holds.
func (e *emitter) tier(t *Tier) {
	e.value(cacheEntries, float64(t.Entries), t.Name)
	e.value(cacheBytes, float64(t.Bytes), t.Name)
	e.value(cacheEvictions, float64(t.Evictions), t.Name)
	e.value(cacheCopyBytes, float64(t.CopyBytes), t.Name)
	if t.Name == "memory" {
		e.memory(t)
	}
}

// memory emits what is told of memory alone.
func (e *emitter) memory(t *Tier) {
	e.value(cacheEvictionAge, time.Duration(t.EvictionAge).Seconds())
	e.value(cacheLimboBytes, float64(t.LimboBytes))
	e.value(cacheWasteBytes, float64(t.WasteBytes))
	for _, s := range t.Sizes {
		most := "more"
		if s.Most > 0 {
			most = strconv.Itoa(s.Most)
		}
		e.value(cacheSizeBytes, float64(s.Bytes-s.Free), most, "used")
		e.value(cacheSizeBytes, float64(s.Free), most, "free")
	}
	if r := t.HitRatio; r != nil {
		e.value(cacheHitRatio, r.Half, "half")
		e.value(cacheHitRatio, r.Now, "now")
		e.value(cacheHitRatio, r.Twice, "twice")
	}
}
