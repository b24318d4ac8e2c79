package kv

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/workers"
)

// A Query is what keys of one name ask for: NAME:VALUE is the list of a resource that is
// found with VALUE between Before and After, which are text of a URL.
type Query struct {
	Resource, Before, After string
}

// queryOf returns the query that a key is of, and its value, which aliases the key; nil for
// none.
func (o *Options) queryOf(key []byte) (*Query, string) {
	// Fast path: there are no queries.
	if len(o.Queries) == 0 {
		return nil, ""
	}
	name, value, ok := o.cut(row.Alias(key))
	if !ok {
		return nil, ""
	}
	return o.Queries[name], value
}

// ofList marks a question of this package: lists that HTTP asks for have other words.
const ofList = "kv\n"

// spell returns what q asks for with a value, behind ofList. It is good until the next
// call.
func (s *Scope) spell(q *Query, value string) string {
	s.text = q.appendTo(append(s.text[:0], ofList...), value)
	return row.Alias(s.text)
}

// appendTo appends what q asks for with a value.
func (q *Query) appendTo(dst []byte, value string) []byte {
	dst = query.AppendEscaped(append(dst, q.Before...), value)
	return append(dst, q.After...)
}

// listAsk is the question of a query that was read from raw, which begins with ofList.
func listAsk(want *query.Query, raw string) *resource.ListAsk {
	return &resource.ListAsk{Query: want, Variant: "kv", Raw: raw, Alone: true}
}

// getList is begin of a key of a query.
func (s *Scope) getList(r *Reader, q *Query, value string, f *Found) whereabouts {
	res := s.resource(q.Resource)
	*f = Found{Res: res, List: true, Uncacheable: true}
	if res == nil {
		if s.Live.starting() {
			f.Err = ErrStarting
		}
		return atHand
	}
	if r.As != AsFields {
		f.format = r.As.Document(res.document)
	}
	if res.rule != "public" && !r.Who.Passes(s.Live, s.Issued, res.rule) {
		f.Err = ErrForbidden
		return atHand
	}
	doc, at := res.LookupList(s.spell(q, value), f.format, &s.Snapshot)
	if doc == nil || !r.Who.takes(res, resource.Hit, at) {
		return inDatabase
	}
	if resource.ListOf(doc).Rows > 0 {
		f.Doc = doc
	}
	return atHand
}

// loadLists reads the lists among misses of a resource, and returns the others. Lists are
// read side by side, as many as are one answer's at most.
func (s *Store) loadLists(
	ctx context.Context, res *Served, list []Miss, read *atomic.Int64,
) (rows []Miss) {
	var group errgroup.Group
	group.SetLimit(front.AnswerBytes / front.ListBytes)
	for i := range list {
		m := &list[i]
		if m.list == "" {
			rows = append(rows, *m)
			continue
		}
		group.Go(func() error {
			if read.Load() > front.AnswerBytes {
				m.To.Err = ErrAnswer
				return nil
			}
			began := time.Now()
			defer func() {
				if err := workers.Caught(s.Live().Log, "list "+res.name, recover()); err != nil {
					m.To.Err = err
				}
				s.observe(res.name, CodeOf(m.To.Err), time.Since(began))
			}()
			m.To.Err = s.loadList(ctx, res, m)
			if d := m.To.Doc; d != nil {
				read.Add(int64(len(d.Body())))
			}
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	return rows
}

// loadList reads one list.
func (s *Store) loadList(ctx context.Context, res *Served, m *Miss) error {
	f := m.To
	*f = Found{Res: res, List: true, Uncacheable: true, format: m.format}
	want, err := res.Query(m.list[len(ofList):], query.Options{})
	if err != nil {
		return err
	}
	ask := listAsk(want, m.list)
	ask.Pack = pack
	got, err := res.SelectList(ctx, ask, m.options())
	if err != nil {
		return err
	}
	if f.Stale = got.Origin == resource.HitStale; got.Rows > 0 {
		f.Doc = got.Doc
	}
	return nil
}

// errLarge is the error of a list that is larger than an answer may be.
var errLarge = &source.Error{Class: source.TooLarge, Message: "the rows together are too large",
	Hint: "limit= in the query takes fewer"}

// pack makes an array of documents.
func pack(p *resource.Page, of row.Format) (resource.Packed, error) {
	size := row.ListFrame(of, len(p.Docs))
	for _, d := range p.Docs {
		if size += len(d.Body()) + 1; size > front.ListBytes {
			return resource.Packed{}, errLarge
		}
	}
	body := row.AppendList(make([]byte, 0, size), of, p.Docs)
	return resource.Packed{Body: body, Rows: len(p.Docs)}, nil
}
