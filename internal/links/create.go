package links

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// insertColumns are the columns of a new link.
var insertColumns = []string{"code", "url", "url_hash", "status", "enabled", "pass_query",
	"pass_path", "starts_at", "expires_at", "max_clicks", "expired_url", "title", "owner",
	"created_at", "updated_at", "version"}

// Create makes the link that d asks for, or finds one (Draft.Reuse). made is
// false then. who is noted as its owner.
func (s *Store) Create(ctx context.Context, d *Draft, who string) (l Link, made bool, err error) {
	results, err := s.CreateAll(ctx, []*Draft{d}, Making{Who: who})
	if err != nil {
		return Link{}, false, err
	}
	return results[0].Link, results[0].Made, results[0].Err
}

// A Result is what became of one draft.
type Result struct {
	Link Link
	Made bool  // it is new; else it was there already, and fits
	Err  error // a *FieldError, a *row.DecodeError or ErrTaken
}

// A Making says how links are made.
type Making struct {
	Who string // their owner

	// Restore keeps the time at which a link was created, and an expiry that has
	// passed since, as in a file that was exported.
	Restore bool

	// Keep keeps the number and the owner that a draft names, the number unless a
	// link has it or had it, or clicks are counted under it: for links that come from
	// another program with its users.
	Keep bool

	// Owners keeps the owner that a draft names.
	Owners bool

	// Dry makes nothing: it says what would have been made, and what refused.
	Dry bool
}

// maxOwner is how many characters the name of an owner has at most.
const maxOwner = 100

// errDry ends the transaction of a Making that is Dry.
var errDry = errors.New("nothing is to be stored")

// CreateAll is Create of several links in one transaction. A draft that is
// refused leaves the others alone; an error means that nothing was stored.
func (s *Store) CreateAll(ctx context.Context, drafts []*Draft, m Making) ([]Result, error) {
	now := s.Now().UnixMilli()
	results := make([]Result, len(drafts))
	some := false
	for i, d := range drafts {
		results[i].Link, results[i].Err = s.prepare(d, now, m)
		some = some || results[i].Err == nil
	}
	if !some {
		return results, nil
	}
	return s.createAll(ctx, drafts, results, m)
}

// Check returns the *FieldError for which the rules refuse a draft, the *row.DecodeError
// of a number that is not kept, or nil. Whether its code is taken it does not say.
func (s *Store) Check(d *Draft, m Making) error {
	_, err := s.prepare(d, s.Now().UnixMilli(), m)
	return err
}

// createAll stores what is prepared of drafts.
func (s *Store) createAll(
	ctx context.Context, drafts []*Draft, results []Result, m Making,
) ([]Result, error) {
	var codes []string
	prepared := append([]Result(nil), results...)
	pos, err := s.DB.Tx(ctx, func(tx source.StoreTx) error {
		codes = codes[:0]
		copy(results, prepared) // the transaction may run twice
		for i := range results {
			if results[i].Err != nil {
				continue
			}
			if err := s.createOne(ctx, tx, drafts[i], &results[i], m); err != nil {
				return err
			}
			if results[i].Made {
				codes = append(codes, results[i].Link.Code)
			}
		}
		if err := s.sequence(ctx, tx, m); err != nil {
			return err
		}
		if m.Dry {
			return errDry
		}
		return nil
	})
	if m.Dry && errors.Is(err, errDry) {
		return results, nil
	}
	if err != nil {
		return nil, fmt.Errorf("create links: %w", err)
	}
	for i := range results {
		if results[i].Made {
			s.index.add(&results[i].Link)
		}
	}
	if len(codes) > 0 {
		s.count.add(int64(len(codes)))
		s.Changed(ctx, pos, codes)
	}
	return results, nil
}

// sequence lets the numbers that PostgreSQL makes begin behind those that were kept;
// the other databases do so by themselves.
func (s *Store) sequence(ctx context.Context, tx source.StoreTx, m Making) error {
	if !m.Keep {
		return nil
	}
	return AfterNumbers(ctx, s.DB.Dialect(), tx, Table)
}

// AfterNumbers lets the numbers that a database makes for a table begin behind those
// that are there.
func AfterNumbers(
	ctx context.Context, d source.Dialect, tx source.StoreTx, table string,
) error {
	if d != source.DialectPostgres {
		return nil
	}
	return tx.Query(ctx, "SELECT setval(pg_get_serial_sequence('"+table+"', 'id'), greatest("+
		"nextval(pg_get_serial_sequence('"+table+"', 'id')), (SELECT max(id) FROM "+table+")))",
		nil, func(source.StoreRow) error { return nil })
}

