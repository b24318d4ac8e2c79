package httpfront

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/source"
	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/workers"
)

// A call is one request that is answered off the event loop, by a goroutine that may
// wait: what memory could not answer, and what net/http has read. It belongs to one
// goroutine.
type call struct {
	h   *Handler
	o   *settings
	m   *memo
	p   *peer
	r   *request
	w   http.ResponseWriter // of net/http; nil: the request came by an event loop
	ctx context.Context

	res     *resource.Resource // nil until the path has named one
	private bool               // the answer is not for everybody
	foreign bool               // a page of another origin writes, which is named
	who     string             // the name of the principal, once it was asked for
	sight   sight              // what the role may do with res, where that was looked up
	from    *provenance        // what the resource has said; nil: it was not asked
	budget  *front.ClientShare // the client's part of it; nil: nobody bounds the answer
	claimed int64              // room for the answer

	stream  *stream  // the answer goes on by it; nil: it does not
	watcher *watcher // of what is read; nil: nobody follows it
}

// answer answers the request, and gives the answer to send before it counts and logs it.
// Errors become problem documents here and nowhere else.
func (c *call) answer(send func(*answer)) {
	start := c.o.Now()
	var a *answer
	defer func() {
		if v := recover(); v != nil {
			a = c.recovered(v, a, send)
		}
		c.release()
		if c.stream != nil && (a == nil || a.stream == nil) {
			c.stream.leave() // the answer does not go on
		}
		took := c.o.Now().Sub(start)
		c.h.requests.Observe(c.resourceName(), a.code, took)
		if c.o.Access != nil && c.o.Access.On() {
			c.log(a, start, took)
		}
		if c.o.Trace != nil {
			c.trace(a, start, took)
		}
	}()
	made, err := c.serve()
	if err != nil {
		made = c.refuse(err)
	}
	c.settle(made.length())
	a = made
	send(a)
}

// recovered ends a request whose answer panicked: a bug of ours that must not take the
// answer with it, nor the process. sent is the answer that was being sent.
func (c *call) recovered(v any, sent *answer, send func(*answer)) *answer {
	if v == http.ErrAbortHandler {
		panic(v)
	}
	_ = workers.Caught(c.o.Log, "answer "+string(c.r.Path), v)
	if sent != nil {
		return sent
	}
	a := c.problem(problem{kind: kindInternal})
	send(a)
	return a
}

// shared returns the header lines that do not depend on what the answer is.
func (c *call) shared(cacheControl string) []byte {
	c.m.head = c.o.appendShared(http1.AppendDate(c.m.head[:0], c.o.Now()), c.from, cacheControl)
	return c.m.head
}

// resourceName returns the name under which the request is counted. Only names
// of resources that exist become labels.
func (c *call) resourceName() string {
	if c.res == nil {
		return ""
	}
	return c.res.Name()
}

// serve checks what holds for every path, and routes.
func (c *call) serve() (*answer, error) {
	if c.o.cors != nil && c.r.isPreflight() {
		return c.preflight()
	}
	var t target
	err := c.o.route(c.m, c.p, c.r, &t)
	if err != nil {
		return nil, err
	}
	if c.r.http != nil { // else no page of a browser has sent it: see http1.Request.Body
		if err := c.h.csrf.Check(c.r.http); err != nil {
			if err := c.fromOtherPage(); err != nil {
				return nil, err
			}
		}
	}
	if !isMethod(c.r.Method) {
		return nil, problem{kind: kindUnknownMethod}
	}
	if t.profile {
		return c.below(&t)
	}
	switch t.kind {
	case pathIndex:
		return c.index()
	case pathSystem:
		if t.name == watchPath {
			return c.many()
		}
		return c.system(t.name)
	}
	if c.res, err = c.o.find(t.name); err != nil {
		return nil, err
	}
	if c.r.Method == http.MethodGet && wantsEvents(c.r.Accept) {
		return c.watch(&t)
	}
	answer := func() (*answer, error) { return c.document(t.key) }
	if t.kind == pathList {
		answer = c.collection
	}
	if c.r.polls() && (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead) {
		return c.poll(answer)
	}
	return answer()
}

// isMethod reports whether a method is one of HTTP: of RFC 9110 9, PATCH (RFC 5789), or QUERY.
func isMethod(name string) bool {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodTrace, http.MethodConnect, "QUERY":
		return true
	}
	return false
}

// collection answers /{resource}.
func (c *call) collection() (*answer, error) {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.list()
	case http.MethodPost:
		if c.allows(source.OpCreate) {
			return c.create()
		}
	case http.MethodPut:
		if c.o.random != nil && c.allows(source.OpReplace) {
			return c.replaceByBody()
		}
	case http.MethodOptions:
		return c.options(c.allowed(false))
	}
	return nil, c.notAllowed(c.allowed(false))
}

// document answers /{resource}/{key}.
func (c *call) document(segment string) (*answer, error) {
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		return c.read(segment)
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		switch {
		case !c.allows(documentOps[c.r.Method]):
		case c.r.Method == http.MethodPut && c.o.isRandom(segment):
			return c.rewriteRandom()
		default:
			return c.change(segment)
		}
	case http.MethodOptions:
		return c.options(c.allowed(true))
	}
	if a, err, ok := c.createBelow(segment); ok {
		return a, err
	}
	if _, err := parseKey(segment, len(c.res.KeyType())); err != nil {
		return nil, err
	}
	return nil, c.notAllowed(c.allowed(true))
}

