package clicks

import "slices"

// sums are what one batch adds to the rows of statistics.
type sums struct {
	total int // clicks of every kind
	links map[int64]*linkSum
	times map[timeKey]*timeSum
	dims  map[dimKey]int64
}

// A linkSum is what is added to a row of link_stats.
type linkSum struct{ clicks, bots, first, last int64 }

// A timeKey is the key of click_time.
type timeKey struct {
	link   int64
	unit   byte // of UnitHour or UnitDay
	bucket int64
}

// A timeSum is what is added to a row of click_time.
type timeSum struct {
	clicks, bots int64
	visitors     []uint64
}

// A dimKey is the key of click_dims.
type dimKey struct {
	link, day int64
	dim       Dim
	value     string
}

// newSums returns empty sums.
func newSums() *sums {
	return &sums{links: make(map[int64]*linkSum), times: make(map[timeKey]*timeSum),
		dims: make(map[dimKey]int64)}
}

// reset empties the sums.
func (s *sums) reset() {
	clear(s.links)
	clear(s.times)
	clear(s.dims)
	s.total = 0
}

// rows returns how many rows the sums are.
func (s *sums) rows() int { return len(s.links) + len(s.times) + len(s.dims) }

// add counts a click. One that is neither a human's nor a bot's is in the raw
// rows alone.
func (s *sums) add(c *click) {
	s.total++
	if c.kind != Human && c.kind != Bot {
		return
	}
	s.addTo(c.link, c)
	day := DayOf(c.at)
	if c.link == Orphans {
		s.dims[dimKey{Orphans, day, DimPath, cut(c.path, maxValue)}]++
		return
	}
	s.addTo(All, c)
	if c.kind != Human {
		return
	}
	host := Direct
	if c.ref != nil {
		host = c.ref.host
	}
	s.dims[dimKey{c.link, day, DimReferrer, host}]++
	s.dims[dimKey{c.link, day, DimCountry, c.country}]++
	s.dims[dimKey{c.link, day, DimBrowser, c.agent.browser}]++
	s.dims[dimKey{c.link, day, DimOS, c.agent.os}]++
	s.dims[dimKey{c.link, day, DimDevice, c.agent.device}]++
}

// allDims returns the dimensions of the links and those of All, which are their
// sum.
func (s *sums) allDims() map[dimKey]int64 {
	out := make(map[dimKey]int64, len(s.dims))
	for k, n := range s.dims {
		out[k] = n
		if k.link > Orphans {
			k.link = All
			out[k] += n
		}
	}
	return out
}

// addTo counts a click for a link, or for what stands for one.
func (s *sums) addTo(link int64, c *click) {
	l := s.links[link]
	if l == nil {
		l = &linkSum{}
		s.links[link] = l
	}
	hour, day := timeKey{link, UnitHour[0], HourOf(c.at)}, timeKey{link, UnitDay[0], DayOf(c.at)}
	for _, k := range [2]timeKey{hour, day} {
		t := s.times[k]
		if t == nil {
			t = &timeSum{}
			s.times[k] = t
		}
		if c.kind == Bot {
			t.bots++
			continue
		}
		t.clicks++
		if c.visitor != 0 {
			t.visitors = append(t.visitors, c.visitor)
		}
	}
	if c.kind == Bot {
		l.bots++
		return
	}
	l.clicks++
	if l.first == 0 || c.at < l.first {
		l.first = c.at
	}
	l.last = max(l.last, c.at)
}

// timeKeys returns the keys of click_time in its order: two processes that write
// the same rows in the same order wait for each other and do not deadlock.
func (s *sums) timeKeys() []timeKey {
	keys := make([]timeKey, 0, len(s.times))
	for k := range s.times {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, timeKey.compare)
	return keys
}

// compare orders keys as the table does.
func (k timeKey) compare(o timeKey) int {
	switch {
	case k.link != o.link:
		return order(k.link, o.link)
	case k.unit != o.unit:
		return int(k.unit) - int(o.unit)
	}
	return order(k.bucket, o.bucket)
}

// order is cmp.Compare of two integers.
func order(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
