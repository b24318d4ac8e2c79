package links

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

const (
	// scanWindow is how many links one statement looks at where no index finds those
	// that fit: so many that their number costs more than the statement.
	scanWindow = 7_500

	// scanTime is how long a page may take then, but for its last window.
	scanTime = 400 * time.Millisecond

	// sortedTag is the most links of a tag that are read and sorted for a page. Of a
	// tag with more, some are soon met in any order.
	sortedTag = 20_000
)

// A lister reads one page of a list.
type lister struct {
	s       *Store
	q       *Query
	limit   int   // links of the page
	without int64 // the number of the link that is left out; 0: none is
}

// A found is a link of a list and its place in the order.
type found struct {
	Link
	at cursor
}

// page returns the links behind at, nil for the first ones: from an index if one finds
// what fits, else one window after the other.
func (l *lister) page(ctx context.Context, at *cursor) (Page, error) {
	if l.q.Search != "" {
		if blocks, ok := l.s.index.find(l.q.Search); ok {
			return l.fromBlocks(ctx, at, blocks)
		}
	}
	if l.q.Tag != "" {
		few, err := l.fewTagged(ctx)
		if err != nil {
			return Page{}, err
		}
		if few {
			list, err := l.read(ctx, l.statement(alongTag, at, nil), l.limit+1)
			return l.cut(list), err
		}
	}
	return l.scan(ctx, at)
}

// cut makes a page of the first links of a list that is longer when there are more.
func (l *lister) cut(list []found) (p Page) {
	if len(list) > l.limit {
		list = list[:l.limit]
		p.Next = list[l.limit-1].at.String()
	}
	for i := range list {
		p.Links = append(p.Links, list[i].Link)
	}
	return p
}

// fewTagged reports whether the links of the tag are few enough to be sorted.
func (l *lister) fewTagged(ctx context.Context) (bool, error) {
	n := int64(0)
	err := l.s.DB.Query(ctx, "SELECT count(*) FROM (SELECT 1 AS one FROM link_tags"+
		" WHERE tag = ? LIMIT ?) t", []any{l.q.Tag, sortedTag + 1},
		func(r source.StoreRow) error { n = r.Int(0); return nil })
	return n <= sortedTag, err
}

// scan looks at the links behind at in their order, window by window, until the page
// is full, its time is over, or there are no more.
func (l *lister) scan(ctx context.Context, at *cursor) (Page, error) {
	window, most := l.q.window, l.q.time
	if window == 0 {
		window = scanWindow
	}
	if most == 0 {
		most = scanTime
	}
	along := alongOrder
	if at != nil && l.q.Order == ByClicks && at.value == noClicks {
		along = alongUncounted
	}
	var p Page
	for begin := time.Now(); ; {
		end, err := l.windowEnd(ctx, along, at, window)
		if err != nil {
			return Page{}, err
		}
		room := l.limit - len(p.Links)
		list, err := l.read(ctx, l.statement(along, at, end), room+1)
		if err != nil {
			return Page{}, err
		}
		if room == 0 && len(list) > 0 { // there are links behind those that are counted
			p.Next = at.String()
			return p, nil
		}
		part := (&lister{limit: room}).cut(list)
		if p.Links = append(p.Links, part.Links...); part.Next != "" {
			p.Next = part.Next
			return p, nil
		}
		switch {
		case end != nil:
			at, p.Looked = end, p.Looked+int64(window)
		case l.q.Order == ByClicks && along == alongOrder:
			along = alongUncounted
			at = &cursor{order: ByClicks, value: noClicks, id: math.MaxInt64}
			continue
		default:
			p.Looked = 0
			return p, nil
		}
		l.s.index.want(l.s)
		if len(p.Links) == l.limit || time.Since(begin) >= most {
			p.Next = end.String()
			return p, nil
		}
	}
}

// windowEnd returns the last link of the window behind at; nil when the window has all
// that there are. A list that leaves nothing out needs no windows.
func (l *lister) windowEnd(ctx context.Context, along along, at *cursor, window int) (
	*cursor, error,
) {
	if !l.q.filtered() {
		return nil, nil
	}
	sel := l.place(along, at, nil)
	what := map[Order]string{ByCreated: "l.created_at, l.id", ByCode: "0, 0, l.code",
		ByClicks: "s.clicks, s.link_id"}[l.q.Order]
	switch {
	case along == alongUncounted:
		what = fmt.Sprint(noClicks, ", l.id")
	case l.q.Order == ByClicks:
		sel.from = " FROM link_stats s"
	default:
		sel.from = " FROM links l"
	}
	var end *cursor
	err := l.s.DB.Query(ctx, "SELECT "+what+sel.String()+" LIMIT 1 OFFSET ?",
		append(sel.args, window-1), func(r source.StoreRow) error {
			end = &cursor{order: l.q.Order, value: r.Int(0), id: r.Int(1)}
			if l.q.Order == ByCode {
				end.code = r.Text(2)
			}
			return nil
		})
	return end, err
}

// read runs a statement and returns at most limit links.
func (l *lister) read(ctx context.Context, sel selection, limit int) ([]found, error) {
	var list []found
	sql, args := "SELECT "+linkColumns+sel.String()+" LIMIT ?", append(sel.args, limit)
	err := whole(l.s.Tail, func() error {
		list = list[:0]
		return l.s.DB.Query(ctx, sql, args, func(r source.StoreRow) error {
			f := found{Link: l.s.readLink(r)}
			f.at = cursor{order: l.q.Order, code: f.Code, value: f.CreatedAt, id: f.ID}
			if l.q.Order == ByClicks { // as stored: what is not drained yet moves nothing
				if f.at.value = r.Int(16); r.Null(16) {
					f.at.value = noClicks
				}
			}
			list = append(list, f)
			return nil
		})
	})
	return list, err
}

// blocksAtOnce is how many ranges of numbers one statement looks at.
const blocksAtOnce = 64

// fromBlocks returns the page behind at of the links that fit and are in one of these
// blocks.
func (l *lister) fromBlocks(ctx context.Context, at *cursor, blocks []int64) (Page, error) {
	var list []found
	for part := range slices.Chunk(blocks, blocksAtOnce) {
		sel := l.statement(alongBlocks, at, nil)
		var in []string
		for i := range blocksAtOnce { // always as many: it is one statement
			b := part[min(i, len(part)-1)]
			in = append(in, "l.id BETWEEN ? AND ?")
			sel.args = append(sel.args, b*blockSize, b*blockSize+blockSize-1)
		}
		sel.where = append(sel.where, "("+strings.Join(in, " OR ")+")")
		more, err := l.read(ctx, sel, l.limit+1)
		if err != nil {
			return Page{}, err
		}
		list = append(list, more...)
		slices.SortFunc(list, func(a, b found) int { return a.at.compare(b.at) })
		list = list[:min(len(list), l.limit+1)]
	}
	return l.cut(list), nil
}
