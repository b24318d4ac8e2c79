package links

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// MaxPage is the most links of one page.
const MaxPage = 1000

// A Query says which links are listed.
type Query struct {
	Search string // in code, target and title, whatever the case
	Tag    string
	Owner  string
	Order  Order
	After  string // the Next of the page before; "": from the beginning
	Limit  int    // 0: 50

	window int // links that a Search looks through; 0: searchWindow
}

// searchWindow is how many links a Search looks through for one page. No index
// finds a text within a text, and a page must not take seconds.
const searchWindow = 7_500

// A Page is a part of a list.
type Page struct {
	Links []Link
	Next  string // of the page behind it; "" when this is the last
}

// List returns a page of links. What it costs hangs on the size of the page and
// not on where it is. A Search looks through so many links and no more: a page of
// it may have fewer than it could, or none, and yet a Next.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	if q.Limit <= 0 {
		q.Limit = 50
	}
	q.Limit = min(q.Limit, MaxPage)
	if q.Order == 0 {
		q.Order = ByCreated
	}
	end, err := s.windowEnd(ctx, &q)
	if err != nil {
		return Page{}, err
	}
	sql, args, err := q.sql(s.DB.Dialect(), end)
	if err != nil {
		return Page{}, err
	}
	var p Page
	err = whole(s.Tail, func() error {
		p = Page{}
		return s.page(ctx, &q, sql, args, &p)
	})
	if err != nil {
		return Page{}, fmt.Errorf("list links: %w", err)
	}
	if p.Next == "" && end != nil {
		p.Next = end.String()
	}
	return p, s.addTags(ctx, s.DB, p.Links)
}

