package httpfront

import (
	"encoding/binary"
	"math"
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
func (c *call) list() error {
	if err := c.mayRead(); err != nil {
		return err
	}
	shape, err := c.shape()
	if err != nil {
		return err
	}
	spec := querySpecOf(c.res.KeyType(), shape, c.res.MaxLimit())
	q, err := parseQuery(c.r.URL.RawQuery, spec)
	if err != nil {
		return err
	}
	m, err := negotiateDocument(c.r.Header, q.format)
	if err != nil {
		return err
	}
	var p page
	if q.filtered {
		p, err = c.multiGet(q, m)
	} else {
		p, err = c.page(q, m)
	}
	if err != nil {
		return err
	}
	c.describe(summary(p.answers))
	c.setRange(q, len(p.answers))
	if p.more {
		c.setNext(q, p.answers[len(p.answers)-1].Key)
	}
	return c.sendList(m, joinBodies(m.format, p.answers))
}

// multiGet finds the documents that the query names by key, each of them once,
// without those that are not there.
func (c *call) multiGet(q listQuery, m media) (page, error) {
	o, _, err := c.readOptions(m)
	if err != nil {
		return page{}, err
	}
	if len(q.keys) == 0 {
		return page{}, nil
	}
	if err := c.claim(len(q.keys)); err != nil {
		return page{}, err
	}
	all, err := c.res.GetMulti(c.r.Context(), q.keys, o)
	if err != nil {
		return page{}, err
	}
	var p page
	seen := make(map[row.Key]bool, len(all))
	size := 0
	for _, a := range all {
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
	if d := parseDirectives(c.r.Header.Values("Cache-Control")...); d.onlyIfCached {
		return page{}, resource.ErrNotCached // lists are read from the database
	}
	if _, err := minPosition(c.res.Source(), c.r.Header.Values(positionHeader)...); err != nil {
		return page{}, err
	}
	limit := q.limit
	if limit == 0 {
		limit = min(defaultLimit, max(c.res.MaxLimit(), 1))
	}
	if err := c.claim(limit); err != nil {
		return page{}, err
	}
	answers, more, err := c.res.List(c.r.Context(), q.after, limit, m.format)
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

// summary returns the Cache-Status of a list and its position: the weakest of
// the answers, what all of them include.
func summary(answers []resource.Answer) (string, *resource.Answer) {
	if len(answers) == 0 {
		return "", &resource.Answer{}
	}
	status := cacheStatus(answers[0].Origin)
	weakest := resource.Answer{Token: answers[0].Token}
	stale := false
	for i := range answers {
		a := &answers[i]
		if a.Token.Pos < weakest.Token.Pos {
			weakest.Token = a.Token
		}
		weakest.Lag = max(weakest.Lag, a.Lag)
		if cacheStatus(a.Origin) != status {
			status = "hotrow; fwd=partial; detail=db"
		}
		stale = stale || a.Origin == resource.HitStale
	}
	if stale {
		status = cacheStatus(resource.HitStale)
	}
	return status, &weakest
}

// setRange tells clients of PostgREST's kind which documents these are. A page
// that follows a key has no number, so that only a beginning gets the header.
func (c *call) setRange(q listQuery, n int) {
	switch {
	case q.after != nil:
	case n == 0:
		c.w.Header().Set("Content-Range", "*/*")
	default:
		c.w.Header().Set("Content-Range", "0-"+strconv.Itoa(n-1)+"/*")
	}
}

// setNext links to the page that follows last (RFC 8288).
func (c *call) setNext(q listQuery, last row.Key) {
	v := url.Values{"after": {string(last)}}
	if q.limit > 0 {
		v.Set("limit", strconv.Itoa(q.limit))
	}
	if q.format != "" {
		v.Set("format", q.format)
	}
	c.w.Header().Set("Link", "<"+c.o.BasePath+"/"+url.PathEscape(c.res.Name())+"?"+v.Encode()+
		`>; rel="next"`)
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
