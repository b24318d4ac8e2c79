package httpfront

import (
	"net/http"
	"strconv"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
)

// askList decides about a list of documents of a resource that the rule protects. spec is
// what its query may say. What it asks for is m.list. When memory has been used before,
// it allocates nothing.
func (q *question) askList(
	o *settings, m *memo, r *request, res *resource.Resource, rule resource.Rule, spec *querySpec,
) (err error) {
	q.begin(o, res, rule)
	if q.private {
		if q.who, err = m.admit(o, r, res, rule); err != nil {
			return err
		}
	}
	if spec == nil { // the database has not been reached since the start
		return problem{kind: kindUnavailable, logged: true}
	}
	l := &m.list
	m.text, err = l.parse(row.Alias(r.Query), spec, m.text[:0])
	switch {
	case err != nil || wantsMore(r):
		q.general = true
	case l.format != "":
		q.media, err = mediaByName(l.format, nil)
	default:
		q.media, err = m.accept(r.Accept)
	}
	if q.general || err == nil && q.media.name == objectType {
		q.general = true
		*l = listQuery{keys: l.keys[:0]}
		return q.freshness(r)
	}
	if err != nil {
		return err
	}
	return q.freshness(r)
}

// wantsMore reports whether headers ask for what only a general list has: a range of
// rows, their count.
func wantsMore(r *request) bool {
	return r.Range != nil && !r.Head ||
		r.Prefer != nil && parsePrefer(row.Alias(r.Prefer)).count != query.CountNone
}

// concludeList makes the answer with documents by their keys, which m.docs are, of size
// bytes together. coder compresses it if the client takes that and it pays: there is no
// copy that could be sent. Without a coder that is errLater.
func (q *question) concludeList(
	o *settings, m *memo, r *request, size int, shared []byte, coder *row.Coder,
) (*answer, error) {
	if m.docs == nil {
		m.docs = []*row.Document{} // it is a list
	}
	a := &m.a
	*a = answer{code: http.StatusOK, shared: shared, kind: q.media.name, list: m.docs,
		media: q.media, size: size + row.ListFrame(q.media.format, len(m.docs))}
	m.lines = m.list.appendRange(m.lines[:0], len(m.docs))
	takes := m.takes(o, r, q.private, q.noTransform)
	plain := takes.takes(row.Identity)
	switch {
	case takes.n == 0 && !plain:
		return nil, noCoding()
	case takes.n > 0 && (a.size >= row.MinCoded || !plain):
		if coder == nil {
			return nil, errLater
		}
		body := a.appendBody(make([]byte, 0, a.size))
		coded := coder.Append(make([]byte, 0, len(body)/2), body, takes.list[0])
		if row.Pays(len(body), len(coded)) || !plain {
			m.lines = http1.AppendHeader(m.lines, "Content-Encoding", takes.list[0].String())
			body = coded
		}
		a.list, a.body = nil, body
	}
	a.more = row.Alias(m.lines)
	return a, nil
}

// A page is what a list found.
type page struct {
	answers []resource.Answer // of what is there, each once
	asked   []resource.Answer // of all keys
}

// list answers GET and HEAD of a collection.
func (c *call) list() (*answer, error) {
	if c.inProfile() {
		return c.profileList()
	}
	q, l := &c.m.q, &c.m.list
	err := q.askList(c.o, c.m, c.r, c.res, c.res.Access().Read, specOf(c.res))
	c.who, c.private = q.who, q.private
	if err != nil {
		return nil, err
	}
	if q.general || l.filtered && c.watcher != nil && c.watcher.s.woken == nil {
		return c.selected(q)
	}
	if !l.filtered {
		return c.page(q, l)
	}
	p, err := c.byKeys(q, l)
	if err != nil {
		return nil, err
	}
	size := 0
	for i := range p.answers {
		c.m.docs = append(c.m.docs, p.answers[i].Doc)
		size += len(p.answers[i].Doc.Body())
	}
	c.from = summary(p.asked) // that a row is not there is an answer as well
	shared := c.shared(c.o.cacheControl(q.private))
	return q.concludeList(c.o, c.m, c.r, size, shared, &c.h.coder)
}

// specOf returns what the query of a list of res may say; nil while the database has not
// been reached.
func specOf(res *resource.Resource) *querySpec {
	shape := res.Shape()
	if shape == nil {
		return nil
	}
	spec := querySpecOf(res.KeyType(), shape, res.MaxLimit())
	return &spec
}

// byKeys finds the documents that the query names by key, each of them once,
// without those that are not there.
func (c *call) byKeys(q *question, l *listQuery) (page, error) {
	if len(l.keys) == 0 {
		return page{}, nil
	}
	if err := c.claim(len(l.keys)); err != nil {
		return page{}, err
	}
	p := page{asked: c.res.Load(c.ctx, l.keys, q.options(c.r))}
	seen := make(map[row.Key]bool, len(l.keys))
	size := 0
	for _, a := range p.asked {
		if a.Err != nil {
			return page{}, a.Err
		}
		if a.Doc.Absent() || seen[a.Key] || l.limit > 0 && len(p.answers) == l.limit {
			continue
		}
		seen[a.Key] = true
		if size += len(a.Doc.Body()) + 1; size > c.o.MaxList {
			return page{}, problem{kind: kindTooLarge, hint: "ask for fewer keys at a time",
				detail: "the documents together are larger than " +
					strconv.Itoa(c.o.MaxList) + " bytes"}
		}
		p.answers = append(p.answers, a)
	}
	c.learn(len(p.answers), size)
	return p, nil
}

// summary returns where a list is from: the weakest of the answers, what all of them
// include and what any of them shows.
func summary(answers []resource.Answer) *provenance {
	if len(answers) == 0 {
		return new(provenance)
	}
	weakest := provenanceOf(&answers[0])
	weakest.lag = 0
	stale := false
	for i := range answers {
		a := &answers[i]
		weakest.token = weakest.token.And(a.Token)
		weakest.lag = max(weakest.lag, a.Lag)
		if cacheStatus(a.Origin) != weakest.status {
			weakest.status = "hotrow; fwd=partial; detail=db"
		}
		stale = stale || a.Origin == resource.HitStale
	}
	if stale {
		weakest.status = cacheStatus(resource.HitStale)
	}
	return weakest
}

// appendRange tells clients of PostgREST's kind which documents these are. A page
// that follows a key has no number, so that only a beginning gets the header line.
func (q *listQuery) appendRange(dst []byte, n int) []byte {
	switch {
	case q.after != nil:
		return dst
	case n == 0:
		return append(dst, "Content-Range: */*\r\n"...)
	}
	dst = strconv.AppendInt(append(dst, "Content-Range: 0-"...), int64(n-1), 10)
	return append(dst, "/*\r\n"...)
}

// appendList appends one array of the documents' bodies.
func (a *answer) appendList(dst []byte) []byte {
	return row.AppendList(dst, a.media.format, a.list)
}
