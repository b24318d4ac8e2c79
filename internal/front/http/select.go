package httpfront

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
)

// A window is which rows of a list an answer has.
type window struct {
	first, rows int
	total       int64       // of the list; -1: not counted
	count       query.Count // as it was asked for
	after       bool        // the page follows a cursor: its rows have no numbers
}

// status returns the status of an answer with these rows.
func (w *window) status() int {
	if w.total >= 0 && int64(w.rows) < w.total {
		return http.StatusPartialContent
	}
	return http.StatusOK
}

// append appends the header lines that say which rows these are.
func (w *window) append(dst []byte) []byte {
	if w.count != query.CountNone {
		dst = append(append(dst, "Preference-Applied: count="...), w.count.String()...)
		dst = append(dst, "\r\n"...)
	}
	if w.after {
		return dst
	}
	dst = append(dst, "Content-Range: "...)
	if w.rows == 0 {
		dst = append(dst, '*')
	} else {
		dst = strconv.AppendInt(dst, int64(w.first), 10)
		dst = strconv.AppendInt(append(dst, '-'), int64(w.first+w.rows-1), 10)
	}
	if dst = append(dst, '/'); w.total < 0 {
		return append(dst, "*\r\n"...)
	}
	return append(strconv.AppendInt(dst, w.total, 10), "\r\n"...)
}

// selected answers a list in the language of package query.
func (c *call) selected(q *question) (*answer, error) {
	var o query.Options
	if c.r.Prefer != nil {
		o.Count = parsePrefer(string(c.r.Prefer)).count
	}
	if c.r.method == http.MethodGet {
		o.Range = string(c.r.Range)
	}
	want, err := c.res.Query(string(c.r.Query), o)
	if err != nil {
		return nil, err
	}
	if want.Format != "" {
		q.media, err = mediaByName(want.Format, nil)
	} else {
		q.media, err = c.m.accept(c.r.Accept)
	}
	switch {
	case err != nil:
		return nil, err
	case q.onlyIfCached:
		return nil, resource.ErrNotCached // such lists are read from the database
	}
	if err := c.claim(want.Limit); err != nil {
		return nil, err
	}
	found, err := c.res.Select(c.ctx, want, q.media.format)
	if err != nil {
		return nil, err
	}
	size, err := c.holds(found)
	if err != nil {
		return nil, err
	}
	q.window = window{first: want.Offset, rows: len(found.Answers), total: found.Total,
		count: want.Count, after: want.After != nil}
	if err := q.checkWindow(); err != nil {
		return nil, err
	}
	shared := c.shared(c.o.cacheControl(q.private))
	a, err := q.concludeList(c.o, c.m, c.r, size, shared, &c.h.coder)
	if err == nil && found.Next != "" && q.media.name != objectType {
		a.more += c.nextPage(found.Next, want.Format)
	}
	return a, err
}

// holds takes the documents of a list, and returns their size together.
func (c *call) holds(found *resource.Listing) (size int, err error) {
	for i := range found.Answers {
		doc := found.Answers[i].Doc
		if size += len(doc.Body()) + 1; size > c.o.MaxList {
			return 0, problem{kind: kindTooLarge, hint: "ask for fewer rows: limit=",
				detail: "the documents together are larger than " +
					strconv.Itoa(c.o.MaxList) + " bytes"}
		}
		c.m.docs = append(c.m.docs, doc)
	}
	size -= len(found.Answers)
	c.learn(len(found.Answers), size)
	c.from = summary(found.Answers)
	return size, nil
}

// checkWindow refuses a window that begins behind the last row, and an object of other
// than one row.
func (q *question) checkWindow() error {
	w := &q.window
	switch {
	case w.total >= 0 && int64(w.first) > w.total:
		return problem{kind: kindRange, code: query.CodeRange,
			detail: "Requested range not satisfiable",
			details: "An offset of " + strconv.Itoa(w.first) +
				" was requested, but there are only " + strconv.FormatInt(w.total, 10) + " rows.",
			header: "Content-Range: */" + strconv.FormatInt(w.total, 10) + "\r\n"}
	case q.media.name == objectType && w.rows != 1:
		return problem{kind: kindNotSingular, code: "PGRST116",
			detail:  "Cannot coerce the result to a single JSON object",
			details: "The result contains " + strconv.Itoa(w.rows) + " rows"}
	}
	return nil
}

// nextPage links to a page (RFC 8288).
func (c *call) nextPage(query, format string) string {
	if format != "" {
		query += "&format=" + url.QueryEscape(format)
	}
	return "Link: <" + c.o.BasePath + "/" + url.PathEscape(c.res.Name()) + "?" + query +
		`>; rel="next"` + "\r\n"
}
