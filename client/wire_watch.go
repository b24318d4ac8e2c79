package client

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/hotrow/hotrow/client/wire"
	"github.com/hotrow/hotrow/client/wire/rows"
)

// A wireSubscription is a stream of changes.
type wireSubscription struct {
	op     string
	stream *wire.Stream
	slot   *slot
	buf    []byte
}

// watch opens a stream of changes, and returns when the server follows them.
func (r *wireRemote) watch(ctx context.Context, q *watchCall) (subscription, error) {
	c, s, err := r.pool.pick(ctx)
	if err != nil {
		return nil, dialError(ctx, q.name(), err)
	}
	w := rows.Watch{Resource: q.resource, Key: q.key, Since: q.since,
		Filter: q.query, Format: rows.Format(q.format)}
	// The watch outlives the call that opens it: its deadline is not the stream's.
	st, err := c.Stream(context.WithoutCancel(ctx), rows.IDWatch, w.Append(nil))
	if err != nil {
		s.busy.Add(-1)
		return nil, wireError(ctx, q.name(), err)
	}
	sub := &wireSubscription{op: q.name(), stream: st, slot: s}
	first, err := sub.next(ctx)
	if err != nil {
		sub.close()
		return nil, err
	}
	// It says where to go on from, or is the first of what was missed.
	return &replay{subscription: sub, first: &first}, nil
}

// next waits for an event.
func (s *wireSubscription) next(ctx context.Context) (Event, error) {
	var err error
	if s.buf, err = s.stream.Recv(ctx, s.buf[:0]); err != nil {
		if errors.Is(err, io.EOF) { // nobody has said why: the server goes away
			return Event{}, transportError(ctx, s.op, io.ErrUnexpectedEOF, true)
		}
		return Event{}, wireError(ctx, s.op, err)
	}
	var e rows.Event
	if err := e.Decode(s.buf); err != nil {
		return Event{}, damaged(s.op, err)
	}
	// What was decoded points into the buffer, which the next event overwrites.
	out := Event{Key: strings.Clone(e.Key), Position: strings.Clone(e.Position),
		cursor: strings.Clone(e.Cursor)}
	switch e.Kind {
	case rows.Ready:
		out.Kind = ready
	case rows.Reset:
		out.Kind = Reset
	default:
		out.Kind = Changed
	}
	return out, nil
}

// close ends the stream.
func (s *wireSubscription) close() {
	_ = s.stream.Close() // it fails at nothing
	s.slot.busy.Add(-1)
}

// A replay delivers an event that was taken already, then the others.
type replay struct {
	subscription
	first *Event
}

func (r *replay) next(ctx context.Context) (Event, error) {
	if e := r.first; e != nil {
		r.first = nil
		return *e, nil
	}
	return r.subscription.next(ctx)
}
