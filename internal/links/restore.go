package links

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/links/clicks"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// Restore brings the link back that had a code when it was deleted last: as it was,
// with its number, and so with its clicks and its history. The error is ErrNotFound
// when none was deleted, and ErrTaken when there is one again.
func (s *Store) Restore(ctx context.Context, code, who string) (Link, error) {
	own, err := s.Rules.Code(code)
	if err != nil {
		return Link{}, ErrNotFound
	}
	var l Link
	pos, err := s.DB.Tx(ctx, func(tx source.StoreTx) error {
		var err error
		if l, err = s.deleted(ctx, tx, own); err != nil {
			return err
		}
		ok, err := s.insert(ctx, tx, &l, 0)
		if err == nil && !ok {
			err = ErrTaken
		}
		if err == nil {
			err = restoreCounts(ctx, tx, &l)
		}
		if err == nil {
			err = insertTags(ctx, tx, &l)
		}
		if err == nil {
			err = s.note(ctx, tx, nil, &l, who)
		}
		return err
	})
	if err != nil {
		return Link{}, changeError(own, err)
	}
	s.count.add(1)
	s.index.add(&l)
	s.Changed(ctx, pos, []string{l.Code})
	return l, nil
}

// deleted reads from the history the link that had a code when it was deleted.
func (s *Store) deleted(ctx context.Context, tx source.StoreTx, code string) (Link, error) {
	id, was := int64(0), ""
	err := tx.Query(ctx, "SELECT link_id, was FROM link_edits WHERE code = ? AND became IS NULL"+
		" ORDER BY id DESC LIMIT 1", []any{code},
		func(r source.StoreRow) error { id, was = r.Int(0), r.Text(1); return nil })
	if err != nil {
		return Link{}, err
	}
	if id == 0 {
		return Link{}, ErrNotFound
	}
	d, err := ParseDraft([]byte(was), row.FormatJSON)
	if err != nil {
		return Link{}, fmt.Errorf("its history cannot be read: %w", err)
	}
	now := s.Now().UnixMilli()
	owner, _ := d.get("owner")
	l, err := s.prepare(d, now, Making{Who: owner.Text(), Restore: true})
	if err != nil {
		return Link{}, err // the rules are others now
	}
	if at, ok := d.get("last_click_at"); ok {
		if l.LastClickAt, err = millis("last_click_at", at); err != nil {
			return Link{}, err
		}
	}
	l.ID = id
	return l, tx.Query(ctx, "SELECT count(*) FROM link_edits WHERE link_id = ?", []any{id},
		func(r source.StoreRow) error { l.Version = r.Int(0) + 1; return nil })
}

// restoreCounts adds the counts of a link up again, from those of its days.
func restoreCounts(ctx context.Context, tx source.StoreTx, l *Link) error {
	l.Clicks, l.Bots = 0, 0
	err := tx.Query(ctx, "SELECT clicks, bots FROM click_time WHERE link_id = ? AND unit = ?",
		[]any{l.ID, clicks.UnitDay}, func(r source.StoreRow) error {
			l.Clicks, l.Bots = l.Clicks+r.Int(0), l.Bots+r.Int(1)
			return nil
		})
	if err != nil {
		return err
	}
	// Clicks that came to the database after the link was deleted have made a row.
	if _, err := tx.Exec(ctx, "DELETE FROM link_stats WHERE link_id = ?", l.ID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO link_stats (link_id, clicks, bots, last_at)"+
		" VALUES (?, ?, ?, ?)", l.ID, l.Clicks, l.Bots, orNull(l.LastClickAt))
	return err
}
