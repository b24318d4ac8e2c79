package links

import (
	"context"

	"github.com/hotrow/hotrow/internal/source"
)

// sqlHad finds a number that a link has or had: all that was ever done to one is in
// the history.
const sqlHad = "SELECT id FROM links WHERE id = ?" +
	" UNION SELECT link_id FROM link_edits WHERE link_id = ?"

// Had reports whether a link has this number, or had it before it was deleted.
func (s *Store) Had(ctx context.Context, id int64) (had bool, err error) {
	err = s.DB.Query(ctx, sqlHad, []any{id, id},
		func(source.StoreRow) error { had = true; return nil })
	return had, err
}

// number adds the rows of a new link and of its counts, under a number under which no
// click was ever counted. It reports false when the code is taken.
func (s *Store) number(
	ctx context.Context, tx source.StoreTx, l *Link, length int, m Making,
) (bool, error) {
	if l.ID != 0 {
		err := tx.Query(ctx, sqlHad+" UNION SELECT link_id FROM link_stats WHERE link_id = ?",
			[]any{l.ID, l.ID, l.ID}, func(source.StoreRow) error { l.ID = 0; return nil })
		if err != nil {
			return false, err
		}
	}
	for passed := false; ; {
		if l.ID == 0 { // behind those that were kept in this transaction
			if err := s.sequence(ctx, tx, m); err != nil {
				return false, err
			}
		}
		ok, err := s.insert(ctx, tx, l, length)
		if err == nil && !ok && l.ID != 0 { // the number may be taken, and not the code
			l.ID = 0
			continue
		}
		if err != nil || !ok {
			return false, err
		}
		n, err := tx.Exec(ctx, s.DB.Dialect().InsertSQL(noCounts, 1), l.ID, 0, 0)
		if err == nil && n == 0 { // clicks of it are there
			passed, err = true, s.passOver(ctx, tx, l)
			if err == nil {
				continue
			}
		}
		if err == nil && passed {
			err = AfterNumbers(ctx, s.DB.Dialect(), tx, Table)
		}
		return err == nil, err
	}
}

// noCounts is the row of the counts of a new link.
var noCounts = &source.Bulk{Table: "link_stats", Key: []string{"link_id"},
	Columns: []string{"link_id", "clicks", "bots"}}

// passOver takes a link away from a number under which clicks were counted before there
// was such a link, as earlier versions let them be, and sets the next number that has
// none; 0: the next that the database makes.
func (s *Store) passOver(ctx context.Context, tx source.StoreTx, l *Link) error {
	if _, err := tx.Exec(ctx, "DELETE FROM links WHERE id = ?", l.ID); err != nil {
		return err
	}
	from := l.ID
	l.ID = 0
	return tx.Query(ctx, "SELECT s.link_id + 1 FROM link_stats s"+
		" LEFT JOIN link_stats t ON t.link_id = s.link_id + 1"+
		" WHERE s.link_id >= ? AND s.link_id < ? AND t.link_id IS NULL"+
		" ORDER BY s.link_id LIMIT 1", []any{from, MaxNumber},
		func(r source.StoreRow) error { l.ID = r.Int(0); return nil })
}
