package links

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Condition is what a change demands of the link as it is (RFC 9110 13).
type Condition struct {
	Match     []string // entity tags of which it must have one; "*": there must be a link
	NoneMatch []string // of which it must have none; "*": there must be no link
}

// ETag returns the entity tag of the link: its version.
func (l *Link) ETag() string { return `"` + strconv.FormatInt(l.Version, 10) + `"` }

// check compares the link, nil for none, with the condition.
func (c Condition) check(l *Link) error {
	has := func(tags []string) bool {
		return l != nil && (slices.Contains(tags, "*") || slices.Contains(tags, l.ETag()))
	}
	if c.Match != nil && !has(c.Match) || has(c.NoneMatch) {
		return ErrPrecondition
	}
	return nil
}

// Merge changes the members of a link that d has (RFC 7396). A code among them
// renames it: the old one leads nowhere from then on.
func (s *Store) Merge(
	ctx context.Context, code string, d *Draft, c Condition, who string,
) (Link, error) {
	return s.change(ctx, code, c, who, func(l *Link, now int64) error {
		if err := s.Rules.Fill(l, d, now); err != nil {
			return err
		}
		if d.Code == "" {
			return nil
		}
		var err error
		l.Code, err = s.Rules.Code(d.Code)
		return err
	})
}

// Replace makes a link what d says, with defaults for what it leaves out, or
// makes it. d may name the code that is asked for and no other one.
func (s *Store) Replace(
	ctx context.Context, code string, d *Draft, c Condition, who string,
) (l Link, made bool, err error) {
	own, err := s.Rules.Code(code)
	if err != nil {
		return Link{}, false, err
	}
	if d.Code != "" {
		if named, err := s.Rules.Code(d.Code); err != nil || named != own {
			return Link{}, false, refuse("code", "it is not the code of the path")
		}
	}
	for range tries {
		l, err = s.change(ctx, own, c, who, func(l *Link, now int64) error {
			fresh := s.Rules.blank()
			fresh.ID, fresh.Code, fresh.Owner = l.ID, l.Code, l.Owner
			fresh.CreatedAt, fresh.UpdatedAt, fresh.Version = l.CreatedAt, l.UpdatedAt, l.Version
			fresh.Clicks, fresh.Bots, fresh.LastClickAt = l.Clicks, l.Bots, l.LastClickAt
			kept := l.ExpiresAt
			*l = fresh
			l.ExpiresAt = kept // so that Fill knows what is new
			if _, said := d.get("expires_at"); !said {
				l.ExpiresAt = 0
			}
			return s.Rules.Fill(l, d, now)
		})
		if !errors.Is(err, ErrNotFound) {
			return l, false, err
		}
		if err := c.check(nil); err != nil {
			return Link{}, false, err
		}
		named := *d
		named.Code, named.Reuse = own, false
		l, made, err = s.Create(ctx, &named, who)
		if !errors.Is(err, ErrTaken) { // somebody else has made it meanwhile
			return l, made, err
		}
	}
	return Link{}, false, err
}

// change locks a link, has set change it, and stores what is different. A
// change of nothing is no change: the version stays.
func (s *Store) change(
	ctx context.Context, code string, c Condition, who string, set func(*Link, int64) error,
) (Link, error) {
	var after Link
	var codes []string
	pos, err := s.DB.Tx(ctx, func(tx source.StoreTx) error {
		codes = nil
		before, err := s.get(ctx, tx, code, s.forUpdate())
		if err != nil {
			return err
		}
		if err := c.check(&before); err != nil {
			return err
		}
		after = before
		after.Tags = slices.Clone(before.Tags)
		now := s.Now().UnixMilli()
		if err := set(&after, now); err != nil {
			return err
		}
		if after.sameWay(&before) && after.Code == before.Code && after.Title == before.Title &&
			slices.Equal(after.Tags, before.Tags) {
			return nil
		}
		after.UpdatedAt, after.Version = max(now, before.UpdatedAt), before.Version+1
		if err := s.update(ctx, tx, &before, &after, who); err != nil {
			return err
		}
		codes = []string{before.Code}
		if after.Code != before.Code {
			codes = append(codes, after.Code)
		}
		return nil
	})
	if err != nil {
		return Link{}, changeError(code, err)
	}
	if codes != nil {
		s.index.add(&after)
		s.Changed(ctx, pos, codes)
	}
	return after, nil
}

