package clicks

import (
	"bytes"
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/links/clicklog"
	"github.com/hotrow/hotrow/internal/links/schema"
	"github.com/hotrow/hotrow/internal/source"
)

// dropKnown takes the clicks out of the batch that the database has: a cursor was
// lost or set back. They have been counted. A row with the same seq and another
// content is another log's, which must not happen: it is logged and counted, and
// the row that is there stays.
func (b *batch) dropKnown(ctx context.Context, tx source.StoreTx) error {
	b.sort() // the last attempt may have dropped some
	b.twice, b.conflicts = make(map[clicklog.Seq]bool), make(map[clicklog.Seq]bool)
	for month, list := range b.months {
		known := make(map[int64]int, len(list))
		seqs := make([]any, len(list))
		for i, c := range list {
			known[int64(c.seq)], seqs[i] = i, int64(c.seq)
		}
		drop := make(map[int]bool)
		for part := range slices.Chunk(seqs, idsAtOnce) {
			err := tx.Query(ctx, "SELECT seq, link_id, at, kind, ip FROM "+schema.MonthTable(month)+
				" WHERE seq IN ("+marks(len(part))+")", part, func(r source.StoreRow) error {
				i := known[r.Int(0)]
				drop[i] = true
				c := list[i]
				b.twice[c.seq] = true
				if !c.same(r) {
					b.conflicts[c.seq] = true
					b.d.log.Error("a click of another log has this seq: two processes use one "+
						"node number, or a log was restored", "seq", r.Int(0), "link", c.link,
						"link_there", r.Int(1), "at", c.at, "at_there", r.Int(2))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		kept := list[:0]
		for i, c := range list {
			if !drop[i] {
				kept = append(kept, c)
			}
		}
		b.months[month] = kept
	}
	return nil
}

// same reports whether a row (seq, link_id, at, kind, ip) is the click's.
func (c *click) same(r source.StoreRow) bool {
	return r.Int(1) == c.link && r.Int(2) == c.at && r.Int(3) == int64(c.kind) &&
		(bytes.Equal(r.Bytes(4), c.ip) || c.ip == nil || r.Null(4))
}
