package clicks

import (
	"context"
	"slices"

	"github.com/hotrow/hotrow/internal/source"
)

// nameAgents gives each agent of the batch its id in click_agents.
func (b *batch) nameAgents(ctx context.Context, tx source.StoreTx) error {
	fresh := make(map[[16]byte][]*agent)
	b.each(func(c *click) {
		if c.agent.id == 0 && !slices.Contains(fresh[c.agent.hash], c.agent) {
			fresh[c.agent.hash] = append(fresh[c.agent.hash], c.agent)
		}
	})
	list := firsts(fresh)
	return b.name(ctx, tx, &source.Bulk{
		Table: "click_agents", Rows: len(list), Key: []string{"hash"},
		Columns: []string{"hash", "ua", "browser", "os", "device", "bot"},
		Row: func(i int, into []any) {
			a := list[i]
			into[0], into[2], into[3], into[4] = a.hash[:], a.browser, a.os, a.device
			into[5] = a.bot
			if a.text != "" {
				into[1] = a.text
			}
		},
	}, func(hash [16]byte, id int64) {
		for _, a := range fresh[hash] {
			b.named = append(b.named, &a.word)
			a.id = id
		}
	})
}

// nameReferrers gives each referrer of the batch its id in click_refs.
func (b *batch) nameReferrers(ctx context.Context, tx source.StoreTx) error {
	fresh := make(map[[16]byte][]*referrer)
	b.each(func(c *click) {
		if c.ref != nil && c.ref.id == 0 && !slices.Contains(fresh[c.ref.hash], c.ref) {
			fresh[c.ref.hash] = append(fresh[c.ref.hash], c.ref)
		}
	})
	list := firsts(fresh)
	return b.name(ctx, tx, &source.Bulk{
		Table: "click_refs", Rows: len(list), Key: []string{"hash"},
		Columns: []string{"hash", "referrer", "host"},
		Row: func(i int, into []any) {
			into[0], into[1], into[2] = list[i].hash[:], list[i].text, list[i].host
		},
	}, func(hash [16]byte, id int64) {
		for _, r := range fresh[hash] {
			b.named = append(b.named, &r.word)
			r.id = id
		}
	})
}

// firsts returns one entry for each hash, in the order of the hashes.
func firsts[T any](m map[[16]byte][]T) []T {
	hashes := make([][16]byte, 0, len(m))
	for h := range m {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	list := make([]T, len(hashes))
	for i, h := range hashes {
		list[i] = m[h][0]
	}
	return list
}

// each calls fn for every click that is to be written.
func (b *batch) each(fn func(*click)) {
	for _, list := range b.months {
		for _, c := range list {
			fn(c)
		}
	}
}

// name adds entries to a dictionary table, those that it lacks, and reads their
// ids.
func (b *batch) name(
	ctx context.Context, tx source.StoreTx, bulk *source.Bulk, set func([16]byte, int64),
) error {
	if bulk.Rows == 0 {
		return nil
	}
	if err := tx.Bulk(ctx, bulk); err != nil {
		return err
	}
	hashes := make([]any, bulk.Rows)
	row := make([]any, len(bulk.Columns))
	for i := range hashes {
		bulk.Row(i, row)
		hashes[i] = row[0]
	}
	for part := range slices.Chunk(hashes, idsAtOnce) {
		err := tx.Query(ctx, "SELECT id, hash FROM "+bulk.Table+" WHERE hash IN ("+
			marks(len(part))+")", part,
			func(r source.StoreRow) error {
				if h := r.Bytes(1); len(h) == 16 {
					set([16]byte(h), r.Int(0))
				}
				return nil
			})
		if err != nil {
			return err
		}
	}
	return nil
}

// forget takes the ids back that a transaction gave which did not commit.
func (b *batch) forget() {
	for _, w := range b.named {
		w.id = 0
	}
	b.named = b.named[:0]
}
