package clicks

import (
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/source"
)

// A sumWriter adds sums to their tables within a transaction.
type sumWriter struct {
	d    *Drainer
	tx   source.StoreTx
	sums *sums
}

// addLinks writes the totals.
func (w *sumWriter) addLinks(ctx context.Context) error {
	links := make([]int64, 0, len(w.sums.links))
	for l := range w.sums.links {
		links = append(links, l)
	}
	slices.Sort(links)
	return w.tx.Bulk(ctx, &source.Bulk{
		Table: "link_stats", Columns: []string{"link_id", "clicks", "bots", "first_at", "last_at"},
		Key: []string{"link_id"}, Rows: len(links),
		Merge: []source.Merge{{Column: "clicks", How: source.MergeAdd},
			{Column: "bots", How: source.MergeAdd}, {Column: "first_at", How: source.MergeMin},
			{Column: "last_at", How: source.MergeMax}},
		Row: func(i int, into []any) {
			s := w.sums.links[links[i]]
			into[0], into[1], into[2] = links[i], s.clicks, s.bots
			if s.clicks > 0 {
				into[3], into[4] = s.first, s.last
			}
		},
	})
}

// addTimes writes the sums by hour and day. A sketch is written when the batch
// has changed it: most visitors of a busy link are known.
func (w *sumWriter) addTimes(ctx context.Context) error {
	keys := w.sums.timeKeys()
	if err := w.loadSketches(ctx, keys); err != nil {
		return err
	}
	var changed, same []timeKey
	for _, k := range keys {
		s, ok := w.d.sketches.get(k)
		if !ok { // more keys than the cache has places
			s = &sketch{}
			w.d.sketches.put(k, s)
		}
		for _, v := range w.sums.times[k].visitors {
			s.add(v)
		}
		if s.dirty {
			changed = append(changed, k)
		} else {
			same = append(same, k)
		}
	}
	if err := w.addTimeRows(ctx, changed, true); err != nil {
		return err
	}
	return w.addTimeRows(ctx, same, false)
}

// addTimeRows writes rows of click_time, with their sketches or without.
func (w *sumWriter) addTimeRows(
	ctx context.Context, keys []timeKey, sketches bool,
) error {
	bulk := &source.Bulk{
		Table: "click_time", Columns: []string{"link_id", "unit", "bucket", "clicks", "bots"},
		Key: []string{"link_id", "unit", "bucket"}, Rows: len(keys),
		Merge: []source.Merge{{Column: "clicks", How: source.MergeAdd},
			{Column: "bots", How: source.MergeAdd}},
	}
	if sketches {
		bulk.Columns = append(bulk.Columns, "hll")
		bulk.Merge = append(bulk.Merge, source.Merge{Column: "hll", How: source.MergeSet})
	}
	bulk.Row = func(i int, into []any) {
		k := keys[i]
		t := w.sums.times[k]
		into[0], into[1], into[2], into[3], into[4] =
			k.link, string(k.unit), k.bucket, t.clicks, t.bots
		if sketches {
			s, _ := w.d.sketches.get(k)
			into[5] = s.append(nil)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return w.tx.Bulk(ctx, bulk)
}

// loadSketches reads the sketches that are not remembered: all of them when other
// nodes write them too.
func (w *sumWriter) loadSketches(ctx context.Context, keys []timeKey) error {
	type bucket struct {
		unit byte
		n    int64
	}
	missing := make(map[bucket][]any)
	for _, k := range keys {
		if _, ok := w.d.sketches.get(k); !ok || !w.d.alone {
			at := bucket{k.unit, k.bucket}
			missing[at] = append(missing[at], k.link)
		}
	}
	tail := ""
	if !w.d.alone && w.d.store.Dialect() != source.DialectSQLite {
		tail = " ORDER BY link_id FOR UPDATE"
	}
	for at, links := range missing {
		for part := range slices.Chunk(links, idsAtOnce) {
			args := append([]any{string(at.unit), at.n}, part...)
			sql := "SELECT link_id, hll FROM click_time WHERE unit = ? AND bucket = ?" +
				" AND link_id IN (" + marks(len(part)) + ")" + tail
			err := w.tx.Query(ctx, sql, args, func(r source.StoreRow) error {
				w.d.learnSketch(timeKey{r.Int(0), at.unit, at.n}, r.Bytes(1))
				return nil
			})
			if err != nil {
				return err
			}
		}
		for _, l := range links {
			k := timeKey{l.(int64), at.unit, at.n}
			if _, ok := w.d.sketches.get(k); !ok {
				w.d.sketches.put(k, &sketch{})
			}
		}
	}
	return nil
}

// learnSketch takes a sketch of the database over.
func (d *Drainer) learnSketch(k timeKey, hll []byte) {
	s, err := parseSketch(hll)
	if err != nil {
		d.log.Warn("a sketch of visitors is broken and begins anew", "link", k.link,
			"unit", string(k.unit), "bucket", k.bucket)
		return
	}
	if mine, ok := d.sketches.get(k); ok {
		mine.merge(s)
		return
	}
	d.sketches.put(k, s)
}
