package memcachefront

import (
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
	c, o := t.c, t.s.live
	cmd = cmd.Clone()
	t.batch.Add(t.s.Scope, kv.Reader{Who: &c.Who}, &kv.Read{
		Name: cmd.Op.String(), Keys: cmd.Keys, Before: t.out,
		Append: func(out []byte, found []kv.Found, missed bool) []byte {
			c.f.stats.absent.Add(uint64(absent(found)))
			return c.render(o, out, cmd, found, missed)
		},
	})
	t.out = nil
}

// launch loads what the batch misses, in a goroutine that then resumes the connection,
// and returns the output of Step. Without misses it replies at once.
func (t *turn) launch() []byte {
	b, tail := t.batch, t.out
	t.batch = nil
	if !b.Missing() {
		if t.next == eventloop.More {
			t.next = eventloop.Flush // there may be more commands
		}
		return b.Append(t.step, tail)
	}
	next := eventloop.More
	if t.next == eventloop.Close {
		next, t.next = eventloop.Close, eventloop.More
	}
	t.c.Load(b, tail, next, parked)
	return t.step
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
