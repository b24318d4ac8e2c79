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
	sketches, err := w.loadSketches(ctx, keys)
	if err != nil {
		return err
	}
	var changed []int
	for i, k := range keys {
		for _, v := range w.sums.times[k].visitors {
			sketches[i].add(v)
		}
		if sketches[i].dirty {
			changed = append(changed, i)
		}
	}
	if err := w.addTimeRows(ctx, keys, sketches); err != nil {
		return err
	}
	return w.tx.Bulk(ctx, &source.Bulk{
		Table: "click_sketches", Columns: []string{"link_id", "unit", "bucket", "hll"},
		Key: []string{"link_id", "unit", "bucket"}, Rows: len(changed),
		Merge: []source.Merge{{Column: "hll", How: source.MergeSet}},
		Row: func(i int, into []any) {
			k := keys[changed[i]]
			into[0], into[1], into[2], into[3] =
				k.link, string(k.unit), k.bucket, sketches[changed[i]].append(nil)
		},
	})
}

// addTimeRows writes rows of click_time.
func (w *sumWriter) addTimeRows(ctx context.Context, keys []timeKey, sketches []*sketch) error {
	return w.tx.Bulk(ctx, &source.Bulk{
		Table: "click_time", Columns: []string{"link_id", "unit", "bucket", "clicks", "bots",
			"visitors"},
		Key: []string{"link_id", "unit", "bucket"}, Rows: len(keys),
		Merge: []source.Merge{{Column: "clicks", How: source.MergeAdd},
			{Column: "bots", How: source.MergeAdd}, {Column: "visitors", How: source.MergeSet}},
		Row: func(i int, into []any) {
			k := keys[i]
			t := w.sums.times[k]
			into[0], into[1], into[2], into[3], into[4], into[5] =
				k.link, string(k.unit), k.bucket, t.clicks, t.bots, int64(sketches[i].estimate())
		},
	})
}

// loadSketches returns the sketches of keys, and reads those that are not
// remembered: all of them when other nodes write them too.
func (w *sumWriter) loadSketches(ctx context.Context, keys []timeKey) ([]*sketch, error) {
	type bucket struct {
		unit byte
		n    int64
	}
	missing := make(map[bucket][]any)
	sketches := make([]*sketch, len(keys))
	for i, k := range keys {
		var ok bool
		if sketches[i], ok = w.d.sketches.get(k); !ok || !w.d.alone {
			at := bucket{k.unit, k.bucket}
			missing[at] = append(missing[at], k.link)
		}
		if !ok {
			sketches[i] = &sketch{}
		}
	}
	tail := ""
	if !w.d.alone && w.d.store.Dialect() != source.DialectSQLite {
		tail = " ORDER BY link_id FOR UPDATE"
	}
	for at, links := range missing {
		for part := range slices.Chunk(links, idsAtOnce) {
			args := append([]any{string(at.unit), at.n}, part...)
			sql := "SELECT link_id, hll FROM click_sketches WHERE unit = ? AND bucket = ?" +
				" AND link_id IN (" + marks(len(part)) + ")" + tail
			err := w.tx.Query(ctx, sql, args, func(r source.StoreRow) error {
				k := timeKey{r.Int(0), at.unit, at.n}
				if i, ok := slices.BinarySearchFunc(keys, k, timeKey.compare); ok {
					w.d.learnSketch(sketches[i], k, r.Bytes(1))
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for i, k := range keys {
		w.d.sketches.put(k, sketches[i])
	}
	return sketches, nil
}

// learnSketch adds to a sketch what the database has.
func (d *Drainer) learnSketch(mine *sketch, k timeKey, hll []byte) {
	s, err := parseSketch(hll)
	if err != nil {
		d.log.Warn("a sketch of visitors is broken and begins anew", "link", k.link,
			"unit", string(k.unit), "bucket", k.bucket)
		return
	}
	if mine.hashes == nil && mine.registers == nil {
		*mine = *s
		return
	}
	mine.merge(s)
}
