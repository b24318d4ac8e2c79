package ops

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// shownResources is how many resources a frame tells of: those with the most requests. A frame
// has 64 KiB at most.
const shownResources = 50

// A Frame is the state of a hotrow, and its rates since the frame before. All durations
// are in seconds, all rates are for one second.
type Frame struct {
	Time      time.Time       `json:"time"`
	Version   string          `json:"version"`
	Uptime    Seconds         `json:"uptime"`
	Interval  Seconds         `json:"interval"` // what the rates are of; 0: there are none yet
	Answers   Answers         `json:"answers"`
	Requests  Durations       `json:"requests"` // of all protocols
	Sources   []SourceFrame   `json:"sources"`
	Resources []ResourceFrame `json:"resources,omitempty"` // the busiest
	Tables    int             `json:"tables,omitempty"`    // resources, shown or not
	Tiers     []Tier          `json:"tiers"`
	Watchers  int             `json:"watchers"`
	Hottest   *Hottest        `json:"hottest,omitempty"`
	Point     *Point          `json:"point,omitempty"`  // nil: there are no rates yet
	Step      *Point          `json:"step,omitempty"`   // of the last minutes, when they end
	Alarms    []string        `json:"alarms,omitempty"` // what is lost and does not come back
	Events    []Event         `json:"events,omitempty"` // since the frame before

	all []ResourceFrame // all resources, the busiest first
}

// Hottest are keys of documents, those with the highest rate first.
type Hottest struct {
	Read    []HotKey `json:"read"`    // read most
	Changed []HotKey `json:"changed"` // changed more often than they are read
}

// A HotKey is a document that is read or changed often: estimates, a second, lately.
type HotKey struct {
	Path    string  `json:"path"` // as a request names it
	Reads   float64 `json:"reads"`
	Changes float64 `json:"changes"`
}

// Answers are documents a second by where they came from.
type Answers struct {
	Memory float64 `json:"memory"`
	Disk   float64 `json:"disk"`
	Miss   float64 `json:"miss"`   // loaded, because no copy was there
	Bypass float64 `json:"bypass"` // read from the database, because no copy would do
	Stale  float64 `json:"stale"`  // flagged copies
	Failed float64 `json:"failed"` // loads that failed
}

// Database returns the answers that came from the database.
func (a *Answers) Database() float64 { return a.Miss + a.Bypass }

// All returns the answers, wherever they came from.
func (a *Answers) All() float64 { return a.Memory + a.Disk + a.Miss + a.Bypass + a.Stale }

// Durations are those of what has ended since the frame before.
type Durations struct {
	Rate float64 `json:"rate"`
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
}

// A SourceFrame is one source: its feed and its database.
type SourceFrame struct {
	Feed
	Verdict string    `json:"verdict"` // whether it is fresh, in words
	Cause   string    `json:"cause"`   // why, or what follows from it
	Changes float64   `json:"changes"` // rows that the feed has told of
	Loads   Durations `json:"loads"`
	InUse   int       `json:"connections_in_use"`
	Idle    int       `json:"connections_idle"`
	Waiting int       `json:"waiting"` // loads that wait for a connection
}

// A ResourceFrame is one resource. The total is what tells those that were never asked
// for from those that are quiet now.
type ResourceFrame struct {
	Name         string  `json:"name"`
	Answers      Answers `json:"answers"`
	Rate         float64 `json:"rate"`
	HitRatio     float64 `json:"hit_ratio"` // 0 to 1, since the start
	Changes      float64 `json:"changes"`   // documents dropped by changes
	Cacheability float64 `json:"cacheability"`
	Watchers     int     `json:"watchers"`
	Memory       []Share `json:"memory,omitempty"`
	Total        uint64  `json:"total"` // answers since the start
}

// verdict says of a feed whether what is in memory is fresh.
func verdict(f *Feed) string {
	lag := spoken(time.Duration(f.Lag))
	switch {
	case f.State == "fresh" && f.Rests:
		return "Fresh: looked at the database " + lag + " ago"
	case f.State == "fresh":
		return "Fresh: " + lag + " behind the database"
	case f.State == "none":
		return "Not followed: changes of the database are not seen"
	case f.State == "lagging" && f.Up:
		return "Behind the database by up to " + lag
	case f.State == "lagging":
		return "Cut off from the database, behind it by up to " + lag
	}
	return "Not reached: the database has not answered yet"
}