// changeError says what was being done, unless err is an answer by itself.
func changeError(code string, err error) error {
	var field *FieldError
	if errors.As(err, &field) || errors.Is(err, ErrNotFound) || errors.Is(err, ErrTaken) ||
		errors.Is(err, ErrPrecondition) {
		return err
	}
	return fmt.Errorf("change link %s: %w", code, err)
}

// update stores what a link has become.
func (s *Store) update(
	ctx context.Context, tx source.StoreTx, before, after *Link, who string,
) error {
	_, err := tx.Exec(ctx, `UPDATE links SET code = ?, url = ?, url_hash = ?, status = ?,
		enabled = ?, pass_query = ?, pass_path = ?, starts_at = ?, expires_at = ?, max_clicks = ?,
		expired_url = ?, title = ?, updated_at = ?, version = ? WHERE id = ?`,
		after.Code, after.URL, hashOf(after.URL), after.Status, after.Enabled, after.PassQuery,
		after.PassPath, orNull(after.StartsAt), orNull(after.ExpiresAt), orNull(after.MaxClicks),
		orNull(after.ExpiredURL), orNull(after.Title), after.UpdatedAt, after.Version, after.ID)
	if source.ClassOf(err) == source.Conflict {
		return ErrTaken
	}
	if err != nil {
		return err
	}
	if !slices.Equal(before.Tags, after.Tags) {
		if _, err := tx.Exec(ctx, "DELETE FROM link_tags WHERE link_id = ?", after.ID); err != nil {
			return err
		}
		if err := insertTags(ctx, tx, after); err != nil {
			return err
		}
	}
	return s.note(ctx, tx, before, after, who)
}

// Delete deletes a link. Its clicks stay where they are counted for all links.
func (s *Store) Delete(ctx context.Context, code string, c Condition, who string) error {
	var gone string
	pos, err := s.DB.Tx(ctx, func(tx source.StoreTx) error {
		before, err := s.get(ctx, tx, code, s.forUpdate())
		if err != nil {
			return err
		}
		if err := c.check(&before); err != nil {
			return err
		}
		gone = before.Code
		for _, sql := range []string{
			"DELETE FROM links WHERE id = ?", "DELETE FROM link_tags WHERE link_id = ?",
			"DELETE FROM link_stats WHERE link_id = ?",
		} {
			if _, err := tx.Exec(ctx, sql, before.ID); err != nil {
				return err
			}
		}
		return s.note(ctx, tx, &before, nil, who)
	})
	if err != nil {
		return changeError(code, err)
	}
	s.count.add(-1)
	s.Changed(ctx, pos, []string{gone})
	return nil
}

// An Edit is one change of a link, with the link before and after it as JSON;
// "" where there was none.
type Edit struct {
	At     int64
	Who    string
	Before string
	After  string
}

// note adds a change to the history. Where the link itself cannot be told from
// what it was, as its clicks, it does not matter.
func (s *Store) note(
	ctx context.Context, tx source.StoreTx, before, after *Link, who string,
) error {
	state := func(l *Link) any {
		if l == nil {
			return nil
		}
		return string(l.Append(nil, row.FormatJSON, s.Rules, s.Now().UnixMilli()))
	}
	l := after
	if l == nil {
		l = before
	}
	_, err := tx.Exec(ctx, "INSERT INTO link_edits (link_id, code, at, who, was, became)"+
		" VALUES (?, ?, ?, ?, ?, ?)", l.ID, l.Code, s.Now().UnixMilli(), orNull(who),
		state(before), state(after))
	return err
}

// Edits returns the newest changes of a link, and of those before it with its
// code when it has been deleted.
func (s *Store) Edits(ctx context.Context, code string, limit int) ([]Edit, error) {
	code, err := s.Rules.Code(code)
	if err != nil {
		return nil, ErrNotFound
	}
	where, arg := "code = ?", any(code)
	l, err := s.Get(ctx, code)
	if err == nil {
		where, arg = "link_id = ?", l.ID
	} else if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	var out []Edit
	err = s.DB.Query(ctx, "SELECT at, who, was, became FROM link_edits WHERE "+where+
		" ORDER BY id DESC LIMIT ?", []any{arg, limit}, func(r source.StoreRow) error {
		out = append(out, Edit{r.Int(0), r.Text(1), r.Text(2), r.Text(3)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", code, err)
	}
	if len(out) == 0 {
		return nil, ErrNotFound
	}
	return out, nil
}
