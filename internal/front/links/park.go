package linksfront

import (
	"bytes"
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/wire/http1"
	"github.com/hotrow/hotrow/internal/workers"
)

// park answers the request of head off the loop while the connection waits: what
// memory does not hold has to be loaded, or a limit counted, or a code be found
// in a path that is none.
func (s *scope) park(c *eventloop.Conn, head []byte) {
	head = bytes.Clone(head)
	closing := s.req.Close || c.Draining()
	peer := c.Data.(*peer)
	now, o, access := s.x.now, s.x.o, s.Access.On()
	next := eventloop.More
	if closing {
		next = eventloop.Close
	}
	address := ""
	if access {
		address = peer.address(c)
	}
	s.f.workers.Go(func() {
		var answer []byte
		var req http1.Request
		x := &exchange{
			f: s.f, o: o, req: &req, counts: &s.f.shared, closing: closing, peer: peer.ip,
		}
		defer func() {
			if workers.Caught(nil, "answer a link", recover()) != nil {
				x.closing, next = true, eventloop.Close
				answer = x.problem(nil, &defect)
			}
			c.ResumeThen(answer, next)
		}()
		if _, v := req.Parse(head); v != http1.Complete {
			return // it was complete before
		}
		x.now = time.Now()
		x.date = http1.AppendDate(nil, x.now)
		x.fields.scan(head)
		ctx, cancel := context.WithTimeout(context.Background(), front.LinksWait)
		defer cancel()
		answer = x.answer(ctx, make([]byte, 0, 512))
		s.f.observe(time.Since(now))
		if access {
			s.f.logParked(c, x, address, now, answer)
		}
	})
}

// answer appends the answer to x, whatever it takes.
func (x *exchange) answer(ctx context.Context, out []byte) []byte {
	x.asked.parse(x.req.Path, x.o.Fold)
	switch x.asked.kind {
	case plain, deeper:
		if answer, ok := x.follow(ctx, out, &x.asked); ok {
			return answer
		}
	}
	if x.asked.kind != plain && x.asked.kind != invalid {
		if a, ok := repair(x.req.Path, x.o.Fold); ok {
			if answer, ok := x.follow(ctx, out, a); ok {
				return answer
			}
		}
	}
	answer, _ := x.miss(out)
	return answer
}

// follow appends the answer of the link that a code leads to. It is not ok when
// there is no such link.
func (x *exchange) follow(ctx context.Context, out []byte, a *asked) ([]byte, bool) {
	found, err := x.o.links.Get(ctx, row.Key(a.code), resource.Options{Format: row.FormatPrepared})
	if err != nil {
		x.count(&x.counts.failed)
		return x.problem(out, &unread, "Retry-After: 1\r\n"), true
	}
	if found.Doc.Absent() {
		return nil, false
	}
	x.stale = found.Origin == resource.HitStale
	p := prepared(found.Doc.Body())
	if a.kind == deeper && p.flags()&passesPath == 0 {
		return nil, false
	}
	if p.flags()&hasLimit != 0 {
		if err := x.f.limits.load(ctx, p.id()); err != nil {
			x.count(&x.counts.failed)
			return x.problem(out, &unread, "Retry-After: 1\r\n"), true
		}
	}
	answer, _ := x.redirect(out, p, a.rest)
	return answer, true
}
