package memcachefront

import (
	"context"
	"time"

	"github.com/hotrow/hotrow/internal/front"
	"github.com/hotrow/hotrow/internal/front/kv"
	"github.com/hotrow/hotrow/internal/lane"
	"github.com/hotrow/hotrow/internal/wire/memcache"
)

// What one batch is for at most.
const (
	batchKeys  = kv.MaxMisses
	batchBytes = 256 << 10
)

// A batch is the reads of one burst that wait for the database, and what is replied
// between them. It has memory of its own.
type batch struct {
	units  []*unit
	misses []kv.Miss
	keys   int
	bytes  int
	tail   []byte // replied behind the last unit
}

// A unit is one read, with what is replied before it.
type unit struct {
	before []byte
	cmd    *memcache.Command
	found  []kv.Found
	loaded bool // some of it was not in memory
}

// begin begins a batch: replies go to it from now on.
func (t *turn) begin() {
	t.batch = new(batch)
	t.step, t.out = t.out, nil
}

func (b *batch) full() bool { return b.keys >= batchKeys || b.bytes >= batchBytes }

// gather adds a read to the batch. What memory has is taken now.
func (t *turn) gather(cmd *memcache.Command) {
	b := t.batch
	u := &unit{before: t.out, cmd: cmd.Clone()}
	t.out = nil
	u.found = make([]kv.Found, len(cmd.Keys))
	for i, key := range cmd.Keys {
		if !t.s.Get(&t.c.Who, key, nil, &u.found[i]) {
			b.misses = append(b.misses, t.s.Miss(key, &u.found[i]))
			u.loaded = true
		} else if d := u.found[i].Doc; d != nil {
			b.bytes += len(d.Body())
		}
	}
	b.keys += len(u.found)
	b.units = append(b.units, u)
}

// launch loads what the batch misses, in a goroutine that then resumes the connection,
// and returns the output of Step. Without misses it replies at once.
func (t *turn) launch() []byte {
	b, c, f, live := t.batch, t.c, t.c.f, t.s.live
	b.tail, t.batch = t.out, nil
	if len(b.misses) == 0 {
		if t.next == lane.More {
			t.next = lane.Flush // there may be more commands
		}
		return b.reply(c, live, t.step)
	}
	began, next := time.Now(), lane.More
	if t.next == lane.Close {
		next, t.next = lane.Close, lane.More
	}
	c.Do(c.work(f.store.Size(b.misses), func(ctx context.Context) ([]byte, lane.Next) {
		f.store.Load(ctx, b.misses)
		out := b.reply(c, live, nil)
		b.log(c, began)
		return out, next
	}))
	return t.step
}

// work is what a connection is parked for.
func (c *conn) work(size int64, run func(context.Context) ([]byte, lane.Next)) kv.Work {
	return kv.Work{
		Size: size, Run: run, Crash: []byte(internal + "\r\n"),
		Busy: []byte("SERVER_ERROR too many answers wait for their clients to read them\r\n"),
	}
}

// reply appends the replies of a batch whose documents are there.
func (b *batch) reply(c *conn, o *Options, out []byte) []byte {
	for _, u := range b.units {
		out = append(out, u.before...)
		out = c.render(o, out, u.cmd, u.found, u.loaded)
		c.f.stats.absent.Add(uint64(absent(u.found)))
	}
	return append(out, b.tail...)
}

// log writes the lines of a batch.
func (b *batch) log(c *conn, began time.Time) {
	o := c.f.store.Live()
	if o.Access == nil || !o.Access.On() {
		return
	}
	took := time.Since(began)
	for _, u := range b.units {
		line := front.AccessLine{
			Peer: c.Addr, Method: u.cmd.Op.String(), Path: string(appendPath(nil, u.cmd)),
			Bytes: sizeOf(u.found), Cache: "miss", Resource: resourceOf(u.found),
			Principal: c.Principal(),
		}
		failed := false
		for i := range u.found {
			if code := kv.CodeOf(u.found[i].Err); code != "" {
				line.Cache, failed = code, true
			}
		}
		o.Access.Record(began, took, failed || took >= front.Slow, line.Fill)
	}
}

// longestPath is what a line shows of the keys.
const longestPath = 1024

// appendPath appends the keys of a command with blanks between them.
func appendPath(dst []byte, cmd *memcache.Command) []byte {
	for i, key := range cmd.Keys {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if dst = append(dst, key...); len(dst) > longestPath {
			break
		}
	}
	return dst
}

func sizeOf(found []kv.Found) (sum int) {
	for i := range found {
		if d := found[i].Doc; d != nil {
			sum += len(d.Body())
		}
	}
	return sum
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

func resourceOf(found []kv.Found) string {
	if len(found) == 0 || found[0].Res == nil {
		return ""
	}
	return found[0].Res.Name()
}
