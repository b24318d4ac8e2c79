package wirefront

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// defaultLimit is how many documents a page has whose request does not say.
const defaultLimit = 100

// query begins a list. c.mu is held.
func (c *conn) query(s *scope, e *gofast.Event) {
	var q rows.Query
	if err := q.Decode(e.Data); err != nil {
		c.deny(e, faultOf(err))
		return
	}
	res := s.resource(q.Resource)
	if res == nil {
		c.deny(e, s.live.noResource(q.Resource))
		return
	}
	if f := c.pass(s.live, s.issued, res.rule); f != nil {
		c.deny(e, f)
		return
	}
	most := max(res.MaxLimit(), 1)
	limit := int(min(q.Limit, 1<<20))
	if limit > most {
		c.deny(e, fail(kindBadQuery, fmt.Sprintf("the limit must be a number from 1 to %d", most)))
		return
	}
	if limit == 0 {
		limit = min(defaultLimit, most)
	}
	t := c.newTask(e, res.Resource)
	t.options.Format = row.Format(q.Format)
	var after *row.Key
	if q.After != "" {
		key := row.Key(strings.Clone(q.After))
		after = &key
	}
	room := min(s.live.MaxList, c.session.MaxData())
	c.run(s.live, t, c.f.estimate(s.live, t.res, limit), func(ctx context.Context) {
		t.page(ctx, after, limit, room)
	})
}

// page answers a Query with as many documents as the limit and the size of an
// answer allow. A document that is larger than that comes alone.
func (t *task) page(ctx context.Context, after *row.Key, limit, room int) {
	answers, more, err := t.res.List(ctx, after, limit, t.options.Format)
	if err != nil {
		t.fault(t.logged(err))
		return
	}
	var b []byte
	ends := 0
	for i := range answers {
		a := answerOf(&answers[i], "")
		if b = a.Append(b); len(b) > room-pageHead && i > 0 {
			answers, more, b = answers[:i], true, b[:ends]
			break
		}
		ends = len(b)
	}
	head := rows.AppendPageHead(nil, more && len(answers) > 0, len(answers))
	t.learn(len(answers), len(b))
	t.answer(rows.OK, append(head, b...), "")
}

// pageHead bounds what a page has besides its answers.
const pageHead = 16

// info answers with what is served to the peer. c.mu is held.
func (c *conn) info(s *scope, e *gofast.Event) {
	if err := rows.DecodeEmpty(e.Data); err != nil {
		c.deny(e, faultOf(err))
		return
	}
	o := s.live
	if o.Starting != nil && o.Starting() {
		c.deny(e, faultStarting())
		return
	}
	i := rows.Info{Server: o.Server, MaxMessage: uint64(o.MaxMessage), MaxKeys: rows.MaxKeys,
		MaxList: uint64(o.MaxList)}
	for _, res := range o.Resources.All() {
		if c.pass(o, s.issued, res.Access().Read) == nil {
			i.Resources = append(i.Resources, c.describe(o, res))
		}
	}
	var prefix []byte
	if c.session.Legacy() {
		prefix = rows.AppendStatus(nil, rows.OK)
	}
	payload := i.Append(nil)
	c.respond(e.Opaque, e.ID, prefix, payload)
	if c.f.logging() {
		c.logAnswer(time.Now(), gofast.OK,
			front.AccessLine{Method: methodOf(e.ID), Bytes: len(payload)})
	}
}

// describe returns what the peer may do with a resource. c.mu is held.
func (c *conn) describe(o *Options, res *resource.Resource) rows.ResourceInfo {
	r := rows.ResourceInfo{Name: res.Name(), MaxLimit: uint64(max(res.MaxLimit(), 1)),
		Key: keyNames(res)}
	if t := res.Position(); !t.IsZero() {
		r.Position = t.String()
	}
	if res.Followed() {
		r.Does |= rows.DoesWatch
	}
	for op, does := range map[source.Op]rows.Does{
		source.OpCreate: rows.DoesCreate, source.OpReplace: rows.DoesPut,
		source.OpMerge: rows.DoesPatch, source.OpDelete: rows.DoesDelete,
	} {
		if c.checkWrite(o, res, op) == nil {
			r.Does |= does
		}
	}
	return r
}

// keyNames returns the members that make the key; none while the database has
// not been reached.
func keyNames(res *resource.Resource) []string {
	shape := res.Shape()
	if shape == nil {
		return nil
	}
	var names []string
	for _, part := range res.KeyType() {
		name := part.Column
		for _, f := range shape.Fields {
			if f.Column == part.Column {
				name = f.Name
				break
			}
		}
		names = append(names, name)
	}
	return names
}
