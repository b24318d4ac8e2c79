package wirefront

import (
	"context"
	"slices"
	"strings"

	"github.com/hotrow/hotrow/client/wire/gofast"
	"github.com/hotrow/hotrow/client/wire/rows"
	"github.com/hotrow/hotrow/internal/resource"
	"github.com/hotrow/hotrow/internal/row"
	"github.com/hotrow/hotrow/internal/source"
)

// ops are the operations by the id of the message.
var ops = map[uint64]source.Op{
	rows.IDCreate: source.OpCreate, rows.IDPut: source.OpReplace,
	rows.IDPatch: source.OpMerge, rows.IDDelete: source.OpDelete,
}

// write begins a change of a document. c.mu is held.
func (c *conn) write(s *scope, e *gofast.Event) {
	var w rows.Write
	if err := w.Decode(e.Data); err != nil {
		c.deny(e, faultOf(err))
		return
	}
	res := s.resource(w.Resource)
	if res == nil {
		c.deny(e, s.live.noResource(w.Resource))
		return
	}
	op := ops[e.ID]
	if f := c.checkWrite(s.live, res.Resource, op); f != nil {
		c.deny(e, f)
		return
	}
	change, err := decodeWrite(res.Resource, op, &w)
	if err != nil {
		c.deny(e, faultOf(err))
		return
	}
	minimal := w.Flags&rows.Minimal != 0 || c.mayRead(s.live, res.Resource) != nil
	t := c.newTask(e, res.Resource)
	t.isWrite, t.key = true, change.Key
	c.run(s.live, t, c.f.estimate(s.live, t.res, 1), func(ctx context.Context) {
		t.store(ctx, change, minimal)
	})
}

// checkWrite says why the peer may not do op to res, if so. c.mu is held.
func (c *conn) checkWrite(o *Options, res *resource.Resource, op source.Op) *fault {
	rule := res.Access().Write
	if !res.Allows(op) || rule == "" || rule == "none" {
		if !res.Writable() {
			return &fault{kind: kindReadOnly, text: "the resource " + res.Name() +
				" is read-only", hint: "start hotrow with --writable, or set access.write in " +
				"the configuration"}
		}
		return &fault{kind: kindNotAllowed}
	}
	return c.mayWrite(o, res)
}

// decodeWrite returns the change that a message asks for. It keeps nothing of it.
func decodeWrite(
	res *resource.Resource, op source.Op, w *rows.Write,
) (*resource.Write, error) {
	change := &resource.Write{
		Op: op, Key: row.Key(strings.Clone(w.Key)), Format: row.Format(w.Format),
		IfMatch: cloned(w.IfMatch), IfNoneMatch: cloned(w.IfNoneMatch),
	}
	if op == source.OpDelete {
		return change, nil
	}
	shape := res.Shape()
	if shape == nil {
		return nil, &fault{kind: kindUnavailable, logged: true}
	}
	var err error
	change.Input, err = shape.Decode(row.Format(w.BodyFormat), w.Body)
	if err != nil {
		return nil, err
	}
	change.Shape = shape
	if change.Key == "" {
		return change, nil
	}
	return change, shape.CheckKey(res.KeyType(), change.Input, change.Key)
}

// cloned returns tags in memory of their own, nil when there are none.
func cloned(tags []string) []string {
	list := slices.Clone(tags)
	for i := range list {
		list[i] = strings.Clone(list[i])
	}
	return list
}

// store asks for the change and answers with what came of it. Who may write but
// not read gets no document.
func (t *task) store(ctx context.Context, w *resource.Write, minimal bool) {
	result, err := t.res.Write(ctx, *w)
	if err != nil {
		f := t.logged(err)
		if ctx.Err() != nil && f.kind == kindUnavailable {
			f = &fault{kind: kindUnknown} // nobody knows how far it came
		}
		t.fault(f)
		return
	}
	out := rows.Written{Created: result.Created, Answer: answerOf(&result.Answer, string(w.Key))}
	if minimal {
		out.Answer.Body = nil
	}
	t.answer(rows.OK, out.Append(nil), "")
}