// windowEnd returns the last link that a search looks at, nil when that is the
// last of all.
func (s *Store) windowEnd(ctx context.Context, q *Query) (*cursor, error) {
	if q.Search == "" {
		return nil, nil
	}
	if q.window == 0 {
		q.window = searchWindow
	}
	_, order, where, args, err := q.place()
	if err != nil {
		return nil, err
	}
	sql := map[Order]string{
		ByCreated: "SELECT l.created_at, l.id FROM links l",
		ByClicks:  "SELECT s.clicks, s.link_id FROM link_stats s",
		ByCode:    "SELECT 0, 0, l.code FROM links l",
	}[q.Order]
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	var end *cursor
	err = s.DB.Query(ctx, sql+" ORDER BY "+order+" LIMIT 1 OFFSET ?", append(args, q.window-1),
		func(r source.StoreRow) error {
			end = &cursor{order: q.Order, value: r.Int(0), id: r.Int(1)}
			if q.Order == ByCode {
				end.code = r.Text(2)
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("search links: %w", err)
	}
	return end, nil
}

// page runs the statement of a page.
func (s *Store) page(ctx context.Context, q *Query, sql string, args []any, p *Page) error {
	var last cursor
	return s.DB.Query(ctx, sql, args, func(r source.StoreRow) error {
		if len(p.Links) == q.Limit {
			p.Next = last.String()
			return nil
		}
		l := s.readLink(r)
		last = cursor{order: q.Order, code: l.Code, value: l.CreatedAt, id: l.ID}
		if q.Order == ByClicks {
			last.value = r.Int(16) // as stored: what is not drained yet moves nothing
		}
		p.Links = append(p.Links, l)
		return nil
	})
}

// sql returns the statement of a page and one link more. end is the last link
// that is looked at; nil: there is no bound.
func (q *Query) sql(d source.Dialect, end *cursor) (string, []any, error) {
	from, order, where, args, err := q.place()
	if err != nil {
		return "", nil, err
	}
	if end != nil {
		switch q.Order {
		case ByCode:
			where, args = append(where, "l.code <= ?"), append(args, end.code)
		case ByClicks:
			where = append(where, "s.clicks >= ? AND (s.clicks > ? OR s.link_id >= ?)")
			args = append(args, end.value, end.value, end.id)
		default:
			where = append(where, "l.created_at >= ? AND (l.created_at > ? OR l.id >= ?)")
			args = append(args, end.value, end.value, end.id)
		}
	}
	if q.Search != "" {
		has := "lower(%s) LIKE ? ESCAPE '!'"
		switch d {
		case source.DialectSQLite:
			has = "%s LIKE ? ESCAPE '!'" // whose LIKE does not mind the case
		case source.DialectMySQL:
			has = "lower(CONVERT(%s USING utf8mb4)) LIKE ? ESCAPE '!'" // some are of ASCII
		}
		where = append(where, fmt.Sprintf("("+has+" OR "+has+" OR "+has+")", "l.code", "l.url",
			"l.title"))
		like := "%" + likeEscaper.Replace(strings.ToLower(q.Search)) + "%"
		args = append(args, like, like, like)
	}
	if q.Tag != "" {
		where = append(where,
			"EXISTS (SELECT 1 FROM link_tags t WHERE t.tag = ? AND t.link_id = l.id)")
		args = append(args, q.Tag)
	}
	if q.Owner != "" {
		where, args = append(where, "l.owner = ?"), append(args, q.Owner)
	}
	sql := "SELECT " + linkColumns + from
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	return sql + " ORDER BY " + order + " LIMIT ?", append(args, q.Limit+1), nil
}

// likeEscaper makes the characters that LIKE knows mean themselves.
var likeEscaper = strings.NewReplacer("!", "!!", "%", "!%", "_", "!_")

// place returns what makes the order, and what lies behind the cursor.
func (q *Query) place() (from, order string, where []string, args []any, err error) {
	c := cursor{}
	if q.After != "" {
		if c, err = parseCursor(q.After, q.Order); err != nil {
			return "", "", nil, nil, err
		}
	}
	switch q.Order {
	case ByCode:
		if q.After != "" {
			where, args = []string{"l.code > ?"}, []any{c.code}
		}
		return fromLinks, "l.code", where, args, nil
	case ByClicks:
		// Every link has its row of counts, which are an index in this order.
		from = " FROM link_stats s JOIN links l ON l.id = s.link_id"
		if q.After != "" {
			where = []string{"s.clicks <= ? AND (s.clicks < ? OR s.link_id < ?)"}
			args = []any{c.value, c.value, c.id}
		}
		return from, "s.clicks DESC, s.link_id DESC", where, args, nil
	}
	if q.After != "" {
		where = []string{"l.created_at <= ? AND (l.created_at < ? OR l.id < ?)"}
		args = []any{c.value, c.value, c.id}
	}
	return fromLinks, "l.created_at DESC, l.id DESC", where, args, nil
}

// Each calls fn for every link that q finds, in its order, page by page: a link
// that is made or changed meanwhile may be missed or be given as it was.
func (s *Store) Each(ctx context.Context, q Query, fn func(*Link) error) error {
	q.Limit = MaxPage
	for {
		p, err := s.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range p.Links {
			if err := fn(&p.Links[i]); err != nil {
				return err
			}
		}
		if p.Next == "" {
			return nil
		}
		q.After = p.Next
	}
}

// counted is the number of links, counted now and then.
type counted struct {
	mu sync.Mutex // guards the others
	n  int64
	at time.Time
}

// countFor is how long a count is good for. Links that this program makes and
// deletes are added to it at once.
const countFor = time.Minute

// add adds to the number, once it is known.
func (c *counted) add(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

// Ping asks the database for nothing: it returns when it answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.DB.Query(ctx, "SELECT 1", nil, func(source.StoreRow) error { return nil })
}

// Count returns how many links there are. What other programs have made or
// deleted in the last minute may not be in it.
func (s *Store) Count(ctx context.Context) (int64, error) {
	c := &s.count
	now := s.Now()
	c.mu.Lock()
	n, fresh := c.n, !c.at.IsZero() && now.Sub(c.at) < countFor
	c.mu.Unlock()
	if fresh {
		return n, nil
	}
	err := s.DB.Query(ctx, "SELECT count(*) FROM links", nil, func(r source.StoreRow) error {
		n = r.Int(0)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count links: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.at = n, now
	return n, nil
}

// AtPath returns the code of the link that a path leads to, or would if it were
// switched on; "" when there is none.
func (s *Store) AtPath(ctx context.Context, path string) (string, error) {
	code, err := s.Rules.Code(strings.Trim(path, "/"))
	if err != nil {
		return "", nil
	}
	found := ""
	err = s.DB.Query(ctx, "SELECT code FROM links WHERE code = ?", []any{code},
		func(r source.StoreRow) error { found = r.Text(0); return nil })
	if err != nil {
		return "", fmt.Errorf("look for link %s: %w", code, err)
	}
	return found, nil
}

// Owned returns the links of an owner by their numbers, from the offset-th on:
// for clients that count pages, as those of shortcut do.
func (s *Store) Owned(ctx context.Context, owner string, offset, limit int) ([]Link, error) {
	var out []Link
	err := s.DB.Query(ctx, "SELECT "+linkColumns+fromLinks+" WHERE l.owner = ? ORDER BY l.id"+
		" LIMIT ? OFFSET ?", []any{owner, limit, offset}, func(r source.StoreRow) error {
		out = append(out, s.readLink(r))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	return out, s.addTags(ctx, s.DB, out)
}
