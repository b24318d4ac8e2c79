package wirefront

import (
	"bytes"
	"strings"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
)

// get answers a Get from memory, or notes it for the batch of the Step.
//
// A hit is: decode, look up, append. It allocates nothing
// (TestStep_HitAllocatesNothing).
func (c *conn) get(s *scope, e *gofast.Event, out []byte) []byte {
	g := &s.get
	if err := g.Decode(e.Data); err != nil {
		c.deny(e, faultOf(err))
		return out
	}
	res := s.resource(g.Resource)
	if res == nil {
		c.deny(e, s.live.noResource(g.Resource))
		return out
	}
	if res.rule != "public" {
		if f := c.pass(s.live, s.issued, res.rule); f != nil {
			c.deny(e, f)
			return out
		}
	}
	s.Snapshot.Reuse()
	doc, found, at := res.Lookup(row.Key(g.Key), row.Format(g.Format), &s.Snapshot)
	if found != resource.Hit && found != resource.Absent || g.Flags&rows.NoCache != 0 ||
		g.Min != "" && !c.includes(at, g.Min) {
		// Slow path: the database, a stale copy, or a position that must be waited for.
		c.miss(s, e, res)
		return out
	}
	state, etag, body := rows.Absent, "", []byte(nil)
	if found == resource.Hit {
		s.etag = doc.AppendETag(s.etag[:0])
		state, etag, body = rows.Found, row.Alias(s.etag), doc.Body()
		if g.IfNoneMatch == etag {
			state, body = rows.NotModified, nil
		}
	}
	s.count(res, state)
	if s.Access.On() {
		s.logHit(c, e.ID, res, len(body), g.Key)
	}
	s.prefix = s.prefix[:0]
	if c.session.Legacy() {
		s.prefix = rows.AppendStatus(s.prefix, statusOf(state))
	}
	s.prefix = rows.AppendHitHead(s.prefix, state, etag, s.asOfText(at), len(body))
	if len(s.prefix)+len(body) > c.single {
		c.respond(e.Opaque, e.ID, bytes.Clone(s.prefix), bytes.Clone(body))
		return out
	}
	s.message = gofast.Message{ID: e.ID, Prefix: s.prefix, Data: body}
	grown, err := c.session.AppendResponse(out, e.Opaque, &s.message)
	if err != nil {
		c.respond(e.Opaque, e.ID, bytes.Clone(s.prefix), bytes.Clone(body))
		return out
	}
	return grown
}

// statusOf returns what a peer is told first that knows no errors.
func statusOf(state rows.State) rows.Status {
	if state == rows.Absent {
		return rows.NotFound
	}
	return rows.OK
}

// includes reports whether a hit as of at includes the positions in text.
func (c *conn) includes(at *resource.AsOf, text string) bool {
	list, err := c.min.parse(text)
	return err == nil && includes(at.Token, list)
}

// options returns how the read of a request may be answered.
func (c *conn) options(
	res *resource.Resource, of row.Format, f rows.Flags, minimum string, wait uint32,
) (resource.Options, *fault) {
	o := resource.Options{Format: of, NoCache: f&rows.NoCache != 0,
		OnlyIfCached: f&rows.OnlyIfCached != 0, Wait: milliseconds(wait)}
	if o.NoCache && o.OnlyIfCached {
		return o, &fault{kind: kindNotCached} // the two together leave no answer
	}
	list, err := c.min.parse(minimum)
	if err != nil {
		return o, faultOf(err)
	}
	o.Min = minOf(list, res.Source())
	return o, nil
}

// miss notes the Get of s for the batch.
func (c *conn) miss(s *scope, e *gofast.Event, res *served) {
	g := &s.get
	o, f := c.options(res.Resource, row.Format(g.Format), g.Flags, g.Min, g.Wait)
	if f != nil {
		c.deny(e, f)
		return
	}
	t := c.newTask(e, res.Resource)
	t.options = o
	t.key = row.Key(strings.Clone(g.Key))
	t.match = strings.Clone(g.IfNoneMatch)
	c.batch = append(c.batch, t)
}