// cause says why a feed is in its state, or what follows from that, and since when what is in
// memory counts. It names no addresses.
func cause(f *Feed) string {
	const marked = "Answers from memory are marked as stale."
	switch {
	case f.State == "fresh" && f.Rests:
		return "Nobody reads. It looks again for who asks." + counts(f)
	case f.State == "fresh":
		return "Every change up to then is in the answers." + counts(f)
	case f.State == "none":
		return "Nothing is kept longer than the ttl of its table."
	case f.State == "lagging" && f.Up:
		return "Changes come, but not all of them for certain. " + marked
	case f.State == "lagging":
		return "The connection that reports changes is lost, and is opened again. " + marked
	}
	return "It is tried again. The log below has the error."
}

// counts says since when what is in memory counts, and why what was there before does not.
func counts(f *Feed) string {
	if f.Epoch <= 1 || f.EpochWhy == "" {
		return ""
	}
	why, _, _ := strings.Cut(f.EpochWhy, ":") // what follows is an error, with addresses
	return fmt.Sprintf(" %s ago all that was kept was forgotten: %s.",
		spoken(time.Duration(f.EpochAge)), why)
}

// spoken is a duration with about three digits.
func spoken(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// newFrame compares two snapshots, taken interval apart; without an interval there is
// nothing before.
func newFrame(before, now *Snapshot, interval time.Duration) Frame {
	f := Frame{
		Time: time.Now(), Interval: Seconds(interval), Tiers: append([]Tier{}, now.Tiers...),
		Sources: []SourceFrame{}, Watchers: now.Watchers, Alarms: now.Alarms,
	}
	f.Requests = allRequests(before, now, interval)
	for i := range now.Feeds {
		f.Sources = append(f.Sources, sourceFrame(&now.Feeds[i], before, now, interval))
	}
	f.all = resourceFrames(before, now, interval)
	f.Tables = len(f.all)
	for i := range f.all {
		f.Answers.add(f.all[i].Answers)
		if i < shownResources && f.all[i].Total > 0 {
			f.Resources = f.all[:i+1]
		}
	}
	return f
}

// resourceFrames compares all resources with what they were. The busiest come first, then
// those that were asked for most, then those that never were, by their names.
func resourceFrames(before, now *Snapshot, interval time.Duration) []ResourceFrame {
	earlier := make(map[string]*Resource, len(before.Resources))
	for i := range before.Resources {
		earlier[before.Resources[i].Name] = &before.Resources[i]
	}
	all := make([]ResourceFrame, len(now.Resources))
	for i := range now.Resources {
		all[i] = resourceFrame(earlier[now.Resources[i].Name], &now.Resources[i], interval)
	}
	slices.SortStableFunc(all, func(a, b ResourceFrame) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.Total, a.Total),
			cmp.Compare(a.Name, b.Name))
	})
	return all
}

// resourceOrders are the orders in which resources are asked for.
var resourceOrders = map[string]func(a, b *ResourceFrame) int{
	"name":     func(a, b *ResourceFrame) int { return cmp.Compare(a.Name, b.Name) },
	"rate":     by(func(r *ResourceFrame) float64 { return r.Rate }),
	"memory":   by(func(r *ResourceFrame) float64 { return r.HitRatio }),
	"reads":    by(func(r *ResourceFrame) float64 { return r.Answers.Database() }),
	"stale":    by(func(r *ResourceFrame) float64 { return r.Answers.Stale }),
	"changes":  by(func(r *ResourceFrame) float64 { return r.Changes }),
	"kept":     by(func(r *ResourceFrame) float64 { return r.Cacheability }),
	"watchers": by(func(r *ResourceFrame) float64 { return float64(r.Watchers) }),
	"bytes":    by((*ResourceFrame).bytes),
	"total":    by(func(r *ResourceFrame) float64 { return float64(r.Total) }),
}

func by(of func(*ResourceFrame) float64) func(a, b *ResourceFrame) int {
	return func(a, b *ResourceFrame) int { return cmp.Compare(of(a), of(b)) }
}

// bytes are what r takes of the memory.
func (r *ResourceFrame) bytes() (n float64) {
	for _, s := range r.Memory {
		n += float64(s.Bytes)
	}
	return n
}

func (a *Answers) add(b Answers) {
	a.Memory += b.Memory
	a.Disk += b.Disk
	a.Miss += b.Miss
	a.Bypass += b.Bypass
	a.Stale += b.Stale
	a.Failed += b.Failed
}

// rate is a counter's change for each second; 0 for one that began anew.
func rate(before, now uint64, interval time.Duration) float64 {
	if interval <= 0 || now < before {
		return 0
	}
	return float64(now-before) / interval.Seconds()
}

