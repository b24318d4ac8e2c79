package httpfront

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// The paths of resttest (romapres2010/resttest), for its clients and its benchmark:
//
//	GET  /depts/random       a document that the server picks
//	PUT  /depts/random       reads one and writes back what it has read
//	PUT  /depts              the key is in the body
//	GET  /depts/emps/7839    GET /emps/7839
//	POST /depts/emps         POST /emps
//
// Every resource has them, with Options.Resttest.

// randomKey stands for a key that the server picks.
const randomKey = "random"

const randomPage = 1000

// A picker picks keys at random. It reads those of a resource when it is first asked.
type picker struct {
	keys    sync.Map   // []row.Key by *resource.Resource
	reading sync.Mutex // one at a time
}

// pick returns a key of res, or errLater before there are any.
func (p *picker) pick(res *resource.Resource) (row.Key, error) {
	known, ok := p.keys.Load(res)
	if !ok {
		return "", errLater
	}
	keys := known.([]row.Key)
	if len(keys) == 0 {
		return "", problem{kind: kindNotFound, detail: "the resource had no rows when it was " +
			"first asked for one at random", hint: "SIGHUP has the keys read again"}
	}
	return keys[rand.IntN(len(keys))], nil
}

// learn reads the keys of res unless they are known.
func (p *picker) learn(ctx context.Context, res *resource.Resource) error {
	p.reading.Lock()
	defer p.reading.Unlock()
	if _, known := p.keys.Load(res); known {
		return nil
	}
	// Others wait for what a client that goes away has asked for.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), front.RandomWait)
	defer cancel()
	keys, after := []row.Key{}, (*row.Key)(nil)
	for more := true; more && len(keys) < front.RandomKeys; {
		var page []row.Key
		var err error
		if page, more, err = res.Keys(ctx, after, randomPage); err != nil {
			return err
		}
		if keys = append(keys, page...); len(page) > 0 {
			after = &page[len(page)-1]
		}
	}
	p.keys.Store(res, keys)
	return nil
}

// isRandom reports whether a segment stands for a key at random.
func (o *settings) isRandom(segment string) bool { return o.random != nil && segment == randomKey }

// below reads a path of resttest that names a document below another resource:
// /depts/emps/7839 is /emps/7839. It reports whether path is one.
func (o *settings) below(path string, t *target) bool {
	return o.random != nil && strings.Count(path, "/") == 3 &&
		t.parse(path[1+strings.IndexByte(path[1:], '/'):]) == nil && t.kind == pathDocument
}

// createBelow answers POST /depts/emps, which makes a document of emps. ok is false where
// the path is none of resttest's.
func (c *call) createBelow(segment string) (a *answer, err error, ok bool) {
	if c.o.random == nil || c.r.Method != http.MethodPost {
		return nil, nil, false
	}
	res, found := c.o.Resources.Lookup(segment)
	if !found || !allows(res, source.OpCreate) {
		return nil, nil, false
	}
	c.res = res
	a, err = c.create()
	return a, err, true
}

// replaceByBody answers PUT of a collection: the body says which document it is, which
// must be there.
func (c *call) replaceByBody() (*answer, error) {
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
	key, missing := shape.BodyKey(c.res.KeyType(), in)
	if missing != "" {
		return nil, problem{kind: kindKeyMismatch, detail: "the body has no " + missing +
			", which says whose document it is"}
	}
	return c.writeExisting(resource.Write{
		Op: source.OpReplace, Key: key, Input: in, Shape: shape, Format: m.format,
	}, m)
}

// rewriteRandom answers PUT /depts/random: a document is read, and written as it was read.
// What the request holds is not looked at.
func (c *call) rewriteRandom() (*answer, error) {
	if err := c.mayWrite(); err != nil {
		return nil, err
	}
	m, err := c.writeMedia()
	if err != nil {
		return nil, err
	}
	if err := c.o.random.learn(c.ctx, c.res); err != nil {
		return nil, err
	}
	key, err := c.o.random.pick(c.res)
	if err != nil {
		return nil, err
	}
	shape, err := c.shape()
	if err != nil {
		return nil, err
	}
	got, err := c.res.Get(c.ctx, key, resource.Options{Format: row.FormatJSON})
	if err != nil {
		return nil, err
	}
	if got.Doc.Absent() {
		return nil, noLonger(key)
	}
	in, err := shape.Decode(row.FormatJSON, got.Doc.Body())
	if err != nil {
		return nil, err
	}
	return c.writeExisting(resource.Write{
		Op: source.OpReplace, Key: key, Input: in, Shape: shape, Format: m.format,
	}, m)
}

// writeExisting writes a document that must be there: 404 else, as resttest says.
func (c *call) writeExisting(w resource.Write, m *media) (*answer, error) {
	if !c.res.Spec().RequireIfMatch {
		w.IfMatch = []string{"*"}
	}
	a, err := c.write(w, m)
	if errors.Is(err, resource.ErrPrecondition) && c.r.IfMatch == nil && c.r.IfNoneMatch == nil {
		err = noLonger(w.Key)
	}
	return a, err
}

func noLonger(key row.Key) error {
	return problem{kind: kindNotFound, detail: "there is no document " + clip(string(key))}
}
