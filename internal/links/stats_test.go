package links

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// addRows puts rows into a table as they are.
func addRows(t *testing.T, b *bed, table string, columns []string, rows ...[]any) {
	t.Helper()
	_, err := b.DB.Tx(t.Context(), func(tx source.StoreTx) error {
		return tx.Bulk(t.Context(), &source.Bulk{Table: table, Columns: columns, Rows: len(rows),
			Row: func(i int, into []any) { copy(into, rows[i]) }})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func statistics(t *testing.T, b *bed) {
	ctx := t.Context()
	day := clicks.DayOf(b.clock.Load())
	addRows(t, b, "click_time", []string{"link_id", "unit", "bucket", "clicks", "bots"},
		[]any{int64(7), "d", day, int64(10), int64(1)}, []any{int64(7), "d", day - 2, int64(5), int64(0)},
		[]any{int64(7), "d", day - 40, int64(3), int64(2)}, []any{int64(8), "d", day, int64(99), int64(9)},
		[]any{int64(7), "h", day * 24, int64(4), int64(0)})
	now := time.UnixMilli(b.clock.Load()).UTC()
	s, err := b.stats.Series(ctx, 7, Span{From: now.AddDate(0, 0, -3), To: now, Unit: Day})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range s.Buckets {
		got = append(got, fmt.Sprint(Day.Name(u.At), " ", u.Clicks, " ", u.Bots))
	}
	want := []string{"2026-11-19 0 0", "2026-11-20 5 0", "2026-11-21 0 0", "2026-11-22 10 1"}
	if diff := cmp.Diff(want, got); diff != "" || s.Total.Clicks != 15 || s.Total.Bots != 1 {
		t.Errorf("total %+v %s", s.Total, diff)
	}
	s, err = b.stats.Series(ctx, 7, Span{From: now.AddDate(0, -1, 0), To: now, Unit: Month})
	if err != nil || len(s.Buckets) != 2 || s.Buckets[0].Clicks != 3 || s.Buckets[1].Clicks != 15 ||
		Month.Name(s.Buckets[0].At) != "2026-10" {
		t.Errorf("months %+v, %v", s.Buckets, err)
	}
	s, err = b.stats.Series(ctx, 7, Span{From: now.Truncate(24 * time.Hour), To: now, Unit: Hour})
	if err != nil || len(s.Buckets) != 13 || s.Buckets[0].Clicks != 4 {
		t.Errorf("hours %+v, %v", s.Buckets, err)
	}
	if _, err := b.stats.Series(ctx, 7, Span{From: time.Unix(0, 0), To: now, Unit: Hour}); err == nil {
		t.Error("half a million buckets")
	}
	b.stats.Tail = &heldTail{count: clicks.Count{Clicks: 2, Bots: 1}}
	s, err = b.stats.Series(ctx, 7, Span{From: now, To: now, Unit: Day})
	if err != nil || s.Total.Clicks != 12 || s.Total.Bots != 2 {
		t.Errorf("with what is not drained: %+v, %v", s.Total, err)
	}
	daysOfLinks(t, b)
	b.stats.Tail = nil
	row := func(d int64, value string, n int64) []any {
		return []any{int64(7), d, int64(clicks.DimCountry), value, n}
	}
	addRows(t, b, "click_dims", []string{"link_id", "day", "dim", "value", "clicks"},
		row(day, "DE", 10), row(day-1, "DE", 5), row(day, "FR", 7), row(day, "??", 1),
		row(day, clicks.DimOther, 2), row(day-90, "US", 100))
	addRows(t, b, "click_dims", []string{"link_id", "day", "dim", "value", "clicks"},
		[]any{int64(7), day, int64(clicks.DimOS), "Linux", int64(25)},
		[]any{int64(7), day, int64(clicks.DimBrowser), "Firefox", int64(25)})
	shares, err := b.stats.Shares(ctx, 7, Span{From: now.AddDate(0, 0, -2), To: now, Unit: Day}, 2,
		clicks.DimCountry, clicks.DimOS)
	wantShares := map[clicks.Dim][]Share{
		clicks.DimCountry: {{"DE", 15}, {"FR", 7}, {clicks.DimOther, 3}},
		clicks.DimOS:      {{"Linux", 25}},
	}
	if diff := cmp.Diff(wantShares, shares); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	// So many days are more than one query.
	addRows(t, b, "click_dims", []string{"link_id", "day", "dim", "value", "clicks"},
		row(day-60, "FR", 9), row(day-60, clicks.DimOther, 1), row(day-140, "DE", 1))
	shares, err = b.stats.Shares(ctx, 7, Span{From: now.AddDate(0, 0, -140), To: now, Unit: Day}, 2,
		clicks.DimCountry)
	wantShares = map[clicks.Dim][]Share{
		clicks.DimCountry: {{"US", 100}, {"DE", 16}, {clicks.DimOther, 20}},
	}
	if diff := cmp.Diff(wantShares, shares); diff != "" || err != nil {
		t.Errorf("of many days: %v %s", err, diff)
	}
}

// daysOfLinks: the last days of several links, what is not drained with today's.
func daysOfLinks(t *testing.T, b *bed) {
	days, err := b.stats.Days(t.Context(), []int64{7, 8, 9, 10}, 4)
	want := map[int64][]int64{7: {0, 5, 0, 12}, 8: {0, 0, 0, 101}, 9: {0, 0, 0, 2}, 10: {0, 0, 0, 2}}
	if diff := cmp.Diff(want, days); diff != "" || err != nil {
		t.Errorf("the last days: %v %s", err, diff)
	}
	b.stats.Tail = nil
	days, err = b.stats.Days(t.Context(), []int64{7, 9}, 2)
	if diff := cmp.Diff(map[int64][]int64{7: {0, 10}}, days); diff != "" || err != nil {
		t.Errorf("the last days without a tail: %v %s", err, diff)
	}
	if days, err := b.stats.Days(t.Context(), nil, 2); err != nil || len(days) != 0 {
		t.Errorf("of no links: %v, %v", days, err)
	}
	if first := Day.Name(b.stats.FirstDay(4)); first != "2026-11-19" {
		t.Errorf("the first of four days is %s", first)
	}
}

func rawClicks(t *testing.T, b *bed) {
	ctx := t.Context()
	l := b.make(t, `{"url":"https://example.com/","code":"a"}`)
	var months []string
	for _, m := range []string{"202610", "202611"} {
		months = append(months, m)
		_, err := b.DB.Tx(ctx, func(tx source.StoreTx) error {
			for _, sql := range append(schema.CreateMonth(b.DB.Dialect(), m),
				schema.CreateView(b.DB.Dialect(), months)...) {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	addRows(t, b, "click_agents", []string{"id", "hash", "ua", "browser", "os", "device", "bot"},
		[]any{int64(1), []byte("1"), "UA", "Firefox", "Linux", "desktop", int64(0)})
	columns := []string{"seq", "link_id", "at", "kind", "ip", "country", "agent_id", "path"}
	at := b.clock.Load()
	for i := range int64(10) {
		month := schema.MonthTable(months[i/5])
		link, path := l.ID, any(nil)
		if i%3 == 0 {
			link, path = 0, "/nothing"
		}
		// Times fall within a month while numbers rise: two writers.
		addRows(t, b, month, columns, []any{i + 1, link, at + i/5*100 - i%5, i % 4,
			[]byte{127, 0, 0, byte(i)}, "DE", int64(1), path})
	}
	for _, q := range []ClickQuery{
		{All: true}, {All: true, Newest: true}, {Link: l.ID}, {Link: l.ID, Newest: true}, {Link: 0},
	} {
		q.Limit = 100
		whole, next, err := b.stats.Clicks(ctx, q)
		if err != nil || next != "" {
			t.Fatal(next, err)
		}
		want := 10
		if !q.All {
			want = 6
			if q.Link == 0 {
				want = 4
			}
		}
		if len(whole) != want {
			t.Errorf("%+v: %d clicks, want %d", q, len(whole), want)
		}
		var pages []Click
		for q.Limit = 2; ; {
			list, next, err := b.stats.Clicks(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, list...)
			if q.After = next; next == "" {
				break
			}
		}
		if diff := cmp.Diff(whole, pages); diff != "" {
			t.Errorf("%+v: pages differ from the whole: %s", q, diff)
		}
	}
	list, _, err := b.stats.Clicks(ctx, ClickQuery{Link: l.ID, Newest: true, Limit: 1})
	want := []Click{{Seq: 6, At: at + 100, Link: l.ID, Code: "a", Kind: clicks.Bot, IP: "127.0.0.5",
		Country: "DE", Browser: "Firefox", OS: "Linux", Device: "desktop"}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, _, err := b.stats.Clicks(ctx, ClickQuery{All: true, After: "x", Limit: 1}); !errors.Is(err, ErrCursor) {
		t.Errorf("a bad place: %v", err)
	}
}
