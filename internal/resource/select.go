package resource

import (
	"context"
	"fmt"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// A Listing is the answer to a query.
type Listing struct {
	Answers []Answer
	Next    string // the query of the page that follows; "" when there is none
	Total   int64  // of all rows that the filters find; -1: nobody asked
}

// Query reads the query of a list.
func (r *Resource) Query(raw string, o query.Options) (*query.Query, error) {
	f := r.form.Load()
	switch {
	case f.plan == nil:
		return nil, f.src.notReady()
	case f.table == nil:
		return nil, &source.Error{Class: source.Invalid, Message: r.name + " has no lists",
			Hint: "ask for documents by their keys"}
	}
	return query.Parse(raw, f.table, o)
}

// Select returns the documents that q, which Query has read, asks for.
func (r *Resource) Select(
	ctx context.Context, q *query.Query, of row.Format,
) (*Listing, error) {
	for begun := monotonic(); ; {
		f := r.form.Load()
		listing, err := f.selected(ctx, q, of)
		if !r.outdated(f, err, begun) {
			return listing, err
		}
	}
}

// selected is Select of one form.
func (f *form) selected(
	ctx context.Context, q *query.Query, of row.Format,
) (_ *Listing, err error) {
	switch {
	case f.table == nil:
		return nil, f.src.notReady()
	case q.Table != f.table: // the table has changed since q was read
		if q, err = query.Parse(q.String(), f.table, query.Options{Count: q.Count}); err != nil {
			return nil, err
		}
	}
	f.src.awake(ctx)
	at := f.src.asOf(monotonic())
	found, err := f.readQuery(ctx, q)
	if err != nil {
		return nil, err
	}
	listing := &Listing{Total: found.Total, Answers: make([]Answer, len(found.Rows))}
	for i := range found.Rows {
		l := &found.Rows[i]
		listing.Answers[i] = Answer{
			Doc: f.encodeAs(found.Shape, l.Key, l.Values, of, row.Stamp{}), Key: l.Key,
			Origin: Bypassed, Token: at.Token, Lag: at.Lag,
		}
	}
	if found.More && q.Limit > 0 {
		listing.Next = q.Next(found.Last)
	}
	return listing, nil
}

// readQuery runs a query.
func (f *form) readQuery(ctx context.Context, q *query.Query) (*source.Selected, error) {
	ctx, cancel := context.WithTimeout(ctx, f.src.timeout)
	defer cancel()
	release, err := f.place(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	begin := monotonic()
	found, err := f.plan.Select(ctx, q)
	f.src.observe("list", monotonic()-begin, err)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.r.name, err)
	}
	return found, nil
}
