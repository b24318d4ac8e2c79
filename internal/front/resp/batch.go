package respfront

import (
	"bytes"
	"context"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/resp"
)

// begin begins a batch: replies go to it from now on.
func (t *turn) begin() {
	t.batch = new(kv.Batch)
	t.step, t.out = t.out, nil
}

// gather adds a read to the batch. What memory has is taken now.
func (t *turn) gather(cmd *command, args [][]byte) {
	t.c.reads(cmd, args)
	args = cloned(args)
	r := t.c.readOf(cmd, args)
	r.Before, t.out = t.out, nil
	t.batch.Add(t.s.Scope, t.c.reader(cmd), r)
}

// readOf returns a command as a read whose reply is made in parts, if it is long. args are
// the read's from now on.
func (c *conn) readOf(cmd *command, args [][]byte) *kv.Read {
	keys := cmd.keys(args)
	tracks := c.track.client != nil // not to be looked at while it is parked
	return &kv.Read{
		Name: cmd.upper, Keys: keys,
		Append: func(out []byte, r *kv.Read) ([]byte, bool) {
			if tracks && r.At == 0 {
				c.uncacheable = appendUncacheable(c.uncacheable, keys, r.Found)
			}
			out, r.At = c.render(out, cmd, args, r.Found, r.At)
			return out, r.At == whole
		},
	}
}

// cloned returns arguments in memory of their own.
func cloned(args [][]byte) [][]byte {
	size := 0
	for _, a := range args {
		size += len(a)
	}
	room, list := make([]byte, 0, size), make([][]byte, len(args))
	for i, a := range args {
		at := len(room)
		room = append(room, a...)
		list[i] = room[at:len(room):len(room)]
	}
	return list
}

// launch loads what the batch misses, in a goroutine that then resumes the connection,
// and returns the output of Step. Without misses it replies at once.
func (t *turn) launch() []byte {
	c, b := t.c, t.batch
	t.batch = nil
	then := eventloop.More
	if len(c.exec) > 0 { // the rest of a transaction comes behind it
		then = eventloop.Again
	}
	if b.Missing() {
		if t.next == eventloop.More || t.next == eventloop.Again {
			t.next = eventloop.Parked
		}
		if t.within {
			c.Conn.Within()
		}
		c.Load(b, t.out, then, parked)
		return t.step
	}
	// What is told of its reads from now on lands behind their replies.
	if c.track.client != nil {
		c.mu.Lock()
		c.track.under, c.track.underAll = nil, false
		c.mu.Unlock()
	}
	var out []byte
	if out, t.next = c.Answer(b, t.step, t.out, then); t.next == eventloop.More {
		t.next = eventloop.Flush // there may be more commands
	}
	return out
}

// parked is what is replied when a parked connection has no other reply.
var parked = kv.Work{
	Busy: resp.AppendError(nil,
		"UNAVAILABLE too many answers wait for their clients to read them"),
	Crash: resp.AppendError(nil, internalError),
}

// park has a command answered by a goroutine. It reports false when there is a batch that
// comes first.
func (t *turn) park(cmd *command, args [][]byte) bool {
	if t.batch != nil {
		return false
	}
	c, own, live := t.c, cloned(args), t.s.live
	quiet := !c.replies()
	c.last.Store(cmd)
	t.next = eventloop.Parked
	w := parked
	w.Size = front.ReplyBytes
	w.Run = func(ctx context.Context) ([]byte, eventloop.Next) {
		out, next := cmd.later(ctx, c, live, own)
		if quiet {
			out = nil
		}
		return out, next
	}
	c.Do(w)
	return true
}

// lower returns a command's name in lower case, as far as it may be one.
func lower(name []byte) string {
	return string(bytes.ToLower(name[:min(len(name), longestName)]))
}