// getMulti answers a GetMulti: at once when memory has all of it.
func (c *conn) getMulti(s *scope, e *gofast.Event) {
	g := &s.many
	if err := g.Decode(e.Data); err != nil {
		c.deny(e, faultOf(err))
		return
	}
	res := s.resource(g.Resource)
	if res == nil {
		c.deny(e, s.live.noResource(g.Resource))
		return
	}
	if f := c.pass(s.live, s.issued, res.rule); f != nil {
		c.deny(e, f)
		return
	}
	o, f := c.options(res.Resource, row.Format(g.Format), g.Flags, g.Min, g.Wait)
	if f != nil {
		c.deny(e, f)
		return
	}
	if c.allHits(s, e, res) {
		return
	}
	t := c.newTask(e, res.Resource)
	t.options = o
	t.keys = make([]row.Key, len(g.Keys))
	for i, k := range g.Keys {
		t.keys[i] = row.Key(strings.Clone(k))
	}
	c.addKeys(len(t.keys))
	c.run(s.live, t, c.f.estimate(s.live, t.res, len(t.keys)), t.loadMany)
}

// allHits answers a GetMulti if memory has every document and the answer is
// small.
func (c *conn) allHits(s *scope, e *gofast.Event, res *served) bool {
	g := &s.many
	if g.Flags&rows.NoCache != 0 {
		return false
	}
	b := s.answer[:0]
	if c.session.Legacy() {
		b = rows.AppendStatus(b, rows.OK)
	}
	b = rows.AppendAnswersHead(b, len(g.Keys))
	absent := 0
	for _, k := range g.Keys {
		s.Snapshot.Reuse()
		doc, state, at := res.Lookup(row.Key(k), row.Format(g.Format), &s.Snapshot)
		if state != resource.Hit && state != resource.Absent ||
			g.Min != "" && !c.includes(at, g.Min) || len(b) > pumpSize {
			return false
		}
		if state == resource.Absent {
			absent++
			b = rows.AppendHitHead(b, rows.Absent, "", s.asOfText(at), 0)
			continue
		}
		body := doc.Body()
		s.etag = doc.AppendETag(s.etag[:0])
		b = rows.AppendHitHead(b, rows.Found, row.Alias(s.etag), s.asOfText(at), len(body))
		b = append(b, body...)
	}
	for i := range g.Keys {
		state := rows.Found
		if i < absent {
			state = rows.Absent
		}
		s.count(res, state)
	}
	if s.Access.On() {
		s.logHit(c, e.ID, res, len(b), g.Keys...)
	}
	s.answer = b
	c.respond(e.Opaque, e.ID, nil, bytes.Clone(b))
	return true
}

// echo answers with what was sent.
func (c *conn) echo(e *gofast.Event, out []byte) []byte {
	if len(e.Data) <= c.single {
		m := gofast.Message{ID: e.ID, Data: e.Data}
		if grown, err := c.session.AppendResponse(out, e.Opaque, &m); err == nil {
			return grown
		}
	}
	c.respond(e.Opaque, e.ID, nil, bytes.Clone(e.Data))
	return out
}

// noResource is the fault of a name that a look has not found. The name itself goes
// nowhere.
func (o *Options) noResource(name string) *fault {
	starting := o.Starting != nil && o.Starting()
	if !starting { // they may have become known since that look
		_, starting = o.Resources.Lookup(name)
	}
	if starting {
		return faultStarting()
	}
	return faultNoResource()
}

// faultStarting is the fault of a question that needs to know which resources there are.
func faultStarting() *fault { return &fault{kind: kindStarting, after: time.Second} }

func faultNoResource() *fault {
	return &fault{kind: kindNotFound, text: "there is no resource of this name",
		hint: "INFO lists the resources"}
}
