package clicks

import (
	"context"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/hotrow/hotrow/internal/source"
)

// A dimDay names the values of one link and day.
type dimDay struct{ link, day int64 }

// A valueSet is which values a link and day has rows for.
type valueSet struct {
	seen  map[uint64]struct{} // hashes of dimension and value
	count [dims]uint16
}

// add adds a value.
func (v *valueSet) add(d Dim, value string) {
	h := valueHash(d, value)
	if _, ok := v.seen[h]; !ok {
		v.seen[h] = struct{}{}
		v.count[d]++
	}
}

// capped returns value, or DimOther when its dimension is full without it.
func (v *valueSet) capped(d Dim, value string) string {
	most := maxValues
	if d == DimPath {
		most = maxOrphans
	}
	if _, ok := v.seen[valueHash(d, value)]; ok {
		return value
	}
	if int(v.count[d]) >= most {
		return DimOther
	}
	v.add(d, value)
	return value
}

// valueHash is a value's in a valueSet.
func valueHash(d Dim, value string) uint64 { return xxhash.Sum64String(value) ^ uint64(d)<<56 }

// capValues replaces values beyond the cap of their link, day and dimension by
// DimOther, and returns them all. What the database has is read once.
func (w *sumWriter) capValues(ctx context.Context) (map[dimKey]int64, error) {
	missing := make(map[int64][]int64) // links by day
	asked := make(map[dimDay]bool)
	given := w.sums.allDims()
	for k := range given {
		at := dimDay{k.link, k.day}
		if asked[at] {
			continue
		}
		asked[at] = true
		if _, ok := w.d.values.get(at); !ok {
			missing[k.day] = append(missing[k.day], k.link)
		}
	}
	for day, links := range missing {
		if err := w.loadValues(ctx, day, links); err != nil {
			return nil, err
		}
	}
	capped := make(map[dimKey]int64, len(given))
	for k, n := range given {
		set, ok := w.d.values.get(dimDay{k.link, k.day})
		if !ok { // forgotten meanwhile: more links than the cache has places
			set = &valueSet{seen: make(map[uint64]struct{})}
			w.d.values.put(dimDay{k.link, k.day}, set)
		}
		k.value = set.capped(k.dim, k.value)
		capped[k] += n
	}
	return capped, nil
}

// loadValues reads the values of links on a day.
func (w *sumWriter) loadValues(ctx context.Context, day int64, links []int64) error {
	for _, l := range links {
		w.d.values.put(dimDay{l, day}, &valueSet{seen: make(map[uint64]struct{})})
	}
	for part := range slices.Chunk(links, idsAtOnce) {
		args := make([]any, 0, len(part)+1)
		args = append(args, day)
		for _, l := range part {
			args = append(args, l)
		}
		err := w.tx.Query(ctx, "SELECT link_id, dim, value FROM click_dims WHERE day = ?"+
			" AND link_id IN ("+marks(len(part))+")", args, func(r source.StoreRow) error {
			if set, ok := w.d.values.get(dimDay{r.Int(0), day}); ok && r.Int(1) < int64(dims) {
				set.add(Dim(r.Int(1)), r.Text(2))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// idsAtOnce is how many values an IN (...) has.
const idsAtOnce = 500

// marks returns n question marks with commas between them.
func marks(n int) string { return "?" + strings.Repeat(",?", n-1) }

// addDims writes the sums of dimensions.
func (w *sumWriter) addDims(ctx context.Context) error {
	values, err := w.capValues(ctx)
	if err != nil || len(values) == 0 {
		return err
	}
	keys := make([]dimKey, 0, len(values))
	for k := range values {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, dimKey.compare)
	return w.tx.Bulk(ctx, &source.Bulk{
		Table: "click_dims", Columns: []string{"link_id", "day", "dim", "value", "clicks"},
		Key: []string{"link_id", "day", "dim", "value"}, Rows: len(keys),
		Merge: []source.Merge{{Column: "clicks", How: source.MergeAdd}},
		Row: func(i int, into []any) {
			k := &keys[i]
			into[0], into[1], into[2], into[3], into[4] =
				k.link, k.day, int64(k.dim), k.value, values[*k]
		},
	})
}

// compare orders keys as the table does.
func (k dimKey) compare(o dimKey) int {
	switch {
	case k.link != o.link:
		return order(k.link, o.link)
	case k.day != o.day:
		return order(k.day, o.day)
	case k.dim != o.dim:
		return int(k.dim) - int(o.dim)
	}
	return strings.Compare(k.value, o.value)
}