// prepare returns the link that d asks for, without a code if it is to be made.
func (s *Store) prepare(d *Draft, now int64, m Making) (Link, error) {
	l := s.Rules.blank()
	l.CreatedAt, l.UpdatedAt, l.Version, l.Owner = now, now, 1, m.Who
	asOf := now
	if v, ok := d.get("created_at"); ok && m.Restore {
		at, err := millis("created_at", v)
		if err != nil {
			return l, err
		}
		if at > 0 && at < now {
			l.CreatedAt, asOf = at, at
		}
	}
	if v, ok := d.get("owner"); m.Owners && ok && v.Text() != "" {
		if l.Owner = v.Text(); !isLine(l.Owner, maxOwner) {
			return l, refuse("owner", "it must have 1 to %d characters, no control ones", maxOwner)
		}
	}
	if m.Keep {
		if v, ok := d.get("owner"); ok {
			l.Owner = v.Text()
		}
		if d.ID > MaxNumber {
			return l, &row.DecodeError{Offset: -1, Path: "id", Message: fmt.Sprintf(
				"%d is beyond %d, the largest number that is kept", d.ID, MaxNumber)}
		}
		l.ID = max(0, d.ID)
	}
	if err := s.Rules.Fill(&l, d, asOf); err != nil {
		return l, err
	}
	if d.Code == "" {
		return l, nil
	}
	var err error
	l.Code, err = s.Rules.Code(d.Code)
	return l, err
}

// createOne stores one link within a transaction.
func (s *Store) createOne(
	ctx context.Context, tx source.StoreTx, d *Draft, out *Result, m Making,
) error {
	if d.Reuse {
		found, ok, err := s.findSame(ctx, tx, &out.Link)
		if err != nil || ok {
			out.Link = found
			return err
		}
	}
	ok, err := s.number(ctx, tx, &out.Link, d.CodeLength, m)
	if err != nil {
		return err
	}
	if !ok {
		out.Err = ErrTaken
		return nil
	}
	out.Made = true
	if err = insertTags(ctx, tx, &out.Link); err == nil {
		err = s.note(ctx, tx, nil, &out.Link, m.Who)
	}
	return err
}

// insert adds the row, with its number if it has one. It reports false when that or
// the code is taken.
func (s *Store) insert(
	ctx context.Context, tx source.StoreTx, l *Link, length int,
) (ok bool, err error) {
	if length == 0 {
		length = s.Rules.o.CodeLength
	}
	generated := l.Code == ""
	columns := insertColumns
	if l.ID != 0 {
		columns = append(slices.Clone(columns), "id")
	}
	// Beyond these tries codes are as long as they get: 28^32 are not all taken.
	const most = tries * (2*maxGenerated + 1)
	for attempt := 0; attempt < most; attempt++ {
		if generated {
			l.Code = s.codes.try(length, attempt)
			if _, err := s.Rules.Code(l.Code); err != nil {
				continue // a word of ours
			}
		}
		values := []any{l.Code, l.URL, hashOf(l.URL), l.Status,
			l.Enabled, l.PassQuery, l.PassPath, orNull(l.StartsAt), orNull(l.ExpiresAt),
			orNull(l.MaxClicks), orNull(l.ExpiredURL), orNull(l.Title), orNull(l.Owner),
			l.CreatedAt, l.UpdatedAt, l.Version, l.ID}
		var id int64
		id, ok, err = tx.Insert(ctx, Table, columns, values[:len(columns)]...)
		if ok && err == nil && l.ID == 0 {
			l.ID = id
		}
		if err != nil || ok || !generated {
			return ok, err
		}
	}
	return false, nil
}

// insertTags adds the tags of a link that has none.
func insertTags(ctx context.Context, tx source.StoreTx, l *Link) error {
	if len(l.Tags) == 0 {
		return nil
	}
	return tx.Bulk(ctx, &source.Bulk{
		Table: "link_tags", Columns: []string{"tag", "link_id"}, Rows: len(l.Tags),
		Key: []string{"tag", "link_id"},
		Row: func(i int, into []any) { into[0], into[1] = l.Tags[i], l.ID },
	})
}

// findSame looks for the newest enabled link that leads to the same target in
// the same way, and has the code if one was asked for.
func (s *Store) findSame(ctx context.Context, q reader, want *Link) (Link, bool, error) {
	var found []Link
	err := q.Query(ctx, "SELECT "+linkColumns+fromLinks+
		" WHERE l.url_hash = ? AND l.enabled = 1 ORDER BY l.id DESC LIMIT 100",
		[]any{hashOf(want.URL)}, func(r source.StoreRow) error {
			l := s.readLink(r)
			if len(found) == 0 && l.sameWay(want) && (want.Code == "" || want.Code == l.Code) {
				found = append(found, l)
			}
			return nil
		})
	if err != nil || len(found) == 0 {
		return Link{}, false, err
	}
	return found[0], true, s.addTags(ctx, q, found)
}

// sameWay reports whether two links are followed in the same way. Titles, tags
// and owners do not matter to who follows them.
func (l *Link) sameWay(m *Link) bool {
	return l.URL == m.URL && l.Status == m.Status && l.Enabled == m.Enabled &&
		l.PassQuery == m.PassQuery && l.PassPath == m.PassPath && l.StartsAt == m.StartsAt &&
		l.ExpiresAt == m.ExpiresAt && l.MaxClicks == m.MaxClicks && l.ExpiredURL == m.ExpiredURL
}
