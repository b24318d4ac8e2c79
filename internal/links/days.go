package links

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/source"
)

// MaxDays is how many days Stats.Days reaches back at most.
const MaxDays = 31

// Days returns the clicks of each link on each of the last n days, today's last,
// in one query: what a list shows beside its links. Links without a click in that
// time are not among them.
func (s *Stats) Days(ctx context.Context, links []int64, n int) (map[int64][]int64, error) {
	if len(links) == 0 || n < 1 || n > MaxDays {
		return map[int64][]int64{}, nil
	}
	var out map[int64][]int64
	err := whole(s.Tail, func() error {
		out = make(map[int64][]int64, len(links))
		return s.days(ctx, links, n, out)
	})
	if err != nil {
		return nil, fmt.Errorf("read the days of links: %w", err)
	}
	return out, nil
}

// FirstDay returns the beginning of the first of the last n days.
func (s *Stats) FirstDay(n int) time.Time { return Day.start(s.now()).AddDate(0, 0, 1-n) }

// days fills in out.
func (s *Stats) days(ctx context.Context, links []int64, n int, out map[int64][]int64) error {
	first := clicks.DayOf(s.FirstDay(n).UnixMilli())
	add := func(link, day, clicks int64) {
		if i := day - first; clicks > 0 && i >= 0 && i < int64(n) {
			if out[link] == nil {
				out[link] = make([]int64, n)
			}
			out[link][i] += clicks
		}
	}
	args := make([]any, 0, len(links)+2)
	for _, l := range links {
		args = append(args, l)
	}
	args = append(args, clicks.UnitDay, first)
	marks := strings.Repeat(", ?", len(links))[2:]
	err := s.DB.Query(ctx, "SELECT link_id, bucket, clicks FROM click_time WHERE link_id IN ("+
		marks+") AND unit = ? AND bucket >= ?", args, func(r source.StoreRow) error {
		add(r.Int(0), r.Int(1), r.Int(2))
		return nil
	})
	if err != nil || s.Tail == nil {
		return err
	}
	for _, l := range links {
		c, _ := s.Tail.Tail(l)
		add(l, first+int64(n)-1, c.Clicks)
	}
	return nil
}
