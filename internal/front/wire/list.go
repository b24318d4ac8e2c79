package wirefront

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/query"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

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
	ask, limit, err := c.ask(s.live, res.Resource, &q)
	if err != nil {
		c.deny(e, faultOf(err))
		return
	}
	t := c.newTask(e, res.Resource)
	t.options.Format = row.Format(q.Format)
	c.run(s.live, t, c.f.estimate(s.live, t.res, limit), func(ctx context.Context) {
		t.page(ctx, ask)
	})
}

// ask returns the question of a Query, and how many documents it is for at most. c.mu is
// held.
func (c *conn) ask(
	o *Options, res *resource.Resource, q *rows.Query,
) (*resource.ListAsk, int, error) {
	p := &packer{room: min(o.MaxList, c.session.MaxData())}
	ask := &resource.ListAsk{Pack: p.pack, Variant: "wire," + strconv.Itoa(p.room)}
	if q.Filter != "" {
		if q.After != "" || q.Limit != 0 {
			return nil, 0, fail(kindBadQuery, "limit and after are in the query where there is one")
		}
		want, err := res.Query(strings.Clone(q.Filter), query.Options{
			Reads: func(name string) error { return c.mayEmbed(o, name) }})
		switch {
		case err != nil:
			return nil, 0, err
		case want.Format != "":
			return nil, 0, fail(kindBadQuery, "the format is in the message, not in the query")
		}
		ask.Query, p.want = want, want
		return ask, want.Limit, nil
	}
	most := max(res.MaxLimit(), 1)
	ask.Limit = int(min(q.Limit, front.AskedRows))
	if ask.Limit > most {
		return nil, 0, fail(kindBadQuery,
			fmt.Sprintf("the limit must be a number from 1 to %d", most))
	}
	if ask.Limit == 0 {
		ask.Limit = min(front.ListRows, most)
	}
	if q.After != "" {
		key := row.Key(strings.Clone(q.After))
		ask.After = &key
	}
	return ask, ask.Limit, nil
}

// mayEmbed returns why the peer may not read a resource of which rows are to be embedded;
// nil if it may. c.mu is held.
func (c *conn) mayEmbed(o *Options, name string) error {
	res, ok := o.Resources.Lookup(name)
	if !ok { // it has gone meanwhile
		return o.noResource(name)
	}
	if f := c.pass(o, o.issued(), res.Access().Read); f != nil {
		return f
	}
	return nil
}

// page answers a Query.
func (t *task) page(ctx context.Context, ask *resource.ListAsk) {
	got, err := t.res.SelectList(ctx, ask, t.options)
	if err != nil {
		t.fault(t.logged(err))
		return
	}
	var p rows.Page
	if err := p.Decode(got.Doc.Body()); err != nil { // it is of a packer
		t.fault(t.logged(fmt.Errorf("page of %s: %w", t.res.Name(), err)))
		return
	}
	position := ""
	if !got.Token.IsZero() {
		position = string(got.Token.AppendSince(nil))
	}
	for i := range p.Answers {
		a := &p.Answers[i]
		a.Origin, a.Position, a.Lag = origins[got.Origin], position, millis(got.Lag)
	}
	payload := p.Append(make([]byte, 0, len(got.Doc.Body())+len(p.Answers)*answerHead))
	t.learn(got.Rows, len(payload))
	t.answer(rows.OK, payload, cacheWords[origins[got.Origin]])
}

// A packer makes the answer to a Query, but for what each answer says when it is sent:
// where it is from and as of when it is.
type packer struct {
	room int          // bytes of an answer
	want *query.Query // nil: a page in the order of the keys
}

// pack makes a page of as many documents as the size of an answer allows. A document that
// is larger than that comes alone. What a filter finds is not cut: who reads on needs the
// values of the last row.
func (p *packer) pack(found *resource.Page, _ row.Format) (resource.Packed, error) {
	page := rows.Page{More: found.More, Next: found.Next}
	size := 0
	for i, doc := range found.Docs {
		a := rows.Answer{Key: string(found.Keys[i]), ETag: doc.ETag(), Body: doc.Body()}
		if p.want != nil && p.want.Select != nil {
			a.ETag = "" // it is not that of the document
		}
		size += len(a.Body) + len(a.Key) + 2*answerHead
		if size > p.room && i > 0 {
			if p.want != nil {
				return resource.Packed{}, &fault{kind: kindTooLarge,
					text: "the documents together are too large",
					hint: "ask for fewer rows: limit="}
			}
			page.More = true
			break
		}
		page.Answers = append(page.Answers, a)
	}
	page.More = page.More && len(page.Answers) > 0
	return resource.Packed{Body: page.Append(nil), Rows: len(page.Answers)}, nil
}

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
