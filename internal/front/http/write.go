package httpfront

import (
	"context"
	"net/http"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// create answers POST of a collection.
func (c *call) create() (*answer, error) {
	if err := c.mayWrite(); err != nil {
		return nil, err
	}
	m, err := c.writeMedia()
	if err != nil {
		return nil, err
	}
	shape, err := c.shape()
	if err != nil {
		return nil, err
	}
	in, err := c.input(shape)
	if err != nil {
		return nil, err
	}
	return c.write(resource.Write{
		Op: source.OpCreate, Input: in, Shape: shape, Format: m.format,
	}, m)
}

// change answers PUT, PATCH and DELETE of a document.
func (c *call) change(segment string) (*answer, error) {
	key, err := parseKey(segment, len(c.res.KeyType()))
	if err != nil {
		return nil, err
	}
	if err := c.mayWrite(); err != nil {
		return nil, err
	}
	m, err := c.writeMedia()
	if err != nil {
		return nil, err
	}
	w := resource.Write{Key: key, Format: m.format, Op: source.OpDelete}
	if c.r.Method != http.MethodDelete {
		w.Op = source.OpReplace
		if c.r.Method == http.MethodPatch {
			w.Op = source.OpMerge
		}
		shape, err := c.shape()
		if err != nil {
			return nil, err
		}
		w.Shape = shape
		if w.Input, err = c.input(shape); err != nil {
			return nil, err
		}
		if err := shape.CheckKey(c.res.KeyType(), w.Input, key); err != nil {
			return nil, err
		}
	}
	return c.write(w, m)
}

// shape returns how documents of c.res are made. There is none before the
// database has been reached for the first time.
func (c *call) shape() (*row.Shape, error) {
	if s := c.res.Shape(); s != nil {
		return s, nil
	}
	return nil, problem{kind: kindUnavailable, logged: true}
}

// writeMedia picks the representation of the answer before anything is
// changed: a write whose answer nobody can take must not happen first.
func (c *call) writeMedia() (*media, error) {
	return c.m.media(c.r)
}

// write asks for the change and sends what came of it. A client that goes away
// does not end a write that has begun: a statement that is cut off has an
// outcome that nobody knows.
func (c *call) write(w resource.Write, m *media) (*answer, error) {
	cond, err := c.r.conditions()
	if err != nil {
		return nil, err
	}
	if cond.impossible {
		return nil, resource.ErrPrecondition
	}
	if err := c.claim(1); err != nil {
		return nil, err
	}
	if w.IfMatch == nil || cond.match != nil {
		w.IfMatch = cond.match
	}
	w.IfNoneMatch = cond.noneMatch
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.o.WriteTimeout)
	defer cancel()
	if w.As, err = c.session(); err != nil {
		return nil, err
	}
	res, err := c.res.Write(ctx, w)
	if err != nil {
		return nil, err
	}
	return c.result(&res, m, w.Op)
}

// result answers a write that has been done. Who may write but not read
// gets no document.
func (c *call) result(res *resource.Result, m *media, op source.Op) (*answer, error) {
	c.from = &provenance{token: res.Token, lag: res.Lag, steps: res.Steps}
	prefer := parsePrefer(row.Alias(c.r.Prefer))
	if !c.reads(c.res) {
		prefer = preferences{minimal: true}
	}
	a := &answer{code: http.StatusNoContent, shared: c.shared(c.o.cacheControl(c.private))}
	if prefer.given != "" && op != source.OpDelete {
		a.more = "Preference-Applied: " + prefer.given + "\r\n"
	}
	if op == source.OpDelete || res.Doc.Absent() {
		return a, nil
	}
	if res.Created {
		a.code = http.StatusCreated
		a.more += "Location: " + c.o.BasePath +
			DocumentPath(c.res.Name(), res.Key, len(c.res.KeyType())) + "\r\n"
	}
	switch {
	case !prefer.minimal:
		a.doc, a.media = res.Doc, m
		if !res.Created {
			a.code = http.StatusOK
		}
		return a, nil
	case res.Created:
		a.more += "Content-Length: 0\r\n"
	}
	a.tag = res.Doc.ETag()
	return a, nil
}
