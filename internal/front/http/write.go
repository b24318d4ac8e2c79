package httpfront

import (
	"context"
	"net/http"

	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// create answers POST of a collection.
func (c *call) create() error {
	if err := c.mayWrite(); err != nil {
		return err
	}
	m, err := c.writeMedia()
	if err != nil {
		return err
	}
	shape, err := c.shape()
	if err != nil {
		return err
	}
	in, err := c.input(shape)
	if err != nil {
		return err
	}
	return c.write(resource.Write{
		Op: source.OpCreate, Input: in, Shape: shape, Format: m.format,
	}, m)
}

// change answers PUT, PATCH and DELETE of a document.
func (c *call) change(key row.Key) error {
	if err := c.mayWrite(); err != nil {
		return err
	}
	m, err := c.writeMedia()
	if err != nil {
		return err
	}
	w := resource.Write{Key: key, Format: m.format, Op: source.OpDelete}
	if c.r.Method != http.MethodDelete {
		w.Op = source.OpReplace
		if c.r.Method == http.MethodPatch {
			w.Op = source.OpMerge
		}
		shape, err := c.shape()
		if err != nil {
			return err
		}
		w.Shape = shape
		if w.Input, err = c.input(shape); err != nil {
			return err
		}
		if err := checkBodyKey(shape, c.res.KeyType(), w.Input, key); err != nil {
			return err
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
	return nil, problem{kind: kindUnavailable}
}

// writeMedia picks the representation of the answer before anything is
// changed: a write whose answer nobody can take must not happen first.
func (c *call) writeMedia() (media, error) {
	format, err := onlyFormat(c.r.URL.RawQuery)
	if err != nil {
		return media{}, err
	}
	return negotiateDocument(c.r.Header, format)
}

// write asks for the change and sends what came of it. A client that goes away
// does not end a write that has begun: a statement that is cut off has an
// outcome that nobody knows.
func (c *call) write(w resource.Write, m media) error {
	cond, err := c.conditions()
	if err != nil {
		return err
	}
	if cond.impossible {
		return resource.ErrPrecondition
	}
	if err := c.claim(1); err != nil {
		return err
	}
	w.IfMatch, w.IfNoneMatch = cond.match, cond.noneMatch
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), c.o.WriteTimeout)
	defer cancel()
	res, err := c.res.Write(ctx, w)
	if err != nil {
		return err
	}
	return c.sendResult(&res, m, w.Op)
}

// sendResult answers a write that has been done. Who may write but not read
// gets no document.
func (c *call) sendResult(res *resource.Result, m media, op source.Op) error {
	c.describe("", &res.Answer)
	head := c.w.Header()
	prefer := parsePrefer(c.r.Header)
	if !c.reads() {
		prefer = preferences{minimal: true}
	}
	if prefer.given != "" && op != source.OpDelete {
		head.Set("Preference-Applied", prefer.given)
	}
	if op == source.OpDelete || res.Doc.Absent() {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	head.Set("ETag", res.Doc.ETag())
	code := http.StatusOK
	if res.Created {
		code = http.StatusCreated
		head.Set("Location", c.o.BasePath+
			DocumentPath(c.res.Name(), res.Key, len(c.res.KeyType())))
	}
	if !prefer.minimal {
		return c.sendBody(code, m.name, res.Doc.Body())
	}
	if code == http.StatusOK {
		code = http.StatusNoContent
	} else {
		head.Set("Content-Length", "0")
	}
	c.w.WriteHeader(code)
	return nil
}
