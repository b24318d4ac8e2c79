package httpfront

import (
	"net/http"
	"net/url"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// read answers GET and HEAD of a document.
func (c *call) read(key row.Key) error {
	if err := c.mayRead(); err != nil {
		return err
	}
	format, err := onlyFormat(c.r.URL.RawQuery)
	if err != nil {
		return err
	}
	m, err := negotiateDocument(c.r.Header, format)
	if err != nil {
		return err
	}
	cond, err := c.conditions()
	if err != nil {
		return err
	}
	o, d, err := c.readOptions(m)
	if err != nil {
		return err
	}
	if err := c.claim(1); err != nil {
		return err
	}
	a, err := c.get(key, o)
	if err == nil && d.tooOld(&a) && !o.OnlyIfCached {
		o.NoCache = true // older than the client takes: ask the database
		a, err = c.res.Get(c.r.Context(), key, o)
	}
	if err != nil {
		return err
	}
	c.describe(cacheStatus(a.Origin), &a)
	if a.Doc.Absent() {
		return problem{kind: kindNotFound, cacheable: true, detail: c.documentName(a.Key) +
			" is not there"}
	}
	c.learn(1, len(a.Doc.Body()))
	takes := c.accepted()
	rep, err := c.representation(a.Doc, &takes)
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", rep.ETag())
	if _, ok := takes.held(cond.match, a.Doc, rep); cond.match != nil && !ok || cond.impossible {
		return resource.ErrPrecondition
	}
	if tag, ok := takes.held(cond.noneMatch, a.Doc, rep); ok {
		c.w.Header().Set("ETag", tag)
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return c.sendDocument(m, &a, rep, &takes)
}

// get asks the resource, or returns what it has said when the lane has asked it.
func (c *call) get(key row.Key, o resource.Options) (resource.Answer, error) {
	if c.got != nil {
		return c.got.Answer, c.got.err
	}
	return c.res.Get(c.r.Context(), key, o)
}

// documentName returns how errors call a document: "depts/10".
func (c *call) documentName(key row.Key) string {
	return DocumentPath(c.res.Name(), key, len(c.res.KeyType()))[1:]
}

// onlyFormat returns the value of ?format=, the one parameter that a document
// takes. Any other is an error: a filter that is silently left out would give
// an answer to another question.
func onlyFormat(query string) (string, error) {
	if query == "" {
		return "", nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", problem{kind: kindBadQuery, detail: "the query cannot be read"}
	}
	for name, v := range values {
		if name != "format" {
			return "", problem{kind: kindBadQuery, detail: "unknown parameter " + clip(name),
				hint: "a document takes format only"}
		}
		if len(v) > 1 {
			return "", givenTwice(name)
		}
	}
	return values.Get("format"), nil
}

func givenTwice(name string) error {
	return problem{kind: kindBadQuery, detail: "parameter " + clip(name) + " is given twice"}
}
