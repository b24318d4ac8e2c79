package ops

import (
	"slices"
	"strconv"
	"time"
)

const (
	keptPoints = 300             // five minutes of seconds
	stepLength = 5 * time.Minute // what one point of the day stands for
	keptSteps  = 288             // a day of them
)

// A Point is what a hotrow did at one moment: figures in the order of PointNames, each with
// four digits. Rates are for one second, durations in seconds, the time is Unix time in seconds.
type Point [atBytes + 1]float64

// The places of figures in a Point.
const (
	atTime = iota
	atMemory
	atDisk
	atDatabase
	atStale
	atFailed
	atReads
	atChanges
	atP50 // what follows is no rate
	atP99
	atReadP50
	atReadP99
	atLag
	atInvisible
	atInUse
	atWaiting
	atBytes
)

// PointNames are the names of a Point's figures: answers by where they came from, loads that
// failed, reads of the databases, changes; how long answers and reads took, how far the source
// that is furthest behind is, for how long a change has not been visible; connections in use,
// loads that wait for one, and bytes in memory.
var PointNames = [...]string{"time", "memory", "disk", "database", "stale", "failed", "reads",
	"changes", "p50", "p99", "read_p50", "read_p99", "lag", "invisible", "in_use", "waiting",
	"bytes"}

// point returns the figures of a frame.
func (f *Frame) point() (p Point) {
	a := &f.Answers
	p = Point{atMemory: a.Memory, atDisk: a.Disk, atDatabase: a.Database(), atStale: a.Stale,
		atFailed: a.Failed, atP50: f.Requests.P50, atP99: f.Requests.P99}
	for i := range f.Sources {
		s := &f.Sources[i]
		p[atReads] += s.Loads.Rate
		p[atChanges] += s.Changes
		p[atReadP50] = max(p[atReadP50], s.Loads.P50)
		p[atReadP99] = max(p[atReadP99], s.Loads.P99)
		if !s.Rests { // else nobody asks, and it is no lag
			p[atLag] = max(p[atLag], time.Duration(s.Lag).Seconds())
		}
		p[atInvisible] = max(p[atInvisible], time.Duration(s.UnsettledOldest).Seconds())
		p[atInUse] += float64(s.InUse)
		p[atWaiting] += float64(s.Waiting)
	}
	for i := range f.Tiers {
		if f.Tiers[i].Name != "disk" {
			p[atBytes] += float64(f.Tiers[i].Bytes)
		}
	}
	return p.at(f.Time)
}

// at returns p with a time, and without the digits that nobody reads.
func (p Point) at(t time.Time) Point {
	for i, v := range p {
		p[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	}
	p[atTime] = float64(t.UnixMilli()) / 1e3
	return p
}

// A history keeps the points of the last minutes, and a day of steps. It has a fixed size.
type history struct {
	minutes, day []Point // oldest first

	sum   Point // of the step that has not ended
	n     float64
	until time.Time // when it ends
}

// add keeps p, and returns the step that has ended with it; nil: none has. A step has the
// mean of rates, and the worst of all else.
func (h *history) add(p Point, now time.Time) *Point {
	h.minutes = keep(h.minutes, p, keptPoints)
	if h.until.IsZero() {
		h.until = now.Add(stepLength)
	}
	for i, v := range p {
		if i < atP50 {
			h.sum[i] = (h.sum[i]*h.n + v) / (h.n + 1)
		} else {
			h.sum[i] = max(h.sum[i], v)
		}
	}
	if h.n++; now.Before(h.until) {
		return nil
	}
	step := h.sum.at(now)
	h.day = keep(h.day, step, keptSteps)
	h.sum, h.n, h.until = Point{}, 0, now.Add(stepLength)
	return &step
}

// keep appends p, and forgets the oldest beyond so many.
func keep(list []Point, p Point, most int) []Point {
	if len(list) < most {
		return append(slices.Grow(list, most-len(list)), p)
	}
	copy(list, list[1:])
	list[most-1] = p
	return list
}
