package links

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hotrow/hotrow/internal/source"
)

// MaxPage is the most links of one page.
const MaxPage = 1000

// A Query says which links are listed.
type Query struct {
	Search string // in code, target and title, whatever the case; a link with this code is first
	Tag    string
	Owner  string
	Order  Order
	After  string // the Next of the page before; "": from the beginning
	Limit  int    // 0: 50

	window int           // links that one statement of a scan looks at; 0: scanWindow
	time   time.Duration // that a scan takes for a page; 0: scanTime, less than 0: one window
}

// filtered reports whether links may be left out.
func (q *Query) filtered() bool { return q.Search != "" || q.Tag != "" || q.Owner != "" }

// A Page is a part of a list.
type Page struct {
	Links []Link
	Next  string // of the page behind it; "" when this is the last

	// Looked is how many links were looked at for this page one by one: more of them
	// are behind Next. 0: an index has found those that fit.
	Looked int64
}

// List returns a page of links. What it costs depends on the size of the page and
// not on where it is. Where no index finds what fits, the links are looked at for a
// bounded time: such a page may have fewer links than it could, or none, and yet a Next.
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	if q.Limit <= 0 {
		q.Limit = 50
	}
	q.Limit = min(q.Limit, MaxPage)
	if q.Order == 0 {
		q.Order = ByCreated
	}
	var at *cursor
	if q.After != "" {
		c, err := parseCursor(q.After, q.Order)
		if err != nil {
			return Page{}, err
		}
		at = &c
	}
	p, err := s.list(ctx, &q, at)
	if err != nil {
		return Page{}, fmt.Errorf("list links: %w", err)
	}
	return p, s.addTags(ctx, s.DB, p.Links)
}

// list returns the page of q behind at, nil for the first one, without tags.
func (s *Store) list(ctx context.Context, q *Query, at *cursor) (Page, error) {
	exact, err := s.exact(ctx, q)
	if err != nil {
		return Page{}, err
	}
	limit, without := q.Limit, int64(0)
	if exact != nil {
		without = exact.ID // it is on the first page, whatever its place
	}
	first := exact != nil && at == nil
	if first {
		exact.Tags = nil // as those of the others, they are read at the end
		if limit--; limit == 0 {
			return Page{Links: []Link{*exact}, Next: beginning(q.Order).String()}, nil
		}
		if q.time == 0 {
			q.time = -1 // it is not kept waiting for others
		}
	}
	l := lister{s: s, q: q, limit: limit, without: without}
	p, err := l.page(ctx, at)
	if first {
		p.Links = append([]Link{*exact}, p.Links...)
	}
	return p, err
}

// exact returns the link whose code, or short URL, is what is searched for, if the
// other conditions of q let it in; nil: there is none.
func (s *Store) exact(ctx context.Context, q *Query) (*Link, error) {
	code := strings.TrimPrefix(strings.TrimSpace(q.Search), s.Rules.ShortURL(""))
	if code == "" {
		return nil, nil
	}
	l, err := s.Get(ctx, code)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil || q.Tag != "" && !slices.Contains(l.Tags, q.Tag) ||
		q.Owner != "" && q.Owner != l.Owner {
		return nil, err
	}
	return &l, nil
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
