package postgres

import (
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/source/document"
)

// List reads up to limit documents whose key follows after, in the order that
// the database has for the key's columns.
func (p *plan) List(ctx context.Context, after *row.Key, limit int) ([]source.Loaded, error) {
	if err := p.NoList(); err != nil || limit <= 0 {
		return nil, err
	}
	if after != nil {
		canonical, err := p.ParseAfter(*after)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.Name, err)
		}
		after = &canonical
	}
	ctx, cancel := p.src.begin(ctx, 1)
	defer cancel()
	var list []source.Loaded
	for {
		page, err := p.page(ctx, after, limit)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", p.Name, err)
		}
		for _, l := range page {
			after = &l.Key
			if utf8.ValidString(string(l.Key)) { // else no path can name the row
				list = append(list, l)
			}
		}
		if len(page) < limit || len(list) >= limit {
			return list[:min(len(list), limit)], nil
		}
	}
}

// page reads the rows that follow after, those whose keys are no UTF-8 included.
func (p *plan) page(ctx context.Context, after *row.Key, limit int) ([]source.Loaded, error) {
	sql, args := p.first, []any{binaryResults}
	if after != nil {
		key, err := p.oneArgs(*after)
		if err != nil {
			return nil, err
		}
		sql, args = p.next, append(args, key...)
	}
	args = append(args, strconv.Itoa(limit))
	var list []source.Loaded
	err := p.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		list, err = p.list(ctx, conn, sql, args)
		return err
	})
	return list, err
}

// list is List on one connection.
func (p *plan) list(
	ctx context.Context, q querier, sql string, args []any,
) ([]source.Loaded, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []source.Loaded
	c := arrived(rows)
	for rows.Next() {
		var l source.Loaded
		c.data = rows.RawValues()
		if err := p.decode(c, &l); err != nil {
			return nil, err
		}
		l.Asked = l.Key
		list = append(list, l)
	}
	return list, rows.Err()
}

// Select reads the rows that a query asks for. Whole documents with others embedded in them
// come in one statement, and with the count in one snapshot.
func (p *plan) Select(ctx context.Context, q *query.Query) (*source.Selected, error) {
	var whole func(*document.Node) string
	embeds := len(q.Embeds()) > 0
	nested := len(p.Root.Kids) > 0 && q.Select == nil
	if nested || embeds {
		whole = reads
	}
	s, err := p.Selection(q, whole)
	if err != nil {
		return nil, fmt.Errorf("select %s: %w", p.Name, err)
	}
	read := func(ctx context.Context, on querier) (*source.Selected, error) {
		switch {
		case nested:
			return p.selectNested(ctx, on, q, s)
		case embeds:
			return p.selectRelated(ctx, on, q, s)
		}
		return p.SelectOn(ctx, engineConn{on}, s)
	}
	ctx, cancel := p.src.begin(ctx, 3)
	defer cancel()
	var out *source.Selected
	err = p.src.read(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		if q.Count == query.CountNone {
			out, err = read(ctx, conn)
			return err
		}
		return snapshot(ctx, conn, func(tx pgx.Tx) error {
			out, err = read(ctx, tx)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("select %s: %w", p.Name, err)
	}
	return out, nil
}

// selectRelated is Select of rows in which the query embeds others.
func (p *plan) selectRelated(
	ctx context.Context, on querier, q *query.Query, s *document.Selection,
) (*source.Selected, error) {
	if err := p.Admit(ctx, engineConn{on}, s); err != nil {
		return nil, err
	}
	s.Node.Afresh()
	rows, err := on.Query(ctx, s.SQL, append([]any{binaryResults}, s.Args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := &source.Selected{Shape: s.Node.Shape}
	root, c := newLevel(s.Node), arrived(rows)
	for rows.Next() {
		c.data = rows.RawValues()
		d := decoder{}
		values, key, err := d.row(root, c, 0)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", p.Name, err)
		}
		if len(out.Rows) == q.Limit {
			out.More, out.Beyond = true, key
			break
		}
		out.Rows = append(out.Rows, source.Loaded{Asked: key, Key: key, Values: values,
			Children: d.children})
		if len(out.Rows) == q.Limit {
			out.Last = s.Cells(&c)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if !out.More {
		out.Last = nil
	}
	out.Reached = s.Node.Reached()
	out.Total, err = p.Total(ctx, engineConn{on}, s)
	return out, err
}

// selectNested is Select of whole documents.
func (p *plan) selectNested(
	ctx context.Context, on querier, q *query.Query, s *document.Selection,
) (*source.Selected, error) {
	if err := p.Admit(ctx, engineConn{on}, s); err != nil {
		return nil, err
	}
	list, err := p.list(ctx, on, s.SQL, append([]any{binaryResults}, s.Args...))
	if err != nil {
		return nil, err
	}
	out := &source.Selected{Shape: p.Shape(), Rows: list}
	if len(list) > q.Limit {
		out.More, out.Beyond, out.Rows = true, list[q.Limit].Key, list[:q.Limit]
		if q.Limit > 0 {
			out.Last = s.Last(list[q.Limit-1].Values)
		}
	}
	out.Total, err = p.Total(ctx, engineConn{on}, s)
	return out, err
}
