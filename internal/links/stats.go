package links

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/source"
)

// Stats reads what package clicks has summed up. What it costs hangs on how many
// buckets are asked for, not on how many clicks there were.
type Stats struct {
	DB   source.Store
	Tail Tail             // nil: the database has everything
	Now  func() time.Time // nil: time.Now
}

// A Unit is the length of a bucket.
type Unit string

// The units. A month is made of its days.
const (
	Hour  Unit = "hour"
	Day   Unit = "day"
	Month Unit = "month"
)

// MaxBuckets bounds the buckets of a series.
const MaxBuckets = 4000

// start returns the beginning of the bucket that t is in, next that of the one
// behind it, and name what clients call it.
func (u Unit) start(t time.Time) time.Time {
	t = t.UTC()
	switch u {
	case Hour:
		return t.Truncate(time.Hour)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return t.Truncate(24 * time.Hour)
}

func (u Unit) next(t time.Time) time.Time {
	switch u {
	case Hour:
		return t.Add(time.Hour)
	case Month:
		return t.AddDate(0, 1, 0)
	}
	return t.AddDate(0, 0, 1)
}

// Name writes the beginning of a bucket: "2026-11-21T19:00:00Z", "2026-11-21",
// "2026-11".
func (u Unit) Name(t time.Time) string {
	return t.Format(map[Unit]string{
		Hour: time.RFC3339, Day: time.DateOnly, Month: "2006-01",
	}[u])
}

// A Bucket is the clicks of a time. Visitors are told apart within a day: those
// of a month are the sum of its days'.
type Bucket struct {
	At                     time.Time
	Clicks, Bots, Visitors int64
}

// A Series is the clicks of a link from one bucket to another, without gaps.
type Series struct {
	Unit    Unit
	Buckets []Bucket
	Total   Bucket
	AsOf    time.Time
}

// A Span is a time of a series: from the bucket that From is in to that of To.
type Span struct {
	From, To time.Time
	Unit     Unit
}

// buckets returns the buckets of the span, empty; MaxBuckets+1 when there are more.
func (s Span) buckets() []Bucket {
	var out []Bucket
	end := s.Unit.start(s.To)
	for t := s.Unit.start(s.From); !t.After(end) && len(out) <= MaxBuckets; t = s.Unit.next(t) {
		out = append(out, Bucket{At: t})
	}
	return out
}

// Series returns the clicks of a link; of all with clicks.All, of what was asked
// for in vain with clicks.Orphans.
func (s *Stats) Series(ctx context.Context, link int64, span Span) (*Series, error) {
	buckets := span.buckets()
	if len(buckets) > MaxBuckets {
		return nil, refuse("from", "there are more than %d buckets from there", MaxBuckets)
	}
	out := &Series{Unit: span.Unit}
	err := whole(s.Tail, func() error {
		out.Buckets = slices.Clone(buckets)
		out.AsOf = s.now()
		return s.series(ctx, link, out)
	})
	if err != nil {
		return nil, fmt.Errorf("read the clicks of a link: %w", err)
	}
	for _, b := range out.Buckets {
		out.Total.Clicks += b.Clicks
		out.Total.Bots += b.Bots
		out.Total.Visitors += b.Visitors
	}
	return out, nil
}

func (s *Stats) now() time.Time {
	if s.Now == nil {
		return time.Now().UTC()
	}
	return s.Now().UTC()
}

// series fills in the buckets of out.
func (s *Stats) series(ctx context.Context, link int64, out *Series) error {
	if len(out.Buckets) == 0 {
		return nil
	}
	unit, of := clicks.UnitDay, clicks.DayOf
	length := 24 * time.Hour
	if out.Unit == Hour {
		unit, of, length = clicks.UnitHour, clicks.HourOf, time.Hour
	}
	first := out.Buckets[0].At
	end := out.Unit.next(out.Buckets[len(out.Buckets)-1].At)
	// Beginnings rise, so the bucket of a row is found by halving.
	bucketOf := func(t time.Time) *Bucket {
		i, found := slices.BinarySearchFunc(out.Buckets, t,
			func(b Bucket, t time.Time) int { return b.At.Compare(t) })
		if !found {
			i--
		}
		return &out.Buckets[i]
	}
	// The sketch itself is read only where visitors is null: nobody has clicked
	// since sketches have a table of their own.
	err := s.DB.Query(ctx, "SELECT bucket, clicks, bots, visitors, CASE WHEN visitors IS NULL THEN"+
		" (SELECT s.hll FROM click_sketches s WHERE s.link_id = t.link_id AND s.unit = t.unit"+
		" AND s.bucket = t.bucket) END FROM click_time t"+
		" WHERE link_id = ? AND unit = ? AND bucket >= ? AND bucket < ?",
		[]any{link, unit, of(first.UnixMilli()), of(end.UnixMilli())},
		func(r source.StoreRow) error {
			b := bucketOf(time.Unix(0, 0).UTC().Add(time.Duration(r.Int(0)) * length))
			b.Clicks += r.Int(1)
			b.Bots += r.Int(2)
			b.Visitors += r.Int(3)
			if r.Null(3) {
				b.Visitors += int64(clicks.Visitors(r.Bytes(4)))
			}
			return nil
		})
	if err != nil || s.Tail == nil {
		return err
	}
	// What is not in the database yet is of the last second or so.
	if now := out.AsOf; !now.Before(first) && now.Before(end) {
		c, _ := s.Tail.Tail(link)
		b := bucketOf(now)
		b.Clicks += max(0, c.Clicks)
		b.Bots += max(0, c.Bots)
	}
	return nil
}

// A Share is how often a value occurred.
type Share struct {
	Value  string
	Clicks int64
}

// Dimensions are what clicks can be divided by.
var Dimensions = map[string]clicks.Dim{
	"referrer": clicks.DimReferrer, "country": clicks.DimCountry, "browser": clicks.DimBrowser,
	"os": clicks.DimOS, "device": clicks.DimDevice,
}

// Shares returns the values of each of dims on the days of a span, the most
// frequent first, at most most of each; what is left is added to "(other)". They
// are read together: the rows of a day stand together, whatever they divide by.
func (s *Stats) Shares(
	ctx context.Context, link int64, span Span, most int, dims ...clicks.Dim,
) (map[clicks.Dim][]Share, error) {
	from := clicks.DayOf(span.Unit.start(span.From).UnixMilli())
	to := clicks.DayOf(span.Unit.next(span.Unit.start(span.To)).UnixMilli() - 1)
	sums, err := s.sumDims(ctx, link, from, to, dims)
	if err != nil {
		return nil, fmt.Errorf("read what clicks are made of: %w", err)
	}
	out := make(map[clicks.Dim][]Share, len(dims))
	for dim, values := range sums {
		out[dim] = largest(values, most)
	}
	return out, nil
}

// A dimSums is how often each value of each dimension occurred.
type dimSums map[clicks.Dim]map[string]int64

// add counts a value n times more.
func (s dimSums) add(dim clicks.Dim, value string, n int64) {
	if s[dim] == nil {
		s[dim] = make(map[string]int64)
	}
	s[dim][value] += n
}

// daysAtOnce is how many days one query sums up where there are more, and queriesAtOnce
// by how many queries at most. A busy link has a thousand rows a day, which SQLite sorts
// on one core; but who reads links shares the connections that read.
const (
	daysAtOnce    = 45
	queriesAtOnce = 2
)

// sumDims sums up the days from one to another, both included.
func (s *Stats) sumDims(
	ctx context.Context, link, from, to int64, dims []clicks.Dim,
) (dimSums, error) {
	parts := max(1, min((to-from+1)/daysAtOnce, queriesAtOnce))
	sums, errs := make([]dimSums, parts), make([]error, parts)
	var all sync.WaitGroup
	for i := range parts {
		first, next := from+(to-from+1)*i/parts, from+(to-from+1)*(i+1)/parts
		all.Go(func() { sums[i], errs[i] = s.sumDays(ctx, link, first, next-1, dims) })
	}
	all.Wait()
	for _, part := range sums[1:] {
		for dim, values := range part {
			for value, n := range values {
				sums[0].add(dim, value, n)
			}
		}
	}
	return sums[0], errors.Join(errs...)
}

// sumDays is sumDims by one query.
func (s *Stats) sumDays(
	ctx context.Context, link, from, to int64, dims []clicks.Dim,
) (dimSums, error) {
	args := []any{link, from, to}
	for _, d := range dims {
		args = append(args, int64(d))
	}
	sums := make(dimSums)
	err := s.DB.Query(ctx, "SELECT dim, value, sum(clicks) FROM click_dims"+
		" WHERE link_id = ? AND day BETWEEN ? AND ?"+
		" AND dim IN ("+strings.Repeat(", ?", len(dims))[2:]+")"+
		" GROUP BY dim, value", args,
		func(r source.StoreRow) error {
			sums.add(clicks.Dim(r.Int(0)), r.Text(1), r.Int(2))
			return nil
		})
	return sums, err
}

// largest returns the most frequent values, at most most of them, and what is left as
// one more.
func largest(values map[string]int64, most int) []Share {
	other := values[clicks.DimOther]
	var list []Share
	for value, n := range values {
		if value != clicks.DimOther {
			list = append(list, Share{value, n})
		}
	}
	slices.SortFunc(list, func(a, b Share) int {
		return cmp.Or(cmp.Compare(b.Clicks, a.Clicks), strings.Compare(a.Value, b.Value))
	})
	for _, left := range list[min(most, len(list)):] {
		other += left.Clicks
	}
	list = list[:min(most, len(list))]
	if other > 0 {
		list = append(list, Share{clicks.DimOther, other})
	}
	return list
}

// Totals returns what was counted of a link since the beginning.
func (s *Stats) Totals(ctx context.Context, link int64) (humans, bots int64, err error) {
	err = whole(s.Tail, func() error {
		humans, bots = 0, 0
		err := s.DB.Query(ctx, "SELECT clicks, bots FROM link_stats WHERE link_id = ?", []any{link},
			func(r source.StoreRow) error {
				humans, bots = r.Int(0), r.Int(1)
				return nil
			})
		if err == nil && s.Tail != nil {
			c, _ := s.Tail.Tail(link)
			humans, bots = humans+c.Clicks, bots+c.Bots
		}
		return err
	})
	return humans, bots, err
}