// resourceFrame compares a resource with what it was; before may be nil.
func resourceFrame(before, now *Resource, interval time.Duration) ResourceFrame {
	if before == nil {
		before = &Resource{}
	}
	m0, d0 := lookups(before)
	m, d := lookups(now)
	a := Answers{
		Memory: rate(m0.Hit+m0.Negative, m.Hit+m.Negative, interval),
		Disk:   rate(d0.Hit, d.Hit, interval), Stale: rate(m0.Stale, m.Stale, interval),
		Failed: rate(before.Fills.Error, now.Fills.Error, interval),
	}
	a.Bypass = rate(before.Bypass, now.Bypass, interval)
	loaded := func(of *Resource, m, d Lookups) uint64 {
		return m.Miss - min(m.Miss, d.Hit+of.Bypass)
	}
	a.Miss = rate(loaded(before, m0, d0), loaded(now, m, d), interval)
	r := ResourceFrame{
		Name: now.Name, Answers: a, Rate: a.All(), Watchers: now.Watchers, Memory: now.Memory,
		Cacheability: now.Cacheability, Total: m.Hit + m.Negative + m.Stale + m.Miss,
		Changes: rate(before.Invalidations.Feed, now.Invalidations.Feed, interval),
	}
	if r.Total > 0 {
		r.HitRatio = float64(m.Hit+m.Negative+d.Hit) / float64(r.Total)
	}
	return r
}

func lookups(r *Resource) (memory, disk Lookups) {
	for _, l := range r.Lookups {
		if l.Tier == "disk" {
			disk = l
		} else {
			memory = l
		}
	}
	return memory, disk
}

// sourceFrame compares a source with what it was.
func sourceFrame(feed *Feed, before, now *Snapshot, interval time.Duration) SourceFrame {
	s := SourceFrame{Feed: *feed, Verdict: verdict(feed), Cause: cause(feed)}
	for i := range before.Feeds {
		if before.Feeds[i].Source == feed.Source {
			s.Changes = rate(before.Feeds[i].Events, feed.Events, interval)
		}
	}
	for _, p := range now.Pools {
		if p.Source == feed.Source {
			s.InUse, s.Idle, s.Waiting = p.InUse, p.Idle, p.Waiting
		}
	}
	s.Loads = durations(loads(before.Queries, feed.Source), loads(now.Queries, feed.Source),
		interval)
	return s
}

// loads are those of one source; of "", all of them.
func loads(list []Queries, source string) Histogram {
	var all Histogram
	for _, q := range list {
		if q.Op == "load" && (source == "" || q.Source == source) {
			all.add(q.Duration)
		}
	}
	return all
}

// allRequests are the durations of requests of all protocols whose buckets are alike.
func allRequests(before, now *Snapshot, interval time.Duration) Durations {
	return durations(sum(before.Requests), sum(now.Requests), interval)
}

func sum(list []Requests) (all Histogram) {
	for _, r := range list {
		all.add(r.Duration)
	}
	return all
}

// add adds what h counts, if its buckets are the same.
func (all *Histogram) add(h Histogram) {
	if all.Bounds == nil {
		*all = Histogram{Bounds: h.Bounds, Counts: make([]uint64, len(h.Counts))}
	}
	if len(h.Counts) != len(all.Counts) {
		return
	}
	for i, n := range h.Counts {
		all.Counts[i] += n
	}
	all.Sum += h.Sum
}

// durations are those counted since before.
func durations(before, now Histogram, interval time.Duration) Durations {
	counts := slices.Clone(now.Counts)
	total := uint64(0)
	for i := range counts {
		if i < len(before.Counts) {
			counts[i] -= min(counts[i], before.Counts[i])
		}
		total += counts[i]
	}
	if interval <= 0 || total == 0 {
		return Durations{}
	}
	return Durations{
		Rate: float64(total) / interval.Seconds(),
		P50:  quantile(now.Bounds, counts, total, 0.5),
		P99:  quantile(now.Bounds, counts, total, 0.99),
	}
}

// quantile reads a quantile from buckets, as Prometheus does: as if what is in a bucket
// were spread evenly. What is above all bounds is at the last one.
func quantile(bounds []float64, counts []uint64, total uint64, q float64) float64 {
	rank, seen, from := q*float64(total), 0.0, 0.0
	for i, bound := range bounds {
		n := float64(counts[i])
		if seen+n >= rank && n > 0 {
			return from + (bound-from)*(rank-seen)/n
		}
		seen, from = seen+n, bound
	}
	return from
}
