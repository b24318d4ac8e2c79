package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A chart is a series as bars, humans below and bots on top, in a box of
// chartWidth by chartHeight that the page stretches. Words are no part of it:
// they would be stretched, too.
type chart struct {
	Unit   string
	Bars   []bar
	Ticks  []tick // of the vertical axis, highest first
	Labels []tick // of the horizontal axis, from left to right
	Total  totals
}

const chartWidth, chartHeight = 1000, 100

// A bar is one bucket. All lengths are of the box.
type bar struct {
	Name             string // "14 November"
	At               string
	X, Width, Middle string
	HumanY, HumanH   string
	BotY, BotH       string
	VisitorY         string
	Clicks           int64
	Bots             int64
	Visitors         int64
}

// A tick is a word on an axis, and where: in percent of the box.
type tick struct {
	Text string
	At   string
}

// spans are the units that a series may have: how far a chart reaches back, how
// buckets are named and which of them get a word on the axis.
var spans = map[string]span{
	"hour": {
		back: func(t time.Time) time.Time { return t.Add(-47 * time.Hour) },
		cut:  func(t time.Time) time.Time { return t.Truncate(time.Hour) },
		next: func(t time.Time) time.Time { return t.Add(time.Hour) },
		name: "2 Jan 15:00", axis: "15:00", every: 12, long: "last 48 hours",
	},
	"day": {
		back: func(t time.Time) time.Time { return t.AddDate(0, 0, -29) },
		cut:  func(t time.Time) time.Time { return t.Truncate(24 * time.Hour) },
		next: func(t time.Time) time.Time { return t.AddDate(0, 0, 1) },
		name: "Mon 2 Jan 2006", axis: "2 Jan", every: 7, long: "last 30 days",
	},
	"month": {
		back: func(t time.Time) time.Time { return t.AddDate(0, -11, 0) },
		cut: func(t time.Time) time.Time {
			return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
		},
		next: func(t time.Time) time.Time { return t.AddDate(0, 1, 0) },
		name: "January 2006", axis: "Jan", every: 3, long: "last 12 months",
	},
}

// A span is how a unit is drawn.
type span struct {
	back, cut, next func(time.Time) time.Time
	name, axis      string
	every           int
	long            string
}

// bucketLayouts are the ways in which a bucket may be named.
var bucketLayouts = []string{
	"2006-01-02", "2006-01", time.RFC3339, "2006-01-02T15", "2006-01-02T15:04",
	"2006-01-02 15:04:05",
}

