package memcachefront

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/eventloop"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// begin begins a batch: replies go to it from now on.
func (t *turn) begin() {
	t.batch = new(kv.Batch)
	t.step, t.out = t.out, nil
}

// gather adds a read to the batch. What memory has is taken now.
func (t *turn) gather(cmd *memcache.Command) {
	t.classic = t.classic || isClassic(cmd.Op)
	r := t.readOf(cmd.Clone(), false)
	r.Before, t.out = t.out, nil
	t.batch.Add(t.s.Scope, t.c.reader(cmd), r)
}

// readOf returns a command as a read whose reply is made in parts, if it is long. The
// command is the read's from now on. counted says that its absent rows have been.
func (t *turn) readOf(cmd *memcache.Command, counted bool) *kv.Read {
	c := t.c
	var lease []byte // the reply to an mg that has changed its item
	r := &kv.Read{
		Name: cmd.Op.String(), Keys: cmd.Keys,
		Append: func(out []byte, r *kv.Read) ([]byte, bool) {
			if lease != nil {
				return append(out, lease...), true
			}
			if !counted {
				counted = true
				c.f.stats.absent.Add(uint64(absent(r.Found)))
			}
			out, r.At = c.render(out, cmd, r.Found, r.Missed, r.At)
			r.Ends = r.At == ends
			return out, r.At < 0
		},
	}
	if cmd.Op == memcache.MetaGet {
		r.Loaded = func(ctx context.Context, r *kv.Read) {
			live := c.f.store.Live()
			if !c.leaseDue(live, cmd, &r.Found[0], time.Now()) {
				return
			}
			w := &writing{c: c, o: c.f.live.Load(), cmd: cmd, ctx: ctx}
			out, err := w.item(cmd.Keys[0])
			if err != nil {
				out = w.readError(w.textOf(err))
			}
			lease = out
		}
	}
	return r
}

// launch loads what the batch misses, in a goroutine that then resumes the connection,
// and returns the output of Step. Without misses it replies at once.
func (t *turn) launch() []byte {
	b, then := t.batch, eventloop.More
	t.batch = nil
	if t.next == eventloop.Close {
		then = eventloop.Close
	}
	if b.Missing() {
		w := parked
		if t.classic {
			w.Busy, w.Crash = nil, nil
		}
		t.next = eventloop.Parked
		t.c.Load(b, t.out, then, w)
		return t.step
	}
	var out []byte
	if out, t.next = t.c.Answer(b, t.step, t.out, then); t.next == eventloop.More {
		t.next = eventloop.Flush // there may be more commands
	}
	return out
}

// parked is what is replied when a parked connection has no other reply.
var parked = kv.Work{
	Busy:  []byte("SERVER_ERROR too many answers wait for their clients to read them\r\n"),
	Crash: []byte(internal + "\r\n"),
}

// absent returns how many keys have no row.
func absent(found []kv.Found) (n int) {
	for i := range found {
		if found[i].Doc == nil && found[i].Err == nil {
			n++
		}
	}
	return n
}
