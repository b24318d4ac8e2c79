package httpfront

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A listing is what answers with lists of a resource have in common.
type listing struct {
	base, name string // of the path
	most       int    // bytes of a body
}

func (c *call) listing() listing {
	return listing{base: c.o.BasePath, name: c.res.Name(), most: c.o.MaxList}
}

// link links to the page with this query (RFC 8288).
func (l *listing) link(query string) string {
	return "Link: <" + l.base + "/" + url.PathEscape(l.name) + "?" + query +
		`>; rel="next"` + "\r\n"
}

// A packer makes one document of a page, and the header lines that go with it. It holds
// nothing of the request: a load goes on when who asked has left.
type packer struct {
	listing
	listQuery
}

// page answers with the documents that follow l.after, as many as the limit and the size
// of an answer allow.
func (c *call) page(q *question, l *listQuery) (*answer, error) {
	limit := l.limit
	if limit == 0 {
		limit = min(front.ListRows, max(c.res.MaxLimit(), 1))
	}
	p := &packer{listing: c.listing(),
		listQuery: listQuery{limit: l.limit, format: strings.Clone(l.format)}}
	if l.after != nil {
		k := row.Key(strings.Clone(string(*l.after)))
		p.after = &k
	}
	return c.keptOrRead(q, limit, &resource.ListAsk{After: p.after, Limit: limit, Pack: p.pack,
		Variant: pageVariant(p.format, p.limit),
		Raw:     strings.Clone(c.m.spelling(c.r, q.media)), Alone: l.format == ""})
}

// pack makes the body of a page and its lines. Documents that would make it larger than
// an answer may be are left for the next page; one that is larger alone comes alone.
func (p *packer) pack(found *resource.Page, of row.Format) (resource.Packed, error) {
	docs, more, size := found.Docs, found.More, 0
	for i, doc := range docs {
		if size += len(doc.Body()) + 1; size > p.most && i > 0 {
			docs, more = docs[:i], true
			break
		}
	}
	body := row.AppendList(make([]byte, 0, size+16), of, docs)
	head := p.appendRange(nil, len(docs))
	if more && len(docs) > 0 {
		head = append(head, p.nextLink(found.Keys[len(docs)-1])...)
	}
	return resource.Packed{Body: body, Lines: string(head), Rows: len(docs)}, nil
}

// nextLink links to the page that follows last.
func (p *packer) nextLink(last row.Key) string {
	v := url.Values{"after": {string(last)}}
	if p.limit > 0 {
		v.Set("limit", strconv.Itoa(p.limit))
	}
	if p.format != "" {
		v.Set("format", p.format)
	}
	return p.link(v.Encode())
}

// keptOrRead answers with a list of up to limit documents, from memory or the database.
func (c *call) keptOrRead(q *question, limit int, ask *resource.ListAsk) (*answer, error) {
	if err := c.claim(limit); err != nil {
		return nil, err
	}
	c.join("", ask)
	o := q.options(c.r)
	got, err := c.res.SelectList(c.ctx, ask, o)
	if err == nil && got.Origin == resource.HitMemory && q.exceeds(got.Lag) && !o.OnlyIfCached {
		o.NoCache = true // older than the client takes: ask the database
		got, err = c.res.SelectList(c.ctx, ask, o)
	}
	if err != nil {
		return nil, err
	}
	c.learn(got.Rows, len(got.Doc.Body()))
	c.from = &provenance{status: cacheStatus(got.Origin), token: got.Token, lag: got.Lag}
	f := found{doc: got.Doc, key: got.Doc.Key(), list: got.List,
		kept:   got.Origin == resource.HitMemory,
		shared: c.shared(c.o.cacheControl(q.private))}
	a, err := q.conclude(c.o, c.m, c.r, &f, &c.h.coder)
	if err == nil && !f.kept {
		c.compress(q, a)
	}
	return a, err
}

// compress has a list that memory has no copies of sent in a coding that the client takes,
// if that pays.
func (c *call) compress(q *question, a *answer) {
	if a.doc == nil || a.doc.Coding() != row.Identity || len(a.doc.Body()) < row.MinCoded {
		return
	}
	takes := c.m.takes(c.o, c.r, q.private, q.noTransform)
	if takes.n == 0 {
		return
	}
	body := a.doc.Body()
	coded := c.h.coder.Append(make([]byte, 0, len(body)/2), body, takes.list[0])
	if row.Pays(len(body), len(coded)) {
		a.doc = row.NewCopy(a.doc, takes.list[0], coded)
	}
}

// answerKept appends the answer to a request for a list that memory has, found by the
// bytes of its query: nothing of it is parsed.
func (s *loop) answerKept(
	p *peer, r *request, res *loopResource, out []byte, closing bool,
) ([]byte, bool) {
	q := &s.q
	if q.askKept(s.live, &s.memo, r, res.Resource, res.rule) != nil {
		return out, false
	}
	doc, at := res.LookupList(s.spelling(r, q.media), q.media.format, &s.Snapshot)
	if doc == nil || !q.takes(resource.Hit, at) {
		return out, false
	}
	f := found{doc: doc, key: doc.Key(), list: resource.ListOf(doc), kept: true,
		shared: s.block(at, q.private)}
	a, err := q.conclude(s.live, &s.memo, r, &f, nil)
	if err != nil {
		return out, false
	}
	res.answeredKept(a.code)
	return s.append(p, r, res, resource.Hit, out, closing), true
}

// spelling returns what a request says of the list that it asks for, as it was sent, all
// but the format. It is good for as long as the request and m.text.
func (m *memo) spelling(r *request, of *media) string {
	// Fast path: the query says it all.
	ranged := r.Range != nil && !r.Head
	if r.Prefer == nil && !ranged && of.name != objectType {
		return row.Alias(r.Query)
	}

	// Slow path. No query has an end of a line in it, nor has a header.
	m.text = append(m.text[:0], r.Query...)
	if of.name == objectType {
		m.text = append(m.text, "\nobject"...)
	}
	if ranged {
		m.text = append(append(m.text, "\nrange "...), r.Range...)
	}
	if r.Prefer != nil {
		m.text = append(append(m.text, "\nprefer "...), r.Prefer...)
	}
	return row.Alias(m.text)
}

// askKept decides about a list without reading its query.
func (q *question) askKept(
	o *settings, m *memo, r *request, res *resource.Resource, rule resource.Rule,
) (err error) {
	q.begin(o, res, rule)
	if q.private {
		if q.who, err = m.admit(o, r, res, rule); err != nil {
			return err
		}
	}
	if r.IfMatch != nil || r.IfNoneMatch != nil {
		if err = checkConditions(r); err != nil {
			return err
		}
	}
	if q.media, err = m.accept(r.Accept); err != nil {
		return err
	}
	return q.freshness(r)
}