// read answers GET and HEAD of a document.
func (c *call) read(segment string) (*answer, error) {
	q := &c.m.q
	err := q.ask(c.o, c.m, c.r, c.res, c.res.Access().Read, segment)
	if errors.Is(err, errLater) { // a key at random
		if err = c.o.random.learn(c.ctx, c.res); err == nil {
			err = q.ask(c.o, c.m, c.r, c.res, c.res.Access().Read, segment)
		}
	}
	c.who, c.private = q.who, q.private
	if err != nil {
		return nil, err
	}
	if err := c.claim(1); err != nil {
		return nil, err
	}
	c.join(q.key, nil)
	got, err := c.get(q)
	if err == nil && !got.Doc.Absent() {
		if size := len(got.Doc.Body()); !c.fits(size) {
			got = resource.Answer{} // it waits for room, and is read again then
			if err = c.claimBytes(int64(size)); err == nil {
				got, err = c.get(q)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	c.from = provenanceOf(&got)
	f := found{doc: got.Doc, key: got.Key, kept: got.Origin == resource.HitMemory,
		shared: c.shared(c.o.cacheControl(q.private))}
	return q.conclude(c.o, c.m, c.r, &f, &c.h.coder)
}

// get reads the document that is asked for.
func (c *call) get(q *question) (resource.Answer, error) {
	o := q.options(c.r)
	got, err := c.res.Get(c.ctx, q.key, o)
	if err == nil && q.tooOld(&got) && !o.OnlyIfCached {
		o.NoCache = true // older than the client takes: ask the database
		got, err = c.res.Get(c.ctx, q.key, o)
	}
	if err == nil && !got.Doc.Absent() {
		c.learn(1, len(got.Doc.Body()))
	}
	return got, err
}

// provenanceOf returns where an answer of a resource is from.
func provenanceOf(a *resource.Answer) *provenance {
	return &provenance{status: cacheStatus(a.Origin), token: a.Token, lag: a.Lag, steps: a.Steps}
}

// documentOps are the operations on a document by method.
var documentOps = map[string]source.Op{
	http.MethodPut: source.OpReplace, http.MethodPatch: source.OpMerge,
	http.MethodDelete: source.OpDelete,
}

// allows reports whether anybody at all may do op to the resource.
func (c *call) allows(op source.Op) bool { return allowsBy(c.access(c.res).Write, c.res, op) }

func allows(res *resource.Resource, op source.Op) bool {
	return allowsBy(res.Access().Write, res, op)
}

func allowsBy(rule resource.Rule, res *resource.Resource, op source.Op) bool {
	return res.Allows(op) && rule != "" && rule != "none"
}

// allowed returns the methods of a document, or of a collection.
func (c *call) allowed(document bool) string {
	list := allowed(c.res, document)
	if !document && c.o.random != nil && c.allows(source.OpReplace) {
		list += ", PUT"
	}
	return list
}

func allowed(res *resource.Resource, document bool) string {
	list := "GET, HEAD, OPTIONS"
	if !document {
		if allows(res, source.OpCreate) {
			list += ", POST"
		}
		return list
	}
	for _, m := range []string{http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if allows(res, documentOps[m]) {
			list += ", " + m
		}
	}
	return list
}

func (c *call) options(allow string) (*answer, error) {
	more := "Allow: " + allow + "\r\n"
	if strings.Contains(allow, "PATCH") {
		more += "Accept-Patch: " + patchTypes + "\r\n"
	}
	return &answer{code: http.StatusNoContent, shared: c.shared(""), more: more}, nil
}

func (c *call) notAllowed(allow string) error {
	p := problem{kind: kindMethod, header: "Allow: " + allow + "\r\n"}
	if c.res != nil && !c.res.Writable() {
		p.detail = "the resource " + c.res.Name() + " is read-only"
		p.hint = "start hotrow with --writable, or set access.write in the configuration"
	}
	return p
}

// claim waits until there is room for an answer with so many documents.
func (c *call) claim(documents int) error {
	return c.claimBytes(c.h.unsent.Estimate(c.res.Name(), documents, c.o.MaxList))
}

func (c *call) claimBytes(n int64) error {
	if c.budget == nil {
		return nil
	}
	switch err := c.budget.Acquire(c.ctx, n); err {
	case nil:
		c.claimed = n
		return nil
	case front.ErrBusy:
		return problem{kind: kindUnread, after: time.Second}
	default:
		return err
	}
}

// fits reports whether there is room for an answer of so many bytes, which are more than
// were claimed for it. If not the room is given back: whoever waits for more must not hold
// what was read.
func (c *call) fits(bytes int) bool {
	more := int64(bytes) - c.claimed
	switch {
	case c.claimed == 0 || more <= 0:
		return true
	case c.budget.Grow(more):
		c.claimed += more
		return true
	}
	c.release()
	return false
}

// settle says how large the answer has become.
func (c *call) settle(bytes int) {
	if c.claimed != 0 {
		n := max(int64(bytes), 1)
		c.budget.Add(n - c.claimed)
		c.claimed = n
	}
}

// release gives the room back.
func (c *call) release() {
	if c.claimed != 0 {
		c.budget.Add(-c.claimed)
		c.claimed = 0
	}
}

// learn notes how large documents of the resource are.
func (c *call) learn(documents, bytes int) {
	c.h.unsent.Learn(c.res.Name(), documents, bytes)
}
