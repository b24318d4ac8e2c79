package httpfront

import (
	"encoding/binary"
	"math"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// A page is what a list found.
type page struct {
	answers []resource.Answer
	more    bool // there are documents after these
}

// list answers GET and HEAD of a collection.
func (c *call) list() (*answer, error) {
	if err := c.mayRead(); err != nil {
		return nil, err
	}
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	m, err := q.media(c.m, c.r)
	if err != nil {
		return nil, err
	}
	var p page
	if q.filtered {
		p, err = c.multiGet(q, m)
	} else {
		p, err = c.page(q, m)
	}
	if err != nil {
		return nil, err
	}
	body, coding, err := c.coded(joinBodies(m.format, p.answers))
	if err != nil {
		return nil, err
	}
	c.from = summary(p.answers)
	a := &answer{code: http.StatusOK, shared: c.shared(c.o.cacheControl(c.private)), kind: m.name,
		body: body, more: q.contentRange(len(p.answers))}
	if p.more {
		a.more += c.nextLink(q, p.answers[len(p.answers)-1].Key)
	}
	if coding != row.Identity {
		a.more += "Content-Encoding: " + coding.String() + "\r\n"
	}
	return a, nil
}

// query reads what the query of a list asks for.
func (c *call) query() (listQuery, error) {
	shape, err := c.shape()
	if err != nil {
		return listQuery{}, err
	}
	return parseQuery(string(c.r.Query), querySpecOf(c.res.KeyType(), shape, c.res.MaxLimit()))
}

// media returns the representation that a list is asked for in.
func (q *listQuery) media(m *memo, r *request) (media, error) {
	if q.format != "" {
		return mediaByName(q.format, nil)
	}
	return m.accept(r.Accept)
}

// multiGet finds the documents that the query names by key, each of them once,
// without those that are not there.
func (c *call) multiGet(q listQuery, m media) (page, error) {
	ask := question{res: c.res, media: m, directives: directives{maxAge: -1}}
	if err := ask.freshness(c.r); err != nil {
		return page{}, err
	}
	if len(q.keys) == 0 {
		return page{}, nil
	}
	if err := c.claim(len(q.keys)); err != nil {
		return page{}, err
	}
	all := c.res.Load(c.ctx, q.keys, ask.options(c.r))
	var p page
	seen := make(map[row.Key]bool, len(all))
	size := 0
	for _, a := range all {
		if a.Err != nil {
			return page{}, a.Err
		}
		if a.Doc.Absent() || seen[a.Key] || q.limit > 0 && len(p.answers) == q.limit {
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

// page finds the documents that follow q.after, as many as the limit and the
// size of an answer allow. A document that is larger than that comes alone.
func (c *call) page(q listQuery, m media) (page, error) {
	ask := question{res: c.res}
	if err := ask.freshness(c.r); err != nil {
		return page{}, err
	}
	if ask.onlyIfCached {
		return page{}, resource.ErrNotCached // pages are read from the database
	}
	limit := q.limit
	if limit == 0 {
		limit = min(defaultLimit, max(c.res.MaxLimit(), 1))
	}
	if err := c.claim(limit); err != nil {
		return page{}, err
	}
	answers, more, err := c.res.List(c.ctx, q.after, limit, m.format)
	if err != nil {
		return page{}, err
	}
	size := 0
	for i, a := range answers {
		if size += len(a.Doc.Body()) + 1; size > c.o.MaxList && i > 0 {
			c.learn(i+1, size)
			return page{answers: answers[:i], more: true}, nil
		}
	}
	c.learn(len(answers), size)
	return page{answers: answers, more: more && len(answers) > 0}, nil
}

// summary returns where a list is from: the weakest of the answers, what all of them
// include.
func summary(answers []resource.Answer) *provenance {
	if len(answers) == 0 {
		return new(provenance)
	}
	weakest := provenanceOf(&answers[0])
	weakest.lag = 0
	stale := false
	for i := range answers {
		a := &answers[i]
		if a.Token.Pos < weakest.token.Pos {
			weakest.token = a.Token
		}
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

// contentRange tells clients of PostgREST's kind which documents these are. A page
// that follows a key has no number, so that only a beginning gets the header line.
func (q *listQuery) contentRange(n int) string {
	switch {
	case q.after != nil:
		return ""
	case n == 0:
		return "Content-Range: */*\r\n"
	}
	return "Content-Range: 0-" + strconv.Itoa(n-1) + "/*\r\n"
}

// nextLink links to the page that follows last (RFC 8288).
func (c *call) nextLink(q listQuery, last row.Key) string {
	v := url.Values{"after": {string(last)}}
	if q.limit > 0 {
		v.Set("limit", strconv.Itoa(q.limit))
	}
	if q.format != "" {
		v.Set("format", q.format)
	}
	return "Link: <" + c.o.BasePath + "/" + url.PathEscape(c.res.Name()) + "?" + v.Encode() +
		`>; rel="next"` + "\r\n"
}

// joinBodies returns one array of the documents' bodies.
func joinBodies(f row.Format, answers []resource.Answer) []byte {
	size := 8
	for i := range answers {
		size += len(answers[i].Doc.Body()) + 1
	}
	out := make([]byte, 0, size)
	if f != row.FormatJSON {
		if f == row.FormatCBOR {
			out = row.AppendCBORHead(out, row.CBORArray, uint64(len(answers)))
		} else {
			out = appendArrayHeader(out, len(answers))
		}
		for i := range answers {
			out = append(out, answers[i].Doc.Body()...)
		}
		return out
	}
	out = append(out, '[')
	for i := range answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, answers[i].Doc.Body()...)
	}
	return append(out, ']')
}

// appendArrayHeader writes the head of a MessagePack array of n elements.
func appendArrayHeader(dst []byte, n int) []byte {
	switch {
	case n < 16:
		return append(dst, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, 0xdc), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, 0xdd), uint32(n))
}
