package kv

import (
	"context"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// An Explanation says what memory has of a key: of a row, or of a list.
type Explanation struct {
	Resource *resource.Resource
	Key      string     // as clients say it: of a row what all spellings have in common
	Format   row.Format // in which it is read
	Row      *resource.Explanation
	List     *resource.ListExplanation
}

// Explain says what memory has of what is read by a key in a form, and why it would not
// answer. It counts, keeps and loads nothing.
//
// Errors: ErrNoResource, ErrStarting, ErrForbidden, row.ErrKey, those of a query that cannot
// be read.
func (s *Store) Explain(
	ctx context.Context, who *Identity, key []byte, as ReadAs,
) (*Explanation, error) {
	live := s.Live()
	ctx, cancel := context.WithTimeout(ctx, live.ReadTimeout)
	defer cancel()
	if q, value := live.queryOf(key); q != nil {
		return s.explainList(ctx, who, q, key, value, as)
	}
	res, of := live.Find(key)
	if res == nil {
		s.stats.unknown.Add(1)
		return nil, live.NoResource(key)
	}
	e := &Explanation{Resource: res, Format: as.Document(live.Format)}
	spec := res.Spec()
	if _, column := spec.Preparer.(Column); column && as != AsFields {
		e.Format = row.FormatPrepared
	}
	if !who.Passes(live, live.IssuedNow(), spec.Access.Read) {
		return e, ErrForbidden
	}
	if isNumber(res.KeyType()) {
		of = row.Key(plainNumber(string(of)))
	}
	var err error
	if e.Row, err = res.Explain(ctx, of, e.Format); err == nil {
		e.Key = live.NameOf(res.Name(), e.Row.Key).Main
	}
	return e, err
}

// explainList is Explain of a key of a query.
func (s *Store) explainList(
	ctx context.Context, who *Identity, q *Query, key []byte, value string, as ReadAs,
) (*Explanation, error) {
	live := s.Live()
	res, ok := live.Resources.Lookup(q.Resource)
	switch {
	case !ok && live.starting():
		return nil, ErrStarting
	case !ok:
		return nil, ErrNoResource
	}
	e := &Explanation{Resource: res, Key: string(key), Format: as.Document(live.Format)}
	if !who.Passes(live, live.IssuedNow(), res.Access().Read) {
		return e, ErrForbidden
	}
	raw := string(q.appendTo([]byte(ofList), value))
	want, err := res.Query(raw[len(ofList):], query.Options{})
	if err == nil {
		e.List, err = res.ExplainList(ctx, listAsk(want, raw), e.Format)
	}
	return e, err
}