// bucketTime reads the name of a bucket.
func bucketTime(text string) (time.Time, bool) {
	for _, layout := range bucketLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// draw returns the chart of a series that ends now. Buckets that the series does
// not have are drawn empty: a quiet night is to be seen as one.
func draw(unit string, rows []bucket, now time.Time) chart {
	s := spans[unit]
	last := s.cut(now.UTC())
	byTime := map[time.Time]bucket{}
	for _, b := range rows {
		if t, ok := bucketTime(b.At); ok {
			byTime[s.cut(t)] = b
		}
	}
	var series []bucket
	var times []time.Time
	for t := s.cut(s.back(last)); !t.After(last); t = s.next(t) {
		series = append(series, byTime[t])
		times = append(times, t)
	}
	var most int64
	c := chart{Unit: unit}
	for _, b := range series {
		most = max(most, b.Clicks+b.Bots, b.Visitors)
		c.Total.Clicks += b.Clicks
		c.Total.Bots += b.Bots
		c.Total.Visitors += b.Visitors
	}
	top := roundUp(most)
	width := float64(chartWidth) / float64(len(series))
	for i, b := range series {
		c.Bars = append(c.Bars, barOf(b, times[i], s, float64(i)*width, width, float64(top)))
		if (len(series)-1-i)%s.every == 0 {
			c.Labels = append(c.Labels, tick{
				Text: times[i].Format(s.axis),
				At:   number((float64(i) + 0.5) * width / chartWidth * 100),
			})
		}
	}
	for _, n := range []int64{top, top / 2, 0} {
		c.Ticks = append(c.Ticks, tick{
			Text: short(n), At: number(chartHeight - float64(n)/float64(top)*chartHeight),
		})
	}
	return c
}

// barOf places one bucket.
func barOf(b bucket, t time.Time, s span, x, width, top float64) bar {
	height := func(n int64) float64 { return float64(n) / top * chartHeight }
	human, bots := height(b.Clicks), height(b.Bots)
	return bar{
		Name: t.Format(s.name), At: t.Format(time.RFC3339),
		X: number(x + width*0.1), Width: number(width * 0.8), Middle: number(x + width/2),
		HumanY: number(chartHeight - human), HumanH: number(human),
		BotY: number(chartHeight - human - bots), BotH: number(bots),
		VisitorY: number(chartHeight - height(b.Visitors)),
		Clicks:   b.Clicks, Bots: b.Bots, Visitors: b.Visitors,
	}
}

// Line returns the points of the visitors' line.
func (c chart) Line() string {
	points := make([]string, 0, len(c.Bars))
	for _, b := range c.Bars {
		points = append(points, b.Middle+","+b.VisitorY)
	}
	return strings.Join(points, " ")
}

// Long says how far the chart reaches back.
func (c chart) Long() string { return spans[c.Unit].long }

// inWords returns the chart's sums, for those who do not see it.
func (c chart) inWords() string {
	return fmt.Sprintf("%s clicks of humans, %s of bots, %s. The table below has the numbers.",
		count(c.Total.Clicks), count(c.Total.Bots), c.Long())
}

// counts returns the numbers of a bucket in words.
func (b bar) counts() string {
	return fmt.Sprintf("%s humans, %s bots, %s visitors",
		count(b.Clicks), count(b.Bots), count(b.Visitors))
}

// roundUp returns the least of 2, 4, 6, 8, 10, 20, 40... that is not below n: half of
// it is a round number, too.
func roundUp(n int64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, k := range []int64{2, 4, 6, 8, 10} {
			if k*unit >= n {
				return k * unit
			}
		}
		if unit > 1e17 {
			return n
		}
	}
}

// number writes a length with at most two decimals.
func number(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 2, 64), "0"), ".")
}

// sparkDays is how many days a sparkline shows.
const sparkDays = 7

// A spark is a week in a table's cell: a bar for each day.
type spark struct {
	Bars []sparkBar
	Text string // for those who do not see it
}

// A sparkBar is a day, in a box of 4 by 16 each.
type sparkBar struct{ X, Y, H string }

// sparkOf draws the days up to today; the highest has the full height, and a day
// with a click is never invisible.
func sparkOf(rows []bucket, now time.Time) spark {
	s := spans["day"]
	today := s.cut(now.UTC())
	var days [sparkDays]int64
	for _, b := range rows {
		if t, ok := bucketTime(b.At); ok {
			back := int(today.Sub(s.cut(t)) / (24 * time.Hour))
			if back >= 0 && back < sparkDays {
				days[sparkDays-1-back] += b.Clicks
			}
		}
	}
	var most int64 = 1
	texts := make([]string, sparkDays)
	for i, n := range days {
		most = max(most, n)
		texts[i] = strconv.FormatInt(n, 10)
	}
	var out spark
	for i, n := range days {
		h := float64(n) / float64(most) * 16
		if n > 0 {
			h = max(h, 2)
		} else {
			h = 1
		}
		out.Bars = append(out.Bars, sparkBar{strconv.Itoa(i * 6), number(16 - h), number(h)})
	}
	out.Text = fmt.Sprintf("clicks of the last %d days: %s", sparkDays, strings.Join(texts, ", "))
	return out
}

// A share is a line of a table of what clicks are made of.
type share struct {
	Name    string
	Clicks  int64
	Percent string
}

// sharesOf returns the lines with their share of the whole.
func sharesOf(dims []dimCount) []share {
	var whole int64
	for _, d := range dims {
		whole += d.Clicks
	}
	out := make([]share, 0, len(dims))
	for _, d := range dims {
		out = append(out, share{
			Name: d.Value, Clicks: d.Clicks,
			Percent: number(float64(d.Clicks) / float64(max(whole, 1)) * 100),
		})
	}
	return out
}
